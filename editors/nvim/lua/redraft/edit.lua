--- Asking for an edit: what is edited, with which instruction, and again with another one.

local client = require("redraft.client")
local notify = require("redraft.notify")
local targets = require("redraft.target")

local M = {}

--- What was asked: enough to ask again.
---@class redraft.Asked
---@field target redraft.Target
---@field instruction string
---@field title? string

local last = {} ---@type table<integer, redraft.Asked> by buffer, for another try

--- Ask for what is missing, then edit.
---@param target redraft.Target
---@param asked { instruction?: string, title?: string, question?: string, from_history?: boolean }
function M.begin(target, asked)
  local problem = targets.problem(target.buf)
  if problem then
    target:release()
    notify.warn(problem)
    return
  end
  if asked.instruction then
    M.send({ target = target, instruction = asked.instruction, title = asked.title })
    return
  end
  -- The file is read by the model while the user still types.
  local has_server = client.with(target.buf, function(server)
    client.warm(server, target.buf)
  end)
  if not has_server then
    target:release()
    return
  end
  local prompt = require("redraft.prompt")
  local ask = asked.from_history and prompt.choose or prompt.ask
  ask({
    question = asked.question,
    done = function(instruction)
      if instruction then
        M.send({ target = target, instruction = instruction, title = asked.title })
      else
        target:release()
      end
    end,
  })
end

--- Ask again, with another instruction.
---@param asked? redraft.Asked default: what was asked last in the current buffer
---@param on_send? fun() called when there is another instruction
function M.retry(asked, on_send)
  asked = asked or last[vim.api.nvim_get_current_buf()]
  if not (asked and asked.target:place()) then
    notify.info("there is nothing to try again")
    return
  end
  require("redraft.prompt").ask({
    default = asked.instruction,
    done = function(instruction)
      if instruction then
        (on_send or function() end)()
        M.send({ target = asked.target, instruction = instruction, title = asked.title })
      end
    end,
  })
end

--- Send the edit to the server of the target's buffer.
---@param asked redraft.Asked
function M.send(asked)
  local buf = asked.target.buf
  if last[buf] and last[buf].target ~= asked.target then
    last[buf].target:release()
  end
  last[buf] = asked
  local progress = require("redraft.config").get().progress
  asked.target:show(progress and "redraft: starting" or nil)
  client.with(buf, function(server)
    local range = asked.target:range(server.offset_encoding)
    if range then
      client.synchronise(server, buf)
      require("redraft.edit_session").start(server, asked, range)
    end
  end, function()
    asked.target:show(nil)
  end)
end

--- A code action was chosen: an edit, or a question first.
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
  local scope = params.scope or (is_empty and "function" or "selection")
  M.begin(targets.of(buf, scope, params.range, server.offset_encoding), {
    instruction = params.instruction,
    question = params.question,
    title = params.title,
  })
end

return M
