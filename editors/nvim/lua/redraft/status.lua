--- The state of the server, for statuslines. `User RedraftStatus` is triggered by every change.

local M = {}

---@class redraft.StatusLine
---@field state "stopped"|"idle"|"loading"|"working"|"fetching"|"ready"
---@field model string
---@field is_loaded boolean
---@field phase? redraft.Phase of a running edit
---@field tokens_per_second number 0 unless the model is writing
---@field percentage? integer of a download
---@field n_ready integer how many edits wait for `:Redraft show`

local server_status ---@type redraft.Status? what the server said last
local edits = {} ---@type table<string, redraft.EditProgress> the running edits, by id
local download ---@type integer? how much of a model is downloaded, in percent
local n_ready = 0
local published = "" -- the text of the last `User RedraftStatus`

---@return redraft.StatusLine
function M.get()
  local model = server_status and server_status.model or { name = "", state = "unloaded" }
  local _, edit = next(edits)
  local state = "idle"
  if not server_status or not require("redraft.client").get_any() then
    state = "stopped"
  elseif download then
    state = "fetching"
  elseif model.state == "loading" then
    state = "loading"
  elseif edit then
    state = "working"
  elseif n_ready > 0 then
    state = "ready"
  end
  return {
    state = state,
    model = vim.fs.basename(model.name):gsub("%.gguf$", ""),
    is_loaded = model.state == "loaded",
    phase = edit and edit.phase,
    tokens_per_second = edit and edit.tokensPerSecond or 0,
    percentage = download,
    n_ready = n_ready,
  }
end

--- Return the status in a few words; "" without a server.
---@return string
function M.format()
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
  elseif status.state == "ready" then
    return ("redraft: %d %s ready"):format(n_ready, n_ready == 1 and "edit" or "edits")
  end
  return ("redraft: %s%s"):format(status.model, status.is_loaded and "" or " (not loaded)")
end

--- Trigger `User RedraftStatus`, if the text has changed.
function M._publish()
  local text = M.format()
  if text == published then
    return
  end
  published = text
  vim.api.nvim_exec_autocmds("User", {
    pattern = "RedraftStatus",
    modeline = false,
    data = M.get(),
  })
  vim.cmd.redrawstatus()
end

--- Take in what the server says of itself.
---@param status redraft.Status
function M.update(status)
  server_status, edits = status, {}
  for _, edit in ipairs(status.edits) do
    edits[edit.id] = edit
  end
  M._publish()
end

--- Take in how far an edit is.
---@param partial redraft.Partial
function M.update_edit(partial)
  edits[partial.id] = partial
  M._publish()
end

--- Take in how much of a model is downloaded, in percent; nil when the download has ended.
---@param percentage? integer
function M.update_download(percentage)
  download = percentage
  M._publish()
end

--- Take in how many edits wait to be shown.
---@param n integer
function M.update_ready(n)
  n_ready = n
  M._publish()
end

--- Forget all that a server said which is gone.
function M.reset()
  server_status, edits, download = nil, {}, nil
  M._publish()
end

return M
