--- Applying a computed edit: to exactly the text that it was computed for, as one undo step.

local notify = require("redraft.notify")

local M = {}

--- An edit that was computed and not applied yet.
---@class redraft.Proposal
---@field request redraft.EditRequest
---@field edits lsp.TextEdit[]
---@field encoding string of the edits' positions
---@field before string[] the buffer's lines that the edits are for
---@field stats redraft.EditStats

--- Return true where the buffer still holds the text that the edits are for.
---@param proposal redraft.Proposal
---@return boolean
function M.is_current(proposal)
  local buf = proposal.request.target.buf
  return vim.api.nvim_buf_is_loaded(buf)
    and vim.deep_equal(vim.api.nvim_buf_get_lines(buf, 0, -1, false), proposal.before)
end

--- Apply a proposal, or tell the user why not.
---@param proposal redraft.Proposal
---@return boolean is_applied
function M.apply_proposal(proposal)
  local buf = proposal.request.target.buf
  if not M.is_current(proposal) then
    notify.warn("the buffer was changed since; nothing was applied. :Redraft retry asks again")
    return false
  elseif not vim.bo[buf].modifiable then
    notify.warn("this buffer cannot be changed ('modifiable' is off)")
    return false
  end
  vim.api.nvim_buf_call(buf, function()
    -- Closes the current undo block: undoing the edit leaves a change made just before it alone.
    vim.cmd("let &g:undolevels = &g:undolevels")
  end)
  M.apply_edits(buf, proposal.edits, proposal.encoding)
  local n, stats = #proposal.edits, proposal.stats
  notify.info(
    ("%s, %d tokens at %.0f tokens/s"):format(
      n == 1 and "1 change" or ("%d changes"):format(n),
      stats.outputTokens,
      stats.tokensPerSecond
    )
  )
  return true
end

--- Apply edits that are sorted and do not overlap, as the server sends them.
---@param buf integer
---@param edits lsp.TextEdit[]
---@param encoding string
function M.apply_edits(buf, edits, encoding)
  if not M._has_mixed_endings(buf, edits) then
    -- A copy: Neovim sorts the list in place, in reverse.
    vim.lsp.util.apply_text_edits(vim.deepcopy(edits), buf, encoding)
    return
  end
  -- To Neovim the carriage return of such a line is text, and apply_text_edits would remove it.
  -- From the last edit to the first: none moves the positions of the next.
  for edit in vim.iter(edits):rev() do
    local function to_column(position)
      local row = position.line
      local line = vim.api.nvim_buf_get_lines(buf, row, row + 1, true)[1]
      return vim.str_byteindex(line, encoding, position.character, false)
    end
    local first, last = edit.range.start, edit.range["end"]
    local lines = vim.split(edit.newText, "\n", { plain = true })
    vim.api.nvim_buf_set_text(buf, first.line, to_column(first), last.line, to_column(last), lines)
  end
end

--- Return true where new lines end with a carriage return in a buffer whose 'fileformat' says
--- otherwise.
---@param buf integer
---@param edits lsp.TextEdit[]
---@return boolean
function M._has_mixed_endings(buf, edits)
  return vim.bo[buf].fileformat == "unix"
    and edits[#edits].range["end"].line < vim.api.nvim_buf_line_count(buf)
    and vim.iter(edits):any(function(edit)
      return edit.newText:find("\r\n", 1, true) ~= nil
    end)
end

return M
