--- The changes of a buffer while an edit of it is computed, and moving the edit past them.
---
--- Neovim sends changes to the server a moment late, so that a reply may be for the text before the
--- last of them.

local M = {}

--- Lines [first, last) became [first, new_last), rows from 0.
---@class redraft.Change
---@field tick integer
---@field first integer
---@field last integer
---@field new_last integer

--- Record the changes of a buffer for as long as `is_wanted` returns true.
---@param buf integer
---@param is_wanted fun(): boolean
---@return redraft.Change[] changes grows with each one
function M.record(buf, is_wanted)
  local changes = {}
  vim.api.nvim_buf_attach(buf, false, {
    on_lines = function(_, _, tick, first, last, new_last)
      if not is_wanted() then
        return true -- detaches
      end
      if tick then -- nil for a preview of 'inccommand', which changes nothing
        table.insert(changes, { tick = tick, first = first, last = last, new_last = new_last })
      end
    end,
  })
  return changes
end

--- Return edits of the text at `version` as edits of the text after all `changes`; nil where a
--- change touched a line that is edited.
---@param edits lsp.TextEdit[]
---@param changes redraft.Change[]
---@param version integer
---@return lsp.TextEdit[]?
function M.rebase(edits, changes, version)
  edits = vim.deepcopy(edits)
  for _, change in ipairs(changes) do
    -- The document's version is the buffer's changedtick: an earlier change is in the text already.
    if change.tick > version then
      for _, edit in ipairs(edits) do
        local start, stop = edit.range.start, edit.range["end"]
        if start.line >= change.last and start.line > change.first then
          local shift = change.new_last - change.last
          start.line, stop.line = start.line + shift, stop.line + shift
        elseif stop.line >= change.first then
          return nil
        end
      end
    end
  end
  return edits
end

return M
