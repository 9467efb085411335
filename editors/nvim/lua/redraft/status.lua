--- What the server is doing, for statuslines. `User RedraftStatus` tells of every change.

local M = {}

---@class redraft.StatusLine
---@field state "stopped"|"idle"|"loading"|"working"|"fetching"
---@field model string
---@field is_loaded boolean
---@field phase? redraft.Phase of an edit under way
---@field tokens_per_second number 0 unless the model is writing
---@field percentage? integer of a download

local known ---@type redraft.Status? what the server said last
local partials = {} ---@type table<string, redraft.EditProgress> the edits under way
local fetched ---@type integer? how much of a model is downloaded, in percent
local shown = ""

---@return redraft.StatusLine
function M.get()
  local model = known and known.model or { name = "", state = "unloaded" }
  local _, edit = next(partials)
  local state = "idle"
  if not known or not require("redraft.client").any() then
    state = "stopped"
  elseif fetched then
    state = "fetching"
  elseif model.state == "loading" then
    state = "loading"
  elseif edit then
    state = "working"
  end
  return {
    state = state,
    model = vim.fs.basename(model.name):gsub("%.gguf$", ""),
    is_loaded = model.state == "loaded",
    phase = edit and edit.phase,
    tokens_per_second = edit and edit.tokensPerSecond or 0,
    percentage = fetched,
  }
end

--- The status in a few words; "" without a server.
---@return string
function M.text()
  local status = M.get()
  if status.state == "stopped" then
    return ""
  elseif status.state == "fetching" then
    return ("redraft: downloading, %d %%"):format(status.percentage)
  elseif status.state == "loading" then
    return "redraft: loading " .. status.model
  elseif status.state == "working" and status.tokens_per_second > 0 then
    return ("redraft: writing, %.0f tokens/s"):format(status.tokens_per_second)
  elseif status.state == "working" then
    return status.phase == "prefill" and "redraft: reading" or "redraft: waiting"
  end
  return ("redraft: %s%s"):format(status.model, status.is_loaded and "" or " (not loaded)")
end

--- Tell of a change, if there is one to be seen.
function M.changed()
  local text = M.text()
  if text == shown then
    return
  end
  shown = text
  vim.api.nvim_exec_autocmds("User", {
    pattern = "RedraftStatus",
    modeline = false,
    data = M.get(),
  })
  vim.cmd.redrawstatus()
end

--- The server says what it does and holds.
---@param status redraft.Status
function M.take(status)
  known, partials = status, {}
  for _, edit in ipairs(status.edits) do
    partials[edit.id] = edit
  end
  M.changed()
end

--- The server says how far an edit is.
---@param partial redraft.Partial
function M.partial(partial)
  partials[partial.id] = partial
  M.changed()
end

--- The server downloads a model, in percent; nil when that has ended.
---@param percentage? integer
function M.fetching(percentage)
  fetched = percentage
  M.changed()
end

--- The server is gone, and with it all that it said.
function M.forget()
  known, partials, fetched = nil, {}, nil
  M.changed()
end

return M
