-- Names only: everything is loaded when it is first used.

if vim.g.loaded_redraft then
  return
end
vim.g.loaded_redraft = true

if vim.fn.has("nvim-0.11") == 0 then
  vim.notify("redraft needs Neovim 0.11 or newer", vim.log.levels.ERROR)
  return
end

vim.api.nvim_create_user_command("Redraft", function(command)
  require("redraft.command").run(command)
end, {
  nargs = "*",
  range = true,
  desc = "Edit code with a local model",
  complete = function(_, line, position)
    return require("redraft.command").complete(line:sub(1, position))
  end,
})

for _, name in ipairs({ "edit", "actions" }) do
  vim.keymap.set({ "n", "x" }, ("<Plug>(redraft-%s)"):format(name), function()
    require("redraft")[name]()
  end, { desc = "redraft: " .. name })
end

for _, name in ipairs({
  "file",
  "fix",
  "cancel",
  "show",
  "accept",
  "reject",
  "retry",
  "another",
  "anyway",
}) do
  vim.keymap.set("n", ("<Plug>(redraft-%s)"):format(name), function()
    require("redraft")[name]()
  end, { desc = "redraft: " .. name })
end

vim.keymap.set("n", "<Plug>(redraft-operator)", function()
  return require("redraft").operator()
end, { expr = true, desc = "redraft: edit what a motion covers" })
