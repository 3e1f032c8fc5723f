//! Names of files that are no UTF-8, which Linux allows: they work, or one sentence says that they do not.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::Output;

use crate::common::command;

/// `text` with an odd byte for each `?`.
fn odd(text: &str) -> OsString {
    let bytes: Vec<u8> = text.bytes().map(|b| if b == b'?' { 0xff } else { b }).collect();
    OsStr::from_bytes(&bytes).to_owned()
}

/// A folder of this test run with an odd name.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(odd(name));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// Runs `simsched` with these arguments, in which `?` is an odd byte.
fn run(folder: &Path, args: &str) -> Output {
    let words = args.split_whitespace().map(odd);
    command("").args(words).current_dir(folder).output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

const MACHINE: &str = include_str!("../data/machine.toml");

#[test]
fn a_name_that_is_no_utf_8_where_a_report_tells_it_is_refused_with_its_argument() {
    let folder = folder("names-refused");
    fs::write(folder.join(odd("m?.toml")), MACHINE).unwrap();
    for (args, argument) in [
        ("run --topo m?.toml -- hackbench", "--topo"),
        ("compare --topo m?.toml --policy cfs --policy fifo", "--topo"),
        ("topo show m?.toml", "MACHINE[@MODE]"),
        ("topo check m?.toml", "FILE"),
        ("replay m?.toml --topo t8", "TRACE"),
        ("replay trace.txt --topo m?.toml", "--topo"),
        ("run --topo t8 -- rt-app m?.toml", "WORKLOAD"),
        ("run --topo t8 -- replay m?.toml", "WORKLOAD"),
        ("run --topo t8 --policy m?.toml", "--policy"),
        ("validate claims --only m?.toml", "--only"),
    ] {
        let output = run(&folder, args);
        let text = said(&output);
        assert_eq!(output.status.code(), Some(2), "{args}: {text}");
        let sentence =
            format!("simsched: {argument}: found 'm\u{fffd}.toml', expected text in UTF-8");
        assert!(text.starts_with(&sentence) && text.lines().count() == 1, "{args}: {text}");
    }
    let output = run(&folder, "run --topo t8 --seed m?.toml");
    assert!(said(&output).contains("found 'm\u{fffd}.toml', expected text in UTF-8"));
}

#[test]
fn files_of_any_name_are_read_and_written() {
    let folder = folder("names-any?");
    let run = |args: &str| {
        let output = run(&folder, args);
        assert_eq!(output.status.code(), Some(0), "{args}: {}", said(&output));
    };
    let scenario = "topo = 't8'\nworkload = 'hackbench -g 1 -f 1 -T -p -l 2'\n";
    fs::write(folder.join(odd("s?.toml")), scenario).unwrap();
    run("run -q s?.toml --json r?.json --ftrace t?.txt");
    run("run -q r?.json");
    run("report p?.html r?.json");
    run("sweep -q s?.toml -o o?");
    run("merge o? -o w?");
    for name in ["r?.json", "t?.txt", "p?.html", "o?/results.csv", "w?/results.csv"] {
        assert!(folder.join(odd(name)).is_file(), "{name}");
    }
    // A recording in such a folder, by a name that is text.
    fs::rename(folder.join(odd("t?.txt")), folder.join("t.txt")).unwrap();
    run("replay t.txt --topo t8");
}

#[test]
fn no_other_file_is_read_in_place_of_one_whose_path_is_no_text() {
    let folder = folder("names-beside?");
    fs::write(folder.join("m.toml"), MACHINE).unwrap();
    let scenario = "topo = 'm.toml'\nworkload = 'hackbench -g 1 -f 1 -T -p -l 2'\n";
    fs::write(folder.join("s.toml"), scenario).unwrap();
    let above = folder.parent().unwrap();
    for args in ["run -q names-beside?/s.toml", "sweep names-beside?/s.toml --dry-run"] {
        let output = run(above, args);
        let text = said(&output);
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(text.contains("/s.toml:1: topo: found a folder whose name is not UTF-8"), "{text}");
    }
    let inside = run(&folder, "run -q s.toml");
    assert_eq!(inside.status.code(), Some(0), "{}", said(&inside));
    // What would be saved elsewhere is the whole path of the machine, or that of an output.
    let saved = run(&folder, "run --topo m.toml --save-scenario ../names-saved.toml");
    assert!(said(&saved).contains("--topo: found '"), "{}", said(&saved));
    let saved = run(&folder, "run --topo t8 --trace t?.pftrace --save-scenario -");
    assert!(said(&saved).contains("--trace: found 't\u{fffd}.pftrace'"), "{}", said(&saved));
    assert_eq!(saved.status.code(), Some(2));
}
