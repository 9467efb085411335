--- Edits under way, from the request to the ending: shown, applied, or a message that says why not.

local client = require("redraft.client")
local notify = require("redraft.notify")
local protocol = require("redraft.protocol")
local status = require("redraft.status")

local M = {}

--- An edit under way.
---@class redraft.Session
---@field id string
---@field asked redraft.Asked
---@field client_id integer
---@field encoding string
---@field request? integer
---@field changes redraft.Change[] until it is shown or refused
---@field is_reported boolean
---@field is_over boolean

local sessions = {} ---@type table<string, redraft.Session>
local n_begun = 0

--- Send an edit to the server.
---@param server vim.lsp.Client
---@param asked redraft.Asked
---@param range lsp.Range
function M.start(server, asked, range)
  n_begun = n_begun + 1
  local buf, scope = asked.target.buf, asked.target.scope
  local session = {
    id = ("nvim-%d"):format(n_begun),
    asked = asked,
    client_id = server.id,
    encoding = server.offset_encoding,
    is_reported = false,
    is_over = false,
  }
  sessions[session.id] = session
  session.changes = require("redraft.changes").record(buf, function()
    return not session.is_over
  end)
  ---@type redraft.EditParams
  local params = {
    id = session.id,
    uri = vim.uri_from_bufnr(buf),
    version = vim.lsp.util.buf_versions[buf],
    instruction = asked.instruction,
    title = asked.title,
    scope = scope,
    range = scope ~= "file" and range or nil,
    preview = true,
    partial = true,
  }
  session.request = client.execute(server, protocol.EDIT, params, function(error, answer)
    M._ended(session, error, answer)
  end, buf)
end

--- The server says what it does: the edits that it has not reported on wait, maybe for the model.
---@param said redraft.Status
function M.stands(said)
  status.take(said)
  for _, session in pairs(sessions) do
    if not session.is_reported then
      M._show(session, said.model.state == "loading" and "loading the model" or "waiting")
    end
  end
end

--- The server says how far an edit is.
---@param partial redraft.Partial
function M.progressed(partial)
  status.partial(partial)
  local session = sessions[partial.id]
  if not session then
    return
  end
  session.is_reported = true
  if partial.phase == "prefill" then
    M._show(session, ("reading, %d of %d tokens"):format(partial.done, partial.expected))
  elseif partial.phase == "decode" then
    local speed = partial.tokensPerSecond
    local text = ("writing, %d of about %d tokens"):format(partial.done, partial.expected)
    M._show(session, speed > 0 and ("%s, %.0f tokens/s"):format(text, speed) or text)
  end
end

---@param session redraft.Session
---@param text string
function M._show(session, text)
  if require("redraft.config").get().progress then
    session.asked.target:show("redraft: " .. text)
  end
end

--- Neovim got the answer to a request. If it kept it to itself, the edit was cancelled.
---@param client_id integer
---@param request integer
function M.answered(client_id, request)
  for _, session in pairs(sessions) do
    if session.client_id == client_id and session.request == request then
      M._ended(session, { code = protocol.ErrorCode.CANCELLED, message = "cancelled" })
    end
  end
end

--- The server is gone: so are its edits.
---@param client_id integer
function M.abandon(client_id)
  for _, session in pairs(sessions) do
    if session.client_id == client_id then
      local message = "the server ended before the edit was done; :Redraft retry asks again"
      M._ended(session, { code = protocol.ErrorCode.FAILED, message = message })
    end
  end
end

---@param session redraft.Session
---@param error? lsp.ResponseError
---@param answer? redraft.EditResult
function M._ended(session, error, answer)
  if sessions[session.id] ~= session then
    return
  end
  sessions[session.id] = nil
  session.asked.target:show(nil)
  if answer and answer.outcome == "preview" then
    vim.iter(answer.notes):each(notify.info)
    M._offer(session, answer)
    return
  end
  session.is_over = true
  if answer then
    vim.iter(answer.notes):each(notify.info)
    notify.info("no changes")
  else
    M._refused(error --[[@as lsp.ResponseError]])
  end
end

---@param error lsp.ResponseError
function M._refused(error)
  if error.code == protocol.ErrorCode.CANCELLED then
    notify.info(error.message)
  elseif error.code == protocol.ErrorCode.STALE or error.code == protocol.ErrorCode.FAILED then
    notify.warn(error.message)
  else
    notify.error(error.message)
  end
end

--- Show the edit, or apply it at once if that is wanted.
---@param session redraft.Session
---@param answer redraft.EditPreview
function M._offer(session, answer)
  if require("redraft.config").get().preview == "none" then
    M._propose(session, answer, require("redraft.apply").proposal)
  else
    M._in_normal_mode(function()
      M._propose(session, answer, require("redraft.preview").open)
    end)
  end
end

--- Hand over the edit of the buffer as it is now, or say that it was changed where it is edited.
---@param session redraft.Session
---@param answer redraft.EditPreview
---@param use fun(proposal: redraft.Proposal)
function M._propose(session, answer, use)
  session.is_over = true
  local buf = session.asked.target.buf
  local edits = vim.api.nvim_buf_is_loaded(buf)
    and require("redraft.changes").rebase(answer.edits, session.changes, answer.version)
  if not edits then
    notify.warn("the code being edited was changed meanwhile; :Redraft retry asks again")
    return
  end
  use({
    asked = session.asked,
    edits = edits,
    encoding = session.encoding,
    stats = answer.stats,
    before = vim.api.nvim_buf_get_lines(buf, 0, -1, false),
  })
end

--- Run `show` now, or when the user has stopped typing or selecting: a window that opens under
--- the fingers takes keys that were meant for the text.
---@param show fun()
function M._in_normal_mode(show)
  if vim.api.nvim_get_mode().mode == "n" then
    show()
    return
  end
  notify.info("the edit is ready; it is shown when you are in Normal mode")
  vim.api.nvim_create_autocmd("ModeChanged", {
    pattern = "*:n",
    once = true,
    callback = vim.schedule_wrap(function()
      M._in_normal_mode(show)
    end),
  })
end

--- Cancel the edits of a buffer, or all of them if it has none.
---@param buf integer
---@return integer n_cancelled
function M.cancel(buf)
  local own = vim
    .iter(pairs(sessions))
    :filter(function(_, session)
      return session.asked.target.buf == buf
    end)
    :totable()
  local chosen = #own > 0 and own or vim.iter(pairs(sessions)):totable()
  for _, pair in ipairs(chosen) do
    local session = pair[2]
    local server = vim.lsp.get_client_by_id(session.client_id)
    if server then
      server:notify(protocol.CANCEL_NOTIFICATION, { id = session.id })
    end
  end
  return #chosen
end

return M
