//! Completions and man pages.

use std::process::{Command, Stdio};

use crate::common::prints;

#[test]
fn each_shell_gets_completions_that_know_all_commands() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let text = prints(&format!("completions {shell}"));
        for word in ["simsched", "validate", "sweep", "save-scenario"] {
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

/// What bash offers for the last of these words.
#[cfg(target_os = "linux")]
fn offered(words: &str) -> Vec<String> {
    let call = r#"read -r -a COMP_WORDS <<<"$1"; [[ $1 != *" " ]] || COMP_WORDS+=("")
                  COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
                  _simsched simsched "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"
                  printf '%s\n' "${COMPREPLY[@]}""#;
    let script = format!("{}\n{call}\n", prints("completions bash"));
    let output = Command::new("bash").args(["-c", &script, "bash", words]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

#[cfg(target_os = "linux")]
#[test]
fn names_of_machines_policies_and_workloads_are_completed() {
    for command in ["run", "compare", "replay trace.txt"] {
        assert_eq!(offered(&format!("simsched {command} --topo gen")), ["genoa", "genoa-4n32"]);
        assert_eq!(offered(&format!("simsched {command} --policy eev")), ["eevdf"]);
    }
    assert_eq!(offered("simsched topo show ice"), ["icelake"]);
    assert_eq!(offered("simsched workloads hack"), ["hackbench"]);
    assert_eq!(offered("simsched policies show SIS_U"), ["SIS_UTIL"]);
    let policies = offered("simsched lab --policy ");
    for policy in ["cfs", "fifo", "wakeup_bias_prev", "cache_aware"] {
        assert!(policies.iter().any(|offered| offered == policy), "{policies:?}");
    }
    let priced = offered("simsched topo import --prices ");
    assert!(priced.len() > 3 && priced.iter().all(|name| !name.starts_with('t')), "{priced:?}");
}

/// They are known to shells, and are not all that may be given.
#[test]
fn a_name_that_is_not_completed_is_taken_too() {
    let machine = include_str!("../data/machine.toml");
    let path = crate::common::file("shell-machine.toml", machine).display().to_string();
    for topo in [path.as_str(), "genoa@nps4"] {
        prints(&format!("topo show {topo}"));
        let policy = "cfs@5.16+wakeup_bias_prev+SIS_UTIL=on";
        prints(&format!("run -q --topo {topo} --policy {policy} -- hackbench -g 1 -f 1 -l 2"));
    }
    prints("policies show cfs@5.16+wakeup_bias_prev");
    for help in ["run --help", "compare --help", "topo show --help", "man"] {
        assert!(!prints(help).contains("ossible values: cfs"), "{help} is not made longer");
    }
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
