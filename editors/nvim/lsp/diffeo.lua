-- Neovim 0.11 reads this where the folder is on the `runtimepath`; `vim.lsp.enable('diffeo')` starts it.
return {
  cmd = { 'diffeo', 'lsp' },
  filetypes = { 'diffeo' },
  root_markers = { '.git' },
}
