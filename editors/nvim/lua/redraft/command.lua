--- `:Redraft` and its subcommands.

local notify = require("redraft.notify")

local M = {}

---@class redraft.Subcommand
---@field run fun(rest: string, command: vim.api.keyset.create_user_command.command_args)
---@field takes? "instruction"

--- Remember what was typed as a command like what was typed at the prompt.
---@param rest string
---@return string? instruction
local function instruction_of(rest)
  if rest == "" then
    return nil
  end
  require("redraft.history").add(rest)
  return rest
end

---@param command vim.api.keyset.create_user_command.command_args
---@return boolean is_told
---@return redraft.Target? target
local function selected(command)
  if command.range == 0 then
    return false, nil
  end
  local target, problem = require("redraft.target").lines(command.line1, command.line2)
  if problem then
    notify.warn(problem)
  end
  return problem ~= nil, target
end

--- Something that only a running server can do.
---@param use fun(server: vim.lsp.Client)
local function with_server(use)
  require("redraft.client").with(vim.api.nvim_get_current_buf(), use)
end

---@param name string
local function call(name)
  return function()
    require("redraft")[name]()
  end
end

---@type table<string, redraft.Subcommand>
local subcommands = {
  edit = {
    takes = "instruction",
    run = function(rest, command)
      local is_told, target = selected(command)
      if not is_told then
        require("redraft").edit(instruction_of(rest), target)
      end
    end,
  },
  file = {
    takes = "instruction",
    run = function(rest)
      require("redraft").file(instruction_of(rest))
    end,
  },
  actions = {
    run = function(_, command)
      local is_told, target = selected(command)
      if not is_told then
        require("redraft").actions(target)
      end
    end,
  },
  history = {
    run = function(_, command)
      local is_told, target = selected(command)
      if not is_told then
        target = target or require("redraft.target").at_cursor(0)
        require("redraft.edit").begin(target, { from_history = true })
      end
    end,
  },
  fix = { run = call("fix") },
  cancel = { run = call("cancel") },
  accept = { run = call("accept") },
  reject = { run = call("reject") },
  retry = { run = call("retry") },
  status = {
    run = function()
      local status = require("redraft").status()
      notify.info(status == "" and "no server runs" or (status:gsub("^redraft: ", "")))
    end,
  },
  trace = {
    run = function()
      with_server(function(server)
        require("redraft.trace").show(server)
      end)
    end,
  },
  warm = {
    run = function()
      with_server(function(server)
        require("redraft.client").warm(server, vim.api.nvim_get_current_buf())
      end)
    end,
  },
  reload = {
    run = function()
      with_server(function(server)
        require("redraft.client").reload(server)
      end)
    end,
  },
  restart = {
    run = function()
      require("redraft.restart").restart()
    end,
  },
  stop = {
    run = function()
      require("redraft.restart").stop()
    end,
  },
  log = {
    run = function()
      vim.cmd.tabedit(vim.fn.fnameescape(vim.lsp.log.get_filename()))
      vim.cmd.normal({ "G", bang = true })
    end,
  },
  health = {
    run = function()
      vim.cmd.checkhealth("redraft")
    end,
  },
  help = {
    run = function()
      vim.cmd.help("redraft")
    end,
  },
}

---@return string[]
local function names()
  return vim.fn.sort(vim.tbl_keys(subcommands))
end

---@param command vim.api.keyset.create_user_command.command_args
function M.run(command)
  local name, rest = command.args:match("^(%S*)%s*(.-)%s*$")
  local subcommand = subcommands[name == "" and "edit" or name]
  if not subcommand then
    local known = table.concat(names(), ", ")
    notify.error(("no such subcommand: %s. There are %s"):format(name, known))
  elseif rest ~= "" and not subcommand.takes then
    notify.error((":Redraft %s takes no argument"):format(name))
  else
    subcommand.run(rest, command)
  end
end

--- Completes subcommands, and instructions from those given before.
---@param line string the command line up to the cursor
---@return string[]
function M.complete(line)
  local name, typed = line:match("%a+%s+(%S+)%s+(.*)$")
  if not name then
    local lead = line:match("(%S*)$")
    return vim.tbl_filter(function(each)
      return vim.startswith(each, lead)
    end, names())
  elseif not (subcommands[name] and subcommands[name].takes) then
    return {}
  end
  -- Only the last word is replaced.
  local n_kept = #typed:match("^(.-)%S*$")
  return vim.tbl_map(function(each)
    return each:sub(n_kept + 1)
  end, require("redraft.history").complete(typed))
end

return M
