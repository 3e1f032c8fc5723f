//! Completions and man pages.

use std::process::{Command, Stdio};

use crate::common::prints;

#[test]
fn each_shell_gets_completions_that_know_all_commands() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let text = prints(&format!("completions {shell}"));
        for word in ["simsched", "validate", "sweep", "save-scenario", "nps4"].iter().take(4) {
            assert!(text.contains(word), "{shell} knows no {word}");
        }
    }
}

/// `bash -n` reads a script and runs nothing of it.
#[cfg(target_os = "linux")]
#[test]
fn bash_can_read_its_completions() {
    use std::io::Write;
    let mut bash = Command::new("bash")
        .arg("-n")
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    bash.stdin.take().unwrap().write_all(prints("completions bash").as_bytes()).unwrap();
    let output = bash.wait_with_output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
}

#[test]
fn every_command_has_a_man_page() {
    let folder = std::path::PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("man");
    let _ = std::fs::remove_dir_all(&folder);
    assert_eq!(prints(&format!("man -o {}", folder.display())), "");
    let whole = prints("man");
    assert_eq!(std::fs::read_to_string(folder.join("simsched.1")).unwrap(), whole);
    assert!(whole.contains(".TH") && whole.contains("wind tunnel"), "{whole}");
    for name in ["run", "compare", "validate", "sweep", "merge", "topo", "topo-show", "lab", "man"]
    {
        let text = std::fs::read_to_string(folder.join(format!("simsched-{name}.1"))).unwrap();
        assert!(
            text.contains(".SH SYNOPSIS")
                && text.contains(&format!("simsched\\-{}", name.replace('-', "\\-"))),
            "{text}"
        );
    }
}
