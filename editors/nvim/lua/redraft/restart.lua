--- The server's end and its next beginning: it is started again when it dies, but not for ever.

local clients = require("redraft.client")
local notify = require("redraft.notify")

-- A server that dies again and again has a reason that another start does not take away.
local MAX_RESTARTS = 3
local WITHIN_S = 180

local M = {}

local deaths = {} ---@type number[] when the server died, in seconds
local restarting = {} ---@type table<integer, true> clients that were stopped to be started again

--- Stop the server, which frees the model.
function M.stop()
  local server = clients.any()
  if server then
    server:stop()
  end
end

--- Stop the server and start it again for the buffers it served.
function M.restart()
  deaths = {}
  local server = clients.any()
  if server then
    restarting[server.id] = true
    server:stop()
  else
    clients.with(vim.api.nvim_get_current_buf(), function() end)
  end
end

--- The server's process has ended. Called where little of Neovim may be used.
---@param code integer
---@param signal integer
---@param id integer
function M.exited(code, signal, id)
  local server = vim.lsp.get_client_by_id(id)
  local buffers = server and vim.tbl_keys(server.attached_buffers) or {}
  vim.schedule(function()
    local is_asked = restarting[id]
    restarting[id] = nil
    require("redraft.edit_session").abandon(id)
    require("redraft.status").forget()
    -- SIGTERM is what Neovim sends to stop a server by force.
    local is_wanted = code == 0 and (signal == 0 or signal == 15)
    if is_asked or (not is_wanted and M._may_restart(code, signal)) then
      vim.iter(buffers):filter(vim.api.nvim_buf_is_loaded):each(clients.start)
    else
      clients.give_up()
    end
  end)
end

--- Whether a server that died is started again; says so, or why not.
---@param code integer
---@param signal integer
---@return boolean
function M._may_restart(code, signal)
  if vim.v.exiting ~= vim.NIL then
    return false
  end
  local now = vim.uv.hrtime() / 1e9
  deaths = vim.tbl_filter(function(time)
    return now - time < WITHIN_S
  end, deaths)
  table.insert(deaths, now)
  local how = signal ~= 0 and ("signal %d"):format(signal) or ("exit code %d"):format(code)
  if #deaths > MAX_RESTARTS then
    local message = "the server died %d times within %d minutes (%s) and is not started again."
      .. " :Redraft log shows why, :checkhealth redraft what is missing,"
      .. " :Redraft restart tries again"
    notify.error(message:format(#deaths, WITHIN_S / 60, how))
    return false
  end
  notify.warn(("the server died (%s); starting it again. :Redraft log shows more"):format(how))
  return true
end

return M
