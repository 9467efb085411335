--- The server's code actions at a place, without those of other servers.

local client = require("redraft.client")
local notify = require("redraft.notify")

local M = {}

--- Choose an action for the target and do it. With `only`, a single action is done unasked.
---@param target redraft.Target
---@param only? string a kind, such as "quickfix"
function M.choose(target, only)
  client.with(target.buf, function(server)
    local range = target:range(server.offset_encoding)
    target:release()
    if not range then
      return
    end
    local params = {
      textDocument = { uri = vim.uri_from_bufnr(target.buf) },
      range = range,
      context = { diagnostics = {}, only = only and { only } or nil },
    }
    server:request("textDocument/codeAction", params, function(error, found)
      if error then
        notify.error(error.message)
      elseif #found == 0 then
        notify.info(only and "no problem is reported here" or "there is nothing to do here")
      elseif only and #found == 1 then
        M._run(server, found[1])
      else
        M._select(server, found)
      end
    end, target.buf)
  end)
end

---@param server vim.lsp.Client
---@param found lsp.CodeAction[]
function M._select(server, found)
  vim.ui.select(found, {
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

--- Neovim sends with a request for code actions only the diagnostics of the server it asks.
--- redraft has none of its own: it fixes those of others.
---@param server vim.lsp.Client
function M.complete_diagnostics(server)
  local request = server.request
  ---@diagnostic disable-next-line: duplicate-set-field
  server.request = function(self, method, params, handler, buf)
    if method == "textDocument/codeAction" and #params.context.diagnostics == 0 then
      local found = M._diagnostics(buf or 0, params.range, self.offset_encoding)
      params = vim.tbl_deep_extend("force", params, { context = { diagnostics = found } })
    end
    return request(self, method, params, handler, buf)
  end
end

--- The diagnostics on the lines of a range, whoever found them, as the protocol has them.
---@param buf integer
---@param range lsp.Range
---@param encoding string
---@return lsp.Diagnostic[]
function M._diagnostics(buf, range, encoding)
  local function position(row, column)
    local line = vim.api.nvim_buf_get_lines(buf, row, row + 1, false)[1] or ""
    return { line = row, character = vim.str_utfindex(line, encoding, column, false) }
  end
  local found = {}
  for _, each in ipairs(vim.diagnostic.get(buf)) do
    if each.lnum <= range["end"].line and (each.end_lnum or each.lnum) >= range.start.line then
      table.insert(found, {
        message = each.message,
        source = each.source,
        severity = each.severity,
        range = {
          start = position(each.lnum, each.col),
          ["end"] = position(each.end_lnum or each.lnum, each.end_col or each.col),
        },
      })
    end
  end
  return found
end

---@param server vim.lsp.Client
---@param action lsp.CodeAction
function M._run(server, action)
  require("redraft.edit").from_action(action.command, { client_id = server.id })
end

return M
