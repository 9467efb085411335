--- The functions for users, mappings and statuslines. Other modules are loaded when needed.

local M = {}

local highlights = {
  RedraftProgress = "Comment",
  RedraftReady = "DiagnosticInfo",
  RedraftCopied = "DiffAdd",
  RedraftTarget = "Visual",
}
for name, link in pairs(highlights) do
  vim.api.nvim_set_hl(0, name, { link = link, default = true })
end

--- Return the selection in Visual mode, else the function around the cursor.
---@return redraft.Target?
local function get_target()
  local targets = require("redraft.target")
  if not targets.is_visual_mode() then
    return targets.at_cursor(0)
  end
  local target, problem = targets.from_visual()
  if problem then
    require("redraft.notify").warn(problem)
  end
  return target
end

--- Edit the selection, or the function around the cursor. Asks for what is not given.
---@param instruction? string
---@param target? redraft.Target
function M.edit(instruction, target)
  target = target or get_target()
  if target then
    require("redraft.edit").begin(target, { instruction = instruction })
  end
end

--- Edit the whole file.
---@param instruction? string
function M.file(instruction)
  M.edit(instruction, require("redraft.target").at_cursor(0, "file"))
end

--- Edit what the next motion covers: for a mapping with `expr`.
---@return string keys
function M.operator()
  vim.o.operatorfunc = "v:lua.require'redraft'._operate"
  return "g@"
end

---@param kind "char"|"line"|"block"
function M._operate(kind)
  local kinds = { char = "v", line = "V", block = "\22" }
  local target, problem = require("redraft.target").from_marks(kinds[kind], "[", "]")
  if target then
    M.edit(nil, target)
  else
    require("redraft.notify").warn(problem)
  end
end

--- Fix a problem that is reported on the cursor's line.
function M.fix()
  require("redraft.actions").choose(require("redraft.target").at_cursor(0), "quickfix")
end

--- Choose one of the actions for the target.
---@param target? redraft.Target
function M.actions(target)
  target = target or get_target()
  if target then
    require("redraft.actions").choose(target)
  end
end

--- Cancel the edits of this buffer; of all buffers, if it has none.
function M.cancel()
  if require("redraft.edit_session").cancel(vim.api.nvim_get_current_buf()) == 0 then
    require("redraft.notify").info("no edit is under way")
  end
end

function M.accept()
  require("redraft.preview").accept()
end

function M.reject()
  require("redraft.preview").reject()
end

--- Open the preview of an edit that is ready.
function M.show()
  require("redraft.preview").show()
end

--- Ask for another instruction, for what is shown, else for the last edit of the buffer.
function M.retry()
  require("redraft.preview").retry()
end

--- Ask again for the last edit of this buffer, for the model's second choice if nothing changes.
function M.another()
  require("redraft.edit").request_another_version(vim.api.nvim_get_current_buf())
end

--- Show the last edit of this buffer that was refused.
function M.anyway()
  require("redraft.edit_session").show_withheld(vim.api.nvim_get_current_buf())
end

--- Return the server's state in a few words, for statuslines; "" while none runs.
--- `require("redraft.status").get()` has the parts.
---@return string
function M.status()
  -- Costs nothing before the plugin is used.
  return package.loaded["redraft.client"] and require("redraft.status").format() or ""
end

return M
