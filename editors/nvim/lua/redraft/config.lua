--- The plugin's own options, `vim.g.redraft`. The server's are the section `redraft` of the
--- settings in `vim.lsp.config("redraft", ...)`, and never pass through here.

local M = {}

--- What `vim.g.redraft` may hold.
---@class redraft.Options
---@field preview? "tab"|"float"|"none" a diff in a tab page or a window; none: apply at once
---@field keys? redraft.Keys
---@field history? integer how many instructions are remembered; 0: none
---@field progress? boolean show at the target how far an edit is

--- Keys in a preview; "" or false: no key.
---@class redraft.Keys
---@field accept? string|false
---@field reject? string|false
---@field retry? string|false

---@type redraft.Options
M.defaults = {
  preview = "tab",
  keys = { accept = "a", reject = "q", retry = "r" },
  history = 200,
  progress = true,
}

---@type table<string, { is_valid: fun(value: any): (boolean), expected: string }>
local rules = {
  preview = {
    is_valid = function(value)
      return vim.list_contains({ "tab", "float", "none" }, value)
    end,
    expected = '"tab", "float" or "none"',
  },
  keys = {
    is_valid = function(value)
      return type(value) == "table"
        and vim.iter(value):all(function(name, key)
          return M.defaults.keys[name] and (type(key) == "string" or key == false)
        end)
    end,
    expected = "a table with the keys accept, reject and retry, each a key or false",
  },
  history = {
    is_valid = function(value)
      return type(value) == "number" and value >= 0 and value % 1 == 0
    end,
    expected = "a whole number, 0 or more",
  },
  progress = {
    is_valid = function(value)
      return type(value) == "boolean"
    end,
    expected = "true or false",
  },
}

--- Return the options, and what is wrong with `vim.g.redraft`: a wrong option has its default.
---@return redraft.Options options, string[] problems
function M.read()
  local given, problems = vim.g.redraft or {}, {}
  if type(given) ~= "table" then
    return M.defaults, { "vim.g.redraft must be a table, not " .. vim.inspect(given) }
  end
  local valid = {}
  for name, value in pairs(given) do
    local rule = rules[name]
    if not rule then
      local names = table.concat(vim.fn.sort(vim.tbl_keys(rules)), ", ")
      table.insert(problems, ("vim.g.redraft.%s: no such option; there are %s"):format(name, names))
    elseif rule.is_valid(value) then
      valid[name] = value
    else
      local message = "vim.g.redraft.%s must be %s, not %s"
      table.insert(problems, message:format(name, rule.expected, vim.inspect(value)))
    end
  end
  return vim.tbl_deep_extend("force", M.defaults, valid), problems
end

local reported = {} ---@type table<string, true> problems the user was told of

--- Return the options; tell the user once what is wrong with `vim.g.redraft`.
---@return redraft.Options
function M.get()
  local options, problems = M.read()
  for _, problem in ipairs(problems) do
    if not reported[problem] then
      reported[problem] = true
      require("redraft.notify").warn(problem)
    end
  end
  return options
end

return M
