--- The target of an edit: a place in a buffer that moves with the text, held by one extmark.
---
--- Neovim counts columns in bytes, the protocol in the units of an encoding; targets are converted
--- from one to the other here.

local ns = vim.api.nvim_create_namespace("redraft.target")

---@class redraft.Target
---@field buf integer
---@field scope? redraft.Scope
---@field private mark integer
---@field private n_holds integer how many parts of the plugin need it
local Target = {}
Target.__index = Target

local M = {}

---@class redraft.Place a start and an exclusive end; rows and byte columns, from 0
---@field [1] integer
---@field [2] integer
---@field [3] integer
---@field [4] integer

---@param buf integer
---@param scope? redraft.Scope
---@param place redraft.Place
---@return redraft.Target
local function create(buf, scope, place)
  local self = setmetatable({ buf = buf, scope = scope, n_holds = 1 }, Target)
  self.mark = vim.api.nvim_buf_set_extmark(buf, ns, place[1], place[2], {
    end_row = place[3],
    end_col = place[4],
    end_right_gravity = false,
  })
  return self
end

--- Return the place as it is now; nil where the buffer is gone.
---@return redraft.Place?
function Target:get_place()
  if not vim.api.nvim_buf_is_loaded(self.buf) then
    return nil
  end
  local mark = vim.api.nvim_buf_get_extmark_by_id(self.buf, ns, self.mark, { details = true })
  return mark[1] and { mark[1], mark[2], mark[3].end_row, mark[3].end_col }
end

--- Show `text` behind the target's first line; nil removes it.
---@param text? string
---@param group? string highlight group
function Target:show(text, group)
  local place = self:get_place()
  if place then
    vim.api.nvim_buf_set_extmark(self.buf, ns, place[1], place[2], {
      id = self.mark,
      end_row = place[3],
      end_col = place[4],
      end_right_gravity = false,
      virt_text = text and { { "  " .. text, group or "RedraftProgress" } } or nil,
      hl_mode = "combine",
    })
  end
end

--- Return the place as a range of the protocol; nil where the buffer is gone.
---@param encoding string
---@return lsp.Range?
function Target:get_range(encoding)
  local place = self:get_place()
  if not place then
    return nil
  end
  local function to_position(row, column)
    local line = vim.api.nvim_buf_get_lines(self.buf, row, row + 1, false)[1] or ""
    return { line = row, character = vim.str_utfindex(line, encoding, column, false) }
  end
  return {
    start = to_position(place[1], place[2]),
    ["end"] = to_position(place[3], place[4]),
  }
end

--- Keep the place until it is released once more.
function Target:hold()
  self.n_holds = self.n_holds + 1
end

--- Give up the place; with the last one that holds it, the extmark is gone.
function Target:release()
  self.n_holds = self.n_holds - 1
  if self.n_holds == 0 and vim.api.nvim_buf_is_valid(self.buf) then
    vim.api.nvim_buf_del_extmark(self.buf, ns, self.mark)
  end
end

--- Return the function around a window's cursor, or where there is none, an empty line as the place
--- of an insertion; with the scope `file` the whole file.
---@param win integer
---@param scope? redraft.Scope
---@return redraft.Target
function M.at_cursor(win, scope)
  local row, column = unpack(vim.api.nvim_win_get_cursor(win))
  local buf = vim.api.nvim_win_get_buf(win)
  local line = vim.api.nvim_buf_get_lines(buf, row - 1, row, false)[1] or ""
  column = math.min(column, #line)
  return create(buf, scope, { row - 1, column, row - 1, column })
end

--- Return the byte column behind the character at `column`, from 0.
---@param line string
---@param column integer
local function get_next_column(line, column)
  if column >= #line then
    return #line
  end
  return column + 1 + vim.str_utf_end(line, column + 1)
end

--- Return exactly what is selected from `from` to `to`, rows and byte columns from 0, both
--- inclusive. Of whole lines the last one's ending is left out, so that an edit joins no lines.
---@param buf integer
---@param kind string "v", "V" or CTRL-V
---@param from integer[]
---@param to integer[]
---@return redraft.Target?, string? problem
function M.from_selection(buf, kind, from, to)
  if to[1] < from[1] or (to[1] == from[1] and to[2] < from[2]) then
    from, to = to, from
  end
  if kind == "\22" and from[1] ~= to[1] then
    return nil, "a block of several lines is no range of text: select characters (v) or lines (V)"
  end
  local last = vim.api.nvim_buf_get_lines(buf, to[1], to[1] + 1, false)[1] or ""
  if kind == "V" then
    return create(buf, "selection", { from[1], 0, to[1], #last })
  end
  local stop = vim.o.selection == "exclusive" and math.min(to[2], #last)
    or get_next_column(last, to[2])
  local first = vim.api.nvim_buf_get_lines(buf, from[1], from[1] + 1, false)[1] or ""
  local start = math.min(from[2], #first)
  if from[1] == to[1] and stop <= start then
    return nil, "nothing is selected"
  end
  return create(buf, "selection", { from[1], start, to[1], stop })
end

---@return boolean
function M.is_visual_mode()
  return vim.list_contains({ "v", "V", "\22" }, vim.fn.mode())
end

--- Return to Normal mode, as any command on a selection does.
function M.end_visual_mode()
  if M.is_visual_mode() then
    vim.cmd.normal({ "\27", bang = true })
  end
end

--- Return what is selected in Visual mode, and end that mode.
---@return redraft.Target?, string? problem
function M.from_visual()
  local kind, from, to = vim.fn.mode(), vim.fn.getpos("v"), vim.fn.getpos(".")
  M.end_visual_mode()
  return M.from_selection(
    vim.api.nvim_get_current_buf(),
    kind,
    { from[2] - 1, from[3] - 1 },
    { to[2] - 1, to[3] - 1 }
  )
end

--- Return what lies between two marks of the current buffer, such as "<" and ">".
---@param kind string as for `from_selection`
---@param from string
---@param to string
---@return redraft.Target?, string? problem
function M.from_marks(kind, from, to)
  local buf = vim.api.nvim_get_current_buf()
  local start, stop = vim.api.nvim_buf_get_mark(buf, from), vim.api.nvim_buf_get_mark(buf, to)
  return M.from_selection(buf, kind, { start[1] - 1, start[2] }, { stop[1] - 1, stop[2] })
end

--- Return what a command's range stands for: the selection where it may be '<,'>, else its lines.
---@param range integer how many lines were given; '<,'> are two, and the line in :.Redraft is one
---@param line1 integer from 1
---@param line2 integer
---@return redraft.Target?, string? problem
function M.from_range_of_command(range, line1, line2)
  if range == 2 and vim.fn.line("'<") == line1 and vim.fn.line("'>") == line2 then
    return M.from_marks(vim.fn.visualmode(), "<", ">")
  end
  return M.from_selection(vim.api.nvim_get_current_buf(), "V", { line1 - 1, 0 }, { line2 - 1, 0 })
end

--- Return the place of a protocol's range; a position outside of the buffer is moved to its end.
---@param buf integer
---@param range lsp.Range
---@param encoding string
---@return redraft.Place
local function to_place(buf, range, encoding)
  local count = vim.api.nvim_buf_line_count(buf)
  local function to_row_and_column(position)
    local row = math.min(position.line, count - 1)
    local line = vim.api.nvim_buf_get_lines(buf, row, row + 1, false)[1] or ""
    if position.line > row then
      return row, #line
    end
    return row, vim.str_byteindex(line, encoding, position.character, false)
  end
  local row1, column1 = to_row_and_column(range.start)
  local row2, column2 = to_row_and_column(range["end"])
  return { row1, column1, row2, column2 }
end

---@param buf integer
---@param scope? redraft.Scope
---@param range lsp.Range
---@param encoding string
---@return redraft.Target
function M.from_range(buf, scope, range, encoding)
  return create(buf, scope, to_place(buf, range, encoding))
end

--- Highlight a range of the protocol, or the line where it is empty, and draw the screen.
---@param buf integer
---@param range lsp.Range
---@param encoding string
---@return fun() clear
function M.highlight(buf, range, encoding)
  local place = to_place(buf, range, encoding)
  local is_empty = place[1] == place[3] and place[2] == place[4]
  local mark = vim.api.nvim_buf_set_extmark(buf, ns, place[1], place[2], {
    end_row = place[3],
    end_col = place[4],
    hl_group = "RedraftTarget",
    hl_eol = true,
    line_hl_group = is_empty and "RedraftTarget" or nil,
  })
  vim.cmd.redraw() -- a prompt that waits for keys draws nothing
  return function()
    if vim.api.nvim_buf_is_valid(buf) then
      vim.api.nvim_buf_del_extmark(buf, ns, mark)
    end
  end
end

--- Return why a buffer cannot be edited through the protocol; nil where it can.
---@param buf integer
---@return string?
function M.find_problem(buf)
  local name = vim.api.nvim_buf_get_name(buf)
  if not vim.bo[buf].modifiable then
    return "this buffer cannot be changed ('modifiable' is off)"
  elseif not vim.list_contains({ "", "acwrite" }, vim.bo[buf].buftype) then
    return ("this buffer holds no file ('buftype' is %s)"):format(vim.bo[buf].buftype)
  elseif name == "" then
    return "this buffer has no name, which the server needs: name it with :file NAME"
  end
  -- Neovim ends a line at a line feed, the protocol at a carriage return too: it would count every
  -- line below differently.
  for row, line in ipairs(vim.api.nvim_buf_get_lines(buf, 0, -1, false)) do
    if line:find("\r.") then
      return ("line %d holds a carriage return, which ends a line for the server only"):format(row)
    end
  end
  return nil
end

return M
