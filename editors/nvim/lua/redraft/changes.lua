--- What happens to a buffer between the server's last view of it and the arrival of an answer.
--- Neovim sends changes a moment late; an answer may be for the text before the last of them.

local M = {}

--- Lines [first, last) became [first, new_last), rows from 0.
---@class redraft.Change
---@field tick integer
---@field first integer
---@field last integer
---@field new_last integer

--- Record the changes of a buffer for as long as `is_wanted` says so.
---@param buf integer
---@param is_wanted fun(): boolean
---@return redraft.Change[] grows
function M.record(buf, is_wanted)
  local changes = {}
  vim.api.nvim_buf_attach(buf, false, {
    on_lines = function(_, _, tick, first, last, new_last)
      if not is_wanted() then
        return true
      end
      if tick then -- else a preview of 'inccommand'
        table.insert(changes, { tick = tick, first = first, last = last, new_last = new_last })
      end
    end,
  })
  return changes
end

--- The edits of the text at `version`, for the text as it is after all `changes`; nil where one of
--- them touched a line that is edited.
---@param edits lsp.TextEdit[]
---@param changes redraft.Change[]
---@param version integer
---@return lsp.TextEdit[]?
function M.rebase(edits, changes, version)
  edits = vim.deepcopy(edits)
  for _, change in ipairs(changes) do
    if change.tick > version then
      for _, edit in ipairs(edits) do
        local start, stop = edit.range.start, edit.range["end"]
        if start.line >= change.last and start.line > change.first then
          local by = change.new_last - change.last
          start.line, stop.line = start.line + by, stop.line + by
        elseif stop.line >= change.first then
          return nil
        end
      end
    end
  end
  return edits
end

return M
