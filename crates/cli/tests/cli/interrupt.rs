//! Ctrl-C ends a run cleanly, with what was measured so far.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::common::{command, file};
use serde_json::Value;

/// Runs for minutes if nobody stops it.
const LONG: &str = "run --topo t8 --quiet --json - -- hackbench -g 20 -T -p -l 1000000";

/// Presses Ctrl-C as soon as `child` listens, and returns its exit code and its output.
fn interrupted(child: Child) -> (Option<i32>, String) {
    interrupted_after(child, 0)
}

/// The same as soon as it has also used so many hundredths of a second of CPU time.
fn interrupted_after(mut child: Child, ticks: u64) -> (Option<i32>, String) {
    while !listens(child.id()) || used(child.id()) < ticks {
        assert_eq!(child.try_wait().unwrap(), None, "it runs until it is stopped");
        std::thread::sleep(Duration::from_millis(5));
    }
    let kill = Command::new("sh").args(["-c", &format!("kill -INT {}", child.id())]).status();
    assert!(kill.unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    (output.status.code(), String::from_utf8(output.stdout).unwrap())
}

/// A validation of several runs is stopped when the first of them is kept.
#[test]
fn a_validation_that_was_stopped_goes_on_to_the_same_bytes() {
    let folder = std::path::PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let kept = folder.join("stopped.kept");
    let _ = std::fs::remove_file(&kept);
    let claims = file("stopped.toml", &crate::resume::claims(6, 400));
    let plain = format!("validate --span whole --seeds 2 --json - {}", claims.display());
    let args = format!("{plain} --resume {}", kept.display());
    let mut run = command(&args);
    let run = run.env("RAYON_NUM_THREADS", "1").stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = run.spawn().unwrap();
    while !kept.exists() {
        std::thread::sleep(Duration::from_millis(2));
    }
    let (code, stopped) = interrupted(child);
    assert_eq!(code, Some(130));
    let stopped: Value = serde_json::from_str(&stopped).unwrap();
    assert_eq!(stopped["partial"], true);
    let resumed = command(&args).output().unwrap();
    let said = String::from_utf8(resumed.stderr).unwrap();
    let note = said.lines().find_map(|line| line.strip_prefix("simsched: note: ")).unwrap();
    let before: u32 = note.split_whitespace().next().unwrap().parse().unwrap();
    assert!(
        (1..14).contains(&before) && said.contains("of 14 runs were measured before"),
        "{said}"
    );
    let fresh = command(&plain).output().unwrap();
    assert_eq!(String::from_utf8(resumed.stdout), String::from_utf8(fresh.stdout));
}

/// Whether the process handles SIGINT itself: bit 1 of `SigCgt` in `/proc/PID/status`.
fn listens(pid: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
    u64::from_str_radix(caught.trim(), 16).unwrap() & 1 << 1 != 0
}

/// The CPU time of the process in user mode: the 14th field of `/proc/PID/stat`, the 12th behind its name.
fn used(pid: u32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let (_, behind) = stat.rsplit_once(") ").unwrap();
    behind.split(' ').nth(11).unwrap().parse().unwrap()
}

fn start(args: &str) -> Child {
    command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

#[test]
fn one_run_tells_what_it_has_measured() {
    let (code, text) = interrupted(start(LONG));
    assert_eq!(code, Some(130));
    let report: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((&report["partial"], &report["end"]), (&true.into(), &"interrupted".into()));
    let simulated = report["simulated_ns"].as_u64().unwrap();
    let spent = report["cpu_time_ns"].as_object().unwrap().values();
    assert_eq!(spent.map(|part| part.as_u64().unwrap()).sum::<u64>(), 8 * simulated);
}

#[test]
fn a_file_is_whole_or_not_there() {
    let path = std::path::PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("interrupted.json");
    let args = LONG.replace("--json -", &format!("--json {}", path.display()));
    let (code, text) = interrupted(start(&args));
    assert_eq!(code, Some(130));
    assert!(text.contains("by Ctrl-C"), "{text}");
    let report: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    assert_eq!(report["partial"], true);
}

#[test]
fn several_runs_end_together() {
    let (code, text) = interrupted(start(&LONG.replace("--quiet", "--quiet --seeds 3")));
    assert_eq!(code, Some(130));
    let summary: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(summary["partial"], true);
    let runs = summary["runs"].as_array().unwrap();
    assert_eq!(summary["seeds"], runs.len());
    assert_eq!(summary["summary"], serde_json::json!({}));
    let has_run = |run: &Value| run["simulated_ns"].as_u64().unwrap() > 0;
    assert!(runs.len() <= 3 && runs.iter().all(has_run));
}

/// Two threads have at most two of twenty runs at hand.
#[test]
fn runs_that_never_started_are_no_runs() {
    let args = LONG.replace("--json -", "--seeds 20");
    let mut run = command(&args);
    let run = run.env("RAYON_NUM_THREADS", "2").stdout(Stdio::piped()).stderr(Stdio::piped());
    let (code, text) = interrupted(run.spawn().unwrap());
    assert_eq!(code, Some(130));
    assert!(text.contains("by Ctrl-C: 0 runs done"), "{text}");
    assert!(text.contains("seeds       1 to 20") && !text.contains("mean"), "{text}");
    let (_, rest) = text.split_once("cut short, ").unwrap();
    let (missing, _) = rest.split_once(" never started").unwrap();
    assert!((18..=20).contains(&missing.parse::<u32>().unwrap()), "{text}");
}

#[test]
fn the_schedule_of_what_was_simulated_is_whole() {
    let path = std::path::PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("interrupted.dat");
    let _ = std::fs::remove_file(&path);
    let args = LONG.replace("--json -", &format!("--json - --trace-dat {}", path.display()));
    let (code, text) = interrupted(start(&args));
    assert_eq!(code, Some(130));
    let report: Value = serde_json::from_str(&text).unwrap();
    // Nearly all switches are in pages of some 4000 bytes, of which each takes 64 and its time.
    let bytes = std::fs::metadata(&path).unwrap().len();
    assert!(bytes > 64 * report["context_switches"].as_u64().unwrap());
}

/// Nothing is extrapolated: all numbers are those of a plain run of the same length, to the digest. That
/// holds at whatever point the run is: while it is watched, and (as it mostly is after some two seconds)
/// when part of the work is left out, which changes nothing before the first task ends.
#[test]
fn a_run_that_was_to_be_precise_tells_what_it_has_simulated() {
    const JOB: &str = "hackbench -g 2 -f 10 -T -p -s 16384 -l 1000000";
    let args = |options: &str| format!("run --quiet --topo t16 {options} --json - -- {JOB}");
    for ticks in [20, 250] {
        let (code, text) = interrupted_after(start(&args("--precision 50%")), ticks);
        assert_eq!(code, Some(130));
        let mut told: Value = serde_json::from_str(&text).unwrap();
        assert_eq!((&told["partial"], &told["end"]), (&true.into(), &"interrupted".into()));
        assert_eq!(told.get("precision"), None);
        let simulated = told["simulated_ns"].as_u64().unwrap();
        assert!(simulated > 0);
        let mut plain = crate::common::json(&args(&format!("--whole --duration {simulated}ns")));
        for report in [&mut told, &mut plain] {
            let report = report.as_object_mut().unwrap();
            assert!(report.shift_remove("end").is_some());
            let scenario = report["scenario"].as_object_mut().unwrap();
            let asked = ["precision_pct", "duration_ns", "whole"];
            scenario.retain(|key, _| !asked.contains(&key.as_str()));
        }
        assert_eq!(told, plain);
    }
}

/// What was judged of a part of the runs is no verdict.
#[test]
fn a_lab_that_was_stopped_has_the_exit_code_of_ctrl_c() {
    let data = concat!(env!("CARGO_MANIFEST_DIR"), "/../lab/tests/data/6.1-t16");
    let (code, text) = interrupted(start(&format!("lab {data} -q --seeds 100")));
    assert_eq!(code, Some(130), "{text}");
}
