--- The trace: what the last edits cost, and which parts of the last reply were drafted.

local notify = require("redraft.notify")
local protocol = require("redraft.protocol")

local ns = vim.api.nvim_create_namespace("redraft.trace")

local M = {}

--- Ask the server for the trace and show it in a window of its own.
---@param server vim.lsp.Client
function M.show(server)
  require("redraft.client").execute(server, protocol.SHOW_TRACE, nil, function(error, trace)
    if error then
      notify.error(error.message)
    else
      M._open(trace)
    end
  end)
end

---@param trace redraft.Trace
function M._open(trace)
  local buf = vim.api.nvim_create_buf(false, true)
  local lines = vim.iter(trace.edits):map(M._format_edit):totable()
  if #lines == 0 then
    lines = { "nothing was edited yet" }
  end
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, lines)
  if #trace.passes > 0 then
    M._append_passes(buf, trace.passes)
  end
  vim.bo[buf].bufhidden = "wipe"
  vim.bo[buf].modifiable = false
  vim.api.nvim_open_win(buf, true, { split = "below", win = -1 })
  vim.keymap.set("n", "q", "<Cmd>close<CR>", { buffer = buf, nowait = true })
end

---@param edit redraft.TracedEdit
---@return string
function M._format_edit(edit)
  local stats = edit.stats
  local cost = stats
      and ("%4d tokens in %4d passes, %5.1f tokens/s"):format(
        stats.outputTokens,
        stats.passes,
        stats.tokensPerSecond
      )
    or ""
  local outcome = edit.reason and ("%s (%s)"):format(edit.outcome, edit.reason) or edit.outcome
  local name = vim.fs.basename(vim.uri_to_fname(edit.uri))
  return vim.trim(("%-22s %6.1f s  %s  %s"):format(outcome, edit.seconds, name, cost))
end

--- Append the last reply, pass by pass, with the tokens marked that were drafted and accepted.
---@param buf integer
---@param passes redraft.TracePass[]
function M._append_passes(buf, passes)
  local head =
    "The last answer, from %d passes. What was guessed rightly, mostly by copying, is marked:"
  vim.api.nvim_buf_set_lines(buf, -1, -1, false, { "", head:format(#passes), "", "" })
  for _, pass in ipairs(passes) do
    for _, piece in ipairs(pass.text) do
      local row = vim.api.nvim_buf_line_count(buf) - 1
      local last = vim.api.nvim_buf_get_lines(buf, row, row + 1, false)[1]
      local lines = vim.split(piece.text, "\n")
      vim.api.nvim_buf_set_text(buf, row, #last, row, #last, lines)
      if piece.origin ~= vim.NIL and piece.origin ~= nil then
        vim.api.nvim_buf_set_extmark(buf, ns, row, #last, {
          end_row = row + #lines - 1,
          end_col = #lines == 1 and #last + #lines[1] or #lines[#lines],
          hl_group = "RedraftCopied",
        })
      end
    end
  end
end

return M
