--- Whether the user has stayed where an edit was asked for. Only then may its preview open by
--- itself: to everybody else its window would come between them and the keys they type.

local M = {}

---@class redraft.Presence
---@field private has_typed boolean since the edit was asked for, in whichever window
local Presence = {}
Presence.__index = Presence

--- Return true where no key was typed since and the user looks at `buf`, in Normal mode.
---@param buf integer
---@return boolean
function Presence:has_stayed(buf)
  return not self.has_typed
    and vim.api.nvim_get_current_buf() == buf
    and vim.api.nvim_get_mode().mode == "n"
end

--- Watch from now on; ends with the first key.
---@return redraft.Presence
function M.watch()
  local self = setmetatable({ has_typed = false }, Presence)
  local ns = vim.api.nvim_create_namespace("")
  vim.on_key(function(_, typed)
    if typed ~= "" then -- what a mapping or a plugin sends is not typed
      self.has_typed = true
      vim.on_key(nil, ns)
    end
  end, ns)
  return self
end

return M
