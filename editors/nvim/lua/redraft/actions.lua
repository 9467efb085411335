--- The server's code actions for a target, without those of other servers.

local client = require("redraft.client")
local notify = require("redraft.notify")

local M = {}

--- Choose an action for the target and run it. With `only`, a single action is run unasked.
---@param target redraft.Target released here
---@param only? string a kind, such as "quickfix"
function M.choose(target, only)
  client.with(target.buf, function(server)
    local range = target:get_range(server.offset_encoding)
    target:release()
    if not range then
      return
    end
    local params = {
      textDocument = { uri = vim.uri_from_bufnr(target.buf) },
      range = range,
      context = { diagnostics = {}, only = only and { only } or nil },
    }
    server:request("textDocument/codeAction", params, function(error, actions)
      if error then
        notify.error(error.message)
      elseif #actions == 0 then
        notify.info(only and "no problem is reported here" or "there is nothing to do here")
      elseif only and #actions == 1 then
        M._run(server, actions[1])
      else
        M._select(server, actions)
      end
    end, target.buf)
  end)
end

---@param server vim.lsp.Client
---@param actions lsp.CodeAction[]
function M._select(server, actions)
  vim.ui.select(actions, {
    prompt = "redraft:",
    kind = "codeaction",
    format_item = function(action)
      return (action.title:gsub("^redraft: ", ""))
    end,
  }, function(action)
    if action then
      M._run(server, action)
    end
  end)
end

---@param server vim.lsp.Client
---@param action lsp.CodeAction
function M._run(server, action)
  require("redraft.edit").from_action(action.command, { client_id = server.id })
end

--- Add the diagnostics of all servers to the client's requests for code actions. Neovim sends those
--- of the server it asks; redraft has none of its own and fixes those of others.
---@param server vim.lsp.Client
function M.add_diagnostics(server)
  local request = server.request
  ---@diagnostic disable-next-line: duplicate-set-field
  server.request = function(self, method, params, handler, buf)
    if method == "textDocument/codeAction" and #params.context.diagnostics == 0 then
      local diagnostics = M._collect_diagnostics(buf or 0, params.range, self.offset_encoding)
      params = vim.tbl_deep_extend("force", params, { context = { diagnostics = diagnostics } })
    end
    return request(self, method, params, handler, buf)
  end
end

--- Return the diagnostics on the lines of a range, in the shape of the protocol.
---@param buf integer
---@param range lsp.Range
---@param encoding string
---@return lsp.Diagnostic[]
function M._collect_diagnostics(buf, range, encoding)
  local function to_position(row, column)
    local line = vim.api.nvim_buf_get_lines(buf, row, row + 1, false)[1] or ""
    return { line = row, character = vim.str_utfindex(line, encoding, column, false) }
  end
  local diagnostics = {}
  for _, diagnostic in ipairs(vim.diagnostic.get(buf)) do
    local row, end_row = diagnostic.lnum, diagnostic.end_lnum or diagnostic.lnum
    if row <= range["end"].line and end_row >= range.start.line then
      table.insert(diagnostics, {
        message = diagnostic.message,
        source = diagnostic.source,
        severity = diagnostic.severity,
        range = {
          start = to_position(row, diagnostic.col),
          ["end"] = to_position(end_row, diagnostic.end_col or diagnostic.col),
        },
      })
    end
  end
  return diagnostics
end

return M
