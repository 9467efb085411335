--- Stopping and restarting the server, and starting it again when it crashes, but not for ever.

local clients = require("redraft.client")
local notify = require("redraft.notify")

-- A server that crashes again and again has a reason that another start does not take away.
local MAX_RESTARTS = 3
local WINDOW_S = 180

local M = {}

local crashes = {} ---@type number[] when the server crashed, in seconds
local restarting = {} ---@type table<integer, true> the ids of clients that restart() has stopped

--- Stop the server, which frees the model.
function M.stop()
  local server = clients.get_any()
  if server then
    server:stop()
  end
end

--- Stop the server and start it again for the buffers it served.
function M.restart()
  crashes = {}
  local server = clients.get_any()
  if server then
    restarting[server.id] = true
    server:stop() -- handle_exit starts it again
  else
    clients.with(vim.api.nvim_get_current_buf(), function() end)
  end
end

--- End all that depended on the server, and start it again where it was not meant to end. Called in
--- a fast event, in which most of Neovim's functions may not be used.
---@param code integer
---@param signal integer
---@param id integer
function M.handle_exit(code, signal, id)
  local server = vim.lsp.get_client_by_id(id)
  local buffers = server and vim.tbl_keys(server.attached_buffers) or {}
  vim.schedule(function()
    local is_restart = restarting[id]
    restarting[id] = nil
    require("redraft.edit_session").abandon(id)
    require("redraft.status").reset()
    -- SIGTERM is what Neovim sends to stop a server by force.
    local is_crash = code ~= 0 or not (signal == 0 or signal == 15)
    if is_restart or (is_crash and M._report_crash(code, signal)) then
      vim.iter(buffers):filter(vim.api.nvim_buf_is_loaded):each(clients.start)
    else
      clients.give_up()
    end
  end)
end

--- Tell the user that the server crashed; return true where it is to be started again.
---@param code integer
---@param signal integer
---@return boolean
function M._report_crash(code, signal)
  if vim.v.exiting ~= vim.NIL then
    return false
  end
  local now = vim.uv.hrtime() / 1e9
  crashes = vim.tbl_filter(function(time)
    return now - time < WINDOW_S
  end, crashes)
  table.insert(crashes, now)
  local cause = signal ~= 0 and ("signal %d"):format(signal) or ("exit code %d"):format(code)
  if #crashes > MAX_RESTARTS then
    local message = "the server died %d times within %d minutes (%s) and is not started again."
      .. " :Redraft log shows why, :checkhealth redraft what is missing,"
      .. " :Redraft restart tries again"
    notify.error(message:format(#crashes, WINDOW_S / 60, cause))
    return false
  end
  notify.warn(("the server died (%s); starting it again. :Redraft log shows more"):format(cause))
  return true
end

return M
