--- The language server: what starts it, finding the one of a buffer, and asking it. Knows nothing
--- of edits.

local notify = require("redraft.notify")
local protocol = require("redraft.protocol")

local NAME = "redraft"

-- Begins the tokens of the progress of downloads.
local FETCH = "redraft/fetch/"

local M = {}

---@class redraft.Waiting
---@field use fun(client: vim.lsp.Client)
---@field otherwise? fun()

local waiting = {} ---@type table<integer, redraft.Waiting[]> by buffer

--- What `vim.lsp.enable("redraft")` starts.
---@return vim.lsp.Config
function M.config()
  return {
    cmd = { "redraft", "serve" },
    root_dir = M._root,
    root_markers = { "redraft.toml", ".git" },
    init_options = { clientCommands = { protocol.PROMPT }, statusNotifications = true },
    commands = {
      [protocol.PROMPT] = function(command, context)
        require("redraft.edit").from_action(command, context)
      end,
      -- The actions' edits pass through here, so that they are previewed as all others.
      [protocol.EDIT] = function(command, context)
        require("redraft.edit").from_action(command, context)
      end,
    },
    handlers = {
      [protocol.PARTIAL_NOTIFICATION] = function(_, partial)
        require("redraft.edit_session").progressed(partial)
      end,
      [protocol.STATUS_NOTIFICATION] = function(_, status)
        require("redraft.edit_session").stands(status)
      end,
    },
    reuse_client = M._reuses,
    on_init = function(client)
      require("redraft.actions").complete_diagnostics(client)
    end,
    on_exit = function(...)
      require("redraft.restart").exited(...)
    end,
  }
end

--- Buffers without a name are left alone: the server would take them all for one.
---@param buf integer
---@param start fun(root: string?)
function M._root(buf, start)
  if vim.api.nvim_buf_get_name(buf) ~= "" then
    start(vim.fs.root(buf, vim.lsp.config[NAME].root_markers))
  end
end

--- One server, and so one model in memory, whatever the number of projects.
---@param client vim.lsp.Client
---@param config vim.lsp.ClientConfig
---@return boolean
function M._reuses(client, config)
  if client.name ~= config.name or client:is_stopped() then
    return false
  end
  local root = config.root_dir
  local folders = client.workspace_folders or {}
  local folder = root and { uri = vim.uri_from_fname(root), name = root }
  if
    folder and not vim.iter(folders):any(function(each)
      return each.uri == folder.uri
    end)
  then
    client.workspace_folders = vim.list_extend({ folder }, folders)
    client:notify("workspace/didChangeWorkspaceFolders", {
      event = { added = { folder }, removed = {} },
    })
  end
  return true
end

--- The server a buffer is attached to.
---@param buf integer
---@return vim.lsp.Client?
function M.of(buf)
  return vim.lsp.get_clients({ name = NAME, bufnr = buf })[1]
end

--- Any server that runs: that of the current buffer, if it has one.
---@return vim.lsp.Client?
function M.any()
  return M.of(0) or vim.lsp.get_clients({ name = NAME })[1]
end

--- Call `use` with the server of a buffer; start it first where none is attached.
---@param buf integer
---@param use fun(client: vim.lsp.Client)
---@param otherwise? fun() called where no server can be had
---@return boolean has_server or one is about to come
function M.with(buf, use, otherwise)
  local client = M.of(buf)
  if client then
    use(client)
    return true
  end
  local is_first = not waiting[buf]
  waiting[buf] = waiting[buf] or {}
  table.insert(waiting[buf], { use = use, otherwise = otherwise })
  if is_first and not M.start(buf) then
    M.give_up()
    return false
  end
  return true
end

--- No server comes.
function M.give_up()
  local gave_up = waiting
  waiting = {}
  for _, each in pairs(gave_up) do
    for _, entry in ipairs(each) do
      if entry.otherwise then
        entry.otherwise()
      end
    end
  end
end

--- Start a server for a buffer, or attach the one that runs. Says why where that cannot be.
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
      ("cannot run %q: install redraft (pip install redraft) or name it with"):format(cmd[1])
        .. ' vim.lsp.config("redraft", { cmd = { "/path/to/redraft", "serve" } })'
    )
    return false
  end
  config = vim.tbl_extend("force", config, { name = NAME })
  local find_root = config.root_dir
  local function start(root)
    config.root_dir = root
    vim.lsp.start(config, { bufnr = buf, reuse_client = config.reuse_client })
  end
  if type(find_root) == "function" then
    find_root(buf, start)
  else
    start(find_root or vim.fs.root(buf, config.root_markers or {}))
  end
  return true
end

--- Have the server run one of its commands. An answer that says "cancelled" never comes: Neovim
--- keeps it to itself.
---@param client vim.lsp.Client
---@param command string
---@param argument? table
---@param done? fun(error: lsp.ResponseError?, result: any)
---@param buf? integer
---@return integer? request
function M.execute(client, command, argument, done, buf)
  local params = { command = command, arguments = argument and { argument } or nil }
  local _, request = client:request("workspace/executeCommand", params, function(error, result)
    if done then
      done(error, result)
    end
  end, buf)
  return request
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

---@param event vim.api.keyset.create_autocmd.callback_args
---@return vim.lsp.Client?
local function ours(event)
  local client = vim.lsp.get_client_by_id(event.data.client_id)
  return client and client.name == NAME and client or nil
end

vim.api.nvim_create_autocmd("LspAttach", {
  group = group,
  callback = function(event)
    local client = ours(event)
    if client then
      local ready = waiting[event.buf] or {}
      waiting[event.buf] = nil
      vim.iter(ready):each(function(each)
        each.use(client)
      end)
    end
  end,
})

vim.api.nvim_create_autocmd("LspRequest", {
  group = group,
  callback = function(event)
    local request = event.data.request
    if request.type == "complete" and ours(event) then
      local id = event.data.request_id
      -- The answer's own handler runs first, if Neovim calls it at all.
      vim.schedule(function()
        require("redraft.edit_session").answered(event.data.client_id, id)
      end)
    end
  end,
})

vim.api.nvim_create_autocmd("LspProgress", {
  group = group,
  callback = function(event)
    local client = ours(event)
    local params = event.data.params ---@type lsp.ProgressParams
    if client and vim.startswith(tostring(params.token), FETCH) then
      local value = params.value --[[@as lsp.WorkDoneProgressReport]]
      require("redraft.status").fetching(value.kind ~= "end" and value.percentage or nil)
    end
  end,
})

return M
