--- Applying an edit that was computed for a text: to exactly that text, as one undo step.

local notify = require("redraft.notify")

local M = {}

--- An edit that was computed and not applied yet.
---@class redraft.Proposal
---@field asked redraft.Asked
---@field edits lsp.TextEdit[]
---@field encoding string of the edits' positions
---@field before string[] the buffer's lines that the edits are for
---@field stats redraft.EditStats

--- Whether the buffer still holds the text that was edited.
---@param proposal redraft.Proposal
---@return boolean
function M.is_current(proposal)
  local buf = proposal.asked.target.buf
  return vim.api.nvim_buf_is_loaded(buf)
    and vim.deep_equal(vim.api.nvim_buf_get_lines(buf, 0, -1, false), proposal.before)
end

--- Apply a proposal, or say why not.
---@param proposal redraft.Proposal
---@return boolean is_applied
function M.proposal(proposal)
  local buf = proposal.asked.target.buf
  if not M.is_current(proposal) then
    notify.warn("the buffer was changed since; nothing was applied. :Redraft retry asks again")
    return false
  elseif not vim.bo[buf].modifiable then
    notify.warn("this buffer cannot be changed ('modifiable' is off)")
    return false
  end
  vim.api.nvim_buf_call(buf, function()
    -- Ends the undo block that is open: a change made just before stays when this one is undone.
    vim.cmd("let &g:undolevels = &g:undolevels")
  end)
  M.edits(buf, proposal.edits, proposal.encoding)
  notify.info(M.summary(proposal))
  return true
end

---@param proposal redraft.Proposal
---@return string
function M.summary(proposal)
  local n, stats = #proposal.edits, proposal.stats
  local changes = n == 1 and "1 change" or ("%d changes"):format(n)
  return ("%s, %d tokens at %.0f tokens/s"):format(
    changes,
    stats.outputTokens,
    stats.tokensPerSecond
  )
end

--- Apply edits that are sorted and do not overlap, as the server sends them.
---@param buf integer
---@param edits lsp.TextEdit[]
---@param encoding string
function M.edits(buf, edits, encoding)
  if not M._has_mixed_endings(buf, edits) then
    -- A copy: Neovim turns the list round.
    vim.lsp.util.apply_text_edits(vim.deepcopy(edits), buf, encoding)
    return
  end
  -- Here a carriage return is the end of a line's text, which the function above would take away.
  for edit in vim.iter(edits):rev() do
    local function column(position)
      local row = position.line
      local line = vim.api.nvim_buf_get_lines(buf, row, row + 1, true)[1]
      return vim.str_byteindex(line, encoding, position.character, false)
    end
    local from, to = edit.range.start, edit.range["end"]
    local lines = vim.split(edit.newText, "\n", { plain = true })
    vim.api.nvim_buf_set_text(buf, from.line, column(from), to.line, column(to), lines)
  end
end

--- Whether new lines end as only some lines of the buffer do.
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
