--- Messages to the user: all begin with the plugin's name.

local M = {}

---@param level integer
---@return fun(message: string)
local function create_notifier(level)
  return function(message)
    vim.notify("redraft: " .. message, level, { title = "redraft" })
  end
end

M.info = create_notifier(vim.log.levels.INFO)
M.warn = create_notifier(vim.log.levels.WARN)
M.error = create_notifier(vim.log.levels.ERROR)

return M
