//! The arguments of `simsched completions` and `simsched man`.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use clap_complete::Shell;

/// The arguments of `simsched completions`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  simsched completions bash > \
                        ~/.local/share/bash-completion/completions/simsched\n  \
                        simsched completions zsh > ~/.zfunc/_simsched\n  \
                        simsched completions fish > ~/.config/fish/completions/simsched.fish")]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_name = "SHELL")]
    pub(crate) shell: Shell,
}

/// The arguments of `simsched man`.
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  simsched man | man -l -\n  simsched man -o ~/.local/share/man/man1"
)]
pub(crate) struct ManArgs {
    /// Write the pages of all commands into this folder, in place of printing that of simsched itself
    #[arg(long, short, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) output: Option<PathBuf>,
}
