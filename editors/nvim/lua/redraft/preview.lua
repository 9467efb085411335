--- Previews of proposals: beside the buffer in a tab page, or as a unified diff in a floating
--- window. There is one at a time; closing it, however that is done, rejects the proposal.

local apply = require("redraft.apply")
local edit = require("redraft.edit")
local notify = require("redraft.notify")

local M = {}

---@class redraft.Preview
---@field proposal redraft.Proposal
---@field buf integer what is shown: the proposed text, or the diff
---@field beside? integer the window of the buffer itself, in a tab page
---@field origin integer the window to go back to

local current ---@type redraft.Preview?
local queue = {} ---@type redraft.Proposal[] of other buffers, to be shown later

local group = vim.api.nvim_create_augroup("redraft.preview", {})

--- Show a proposal: in the place of an earlier one for the same buffer, else after the current one.
---@param proposal redraft.Proposal
function M.open(proposal)
  if current and current.proposal.request.target.buf ~= proposal.request.target.buf then
    table.insert(queue, proposal)
    notify.info("another edit is ready; it is shown after this one")
    return
  end
  M.close()
  local after = M._create_proposed_buffer(proposal)
  local origin = vim.api.nvim_get_current_win()
  if require("redraft.config").get().preview == "float" then
    current = M._open_float(proposal, after)
  else
    current = M._open_tab(proposal, after)
  end
  current.proposal, current.origin = proposal, origin
  M._set_keys(current.buf)
  vim.api.nvim_create_autocmd("BufWipeout", {
    group = group,
    buffer = current.buf,
    callback = vim.schedule_wrap(M.close),
  })
end

--- Return a buffer like the edited one, with the edit applied.
---@param proposal redraft.Proposal
---@return integer buf
function M._create_proposed_buffer(proposal)
  local source = proposal.request.target.buf
  local buf = vim.api.nvim_create_buf(false, true)
  vim.bo[buf].undolevels = -1
  for _, option in ipairs({ "fileformat", "endofline", "fixendofline", "tabstop", "vartabstop" }) do
    vim.bo[buf][option] = vim.bo[source][option]
  end
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, proposal.before)
  apply.apply_edits(buf, proposal.edits, proposal.encoding)
  vim.api.nvim_buf_set_name(buf, "redraft://" .. vim.api.nvim_buf_get_name(source))
  vim.bo[buf].buflisted = false
  vim.bo[buf].bufhidden = "wipe"
  vim.bo[buf].modifiable = false
  -- The colours of the language, but not its 'filetype': no plugin has work to do here.
  if vim.treesitter.highlighter.active[source] then
    vim.treesitter.start(buf, vim.treesitter.language.get_lang(vim.bo[source].filetype))
  else
    vim.bo[buf].syntax = vim.bo[source].syntax
  end
  return buf
end

---@param proposal redraft.Proposal
---@param after integer
---@return redraft.Preview
function M._open_tab(proposal, after)
  vim.cmd("tab split")
  local beside = vim.api.nvim_get_current_win()
  vim.wo[beside][0].winfixbuf = false
  vim.api.nvim_win_set_buf(beside, proposal.request.target.buf)
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
  return { buf = after, beside = beside }
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
---@param after integer
---@return redraft.Preview
function M._open_float(proposal, after)
  local lines = M._diff_lines(proposal, after)
  vim.api.nvim_buf_delete(after, { force = true })
  local buf = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, lines)
  vim.bo[buf].syntax = "diff"
  vim.bo[buf].tabstop = vim.bo[proposal.request.target.buf].tabstop
  vim.bo[buf].bufhidden = "wipe"
  vim.bo[buf].modifiable = false
  local widest = vim.iter(lines):map(vim.fn.strdisplaywidth):fold(60, math.max)
  local width = math.min(vim.o.columns - 4, widest)
  local height = math.min(vim.o.lines - 6, #lines)
  vim.api.nvim_open_win(buf, true, {
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
  return { buf = buf }
end

---@param proposal redraft.Proposal
---@param after integer
---@return string[]
function M._diff_lines(proposal, after)
  local function join(lines)
    return table.concat(lines, "\n") .. "\n"
  end
  local new = vim.api.nvim_buf_get_lines(after, 0, -1, false)
  local diff = vim.diff(join(proposal.before), join(new), { ctxlen = 3 }) --[[@as string]]
  return vim.split(diff, "\n", { trimempty = true })
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
  local title = M._format_title(proposal, math.max(20, width - #hints - 4))
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

--- Close the preview; nothing is applied.
function M.close()
  local preview = current
  if not preview then
    return
  end
  current = nil
  vim.api.nvim_clear_autocmds({ group = group })
  local beside = preview.beside
  if beside and vim.api.nvim_win_is_valid(beside) then
    M._restore_window(beside)
    if #vim.api.nvim_list_tabpages() > 1 then
      vim.api.nvim_win_close(beside, true)
    end
  end
  if vim.api.nvim_buf_is_valid(preview.buf) then
    vim.api.nvim_buf_delete(preview.buf, { force = true })
  end
  if vim.api.nvim_win_is_valid(preview.origin) then
    vim.api.nvim_set_current_win(preview.origin)
  end
  local next_proposal = table.remove(queue, 1)
  if next_proposal then
    vim.schedule(function()
      M.open(next_proposal)
    end)
  end
end

--- Return the current preview; tell the user where there is none.
---@return redraft.Preview?
local function get_current()
  if not current then
    notify.info("no edit is shown")
  end
  return current
end

--- Apply what is shown. If the buffer was changed since, the preview stays, for another try.
function M.accept()
  local preview = get_current()
  if not preview then
    return
  end
  if not apply.is_current(preview.proposal) then
    notify.warn("the buffer was changed since this was computed: retry, or undo your change")
    return
  end
  M.close()
  apply.apply_proposal(preview.proposal)
end

--- Close the preview without applying it.
function M.reject()
  if get_current() then
    M.close()
  end
end

--- Ask for another instruction; what is shown stays until there is one.
function M.retry()
  edit.retry(current and current.proposal.request, M.close)
end

return M
