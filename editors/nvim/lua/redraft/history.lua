--- The instructions given before, the newest last: one JSON string a line, in Neovim's state
--- folder. Only the user may read the file, for instructions tell of code.

local M = {}

---@return string
function M.path()
  return vim.fs.joinpath(vim.fn.stdpath("state") --[[@as string]], "redraft", "history.jsonl")
end

--- What was asked before, the newest last. A file that is not there or damaged is as an empty one.
---@return string[]
function M.load()
  local file = io.open(M.path(), "r")
  if not file then
    return {}
  end
  local found = {}
  for line in file:lines() do
    local ok, instruction = pcall(vim.json.decode, line)
    if ok and type(instruction) == "string" then
      table.insert(found, instruction)
    end
  end
  file:close()
  return found
end

--- Remember an instruction as the newest, once.
---@param instruction string
function M.add(instruction)
  local limit = require("redraft.config").get().history
  -- Read again each time: other Neovims add to the same file.
  local kept = vim.tbl_filter(function(each)
    return each ~= instruction
  end, M.load())
  table.insert(kept, instruction)
  kept = vim.list_slice(kept, math.max(1, #kept - limit + 1))
  M.save(limit == 0 and {} or kept)
end

---@param instructions string[]
function M.save(instructions)
  local lines = vim.tbl_map(function(each)
    return vim.json.encode(each) .. "\n"
  end, instructions)
  vim.fn.mkdir(vim.fs.dirname(M.path()), "p", tonumber("700", 8))
  local new = ("%s.%d"):format(M.path(), vim.uv.os_getpid())
  local file, problem = vim.uv.fs_open(new, "w", tonumber("600", 8))
  if not file then
    require("redraft.notify").warn("the history is not kept: " .. problem)
    return
  end
  vim.uv.fs_write(file, table.concat(lines))
  vim.uv.fs_close(file)
  vim.uv.fs_rename(new, M.path())
end

--- For 'customlist' completion: the instructions that begin so, the newest first.
---@param lead string
---@return string[]
function M.complete(lead)
  return vim
    .iter(M.load())
    :rev()
    :filter(function(each)
      return vim.startswith(each, lead)
    end)
    :totable()
end

return M
