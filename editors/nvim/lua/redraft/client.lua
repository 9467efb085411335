--- The language server: its configuration, the one of a buffer, starting it and sending to it.
--- Knows nothing of edits.

local notify = require("redraft.notify")
local protocol = require("redraft.protocol")

local NAME = "redraft"

-- The progress of downloads has tokens that begin so.
local DOWNLOAD_TOKEN = "redraft/fetch/"

local M = {}

--- Callbacks of `with` that wait for a server.
---@class redraft.Waiter
---@field use fun(client: vim.lsp.Client)
---@field on_failure? fun()

local waiters = {} ---@type table<integer, redraft.Waiter[]> by buffer

--- Return the configuration that `vim.lsp.enable("redraft")` starts.
---@return vim.lsp.Config
function M.create_config()
  return {
    cmd = { "redraft", "serve" },
    root_dir = M._find_root,
    root_markers = { "redraft.toml", ".git" },
    init_options = { clientCommands = { protocol.PROMPT }, statusNotifications = true },
    commands = {
      [protocol.PROMPT] = function(command, context)
        require("redraft.edit").from_action(command, context)
      end,
      -- Edits of code actions are previewed, too: Neovim would have the server apply them.
      [protocol.EDIT] = function(command, context)
        require("redraft.edit").from_action(command, context)
      end,
    },
    handlers = {
      [protocol.PARTIAL_NOTIFICATION] = function(_, partial)
        require("redraft.edit_session").update_progress(partial)
      end,
      [protocol.STATUS_NOTIFICATION] = function(_, status)
        require("redraft.edit_session").update_status(status)
      end,
    },
    reuse_client = M._reuse_client,
    on_init = function(client)
      require("redraft.actions").add_diagnostics(client)
    end,
    on_exit = function(...)
      require("redraft.restart").handle_exit(...)
    end,
  }
end

--- Call `start` with the project's folder. Buffers without a name get no server: their URI is the
--- same for all of them.
---@param buf integer
---@param start fun(root: string?)
function M._find_root(buf, start)
  if vim.api.nvim_buf_get_name(buf) ~= "" then
    start(vim.fs.root(buf, vim.lsp.config[NAME].root_markers))
  end
end

--- Reuse the server for all projects, so that one model is in memory; tell it of a new folder.
---@param client vim.lsp.Client
---@param config vim.lsp.ClientConfig
---@return boolean
function M._reuse_client(client, config)
  if client.name ~= config.name or client:is_stopped() then
    return false
  end
  local root = config.root_dir
  local folders = client.workspace_folders or {}
  local folder = root and { uri = vim.uri_from_fname(root), name = root }
  if
    folder
    and not vim.iter(folders):any(function(known)
      return known.uri == folder.uri
    end)
  then
    client.workspace_folders = vim.list_extend({ folder }, folders)
    client:notify("workspace/didChangeWorkspaceFolders", {
      event = { added = { folder }, removed = {} },
    })
  end
  return true
end

--- Return the server that a buffer is attached to.
---@param buf integer
---@return vim.lsp.Client?
function M.get(buf)
  return vim.lsp.get_clients({ name = NAME, bufnr = buf })[1]
end

--- Return a running server: that of the current buffer, if it has one.
---@return vim.lsp.Client?
function M.get_any()
  return M.get(0) or vim.lsp.get_clients({ name = NAME })[1]
end

--- Call `use` with the server of a buffer; start it first where none is attached.
---@param buf integer
---@param use fun(client: vim.lsp.Client)
---@param on_failure? fun() called where no server starts
---@return boolean has_server or is starting one
function M.with(buf, use, on_failure)
  local client = M.get(buf)
  if client then
    use(client)
    return true
  end
  local is_first = not waiters[buf]
  waiters[buf] = waiters[buf] or {}
  table.insert(waiters[buf], { use = use, on_failure = on_failure })
  if is_first and not M.start(buf) then
    M.give_up()
    return false
  end
  return true
end

--- Tell all that wait for a server that none comes.
function M.give_up()
  local abandoned = vim.iter(vim.tbl_values(waiters)):flatten():totable() ---@type redraft.Waiter[]
  waiters = {} -- before the calls, which may wait again
  for _, waiter in ipairs(abandoned) do
    if waiter.on_failure then
      waiter.on_failure()
    end
  end
end

--- Start a server for a buffer, or attach the one that runs; tell the user why where that fails.
---@param buf integer
---@return boolean
function M.start(buf)
  local config = vim.lsp.config[NAME]
  local cmd = config and config.cmd
  if not cmd then
    notify.error("lsp/redraft.lua is not on the 'runtimepath': see :help redraft-install")
    return false
  elseif type(cmd) == "table" and vim.fn.executable(cmd[1]) == 0 then
    notify.error(
      ("cannot run %q: install redraft (docs/install.md) or name it with"):format(cmd[1])
        .. ' vim.lsp.config("redraft", { cmd = { "/path/to/redraft", "serve" } })'
    )
    return false
  end
  config = vim.tbl_extend("force", config, { name = NAME })
  -- vim.lsp.enable does the same, but only for the filetypes that the configuration names.
  local root_dir = config.root_dir
  local function start(root)
    config.root_dir = root
    vim.lsp.start(config, { bufnr = buf, reuse_client = config.reuse_client })
  end
  if type(root_dir) == "function" then
    root_dir(buf, start)
  else
    start(root_dir or vim.fs.root(buf, config.root_markers or {}))
  end
  return true
end

--- Have the server run one of its commands. `done` is not called for an answer that says
--- "cancelled": Neovim keeps that to itself.
---@param client vim.lsp.Client
---@param command string
---@param argument? table
---@param done? fun(error: lsp.ResponseError?, result: any)
---@param buf? integer
---@return integer? request_id
function M.execute(client, command, argument, done, buf)
  local params = { command = command, arguments = argument and { argument } or nil }
  local _, request_id = client:request("workspace/executeCommand", params, function(error, result)
    if done then
      done(error, result)
    end
  end, buf)
  return request_id
end

--- Send the whole text of a buffer, so that the server's copy is the buffer's text whatever
--- happened to it. Single changes go wrong where a line holds a carriage return: the protocol ends
--- the line there, Neovim does not.
---@param client vim.lsp.Client
---@param buf integer
function M.synchronise(client, buf)
  -- Any request makes Neovim send the changes it still holds back; they must not come later.
  M.execute(client, protocol.STATUS, nil, nil, buf)
  local ending = ({ unix = "\n", dos = "\r\n", mac = "\r" })[vim.bo[buf].fileformat]
  local text = table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, false), ending)
  if vim.bo[buf].endofline then
    text = text .. ending
  end
  client:notify("textDocument/didChange", {
    textDocument = { uri = vim.uri_from_bufnr(buf), version = vim.lsp.util.buf_versions[buf] },
    contentChanges = { { text = text } },
  })
end

--- Have the model read a buffer, so that an edit of it begins at once.
---@param client vim.lsp.Client
---@param buf integer
function M.warm(client, buf)
  M.execute(client, protocol.WARM, { uri = vim.uri_from_bufnr(buf) }, function(error)
    if error then
      notify.warn(error.message)
    end
  end, buf)
end

--- Have the server read its settings again and free the model; the next edit loads it.
---@param client vim.lsp.Client
function M.reload(client)
  client.settings = vim.lsp.config[NAME].settings or {}
  client:notify("workspace/didChangeConfiguration", { settings = client.settings })
  M.execute(client, protocol.RELOAD, nil, function(error)
    if error then
      notify.error(error.message)
    else
      notify.info("the settings were read again")
    end
  end)
end

local group = vim.api.nvim_create_augroup("redraft.client", {})

--- Return the client of an event, if it is redraft's.
---@param event vim.api.keyset.create_autocmd.callback_args
---@return vim.lsp.Client?
local function get_client(event)
  local client = vim.lsp.get_client_by_id(event.data.client_id)
  return client and client.name == NAME and client or nil
end

vim.api.nvim_create_autocmd("LspAttach", {
  group = group,
  callback = function(event)
    local client = get_client(event)
    if client then
      local ready = waiters[event.buf] or {}
      waiters[event.buf] = nil
      for _, waiter in ipairs(ready) do
        waiter.use(client)
      end
    end
  end,
})

vim.api.nvim_create_autocmd("LspRequest", {
  group = group,
  callback = function(event)
    local request = event.data.request
    if request.type == "complete" and get_client(event) then
      local id = event.data.request_id
      -- The answer's own handler runs first, if Neovim calls it at all.
      vim.schedule(function()
        require("redraft.edit_session").handle_complete(event.data.client_id, id)
      end)
    end
  end,
})

vim.api.nvim_create_autocmd("LspProgress", {
  group = group,
  callback = function(event)
    local client = get_client(event)
    local params = event.data.params ---@type lsp.ProgressParams
    if client and vim.startswith(tostring(params.token), DOWNLOAD_TOKEN) then
      local value = params.value --[[@as lsp.WorkDoneProgressReport]]
      require("redraft.status").update_download(value.kind ~= "end" and value.percentage or nil)
    end
  end,
})

return M
