vim.filetype.add({ extension = { deo = 'diffeo' } })
