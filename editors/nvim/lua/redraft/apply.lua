--- Applying a computed edit: to exactly the text that it was computed for, as one undo step.

local notify = require("redraft.notify")

local M = {}

--- An edit that was computed and not applied yet.
---@class redraft.Proposal
---@field request redraft.EditRequest
---@field edits lsp.TextEdit[]
---@field main integer the first of the edits in the target; those before add what it needs
---@field encoding string of the edits' positions
---@field before string[] the buffer's lines that the edits are for
---@field record redraft.ChangeRecord what changed in the buffer since `before`
---@field stats redraft.EditStats
---@field callers redraft.OutdatedUse[] lines that do not fit the edit, in the buffer with it

--- Move a proposal past the changes of its buffer.
---@param proposal redraft.Proposal
---@return boolean is_current false where a line that it edits was changed; it is left as it was
function M.update(proposal)
  local buf = proposal.request.target.buf
  if not vim.api.nvim_buf_is_loaded(buf) then
    return false
  end
  local lines = vim.api.nvim_buf_get_lines(buf, 0, -1, false)
  if not vim.deep_equal(lines, proposal.before) then
    local moved = require("redraft.changes").rebase(proposal.edits, proposal.record.changes, -1)
    if not moved then
      return false
    end
    for n, edit in ipairs(proposal.edits) do
      if not M._reads_alike(proposal.before, edit.range, lines, moved[n].range) then
        return false
      end
    end
    proposal.edits, proposal.before = moved, lines
  end
  proposal.record.changes = {}
  return true
end

--- Return true where the lines of a range are those of another one in another text.
---@param before string[]
---@param range lsp.Range
---@param lines string[]
---@param moved lsp.Range
---@return boolean
function M._reads_alike(before, range, lines, moved)
  local shift = moved.start.line - range.start.line
  for row = range.start.line + 1, range["end"].line + 1 do
    if before[row] ~= lines[row + shift] then
      return false
    end
  end
  return true
end

--- Return why a proposal cannot be applied now; nil where it can.
---@param proposal redraft.Proposal
---@return string?
function M.find_problem(proposal)
  if not M.update(proposal) then
    return "the code being edited was changed meanwhile: undo that, or ask again by :Redraft retry"
  elseif not vim.bo[proposal.request.target.buf].modifiable then
    return "this buffer cannot be changed ('modifiable' is off)"
  end
  return nil
end

--- Apply a proposal that has no problem, and say what it cost.
---@param proposal redraft.Proposal
function M.apply_proposal(proposal)
  local buf = proposal.request.target.buf
  proposal.record:stop()
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
  if #proposal.callers > 0 then
    M._list_callers(proposal)
  end
end

--- Put the lines that do not fit the edit into a new quickfix list.
---@param proposal redraft.Proposal
function M._list_callers(proposal)
  local buf = proposal.request.target.buf
  local rows = vim.api.nvim_buf_get_lines(buf, 0, -1, false)
  local locations = {}
  for _, use in ipairs(proposal.callers) do
    -- The buffer may have been changed since the server said which lines they are.
    local row = M._find_nearest(rows, use.text, use.range.start.line)
    if row then
      local range = vim.deepcopy(use.range)
      range.start.line, range["end"].line = row, row
      table.insert(locations, { uri = vim.uri_from_bufnr(buf), range = range })
    end
  end
  local items = vim.lsp.util.locations_to_items(locations, proposal.encoding)
  local n = #items
  if n == 0 then
    return
  end
  vim.fn.setqflist({}, " ", { title = "redraft: lines that use the old form", items = items })
  local lines = n == 1 and "1 line still uses" or ("%d lines still use"):format(n)
  notify.warn(("%s the old %s; :copen lists them"):format(lines, M._list_definitions(proposal)))
end

--- Return the row nearest to `row` that holds `text`; nil where none does.
---@param rows string[]
---@param text string without the white space around it
---@param row integer
---@return integer?
function M._find_nearest(rows, text, row)
  for distance = 0, #rows do
    for _, candidate in ipairs({ row - distance, row + distance }) do
      if vim.trim(rows[candidate + 1] or "") == text then
        return candidate
      end
    end
  end
  return nil
end

---@param proposal redraft.Proposal
---@return string
function M._list_definitions(proposal)
  local names = vim.tbl_map(function(use)
    return use.definition
  end, proposal.callers)
  return table.concat(vim.fn.uniq(vim.fn.sort(names)), ", ")
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
