--- Asking the user for an instruction.

local history = require("redraft.history")

local M = {}

---@class redraft.Question
---@field question? string
---@field default? string
---@field done fun(instruction: string?) nil where the user gave none

---@param asked redraft.Question
function M.ask(asked)
  -- So that <Up> finds them in Neovim's own prompt; other ones have their own ways.
  vim.iter(history.load()):each(function(each)
    vim.fn.histadd("input", each)
  end)
  vim.ui.input({
    prompt = (asked.question or "Redraft:") .. " ",
    default = asked.default,
    completion = "customlist,v:lua.require'redraft.history'.complete",
  }, function(answer)
    local instruction = vim.trim(answer or "")
    if instruction == "" then
      asked.done(nil)
      return
    end
    history.add(instruction)
    asked.done(instruction)
  end)
end

--- Choose one of the instructions given before, then change it.
---@param asked redraft.Question
function M.choose(asked)
  local known = vim.iter(history.load()):rev():totable()
  if #known == 0 then
    require("redraft.notify").info("no instruction was given yet")
    asked.done(nil)
    return
  end
  vim.ui.select(known, { prompt = "Redraft with:", kind = "redraft.history" }, function(chosen)
    if chosen then
      M.ask(vim.tbl_extend("force", asked, { default = chosen }))
    else
      asked.done(nil)
    end
  end)
end

return M
