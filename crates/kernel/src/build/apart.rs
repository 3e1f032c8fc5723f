//! Trying a library in a process of its own.

use std::path::Path;
use std::process::{Command, ExitStatus, Output, Stdio};

use crate::error::KernelError;

/// Tries a library by `simsched kernel check`.
///
/// # Errors
/// When it fails there, with what was said; or when that process crashes.
pub(super) fn check(program: &Path, library: &Path, release: &str) -> Result<(), KernelError> {
    let mut command = Command::new(program);
    command.args(["kernel", "check"]).arg(library).stdin(Stdio::null());
    let Output { status, stderr, .. } =
        command.output().map_err(|error| KernelError::file(program, error))?;
    if status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&stderr);
    let said = said.trim().strip_prefix("simsched: ").unwrap_or(said.trim()).to_owned();
    Err(match signal(status) {
        Some(signal) => KernelError::Smoke {
            release: release.to_owned(),
            what: format!("found a crash (signal {signal}) while 16 tasks were run, expected none"),
        },
        None => KernelError::Checked(said),
    })
}

/// The signal that ended a process.
fn signal(status: ExitStatus) -> Option<i32> {
    #[cfg(unix)]
    return std::os::unix::process::ExitStatusExt::signal(&status);
    #[cfg(not(unix))]
    return status.code().filter(|code| *code < 0);
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// What a program that does this is said to have found.
    fn found(does: &str) -> Result<(), String> {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("simsched");
        fs::write(&program, format!("#!/bin/sh\n{does}\n")).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        check(&program, Path::new("mine.so"), "6.12.1").map_err(|error| error.to_string())
    }

    #[test]
    fn a_crash_is_said_like_any_failure() {
        assert_eq!(found(r#"[ "$*" = "kernel check mine.so" ]"#), Ok(()));
        let said = found("kill -SEGV $$").unwrap_err();
        assert!(said.starts_with("6.12.1: found a crash (signal 11)"), "{said}");
        let said = found("echo 'simsched: mine.so: is none' >&2; exit 2").unwrap_err();
        assert_eq!(said, "mine.so: is none");
    }
}
