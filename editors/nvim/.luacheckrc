std = "luajit"
read_globals = { "vim" }
globals = { "vim.g", "vim.o", "vim.bo", "vim.wo" }
max_line_length = 100
unused_args = false
