vim.bo.commentstring = '# %s'
vim.bo.shiftwidth = 2
vim.bo.expandtab = true

-- Without a parser there are the colours of the language server alone.
if pcall(vim.treesitter.start) then
  vim.wo.foldmethod = 'expr'
  vim.wo.foldexpr = 'v:lua.vim.treesitter.foldexpr()'
  if pcall(require, 'nvim-treesitter') then
    vim.bo.indentexpr = "v:lua.require'nvim-treesitter'.indentexpr()"
  end
end
