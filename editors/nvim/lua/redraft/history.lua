--- The former instructions, kept in a file of Neovim's state folder: one JSON string a line, the
--- newest last. Only the user may read it: instructions tell of code.

local M = {}

---@return string
function M.get_path()
  return vim.fs.joinpath(vim.fn.stdpath("state") --[[@as string]], "redraft", "history.jsonl")
end

--- Return the former instructions, the newest last. Damaged lines are skipped, and a file that is
--- missing is an empty one.
---@return string[]
function M.load()
  local file = io.open(M.get_path(), "r")
  if not file then
    return {}
  end
  local instructions = {}
  for line in file:lines() do
    local ok, instruction = pcall(vim.json.decode, line)
    if ok and type(instruction) == "string" then
      table.insert(instructions, instruction)
    end
  end
  file:close()
  return instructions
end

--- Remember an instruction as the newest, once.
---@param instruction string
function M.add(instruction)
  local limit = require("redraft.config").get().history
  -- The file is read each time: other Neovims add to it, too.
  local instructions = vim.tbl_filter(function(former)
    return former ~= instruction
  end, M.load())
  table.insert(instructions, instruction)
  instructions = vim.list_slice(instructions, math.max(1, #instructions - limit + 1))
  M._save(limit == 0 and {} or instructions)
end

---@param instructions string[]
function M._save(instructions)
  local lines = vim.tbl_map(function(instruction)
    return vim.json.encode(instruction) .. "\n"
  end, instructions)
  vim.fn.mkdir(vim.fs.dirname(M.get_path()), "p", tonumber("700", 8))
  -- Written beside the file and renamed: another Neovim never reads half of it.
  local temporary = ("%s.%d"):format(M.get_path(), vim.uv.os_getpid())
  local file, problem = vim.uv.fs_open(temporary, "w", tonumber("600", 8))
  if not file then
    require("redraft.notify").warn("the history is not kept: " .. problem)
    return
  end
  vim.uv.fs_write(file, table.concat(lines))
  vim.uv.fs_close(file)
  vim.uv.fs_rename(temporary, M.get_path())
end

--- Return the instructions that begin with `lead`, the newest first: a 'customlist' completion.
---@param lead string
---@return string[]
function M.complete(lead)
  return vim
    .iter(M.load())
    :rev()
    :filter(function(instruction)
      return vim.startswith(instruction, lead)
    end)
    :totable()
end

return M
