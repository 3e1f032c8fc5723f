//! What a machine needs to build a library: programs and headers, tested before anything is begun.

use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::error::KernelError;

/// A program that is needed, and the package of Debian that has it.
const PROGRAMS: [(&str, &str); 6] = [
    ("make", "make"),
    ("flex", "flex"),
    ("bison", "bison"),
    ("bc", "bc"),
    ("ld", "binutils"),
    ("nm", "binutils"),
];

/// A header that is needed, and the package of Debian that has it.
const HEADERS: [(&str, &str); 1] = [("gelf.h", "libelf-dev")];

/// The compiler as it can be started from any folder: a name as it is, a path made absolute.
///
/// # Errors
/// When the path or the name has what `make` cannot be given.
pub(super) fn find(compiler: &OsStr) -> Result<OsString, KernelError> {
    let path = Path::new(compiler);
    let is_name = path.components().count() == 1 && !path.is_absolute();
    let found =
        if is_name { path.to_owned() } else { std::path::absolute(path).unwrap_or_default() };
    match super::unfit_for_make(found.as_os_str()) {
        Some(what) => Err(KernelError::Compiler { compiler: compiler.display().to_string(), what }),
        None => Ok(found.into_os_string()),
    }
}

/// Tests that this machine can build, with this compiler.
///
/// # Errors
/// When it is not Linux on x86-64, or something is missing.
pub(super) fn check(compiler: &OsStr) -> Result<(), KernelError> {
    let platform = (std::env::consts::OS, std::env::consts::ARCH);
    if platform != ("linux", "x86_64") {
        return Err(KernelError::Platform(format!("{} on {}", platform.0, platform.1)));
    }
    let mut missing = Vec::new();
    let mut packages = Vec::new();
    let has_compiler = runs(compiler);
    if !has_compiler {
        missing.push(format!("the compiler '{}'", compiler.display()));
        packages.push("gcc");
    }
    for (program, package) in PROGRAMS.iter().filter(|(program, _)| !runs(OsStr::new(program))) {
        missing.push((*program).to_owned());
        packages.push(*package);
    }
    let lacks = |header: &str| has_compiler && !has_header(compiler, header);
    for (header, package) in HEADERS.iter().filter(|(header, _)| lacks(header)) {
        missing.push(format!("the header {header}"));
        packages.push(*package);
    }
    packages.dedup();
    if missing.is_empty() { Ok(()) } else { Err(KernelError::Tools { missing, packages }) }
}

/// Whether a program is there: it can be started, whatever it says to `--version`.
fn runs(program: &OsStr) -> bool {
    let mut command = Command::new(program);
    command.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok()
}

/// Whether the compiler finds a header of the system.
fn has_header(compiler: &OsStr, header: &str) -> bool {
    let mut command = Command::new(compiler);
    command.args(["-E", "-x", "c", "-o", "/dev/null", "-"]);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let Ok(mut child) = command.spawn() else { return false };
    let text = format!("#include <{header}>\n");
    let fed = child.stdin.take().is_some_and(|mut input| input.write_all(text.as_bytes()).is_ok());
    child.wait().is_ok_and(|status| fed && status.success())
}

#[cfg(all(test, target_os = "linux", target_arch = "x86_64"))]
mod tests {
    use super::*;

    #[test]
    fn a_compiler_that_is_not_there_is_named() {
        let said = check(OsStr::new("no-such-cc")).unwrap_err().to_string();
        assert!(said.starts_with("the compiler 'no-such-cc'"), "{said}");
        assert!(said.contains("apt-get install gcc"), "{said}");
    }
}
