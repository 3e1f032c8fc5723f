//! Where results go: not over what was read, into pipes by their paths, and nowhere if the run is stopped.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::common::{SMALL, check, command, file, json, prints};

const MACHINE: &str = include_str!("../../../../topologies/t8.toml");

fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir(&folder).unwrap();
    folder
}

#[test]
fn what_is_read_is_not_written_over() {
    let machine = file("own.toml", MACHINE);
    let name = machine.display();
    let said = "found the same file to read and to write";
    check(&format!("run --quiet --topo {name} --json {name}"), 2, &["own.toml", said]);
    let herd = file("herd.toml", "topo = \"t8\"\nworkload = \"hackbench -g 1 -f 2 -l 5\"\n");
    let herd = herd.display();
    check(&format!("run --quiet {herd} --json {herd}"), 2, &["herd.toml", said]);
    check(&format!("run --quiet {herd} --ftrace {herd}"), 2, &["herd.toml", said]);
    assert_eq!(fs::read_to_string(&machine).unwrap(), MACHINE);
}

#[test]
fn a_result_is_not_taken_for_the_page_it_is_to_be_shown_on() {
    let result = folder("no-page").join("a.json");
    prints(&SMALL.replace("--quiet", &format!("--quiet --json {}", result.display())));
    let before = fs::read_to_string(&result).unwrap();
    let other = file("no-page-other.json", &before);
    let args = format!("report {} {}", result.display(), other.display());
    check(&args, 2, &["a.json", "expected the name of the page"]);
    assert_eq!(fs::read_to_string(&result).unwrap(), before);
}

/// The shell's `>(...)` and `/dev/stdout` are links to something that has no name.
#[test]
fn a_pipe_may_be_named_by_its_path() {
    let named = prints(&SMALL.replace("--quiet", "--quiet --json /dev/stdout"));
    let from = named.find('{').unwrap();
    let mut reports = serde_json::Deserializer::from_str(&named[from..]).into_iter::<Value>();
    let report = reports.next().unwrap().unwrap();
    assert_eq!(report["digest"], json(&SMALL.replace("--quiet", "--quiet --json -"))["digest"]);
}

#[test]
fn a_file_that_is_replaced_keeps_its_mode() {
    use std::os::unix::fs::PermissionsExt;
    let path = file("private.json", "");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    prints(&SMALL.replace("--quiet", &format!("--quiet --json {}", path.display())));
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
}

/// As `timeout`, a batch system and a terminal that goes away do.
#[test]
fn a_run_that_is_terminated_leaves_nothing_half_written() {
    for signal in ["TERM", "HUP"] {
        let folder = folder(&format!("stopped-{signal}"));
        let trace = folder.join("long.pftrace");
        let args = "run --topo t8 --quiet --trace";
        let long = "-- hackbench -g 20 -T -p -l 1000000";
        let mut run = command(&format!("{args} {} {long}", trace.display()));
        let mut child = run.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        // It listens before it begins to write.
        while fs::read_dir(&folder)
            .unwrap()
            .all(|entry| entry.unwrap().metadata().unwrap().len() == 0)
        {
            std::thread::sleep(Duration::from_millis(5));
        }
        let kill = format!("kill -{signal} {}", child.id());
        assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
        assert_eq!(child.wait().unwrap().code(), Some(130), "{signal}");
        let left = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name());
        let left: Vec<_> = left.filter(|name| name != "long.pftrace").collect();
        assert!(left.is_empty(), "{signal}: {left:?}");
    }
}

/// The temporary name is no longer than the name itself may be.
#[test]
fn a_name_may_be_as_long_as_files_allow() {
    let path = folder("long-name").join(format!("{}.json", "n".repeat(250)));
    prints(&SMALL.replace("--quiet", &format!("--quiet --json {}", path.display())));
    assert!(path.exists());
}

/// In a container every process may have the same number.
#[test]
fn a_run_that_was_killed_does_not_stand_in_the_way() {
    let folder = folder("killed");
    let path = folder.join("r.json");
    let long = "run --topo t8 --quiet --json {} -- hackbench -g 20 -T -p -l 1000000";
    let mut child = command(&long.replace("{}", &path.display().to_string())).spawn().unwrap();
    while fs::read_dir(&folder).unwrap().count() == 0 {
        std::thread::sleep(Duration::from_millis(2));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    prints(&SMALL.replace("--quiet", &format!("--quiet --json {}", path.display())));
    let names: Vec<_> = fs::read_dir(&folder).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(names, ["r.json"], "what was left is swept");
}

/// `ulimit -f`: the write fails as on a full disk, and nothing is left.
#[test]
#[cfg(target_os = "linux")]
fn a_file_beyond_the_limit_of_the_process_is_one_sentence() {
    let folder = folder("file-limit");
    let exe = env!("CARGO_BIN_EXE_simsched");
    let line =
        format!("ulimit -f 1; exec {exe} {}", SMALL.replace("--quiet", "--quiet --json a.json"));
    let run = Command::new("sh").args(["-c", &line]).current_dir(&folder).output().unwrap();
    let said = String::from_utf8(run.stderr).unwrap();
    assert_eq!(run.status.code(), Some(2), "{said}");
    assert!(said.contains("a.json: File too large") && said.lines().count() == 1, "{said}");
    let left: Vec<_> = fs::read_dir(&folder).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}
