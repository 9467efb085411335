-- What `vim.lsp.enable("redraft")` starts. Change it with `vim.lsp.config("redraft", { ... })`.

return require("redraft.client").create_config()
