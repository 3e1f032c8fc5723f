//! Libraries of Debian's kernels, built as a user builds them: what is right becomes one, and what is not says why.
//!
//! The sources are those of the packages `linux-source-6.1` and `linux-source-6.12`. Where neither is installed, or the
//! machine cannot build, the tests say so and pass.

#![expect(clippy::unwrap_used, reason = "a test stops where it fails")]

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use simsched_kernel::build::shim_version;
use simsched_kernel::{KernelError, KernelSpec};
use simsched_policies::PolicySpec;

use crate::common::{built, cache_of, can_build, scratch, tree};

fn debian(version: &str, release: &str) {
    let Some(tree) = can_build().then(|| tree(version)).flatten() else { return };
    let library = scratch().join(format!("{version}.so"));
    // It has passed its test: 16 tasks on 16 CPUs, nothing said, and a second copy alike.
    let first = built(&tree, &library).unwrap();
    assert!(first.release.starts_with(release), "{}", first.release);
    assert_eq!(first.sources.len(), 64);
    assert!((50..250).contains(&first.stubs), "{} stubs", first.stubs);
    assert_eq!(fs::metadata(&library).unwrap().len(), first.bytes);
    assert_eq!(first.configuration.len(), 64);
    // A report of a run under it says what it was built of.
    let built_of = KernelSpec::open(&library).unwrap().built_of();
    let want = [
        ("release", first.release.as_str()),
        ("sources", &first.sources),
        ("configuration", &first.configuration),
        ("shim", &shim_version()),
    ];
    assert_eq!(built_of, want.map(|(name, text)| (name.to_owned(), text.to_owned())));
    // Nothing has changed, so nothing is compiled, and the library is the same.
    let bytes = fs::read(&library).unwrap();
    let before = object_times(&tree);
    let again = built(&tree, &library).unwrap();
    assert!(before.len() > 20 && object_times(&tree) == before, "objects are made again");
    assert_eq!(again.sources, first.sources);
    assert!(fs::read(&library).unwrap() == bytes, "built again, it is another");
}

/// When the objects of this tree were written.
fn object_times(tree: &Path) -> Vec<(PathBuf, impl Ord + use<>)> {
    let entries =
        |folder: PathBuf| fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let folders = entries(cache_of(tree));
    let objects = folders.map(|folder| folder.join("object")).filter(|folder| folder.exists());
    let files =
        objects.flat_map(entries).filter(|path| path.extension().is_some_and(|it| it == "o"));
    let mut times: Vec<_> =
        files.map(|path| (path.clone(), fs::metadata(path).unwrap().modified().unwrap())).collect();
    times.sort();
    times
}

#[test]
fn debians_6_1_becomes_a_library() {
    debian("6.1", "6.1.");
}

#[test]
fn debians_6_12_becomes_a_library() {
    debian("6.12", "6.12.");
}

/// A copy of the tree in which this is all that `kernel/sched/fair.c` differs by; other files are shared.
fn patched(tree: &Path, patch: impl Fn(&str) -> String) -> PathBuf {
    let copy = scratch().join("patched");
    if !copy.exists() {
        let part = scratch().join("patched.part");
        let _ = fs::remove_dir_all(&part);
        let status = Command::new("cp").arg("-al").arg(tree).arg(&part).status().unwrap();
        assert!(status.success(), "{} is copied", tree.display());
        fs::rename(part, &copy).unwrap();
    }
    let text = fs::read_to_string(tree.join("kernel/sched/fair.c")).unwrap();
    let new = patch(&text);
    assert_ne!(new, text, "the patch applies");
    let fair = copy.join("kernel/sched/fair.c");
    // In place it would be the tree's own.
    fs::remove_file(&fair).unwrap();
    fs::write(fair, new).unwrap();
    copy
}

/// What does not compile is shown as the compiler says it; what compiles and does not spread tasks gets no name.
#[test]
fn a_patch_that_is_wrong_becomes_no_library() {
    let Some(tree) = can_build().then(|| tree("6.12")).flatten() else { return };
    let library = scratch().join("patched.so");
    let _ = fs::remove_file(&library);
    let copy = patched(&tree, |text| {
        text.to_owned() + "\nint broken(void) { return no_such_function(); }\n"
    });
    match built(&copy, &library).unwrap_err() {
        KernelError::Step { said, .. } => {
            assert!(said.contains("fair.c") && said.contains("no_such_function"), "{said}");
        }
        other => panic!("{other}"),
    }
    assert!(!library.exists());
    // A child stays where it was forked, and nobody moves it.
    let stuck = |text: &str| {
        let select = "select_task_rq_fair(struct task_struct *p, int prev_cpu, int wake_flags)\n{";
        let moves = "int can_migrate_task(struct task_struct *p, struct lb_env *env)\n{";
        text.replace(select, &format!("{select}\n\tif (p)\n\t\treturn prev_cpu;\n"))
            .replace(moves, &format!("{moves}\n\tif (p)\n\t\treturn 0;\n"))
    };
    let said = built(&patched(&tree, stuck), &library).unwrap_err().to_string();
    assert!(said.contains("computing tasks in four LLCs, expected four in each"), "{said}");
    assert!(!library.exists());
    let warns = |text: &str| {
        let tick = "task_tick_fair(struct rq *rq, struct task_struct *curr, int queued)\n{";
        text.replace(tick, &format!("{tick}\n\tWARN_ON_ONCE(1);\n"))
    };
    let said = built(&patched(&tree, warns), &library).unwrap_err().to_string();
    assert!(said.contains("the kernel's code said: ") && said.contains("fair.c"), "{said}");
    assert!(!library.exists());
}
