--- Asking the user for an instruction.

local history = require("redraft.history")

local M = {}

---@class redraft.Question
---@field question? string
---@field target_name? string what will be edited
---@field default? string
---@field done fun(instruction: string?) nil where the user gave none

--- Ask for an instruction and remember it.
---@param question redraft.Question
function M.ask(question)
  -- <Up> finds them in Neovim's own prompt. Plugins that replace it have histories of their own.
  vim.iter(history.load()):each(function(instruction)
    vim.fn.histadd("input", instruction)
  end)
  local name = question.target_name
  local prompt = name and ("Redraft %s:"):format(name) or "Redraft:"
  if question.question then
    prompt = name and ("%s (%s)"):format(question.question, name) or question.question
  end
  vim.ui.input({
    prompt = prompt .. " ",
    default = question.default,
    completion = "customlist,v:lua.require'redraft.history'.complete",
  }, function(answer)
    local instruction = vim.trim(answer or "")
    if instruction == "" then
      question.done(nil)
      return
    end
    history.add(instruction)
    question.done(instruction)
  end)
end

--- Let the user choose one of the former instructions, and change it.
---@param question redraft.Question
function M.choose(question)
  local instructions = vim.iter(history.load()):rev():totable()
  if #instructions == 0 then
    require("redraft.notify").info("no instruction was given yet")
    question.done(nil)
    return
  end
  local options = { prompt = "Redraft with:", kind = "redraft.history" }
  vim.ui.select(instructions, options, function(chosen)
    if chosen then
      M.ask(vim.tbl_extend("force", question, { default = chosen }))
    else
      question.done(nil)
    end
  end)
end

return M
