--- The changes of a buffer while an edit of it is computed or waits, and moving the edit past them.
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

--- The changes so far.
---@class redraft.ChangeRecord
---@field changes redraft.Change[]
---@field on_change? fun()
---@field on_unload? fun() called when the buffer is gone
---@field private is_over boolean
---@field private on_stop fun()
local ChangeRecord = {}
ChangeRecord.__index = ChangeRecord

--- Record nothing more; harmless when repeated.
function ChangeRecord:stop()
  if not self.is_over then
    self.is_over = true
    self.on_stop()
  end
end

--- Record the changes of a buffer from now on.
---@param buf integer
---@param on_stop fun() called once, when the record is stopped
---@return redraft.ChangeRecord
function M.record(buf, on_stop)
  local record = setmetatable({ changes = {}, is_over = false, on_stop = on_stop }, ChangeRecord)
  vim.api.nvim_buf_attach(buf, false, {
    on_lines = function(_, _, tick, first, last, new_last)
      if record.is_over then
        return true -- detaches
      end
      if tick then -- nil for a preview of 'inccommand', which changes nothing
        local change = { tick = tick, first = first, last = last, new_last = new_last }
        table.insert(record.changes, change)
        if record.on_change then
          record.on_change()
        end
      end
    end,
    -- Without it, reading the file again would end the record. Which lines changed is unknown then:
    -- whoever moves an edit looks at the lines too.
    on_reload = function() end,
    on_detach = function()
      if record.on_unload and not record.is_over then
        record.on_unload()
      end
    end,
  })
  return record
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
