//! Starts the language server of Diffeo for Zed.

use zed_extension_api as zed;

struct Diffeo;

impl zed::Extension for Diffeo {
    fn new() -> Self {
        Diffeo
    }

    fn language_server_command(
        &mut self,
        _server: &zed::LanguageServerId,
        worktree: &zed::Worktree,
    ) -> zed::Result<zed::Command> {
        let command = worktree.which("diffeo").ok_or("the program `diffeo` is not on the PATH")?;
        Ok(zed::Command { command, args: vec!["lsp".into()], env: worktree.shell_env() })
    }
}

zed::register_extension!(Diffeo);
