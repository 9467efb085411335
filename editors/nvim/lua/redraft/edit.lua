--- Requesting an edit: of which target, with which instruction, and again with another one.

local client = require("redraft.client")
local notify = require("redraft.notify")
local protocol = require("redraft.protocol")
local targets = require("redraft.target")

-- How long a prompt waits for what the server calls the target. Keys typed meanwhile are its own.
local PATIENCE_MS = 500

local M = {}

--- What is sent to the server, and can be sent again.
---@class redraft.EditRequest
---@field target redraft.Target
---@field instruction string
---@field title? string
---@field another_version? boolean where the model leaves the code as it is

--- What may be given to `begin`; `question` and `from_history` are for the prompt.
---@class redraft.BeginOptions
---@field instruction? string
---@field title? string
---@field question? string
---@field from_history? boolean

local last_requests = {} ---@type table<integer, redraft.EditRequest> by buffer

--- Return what an edit of a target would change; nil where no server says so in time.
---@param target redraft.Target
---@return redraft.FoundTargets? found, string? encoding of its ranges
local function find(target)
  local server = client.get(target.buf)
  local range = server and target:get_range(server.offset_encoding)
  if not (server and range) then
    return nil
  end
  client.synchronise(server, target.buf)
  local params = {
    command = protocol.FIND_TARGET,
    arguments = { { uri = vim.uri_from_bufnr(target.buf), range = range, scope = target.scope } },
  }
  local answer = server:request_sync("workspace/executeCommand", params, PATIENCE_MS, target.buf)
  return answer and answer.result, server.offset_encoding
end

--- Ask for an instruction with the target named and highlighted.
---@param target redraft.Target
---@param question redraft.Question
---@param ask? fun(question: redraft.Question)
local function ask_about(target, question, ask)
  local found, encoding = find(target)
  local only = found and not found.problem and found.targets[1]
  local clear = only and targets.highlight(target.buf, only.range, encoding) or function() end
  local done = question.done
  question.target_name = only and only.name or nil
  question.done = function(instruction)
    clear()
    done(instruction)
  end
  ask = ask or require("redraft.prompt").ask
  ask(question)
end

--- Call `use` with the target; where nothing is to be edited there, with one that the user chooses.
---@param target redraft.Target released where it is not used
---@param use fun(target: redraft.Target)
local function choose_place(target, use)
  local found, encoding = find(target)
  if not (found and found.problem) then
    use(target)
    return
  end
  target:release()
  if #found.targets == 0 then
    notify.warn(found.problem)
    return
  end
  vim.ui.select(found.targets, {
    -- The rest of the sentence says what to do: that is what is asked here.
    prompt = ("redraft: %s. Edit what?"):format(found.problem:match("^[^:]+")),
    kind = "redraft.target",
    format_item = function(item)
      return item.name
    end,
  }, function(item)
    if item then
      use(targets.from_range(target.buf, item.scope, item.range, encoding))
    end
  end)
end

--- Edit a target; ask the user for the instruction where `options` has none.
---@param target redraft.Target
---@param options redraft.BeginOptions
function M.begin(target, options)
  local problem = targets.find_problem(target.buf)
  if problem then
    target:release()
    notify.warn(problem)
    return
  end
  if options.instruction then
    M.send({ target = target, instruction = options.instruction, title = options.title })
    return
  end
  choose_place(target, function(place)
    -- The model reads the file while the user is still typing.
    local has_server = client.with(place.buf, function(server)
      client.warm(server, place.buf)
    end)
    if not has_server then
      place:release()
      return
    end
    ask_about(place, {
      question = options.question,
      done = function(instruction)
        if instruction then
          M.send({ target = place, instruction = instruction, title = options.title })
        else
          place:release()
        end
      end,
    }, options.from_history and require("redraft.prompt").choose or nil)
  end)
end

--- Request the edit again, with another instruction.
---@param request? redraft.EditRequest default: the last one in the current buffer
---@param on_send? fun() called when the user has given another instruction
function M.retry(request, on_send)
  request = request or last_requests[vim.api.nvim_get_current_buf()]
  if not (request and request.target:get_place()) then
    notify.info("there is nothing to try again")
    return
  end
  ask_about(request.target, {
    default = request.instruction,
    done = function(instruction)
      if instruction then
        request.target:hold()
        if on_send then
          on_send()
        end
        M.send({ target = request.target, instruction = instruction, title = request.title })
      end
    end,
  })
end

--- Request the last edit of a buffer again, for the model's second choice if nothing changes.
---@param buf integer
function M.request_another_version(buf)
  local request = last_requests[buf]
  if not (request and request.target:get_place()) then
    notify.info("there is nothing to try again")
    return
  end
  request.target:hold()
  M.send(vim.tbl_extend("force", request, { another_version = true }))
end

--- Send a request to the server of the target's buffer, and keep it for `retry`.
---@param request redraft.EditRequest its target is released here, later
function M.send(request)
  local target, buf = request.target, request.target.buf
  local last = last_requests[buf]
  if last then
    last.target:release()
  end
  last_requests[buf] = request
  local presence = require("redraft.presence").watch()
  local progress = require("redraft.config").get().progress
  target:show(progress and "redraft: starting" or nil)
  client.with(buf, function(server)
    local range = target:get_range(server.offset_encoding)
    if range then
      client.synchronise(server, buf)
      require("redraft.edit_session").start(server, request, range, presence)
    end
  end, function()
    target:show(nil)
  end)
end

--- Run the command of a code action: an edit, or a question for the instruction first.
---@param command lsp.Command
---@param context { client_id: integer }
function M.from_action(command, context)
  targets.end_visual_mode()
  local params = command.arguments[1] ---@type redraft.PromptParams
  local server = vim.lsp.get_client_by_id(context.client_id)
  local buf = vim.uri_to_bufnr(params.uri)
  if not server or params.version ~= vim.lsp.util.buf_versions[buf] then
    notify.warn("the buffer was changed meanwhile: choose the action again")
    return
  end
  local is_empty = vim.deep_equal(params.range.start, params.range["end"])
  local scope = params.scope or (not is_empty and "selection" or nil)
  M.begin(targets.from_range(buf, scope, params.range, server.offset_encoding), {
    instruction = params.instruction,
    question = params.question,
    title = params.title,
  })
end

return M
