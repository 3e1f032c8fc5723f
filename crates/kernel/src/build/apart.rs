//! Trying a library in a process of its own.

use std::io::Read;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

use crate::error::KernelError;

/// How long the trial may take; it takes a tenth of a second.
const PATIENCE: Duration = Duration::from_secs(60);
const STEP: Duration = Duration::from_millis(20);

/// Tries a library by `simsched kernel check`.
///
/// # Errors
/// When it fails there, with what was said; when that process crashes, or has not ended after a minute.
pub(super) fn check(program: &Path, library: &Path, release: &str) -> Result<(), KernelError> {
    let mut command = Command::new(program);
    command.args(["kernel", "check"]).arg(library).stdin(Stdio::null());
    let failed = |error| KernelError::file(program, error);
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(failed)?;
    let mut steps = PATIENCE.as_millis() / STEP.as_millis();
    let status = loop {
        if let Some(status) = child.try_wait().map_err(failed)? {
            break status;
        }
        if steps == 0 {
            let _ = child.kill();
            let _ = child.wait();
            let what =
                format!("found 16 tasks that had not run in {PATIENCE:?}, expected a second");
            return Err(KernelError::Smoke { release: release.to_owned(), what });
        }
        steps -= 1;
        thread::sleep(STEP);
    };
    if status.success() {
        return Ok(());
    }
    // One sentence, which is shorter than what a pipe holds.
    let mut said = Vec::new();
    let stderr = child.stderr.take().into_iter();
    stderr.for_each(|stderr| _ = stderr.take(1 << 16).read_to_end(&mut said));
    let said = String::from_utf8_lossy(&said);
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
        let (text, program) = (folder.path().join("text"), folder.path().join("simsched"));
        fs::write(&text, format!("#!/bin/sh\n{does}\n")).unwrap();
        // By another process: a file that this one has open for writing while another test forks cannot be executed.
        assert!(Command::new("cp").args([&text, &program]).status().unwrap().success());
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
