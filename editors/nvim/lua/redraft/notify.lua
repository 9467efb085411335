--- Messages to the user: all begin with the plugin's name.

local M = {}

---@param level integer
local function at(level)
  ---@param message string
  return function(message)
    vim.notify("redraft: " .. message, level, { title = "redraft" })
  end
end

M.info = at(vim.log.levels.INFO)
M.warn = at(vim.log.levels.WARN)
M.error = at(vim.log.levels.ERROR)

return M
