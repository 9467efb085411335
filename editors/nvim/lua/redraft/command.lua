--- `:Redraft` and its subcommands.

local notify = require("redraft.notify")

local M = {}

---@class redraft.Subcommand
---@field run fun(rest: string, command: vim.api.keyset.create_user_command.command_args)
---@field takes? "instruction"

--- Return the instruction of a command, if it has one, and remember it as the prompt does.
---@param rest string
---@return string? instruction
local function read_instruction(rest)
  if rest == "" then
    return nil
  end
  require("redraft.history").add(rest)
  return rest
end

--- Return the target of a command's range; nil for a command without one.
---@param command vim.api.keyset.create_user_command.command_args
---@return boolean is_valid false where the range is none; the user was told why
---@return redraft.Target? target
local function read_target(command)
  if command.range == 0 then
    return true, nil
  end
  local targets = require("redraft.target")
  local target, problem = targets.from_range_of_command(command.range, command.line1, command.line2)
  if problem then
    notify.warn(problem)
  end
  return problem == nil, target
end

--- Call `use` with the server of the current buffer, which is started if need be.
---@param use fun(server: vim.lsp.Client)
local function with_server(use)
  require("redraft.client").with(vim.api.nvim_get_current_buf(), use)
end

--- Return a function that calls the one of this name in `require("redraft")`.
---@param name string
local function create_call(name)
  return function()
    require("redraft")[name]()
  end
end

---@type table<string, redraft.Subcommand>
local subcommands = {
  edit = {
    takes = "instruction",
    run = function(rest, command)
      local is_valid, target = read_target(command)
      if is_valid then
        require("redraft").edit(read_instruction(rest), target)
      end
    end,
  },
  file = {
    takes = "instruction",
    run = function(rest)
      require("redraft").file(read_instruction(rest))
    end,
  },
  actions = {
    run = function(_, command)
      local is_valid, target = read_target(command)
      if is_valid then
        require("redraft").actions(target)
      end
    end,
  },
  history = {
    run = function(_, command)
      local is_valid, target = read_target(command)
      if is_valid then
        target = target or require("redraft.target").at_cursor(0)
        require("redraft.edit").begin(target, { from_history = true })
      end
    end,
  },
  fix = { run = create_call("fix") },
  cancel = { run = create_call("cancel") },
  show = { run = create_call("show") },
  accept = { run = create_call("accept") },
  reject = { run = create_call("reject") },
  retry = { run = create_call("retry") },
  anyway = { run = create_call("anyway") },
  another = { run = create_call("another") },
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
local function list_names()
  return vim.fn.sort(vim.tbl_keys(subcommands))
end

---@param command vim.api.keyset.create_user_command.command_args
function M.run(command)
  local name, rest = command.args:match("^(%S*)%s*(.-)%s*$")
  local subcommand = subcommands[name == "" and "edit" or name]
  if not subcommand then
    local names = table.concat(list_names(), ", ")
    notify.error(("no such subcommand: %s. There are %s"):format(name, names))
  elseif rest ~= "" and not subcommand.takes then
    notify.error((":Redraft %s takes no argument"):format(name))
  else
    subcommand.run(rest, command)
  end
end

--- Complete subcommands, and instructions from the former ones.
---@param line string the command line up to the cursor
---@return string[]
function M.complete(line)
  local name, typed = line:match("%a+%s+(%S+)%s+(.*)$")
  if not name then
    local lead = line:match("(%S*)$")
    return vim.tbl_filter(function(candidate)
      return vim.startswith(candidate, lead)
    end, list_names())
  elseif not (subcommands[name] and subcommands[name].takes) then
    return {}
  end
  -- Neovim replaces only the last word: the words before it are cut off.
  local n_before = #typed:match("^(.-)%S*$")
  return vim.tbl_map(function(instruction)
    return instruction:sub(n_before + 1)
  end, require("redraft.history").complete(typed))
end

return M
