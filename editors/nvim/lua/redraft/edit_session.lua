--- Running edits, from the request to its end: previewed, applied, or a message that says why not.

local client = require("redraft.client")
local notify = require("redraft.notify")
local protocol = require("redraft.protocol")
local status = require("redraft.status")

local M = {}

--- A running edit.
---@class redraft.EditSession
---@field id string
---@field request redraft.EditRequest
---@field client_id integer
---@field encoding string
---@field request_id? integer
---@field presence redraft.Presence
---@field record redraft.ChangeRecord what changed since the request
---@field has_progress boolean whether the server has said how far it is

local sessions = {} ---@type table<string, redraft.EditSession>
local withheld = {} ---@type table<integer, redraft.Proposal> refused edits, by buffer
local n_started = 0

--- Send an edit to the server.
---@param server vim.lsp.Client
---@param request redraft.EditRequest
---@param range lsp.Range
---@param presence redraft.Presence
function M.start(server, request, range, presence)
  n_started = n_started + 1
  local target = request.target
  local buf, scope = target.buf, target.scope
  target:hold()
  local session = {
    id = ("nvim-%d"):format(n_started),
    request = request,
    client_id = server.id,
    encoding = server.offset_encoding,
    presence = presence,
    record = require("redraft.changes").record(buf, function()
      target:release()
    end),
    has_progress = false,
  }
  sessions[session.id] = session
  ---@type redraft.EditParams
  local params = {
    id = session.id,
    uri = vim.uri_from_bufnr(buf),
    version = vim.lsp.util.buf_versions[buf],
    instruction = request.instruction,
    title = request.title,
    scope = scope,
    range = scope ~= "file" and range or nil,
    anotherVersion = request.another_version,
    preview = true,
    partial = true,
  }
  session.request_id = client.execute(server, protocol.EDIT, params, function(error, result)
    M._finish(session, error, result)
  end, buf)
end

--- Take in the server's status: edits that it has not reported on yet wait, maybe for the model.
---@param server_status redraft.Status
function M.update_status(server_status)
  status.update(server_status)
  local is_loading = server_status.model.state == "loading"
  for _, session in pairs(sessions) do
    if not session.has_progress then
      M._show_progress(session, is_loading and "loading the model" or "waiting")
    end
  end
end

--- Take in how far an edit is.
---@param partial redraft.Partial
function M.update_progress(partial)
  status.update_edit(partial)
  local session = sessions[partial.id]
  if not session then
    return
  end
  session.has_progress = true
  if partial.phase == "prefill" then
    M._show_progress(session, ("reading, %d of %d tokens"):format(partial.done, partial.expected))
  elseif partial.phase == "decode" then
    local speed = partial.tokensPerSecond
    local text = ("writing, %d of about %d tokens"):format(partial.done, partial.expected)
    M._show_progress(session, speed > 0 and ("%s, %.0f tokens/s"):format(text, speed) or text)
  end
end

---@param session redraft.EditSession
---@param text string
function M._show_progress(session, text)
  if require("redraft.config").get().progress then
    session.request.target:show("redraft: " .. text)
  end
end

--- End the edit of a request that is complete. One that has a result ended before: Neovim keeps the
--- answer "cancelled" to itself, so that an edit without one was cancelled.
---@param client_id integer
---@param request_id integer
function M.handle_complete(client_id, request_id)
  for _, session in pairs(sessions) do
    if session.client_id == client_id and session.request_id == request_id then
      M._finish(session, { code = protocol.ErrorCode.CANCELLED, message = "cancelled" })
    end
  end
end

--- End all edits of a server that is gone.
---@param client_id integer
function M.abandon(client_id)
  for _, session in pairs(sessions) do
    if session.client_id == client_id then
      local message = "the server ended before the edit was done; :Redraft retry asks again"
      M._finish(session, { code = protocol.ErrorCode.FAILED, message = message })
    end
  end
end

---@param session redraft.EditSession
---@param error? lsp.ResponseError
---@param result? redraft.EditResult
function M._finish(session, error, result)
  if sessions[session.id] ~= session then
    return
  end
  sessions[session.id] = nil
  session.request.target:show(nil)
  if result and result.outcome == "preview" then
    vim.iter(result.notes):each(notify.info)
    local proposal = M._create_proposal(session, result)
    if proposal then
      M._deliver(proposal, session.presence)
    end
    return
  end
  local refused_edit = error and M._read_withheld(error)
  local proposal = refused_edit and M._create_proposal(session, refused_edit)
  if proposal then
    local buf = session.request.target.buf
    if withheld[buf] then
      withheld[buf].record:stop()
    end
    withheld[buf] = proposal
    vim.iter(refused_edit.notes):each(notify.info)
    notify.warn(error.message .. "; :Redraft anyway shows the edit")
    return
  end
  session.record:stop()
  if result then
    vim.iter(result.notes):each(notify.info)
    local hint = "; :Redraft another asks for another version"
    notify.info("no changes" .. (session.request.another_version and "" or hint))
  else
    M._report_error(error --[[@as lsp.ResponseError]])
  end
end

---@param error lsp.ResponseError
---@return redraft.EditPreview? edit that was refused
function M._read_withheld(error)
  local refusal = error.code == protocol.ErrorCode.FAILED and error.data --[[@as redraft.Refusal?]]
  return refusal and refusal.withheld or nil
end

--- Show the last edit of a buffer that was refused, for the user to accept it anyway.
---@param buf integer
function M.show_withheld(buf)
  local proposal = withheld[buf]
  if not proposal then
    notify.info("no edit of this buffer was refused")
    return
  end
  withheld[buf] = nil
  require("redraft.preview").present(proposal, true)
end

---@param error lsp.ResponseError
function M._report_error(error)
  if error.code == protocol.ErrorCode.CANCELLED then
    notify.info(error.message)
  elseif error.code == protocol.ErrorCode.STALE or error.code == protocol.ErrorCode.FAILED then
    notify.warn(error.message)
  else
    notify.error(error.message)
  end
end

--- Preview the edit, or apply it at once where the options say so.
---@param proposal redraft.Proposal
---@param presence redraft.Presence
function M._deliver(proposal, presence)
  if require("redraft.config").get().preview == "none" then
    local apply = require("redraft.apply")
    if not apply.find_problem(proposal) then
      apply.apply_proposal(proposal)
      return
    end
  end
  -- Also what cannot be applied now is not lost.
  local has_stayed = presence:has_stayed(proposal.request.target.buf)
  require("redraft.preview").present(proposal, has_stayed)
end

--- Return the edit for the buffer as it is now; nil, and tell the user, where the edited lines were
--- changed.
---@param session redraft.EditSession
---@param result redraft.EditPreview
---@return redraft.Proposal?
function M._create_proposal(session, result)
  local buf, record = session.request.target.buf, session.record
  local edits = vim.api.nvim_buf_is_loaded(buf)
    and require("redraft.changes").rebase(result.edits, record.changes, result.version)
  if not edits then
    record:stop()
    notify.warn("the code being edited was changed meanwhile; :Redraft retry asks again")
    return nil
  end
  record.changes = {}
  return {
    request = session.request,
    edits = edits,
    main = M._find_main(result),
    encoding = session.encoding,
    stats = result.stats,
    callers = result.callers,
    before = vim.api.nvim_buf_get_lines(buf, 0, -1, false),
    record = record,
  }
end

--- Return the index of the first edit in the target; 1 where none is in it.
---@param result redraft.EditPreview
---@return integer
function M._find_main(result)
  local target = result.target.start
  for n, edit in ipairs(result.edits) do
    local line, column = edit.range.start.line, edit.range.start.character
    if line > target.line or (line == target.line and column >= target.character) then
      return n
    end
  end
  return 1
end

--- Cancel the edits of a buffer, or all of them if it has none.
---@param buf integer
---@return integer n_cancelled
function M.cancel(buf)
  local all = vim.tbl_values(sessions) ---@type redraft.EditSession[]
  local of_buffer = vim.tbl_filter(function(session)
    return session.request.target.buf == buf
  end, all)
  local chosen = #of_buffer > 0 and of_buffer or all
  for _, session in ipairs(chosen) do
    local server = vim.lsp.get_client_by_id(session.client_id)
    if server then
      server:notify(protocol.CANCEL_NOTIFICATION, { id = session.id })
    end
  end
  return #chosen
end

return M
