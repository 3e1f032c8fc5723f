//! Sweeps: every cell is a run of its own, and however a sweep was stopped, it comes to the same bytes.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;

use crate::common::{check, command, file, json, prints, simsched};

/// Twelve cells of 16, with an axis of each kind.
const PLAN: &str = "\
topo = 't8'
seeds = 2
[settings]
SIS_UTIL = true
[grid]
policy = ['cfs@6.1', 'eevdf']
settings.hz = [250, 1000]
[axis.load]
light = { workload = 'hackbench -g 1 -f 2 -T -p -l 5' }
heavy = { workload = ['hackbench', '-g', '2', '-f', '2', '-T', '-p', '-l', '20'], topo = 't16' }
[[exclude]]
policy = 'eevdf'
settings.hz = 1000
";

/// A folder of this test run that is not there yet.
pub(crate) fn fresh(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    folder
}

fn plan(name: &str) -> PathBuf {
    file(name, PLAN)
}

/// All files below a folder, by their paths in it.
pub(crate) fn tree(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let (mut found, mut folders) = (BTreeMap::new(), vec![folder.to_owned()]);
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false => {
                    let bytes = fs::read(&path).unwrap();
                    found.insert(path.strip_prefix(folder).unwrap().to_owned(), bytes);
                }
            }
        }
    }
    found
}

fn assert_same(a: &Path, b: &Path) {
    let (a, b) = (tree(a), tree(b));
    assert_eq!(a.keys().collect::<Vec<_>>(), b.keys().collect::<Vec<_>>());
    for (path, bytes) in &a {
        assert!(b[path] == *bytes, "{} differs", path.display());
    }
}

pub(crate) fn sweep(plan: &Path, folder: &Path, more: &str) -> String {
    prints(&format!("sweep -q {} -o {} {more}", plan.display(), folder.display()))
}

fn rows(folder: &Path) -> Vec<Value> {
    let text = fs::read_to_string(folder.join("results.jsonl")).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_row_tells_what_a_single_run_of_its_cell_tells() {
    let (plan, folder) = (plan("rows.toml"), fresh("rows"));
    let told = sweep(&plan, &folder, "");
    assert!(told.contains("12 done, 0 failed") && told.contains("policy"), "{told}");
    let rows = rows(&folder);
    let values = |row: &Value| {
        ["policy", "settings.hz", "load", "seed"].map(|axis| row[axis].as_str().unwrap().to_owned())
    };
    assert_eq!(rows.len(), 12);
    // The last axis varies fastest.
    assert_eq!(values(&rows[0]), ["cfs@6.1", "250", "light", "1"]);
    assert_eq!(values(&rows[1]), ["cfs@6.1", "250", "light", "2"]);
    assert_eq!(values(&rows[11]), ["eevdf", "250", "heavy", "2"]);
    let run = "run -q --json - --topo t16 --policy cfs@6.1 --set hz=1000 --set SIS_UTIL=on --seed 2 \
               -- hackbench -g 2 -f 2 -T -p -l 20";
    let report = json(run);
    let row = rows.iter().find(|row| values(row) == ["cfs@6.1", "1000", "heavy", "2"]).unwrap();
    for (column, path) in [
        ("digest", "/digest"),
        ("elapsed_ns", "/elapsed_ns"),
        ("migrations.by_cause.fork", "/migrations/by_cause/fork"),
        ("wakeup_latency_ns.p99", "/wakeup_latency_ns/p99"),
        ("costs_by_node.1.idle", "/costs_by_node/1/idle"),
        ("scenario.policy_full", "/scenario/policy_full"),
    ] {
        assert_eq!(row.get(column), report.pointer(path), "{column}");
    }
}

/// A comma and a quote in a value are quoted as RFC 4180 has it.
#[test]
fn csv_has_the_columns_of_the_json_lines() {
    let text = PLAN.replace("light =", "'light, \"or so\"' =");
    let folder = fresh("columns");
    sweep(&file("columns.toml", &text), &folder, "");
    let csv = fs::read_to_string(folder.join("results.csv")).unwrap();
    let rows = rows(&folder);
    let keys: Vec<&String> = rows[0].as_object().unwrap().keys().collect();
    assert_eq!(csv.lines().next().unwrap().split(',').collect::<Vec<_>>(), keys);
    assert!(csv.lines().nth(1).unwrap().contains(",\"light, \"\"or so\"\"\",1,"), "{csv}");
    assert_eq!(csv.lines().count(), 13);
    assert_eq!(
        keys[..8],
        ["policy", "settings.hz", "load", "seed", "cell", "state", "error", "scenario.topology"]
    );
    for row in &rows {
        assert_eq!(row.as_object().unwrap().keys().collect::<Vec<_>>(), keys);
    }
}

#[test]
fn one_thread_and_two_come_to_the_same_bytes() {
    let plan = plan("threads.toml");
    let folders = ["threads-1", "threads-2"].map(fresh);
    for (folder, threads) in folders.iter().zip(["1", "2"]) {
        let mut run = command(&format!("sweep -q {} -o {}", plan.display(), folder.display()));
        assert!(run.env("RAYON_NUM_THREADS", threads).output().unwrap().status.success());
    }
    assert_same(&folders[0], &folders[1]);
}

/// How many cells a sweep has kept.
pub(crate) fn nr_kept(folder: &Path) -> usize {
    let is_cell = |entry: &fs::DirEntry| entry.path().extension().is_some_and(|e| e == "json");
    fs::read_dir(folder.join("cells")).map_or(0, |cells| cells.flatten().filter(is_cell).count())
}

/// SIGKILL at once, at moments between, and after some cells; then once to the end.
#[cfg(unix)]
#[test]
fn a_sweep_that_was_killed_goes_on_to_the_same_bytes() {
    let text = PLAN.replace("-l 5'", "-l 200'").replace("'20']", "'400']");
    let plan = file("killed.toml", &text);
    let (undisturbed, killed) = (fresh("undisturbed"), fresh("killed"));
    sweep(&plan, &undisturbed, "");
    let args = format!("sweep -q {} -o {}", plan.display(), killed.display());
    let mut kills = 0;
    for round in 0..12u64 {
        let before = nr_kept(&killed);
        let mut child = command(&args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(3 * round));
        while round % 3 == 2 && nr_kept(&killed) < before + 1 && child.try_wait().unwrap().is_none()
        {
            std::thread::sleep(Duration::from_millis(1));
        }
        kills += u32::from(child.try_wait().unwrap().is_none());
        let _ = child.kill();
        child.wait().unwrap();
    }
    assert!(kills >= 3, "{kills} of 12 were killed before their end");
    // What a kill between creation and renaming leaves, by a process that is gone.
    fs::write(killed.join("cells/.simsched-0aB1cD2e.tmp"), "{").unwrap();
    sweep(&plan, &killed, "");
    assert_same(&killed, &undisturbed);
}

#[cfg(target_os = "linux")]
#[test]
fn ctrl_c_ends_a_sweep_with_130_and_says_how_to_go_on() {
    let text = PLAN.replace("-l 5'", "-l 5000'").replace("'20']", "'5000']");
    let (plan, folder) = (file("ctrl-c.toml", &text), fresh("ctrl-c"));
    let args = format!("sweep -q {} -o {}", plan.display(), folder.display());
    let mut run = command(&args);
    let run = run.env("RAYON_NUM_THREADS", "1").stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = run.spawn().unwrap();
    while nr_kept(&folder) == 0 {
        std::thread::sleep(Duration::from_millis(2));
    }
    let kill = format!("kill -INT {}", child.id());
    assert!(std::process::Command::new("sh").args(["-c", &kill]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(130), "{said}");
    assert!(said.contains("of 12 cells are done; the same command goes on"), "{said}");
    assert!(!folder.join("results.csv").exists() && nr_kept(&folder) < 12);
}

#[test]
fn shards_divide_the_cells_and_merge_to_the_whole() {
    let plan = plan("shards.toml");
    let whole = fresh("shards-whole");
    sweep(&plan, &whole, "");
    let folders = [1, 2, 3].map(|n| fresh(&format!("shards-{n}")));
    let mut nr = Vec::new();
    for (n, folder) in folders.iter().enumerate() {
        sweep(&plan, folder, &format!("--shard {}/3", n + 1));
        nr.push(nr_kept(folder));
    }
    assert_eq!(nr, [4, 4, 4]);
    let [a, b, c] = folders.each_ref().map(|folder| folder.display().to_string());
    let out = fresh("shards-merged");
    let missing = format!("merge {a} {c} -o {}", out.display());
    check(&missing, 2, &["4 of 12 cells are missing", "policy=", "load=", "seed="]);
    prints(&format!("merge {c} {a} {b} {a} -o {}", out.display()));
    assert_same(&out, &whole);
}

/// A kept text with the checksum that it should have: FNV-1a of what stands before it.
fn sealed_again(text: &str) -> String {
    let (body, _) = text.rsplit_once(",\n  \"checksum\": \"").unwrap();
    let step = |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let hash = body.bytes().fold(0xcbf2_9ce4_8422_2325, step);
    format!("{body},\n  \"checksum\": \"{hash:016x}\"\n}}\n")
}

#[test]
fn merging_refuses_what_differs() {
    let (plan, whole) = (plan("differs.toml"), fresh("differs-whole"));
    sweep(&plan, &whole, "");
    let other = fresh("differs-other");
    sweep(&plan, &other, "");
    let cell = fs::read_dir(other.join("cells")).unwrap().next().unwrap().unwrap().path();
    let text = fs::read_to_string(&cell).unwrap();
    let text = text.replace("\"context_switches\": ", "\"context_switches\": 1");
    fs::write(&cell, sealed_again(&text)).unwrap();
    let out = fresh("differs-out");
    let (a, b, out) = (whole.display(), other.display(), out.display());
    check(&format!("merge {a} {b} -o {out}"), 2, &["differs between them", "cells/"]);
    let third = fresh("differs-third");
    sweep(&file("differs-2.toml", &PLAN.replace("seeds = 2", "seeds = 1")), &third, "");
    let c = third.display();
    check(&format!("merge {a} {c} -o {out}"), 2, &["found the plan", &c.to_string()]);
    let manifest = third.join("sweep.json");
    let text = fs::read_to_string(&manifest).unwrap();
    let other = sealed_again(&text.replace("\"version\": \"", "\"version\": \"9"));
    fs::write(&manifest, other).unwrap();
    check(&format!("merge {c} {c} -o {out}"), 2, &["6 of 6 cells are missing"]);
    fs::write(&manifest, "{}").unwrap();
    check(&format!("merge {c} -o {out}"), 2, &["found something else"]);
    check(&format!("merge nowhere -o {out}"), 2, &["nowhere: found no sweep.json"]);
}

#[test]
fn a_changed_plan_runs_its_new_cells_only() {
    let (path, folder) =
        (file("changed.toml", &PLAN.replace("seeds = 2", "seeds = 1")), fresh("changed"));
    sweep(&path, &folder, "");
    let old = tree(&folder.join("cells"));
    assert_eq!(old.len(), 6);
    fs::write(&path, PLAN).unwrap();
    let output = simsched(&format!("sweep {} -o {}", path.display(), folder.display()));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        said.contains("the plan has changed") && said.contains("6 of 12 cells were done before"),
        "{said}"
    );
    let new = tree(&folder.join("cells"));
    assert!(new.len() == 12 && old.iter().all(|(path, bytes)| new[path] == *bytes));
    let plain = fresh("changed-plain");
    sweep(&path, &plain, "");
    assert_same(&folder, &plain);
    let shard = format!("sweep {} -o {} --shard 1/2", path.display(), folder.display());
    check(&shard, 2, &["found the whole sweep, expected shard 1/2"]);
    check(
        &format!("sweep {} -o src", path.display()),
        2,
        &["src: found a folder with other files"],
    );
}

#[test]
fn cells_that_miss_their_precision_end_the_sweep_with_code_1() {
    let text = "topo = 't16'\nprecision = '0.1%'\nprecision_limit = '3M'\nseeds = 2\n\
                workload = 'hackbench -g 2 -f 10 -T -p -s 16384 -l 100000'\n";
    let (path, folder) = (file("imprecise.toml", text), fresh("imprecise"));
    let output = simsched(&format!("sweep -q {} -o {}", path.display(), folder.display()));
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(rows(&folder).iter().all(|row| row["precision.reached"] == false));
}

/// A run that its limit of events stops before it has measured anything has failed.
#[test]
fn a_cell_that_fails_is_told_with_its_reason_and_the_others_go_on() {
    let text = "topo = 't8'\nprecision = '2%'\n[axis.limit]\n\
                none = { workload = 'hackbench -T -p -g 1 -l 3' }\n\
                short = { workload = 'hackbench -T -p', precision_limit = '1k' }\n";
    let (path, folder) = (file("failing.toml", text), fresh("failing"));
    let args = format!("sweep -q {} -o {}", path.display(), folder.display());
    check(&args, 3, &["1 of 2 cells have failed", "results.csv says why"]);
    let found = rows(&folder);
    assert_eq!([&found[0]["state"], &found[1]["state"]], ["done", "failed"]);
    let why = found[1]["error"].as_str().unwrap();
    assert!(why.contains("before there was anything"), "{why}");
    assert!(found[0]["digest"].is_string() && found[1]["digest"].is_null());
    // It fails again when it is asked again, and nothing is run.
    let before = tree(&folder);
    check(&args, 3, &["1 of 2 cells have failed"]);
    assert!(before == tree(&folder));
}

#[test]
fn a_dry_run_lists_the_cells_and_writes_nothing() {
    let path = plan("dry.toml");
    let text = prints(&format!("sweep {} --dry-run", path.display()));
    assert!(text.ends_with("12 cells\n"), "{text}");
    assert!(text.contains("policy=cfs@6.1, settings.hz=1000, load=heavy, seed=2\n"), "{text}");
    assert!(!text.contains("policy=eevdf, settings.hz=1000"), "{text}");
    let parts =
        [1, 2].map(|n| prints(&format!("sweep {} --dry-run --shard {n}/2", path.display())));
    let mut lines: Vec<&str> =
        parts.iter().flat_map(|part| part.lines()).filter(|line| line.contains('=')).collect();
    lines.sort_unstable();
    let mut all: Vec<&str> = text.lines().filter(|line| line.contains('=')).collect();
    all.sort_unstable();
    assert_eq!(lines, all);
    check(&format!("sweep {}", path.display()), 2, &["--output"]);
}
