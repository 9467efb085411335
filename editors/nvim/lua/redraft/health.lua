--- `:checkhealth redraft`

local config = require("redraft.config")

local TIMEOUT_MS = 20000 -- Python starts slowly from a cold disk

local M = {}

function M.check()
  vim.health.start("redraft")
  M._check_options()
  local program = M._check_program()
  if program then
    M._check_model(program)
  end
  M._check_server()
end

function M._check_options()
  vim.health.ok(("Neovim %s"):format(vim.version()))
  local _, problems = config.read()
  vim.iter(problems):each(vim.health.error)
end

--- Check the server's command; return the part of it before `serve`, if it can be run.
---@return string[]?
function M._check_program()
  local cmd = (vim.lsp.config.redraft or {}).cmd
  if type(cmd) ~= "table" then
    vim.health.info("the server is not started by a command of its own: `cmd` is a function")
    return nil
  end
  local path = vim.fn.exepath(cmd[1])
  if path == "" then
    vim.health.error(("cannot run `%s`"):format(cmd[1]), {
      "install redraft: docs/install.md of its repository says how",
      'or name it: `vim.lsp.config("redraft", { cmd = { "/path/to/redraft", "serve" } })`',
    })
    return nil
  end
  local serve = vim.fn.index(cmd, "serve")
  if serve < 1 then
    vim.health.info(("`%s`"):format(table.concat(cmd, " ")))
    return nil
  end
  local program = vim.list_slice(cmd --[[@as string[] ]], 1, serve)
  local result = M._run(program, { "--version" })
  if result.code ~= 0 then
    vim.health.error(("`%s` does not run"):format(path), vim.split(vim.trim(result.stderr), "\n"))
    return nil
  end
  vim.health.ok(("%s (`%s`)"):format(vim.trim(result.stdout), path))
  return program
end

--- Run a program to its end; one that cannot be started ends with the code -1.
---@param program string[]
---@param arguments string[]
---@return vim.SystemCompleted
function M._run(program, arguments)
  local command = vim.list_extend(vim.deepcopy(program), arguments)
  local ok, result = pcall(function()
    return vim.system(command, { text = true, timeout = TIMEOUT_MS }):wait()
  end)
  return ok and result or { code = -1, signal = 0, stdout = "", stderr = tostring(result) }
end

---@param program string[]
function M._check_model(program)
  local settings = vim.lsp.config.redraft.settings or {}
  local model = (settings.redraft or {}).model
  local result = M._run(program, { "models", "path", model })
  if result.code == 0 then
    vim.health.ok(("model `%s`"):format(vim.trim(result.stdout)))
  else
    vim.health.warn("the model is not here: " .. vim.trim(result.stderr), {
      ("fetch it: `%s models fetch`"):format(table.concat(program, " ")),
      "or say yes when the first edit offers the download",
    })
  end
  vim.health.info(("`%s doctor` tries a real decode"):format(table.concat(program, " ")))
end

function M._check_server()
  local client = require("redraft.client").get_any()
  if not client then
    local advice = 'it starts with `vim.lsp.enable("redraft")`, or when :Redraft needs it'
    vim.health.info("no server runs: " .. advice)
    return
  end
  local buffers = vim.tbl_count(client.attached_buffers)
  vim.health.ok(
    ("the server runs for %d buffer%s, columns in %s"):format(
      buffers,
      buffers == 1 and "" or "s",
      client.offset_encoding
    )
  )
  M._check_commands(client)
  local params = { command = require("redraft.protocol").STATUS }
  local answer = client:request_sync("workspace/executeCommand", params, 2000)
  local status = answer and answer.result ---@type redraft.Status?
  if status then
    local model = status.model
    vim.health.ok(("server %s, model %s: %s"):format(status.version, model.name, model.state))
  else
    vim.health.error("the server does not answer", { ":Redraft log", ":Redraft restart" })
  end
end

---@param client vim.lsp.Client
function M._check_commands(client)
  local protocol = require("redraft.protocol")
  local provider = client.server_capabilities.executeCommandProvider or {}
  local names = { "EDIT", "FIND_TARGET", "CANCEL", "WARM", "STATUS", "RELOAD", "SHOW_TRACE" }
  for _, name in ipairs(names) do
    if not vim.list_contains(provider.commands or {}, protocol[name]) then
      local problem = "the server has no `%s`: plugin and server do not fit"
      vim.health.error(problem:format(protocol[name]), { "update both" })
    end
  end
end

return M
