//! Which commit was it: the script of `docs/kernel.md` and `git bisect run`, on Debian's source of 6.12.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{check, prints};

/// As the tests of `simsched-kernel` have it, which use the tree, too.
fn scratch() -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("kernel")
}

/// Why nothing can be bisected here; a failure where the kernels are known to be installed.
#[expect(clippy::disallowed_methods, reason = "continuous integration says what it has installed")]
fn skipped(why: &str) {
    assert!(std::env::var_os("SIMSCHED_HAS_KERNELS").is_none(), "{why}");
    eprintln!("skipped: {why}");
}

/// A program runs, with these words, in this folder; what it prints.
fn done(folder: &Path, home: &Path, words: &[&str]) -> String {
    let binaries = Path::new(env!("CARGO_BIN_EXE_simsched")).parent().unwrap();
    let path = format!("{}:/usr/local/bin:/usr/bin:/bin", binaries.display());
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).current_dir(folder).env("PATH", path).env("HOME", home);
    command.env("GIT_CONFIG_NOSYSTEM", "1").env_remove("XDG_CACHE_HOME");
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let wrong = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{words:?}: {said}{wrong}");
    said
}

/// A copy of the tree, as the tests of `simsched-kernel` make it: files are shared until they are replaced.
fn tree() -> Option<PathBuf> {
    let package = "/usr/src/linux-source-6.12.tar.xz";
    let tools = ["/usr/bin/git", "/usr/bin/jq", "/usr/bin/gcc", "/usr/bin/flex", "/usr/bin/bc"];
    if let Some(missing) = [package].iter().chain(&tools).find(|path| !Path::new(path).exists()) {
        skipped(&format!("there is no {missing}"));
        return None;
    }
    let (scratch, here) = (scratch(), Path::new("/"));
    let (whole, copy) = (scratch.join("6.12.unpacked"), scratch.join("patched"));
    fs::create_dir_all(&scratch).unwrap();
    let to = scratch.to_str().unwrap();
    if !whole.exists() {
        done(here, here, &["tar", "-xJf", package, "-C", to]);
        fs::write(whole, "").unwrap();
    }
    if !copy.exists() {
        let part = scratch.join("patched.part");
        let _ = fs::remove_dir_all(&part);
        let tree = scratch.join("linux-source-6.12");
        done(here, here, &["cp", "-al", tree.to_str().unwrap(), part.to_str().unwrap()]);
        fs::rename(part, &copy).unwrap();
    }
    Some(copy)
}

/// `kernel/sched/fair.c` of the copy, of which each commit of the test adds a line, and one changes what it does.
fn commit(copy: &Path, home: &Path, text: &str, name: &str) {
    let fair = copy.join("kernel/sched/fair.c");
    // In place it would be the tree's own.
    fs::remove_file(&fair).unwrap();
    fs::write(&fair, text).unwrap();
    done(copy, home, &["git", "add", "-f", "kernel/sched/fair.c"]);
    let who = ["-c", "user.name=test", "-c", "user.email=test@localhost"];
    done(copy, home, &[&["git"], &who[..], &["commit", "-q", "-m", name]].concat());
}

/// Five commits, of which the third takes the previous CPU out of `select_idle_sibling()`.
#[test]
fn the_script_of_the_docs_finds_the_commit() {
    let Some(copy) = tree() else { return };
    let page = include_str!("../../../../docs/kernel.md");
    let script = page.split("```sh\n").find(|text| text.starts_with("#!/bin/sh")).unwrap();
    let script = script.split("```").next().unwrap();
    let home = scratch().join("home");
    let cache = home.join(".cache/simsched");
    fs::create_dir_all(&cache).unwrap();
    let kept = scratch().join("cache/patched");
    fs::create_dir_all(&kept).unwrap();
    let _ = fs::remove_file(cache.join("kernel"));
    symlink(kept, cache.join("kernel")).unwrap();
    let judge = home.join("p99.sh");
    fs::write(&judge, script.replace("/tmp/step", home.join("step").to_str().unwrap())).unwrap();
    fs::set_permissions(&judge, fs::Permissions::from_mode(0o755)).unwrap();

    let _ = fs::remove_dir_all(copy.join(".git"));
    done(&copy, &home, &["git", "init", "-q"]);
    let mut text =
        fs::read_to_string(scratch().join("linux-source-6.12/kernel/sched/fair.c")).unwrap();
    for nth in 1..=5 {
        text += &format!("\n/* {nth} */\n");
        if nth == 3 {
            let head = "select_idle_sibling(struct task_struct *p, int prev, int target)\n{";
            let new = text.replace(head, &format!("{head}\n\tprev = target;"));
            assert_ne!(new, text, "the change applies");
            text = new;
        }
        commit(&copy, &home, &text, &format!("commit {nth}"));
    }
    done(&copy, &home, &["git", "bisect", "start", "HEAD", "HEAD~4"]);
    let said = done(&copy, &home, &["git", "bisect", "run", judge.to_str().unwrap()]);
    let found: Vec<&str> = said.lines().filter(|line| line.contains("first bad commit")).collect();
    assert!(found.iter().any(|line| line.ends_with("is the first bad commit")), "{said}");
    assert!(said.contains("    commit 3\n"), "{said}");
    let p99 = said.lines().filter(|line| line.starts_with("p99 ")).count();
    assert!((2..=3).contains(&p99), "so many trees were built: {said}");
    fs::remove_dir_all(copy.join(".git")).unwrap();
    is_shown(&home.join("step.so"));
}

/// What a library has, and what it has not.
fn is_shown(library: &Path) {
    let policy = format!("kernel:{}", library.display());
    let shown = prints(&format!("policies show {policy}"));
    let has = |words: &[&str]| {
        let mut lines = shown.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
        assert!(lines.any(|line| line.starts_with(words)), "{words:?}: {shown}");
    };
    has(&["SIS_UTIL", "on"]);
    has(&["HRTICK", "off"]);
    has(&["base_slice_ns"]);
    assert!(shown.contains("  release        6.12."), "{shown}");
    check(&format!("policies show {policy}+NO_SIS_UTLI"), 2, &["NO_SIS_UTLI", "`NO_SIS_UTIL`"]);
    let without = format!("run --topo t8 --policy {} -- hackbench -g 1", library.display());
    check(&without, 2, &["failed to find policy", "kernel:FILE"]);
}
