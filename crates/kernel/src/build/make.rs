//! One run of `make` on the rules of `library.mk`.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use super::Tree;
use crate::error::KernelError;

/// How much of what `make` and its programs say is kept, from the end, in bytes.
const KEPT: usize = 64 << 10;

/// The rules, in the folder where everything is made, for one tree and compiler.
pub(super) struct Make<'a> {
    pub(super) folder: &'a Path,
    pub(super) tree: &'a Tree,
    pub(super) compiler: &'a OsStr,
    pub(super) jobs: usize,
}

impl Make<'_> {
    /// Makes `target`, and returns what programs said of it; `step` says what for.
    ///
    /// # Errors
    /// When it fails, with what was said.
    pub(super) fn run(&self, target: &str, step: &'static str) -> Result<String, KernelError> {
        let Output { status, stderr, .. } = self
            .command(target)
            .output()
            .map_err(|error| KernelError::file(Path::new("make"), error))?;
        let kept = &stderr[stderr.len().saturating_sub(KEPT)..];
        let said = String::from_utf8_lossy(kept).into_owned();
        if status.success() {
            return Ok(said);
        }
        let code =
            status.code().map_or("it was killed".to_owned(), |code| format!("exit code {code}"));
        Err(KernelError::Step { tree: self.tree.path().to_owned(), step, code, said })
    }

    /// Without what the user's environment would add to it: `make` reads `MAKEFLAGS`, and the kernel's Makefile
    /// dozens of other variables.
    fn command(&self, target: &str) -> Command {
        let setting = |name: &str, value: &OsStr| {
            let mut text = OsString::from(format!("{name}="));
            text.push(value);
            text
        };
        let mut command = Command::new("make");
        command.arg("-C").arg(self.folder).args(["-s", "-f", "shim/library.mk"]);
        command.arg(format!("-j{}", self.jobs.max(1)));
        command.arg(setting("TREE", self.tree.path().as_os_str()));
        command.arg(setting("CC", self.compiler)).arg(target);
        command.env_clear().envs(kept_variables()).env("LC_ALL", "C").stdin(Stdio::null());
        command
    }
}

/// Where programs, temporary files and a home are.
#[expect(clippy::disallowed_methods, reason = "what compilers need of it; no result depends on it")]
fn kept_variables() -> impl Iterator<Item = (&'static str, OsString)> {
    ["PATH", "HOME", "TMPDIR"].into_iter().filter_map(|name| Some((name, std::env::var_os(name)?)))
}
