--- Edits that wait for the user's decision, and the preview of one of them: beside the buffer in a
--- tab page, or as a unified diff in a floating window. Closing a preview, however that is done,
--- rejects its edit.
---
--- A preview opens by itself only where the user has stayed; else the edit is announced and waits
--- for `:Redraft show`. An edit that cannot be shown waits, too.

local apply = require("redraft.apply")
local edit = require("redraft.edit")
local notify = require("redraft.notify")
local status = require("redraft.status")

local M = {}

---@class redraft.Preview
---@field proposal redraft.Proposal
---@field buf integer what is shown: the proposed text, or the diff
---@field windows integer[] of the preview; in a tab page the buffer's own is the first
---@field origin integer the window to go back to

local current ---@type redraft.Preview?
local waiting = {} ---@type redraft.Proposal[] the oldest first

local group = vim.api.nvim_create_augroup("redraft.preview", {})

--- Open the preview of a proposal, or announce that it is ready.
---@param proposal redraft.Proposal
---@param may_open boolean
function M.present(proposal, may_open)
  proposal.record.on_unload = function()
    M._remove(proposal)
  end
  table.insert(waiting, proposal)
  if may_open then
    M._open(proposal)
  else
    local name = vim.fs.basename(vim.api.nvim_buf_get_name(proposal.request.target.buf))
    notify.info(("the edit of %s is ready; :Redraft show opens it"):format(name))
  end
  M._update_marks()
end

--- Open the preview that waits nearest to the cursor, or else has waited longest.
function M.show()
  local proposal = M._find_waiting()
  if proposal then
    M._open(proposal)
    M._update_marks()
  elseif current then
    vim.api.nvim_set_current_win(current.windows[#current.windows])
  else
    notify.info("no edit waits to be shown")
  end
end

---@return redraft.Proposal?
function M._find_waiting()
  local buf, row = vim.api.nvim_get_current_buf(), vim.api.nvim_win_get_cursor(0)[1] - 1
  local nearest, least = waiting[1], math.huge
  for _, proposal in ipairs(waiting) do
    local place = proposal.request.target:get_place()
    if place and proposal.request.target.buf == buf then
      local distance = math.max(place[1] - row, row - place[3], 0)
      if distance < least then
        nearest, least = proposal, distance
      end
    end
  end
  return nearest
end

--- Show at each target, and in the status, which edits wait.
function M._update_marks()
  for _, proposal in ipairs(waiting) do
    proposal.request.target:show("redraft: ready, :Redraft show", "RedraftReady")
  end
  status.update_ready(#waiting)
end

--- Take a proposal out of those that wait; return false where it was none of them.
---@param proposal redraft.Proposal
---@return boolean
function M._remove(proposal)
  for n, candidate in ipairs(waiting) do
    if candidate == proposal then
      table.remove(waiting, n)
      proposal.request.target:show(nil)
      M._update_marks()
      return true
    end
  end
  return false
end

--- Show a proposal that waits. The one that is shown waits from then on.
---@param proposal redraft.Proposal
function M._open(proposal)
  local problem = vim.fn.getcmdwintype() ~= ""
      and "the edit is kept, but cannot be shown in the command-line window (E11)"
    or apply.find_problem(proposal)
  if problem then
    notify.warn(problem)
    return
  end
  if current then
    table.insert(waiting, current.proposal)
    M._take_down(current)
  end
  local preview = {
    proposal = proposal,
    origin = vim.api.nvim_get_current_win(),
    windows = {},
  } ---@type redraft.Preview
  local before = vim.api.nvim_list_wins()
  -- Autocommands, plugins and the command-line window can make any step fail.
  local is_built, message = pcall(M._build, preview)
  if not is_built then
    preview.windows = vim.tbl_filter(function(window)
      return not vim.list_contains(before, window)
    end, vim.api.nvim_list_wins())
    M._take_down(preview)
    notify.error(("the edit is kept, but cannot be shown: %s"):format(message))
    return
  end
  current = preview
  M._remove(proposal)
end

--- Create the buffer and the windows of a preview.
---@param preview redraft.Preview
function M._build(preview)
  local proposal = preview.proposal
  -- It has no name: no other buffer can be in its way.
  preview.buf = vim.api.nvim_create_buf(false, true)
  vim.bo[preview.buf].bufhidden = "wipe"
  vim.bo[preview.buf].undolevels = -1
  M._fill(preview)
  local is_float = require("redraft.config").get().preview == "float"
  preview.windows = (is_float and M._open_float or M._open_tab)(proposal, preview.buf)
  M._set_keys(preview.buf)
  proposal.record.on_change = vim.schedule_wrap(function()
    if current == preview and apply.update(proposal) then
      M._fill(preview)
    end
  end)
  vim.api.nvim_create_autocmd("BufWipeout", {
    group = group,
    buffer = preview.buf,
    callback = vim.schedule_wrap(M.close),
  })
  vim.api.nvim_set_current_win(preview.windows[#preview.windows])
end

--- Write the edited text into the preview's buffer; for a floating window, the diff.
---@param preview redraft.Preview
function M._fill(preview)
  local proposal, buf = preview.proposal, preview.buf
  local source = vim.bo[proposal.request.target.buf]
  vim.bo[buf].modifiable = true
  for _, option in ipairs({ "fileformat", "endofline", "fixendofline", "tabstop", "vartabstop" }) do
    vim.bo[buf][option] = source[option]
  end
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, proposal.before)
  apply.apply_edits(buf, proposal.edits, proposal.encoding)
  if require("redraft.config").get().preview == "float" then
    local function join(rows)
      return table.concat(rows, "\n") .. "\n"
    end
    local after = vim.api.nvim_buf_get_lines(buf, 0, -1, false)
    local diff = vim.diff(join(proposal.before), join(after), { ctxlen = 3 }) --[[@as string]]
    vim.api.nvim_buf_set_lines(buf, 0, -1, false, vim.split(diff, "\n", { trimempty = true }))
  end
  vim.bo[buf].modifiable = false
end

---@param proposal redraft.Proposal
---@param after integer
---@return integer[] windows
function M._open_tab(proposal, after)
  local source = proposal.request.target.buf
  -- The colours of the language, but not its 'filetype': no plugin has work to do here.
  local highlighter = vim.treesitter.highlighter.active[source]
  if highlighter then
    vim.treesitter.start(after, highlighter.tree:lang())
  else
    vim.bo[after].syntax = vim.bo[source].syntax
  end
  vim.cmd("tab split")
  local beside = vim.api.nvim_get_current_win()
  vim.wo[beside][0].winfixbuf = false
  vim.api.nvim_win_set_buf(beside, source)
  local win = vim.api.nvim_open_win(after, true, { split = "right", win = beside })
  for _, window in ipairs({ beside, win }) do
    vim.api.nvim_win_call(window, vim.cmd.diffthis)
  end
  vim.wo[win][0].winbar = M._format_winbar(proposal, vim.api.nvim_win_get_width(win))
  vim.wo[beside][0].winbar = " %t" -- as high as the other one: the lines are level
  local n_lines = vim.api.nvim_buf_line_count(after)
  vim.api.nvim_win_set_cursor(win, { math.min(M._find_row(proposal) + 1, n_lines), 0 })
  vim.api.nvim_create_autocmd("WinClosed", {
    group = group,
    pattern = tostring(beside),
    callback = function()
      M._restore_window(beside)
      vim.schedule(M.close)
    end,
  })
  return { beside, win }
end

--- Return the row of the first change of the target in the proposed text.
---@param proposal redraft.Proposal
---@return integer
function M._find_row(proposal)
  local row = proposal.edits[proposal.main].range.start.line
  for n = 1, proposal.main - 1 do
    local range, new_text = proposal.edits[n].range, proposal.edits[n].newText
    local _, n_new = new_text:gsub("\r\n", "\n"):gsub("[\r\n]", "")
    row = row + n_new - (range["end"].line - range.start.line)
  end
  return row
end

--- Undo what the preview did to the buffer's window. This comes before the window is closed: the
--- buffer's next window would take over its options.
---@param beside integer
function M._restore_window(beside)
  vim.api.nvim_win_call(beside, vim.cmd.diffoff)
  vim.wo[beside][0].winbar = nil
end

---@param proposal redraft.Proposal
---@param buf integer
---@return integer[] windows
function M._open_float(proposal, buf)
  local lines = vim.api.nvim_buf_get_lines(buf, 0, -1, false)
  vim.bo[buf].syntax = "diff"
  local widest = vim.iter(lines):map(vim.fn.strdisplaywidth):fold(60, math.max)
  local width = math.min(vim.o.columns - 4, widest)
  local height = math.min(vim.o.lines - 6, #lines)
  local win = vim.api.nvim_open_win(buf, true, {
    relative = "editor",
    row = math.floor((vim.o.lines - height) / 2) - 1,
    col = math.floor((vim.o.columns - width) / 2) - 1,
    width = width,
    height = height,
    style = "minimal",
    border = vim.o.winborder == "" and "rounded" or nil,
    title = " " .. M._format_title(proposal, width - 4) .. " ",
    footer = " " .. M._format_hints() .. " ",
  })
  return { win }
end

---@param proposal redraft.Proposal
---@param width integer at most
---@return string
function M._format_title(proposal, width)
  local request = proposal.request
  local title = "redraft: " .. vim.split(request.title or request.instruction, "\n")[1]
  return #title <= width and title or vim.fn.strcharpart(title, 0, width - 3) .. "..."
end

---@return string such as "a accept  q reject  r retry"
function M._format_hints()
  local keys = require("redraft.config").get().keys
  return vim
    .iter({ "accept", "reject", "retry" })
    :filter(function(name)
      return (keys[name] or "") ~= ""
    end)
    :map(function(name)
      return keys[name] .. " " .. name
    end)
    :join("  ")
end

---@param proposal redraft.Proposal
---@param width integer of the window
---@return string for 'winbar'
function M._format_winbar(proposal, width)
  local function escape(text)
    return (text:gsub("%%", "%%%%"))
  end
  local hints = M._format_hints()
  local room = width - vim.fn.strdisplaywidth(hints) - 4
  -- The keys come first: of a window that is 40 columns wide they leave no room for a title.
  local title = room < 20 and "" or M._format_title(proposal, room)
  return (" %s%%=%s "):format(escape(title), escape(hints))
end

---@param buf integer
function M._set_keys(buf)
  for name, key in pairs(require("redraft.config").get().keys) do
    if key and key ~= "" then
      vim.keymap.set("n", key, M[name], {
        buffer = buf,
        nowait = true,
        desc = "redraft: " .. name,
      })
    end
  end
end

--- Close what a preview has opened, as far as it came.
---@param preview redraft.Preview
function M._take_down(preview)
  current = nil
  preview.proposal.record.on_change = nil
  vim.api.nvim_clear_autocmds({ group = group })
  for _, window in ipairs(preview.windows) do
    if vim.api.nvim_win_is_valid(window) then
      M._restore_window(window)
      -- Fails for the last window, which has the file in it then; an autocommand may fail, too.
      pcall(vim.api.nvim_win_close, window, true)
    end
  end
  if preview.buf and vim.api.nvim_buf_is_valid(preview.buf) then
    pcall(vim.api.nvim_buf_delete, preview.buf, { force = true })
  end
  local origin = preview.origin
  if vim.api.nvim_get_current_win() ~= origin and vim.api.nvim_win_is_valid(origin) then
    vim.api.nvim_set_current_win(origin)
  end
end

--- Close the preview, if there is one; its edit is rejected.
function M.close()
  if current then
    current.proposal.record:stop()
    M._take_down(current)
  end
end

--- Apply what is shown. What cannot be applied stays, for another try.
function M.accept()
  local preview = current
  if not preview then
    notify.info("no edit is shown")
    return
  end
  local problem = apply.find_problem(preview.proposal)
  if problem then
    notify.warn(problem)
    return
  end
  M._take_down(preview)
  apply.apply_proposal(preview.proposal)
  M._drop_outdated(preview.proposal.request.target.buf)
end

--- Drop what was to change the same code as an edit that was accepted.
---@param buf integer
function M._drop_outdated(buf)
  local outdated = vim.tbl_filter(function(proposal)
    return proposal.request.target.buf == buf and not apply.update(proposal)
  end, waiting)
  for _, proposal in ipairs(outdated) do
    M._remove(proposal)
    proposal.record:stop()
  end
end

--- Reject what is shown, or else what `:Redraft show` would show.
function M.reject()
  local proposal = not current and M._find_waiting()
  if current then
    M.close()
  elseif proposal then
    M._remove(proposal)
    proposal.record:stop()
    notify.info("rejected; nothing was changed")
  else
    notify.info("no edit is shown")
  end
end

--- Reject everything that is shown or waits.
function M.clear()
  M.close()
  for _, proposal in ipairs(vim.list_slice(waiting)) do
    M._remove(proposal)
    proposal.record:stop()
  end
end

--- Ask for another instruction; what is shown stays until there is one.
function M.retry()
  edit.retry(current and current.proposal.request, M.close)
end

return M
