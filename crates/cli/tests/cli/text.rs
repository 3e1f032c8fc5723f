//! The text: help that works, the program's own output, files that are whole.

use std::io::Read;
use std::path::PathBuf;
use std::process::Stdio;

use crate::common::{SMALL, command, file, json, prints, simsched};

#[test]
fn every_help_text_has_an_example_that_runs() {
    let helps = [
        "--help",
        "run --help",
        "topo --help",
        "topo list --help",
        "topo show --help",
        "topo check --help",
        "policies --help",
        "policies list --help",
        "policies show --help",
        "workloads --help",
    ];
    for help in helps {
        let text = prints(help);
        assert!(text.contains("Usage: simsched"), "{text}");
        let (_, after) = text.split_once("Example:\n").unwrap();
        let example = after.lines().next().unwrap().trim();
        assert!(!prints(example.strip_prefix("simsched ").unwrap()).is_empty(), "{example}");
    }
}

#[test]
fn the_version_is_that_of_the_package() {
    assert_eq!(prints("--version"), format!("simsched {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn a_subcommand_without_its_verb_explains_itself() {
    let output = simsched("topo");
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8(output.stderr).unwrap().contains("Usage: simsched topo"));
}

/// The first two lines are those of hackbench 2.4 of rt-tests for these options.
#[test]
fn the_output_of_the_program_comes_first_and_as_it_prints_it() {
    let text = prints(SMALL);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines[0],
        "Running in threaded mode with 1 groups using 4 file descriptors each (== 4 tasks)"
    );
    assert_eq!(lines[1], "Each sender will pass 5 messages of 100 bytes");
    let seconds = lines[2].strip_prefix("Time: ").unwrap();
    let (whole, thousandths) = seconds.split_once('.').unwrap();
    assert!(whole.parse::<u32>().is_ok() && thousandths.len() == 3, "{seconds}");
    assert_eq!(lines[3], "");
    assert!(lines[4].starts_with("machine     t8@lab: 8 CPUs, 1 LLC, 1 node"), "{}", lines[4]);
    assert!(text.lines().last().unwrap().starts_with("digest      "));
}

#[test]
fn no_workload_is_hackbench_with_threads_over_pipes() {
    let scenario = &json("run --quiet --topo t8 --json -")["scenario"];
    assert_eq!(scenario["workload"], "hackbench -g 10 -f 20 -l 100 -s 100 -T -p");
}

#[test]
fn quiet_says_nothing_on_stderr_and_else_it_is_one_line_of_speed() {
    assert!(simsched(SMALL).stderr.is_empty());
    let loud = simsched(&SMALL.replace("--quiet ", ""));
    let text = String::from_utf8(loud.stderr).unwrap();
    assert!(text.starts_with("simsched: ") && text.contains("events per second"), "{text}");
    assert_eq!(text.lines().count(), 1);
}

/// 2 groups of 4 senders and 4 receivers, each sender 30 messages to each receiver: 16 workers and
/// 2 * 4 * 4 * 30 messages.
/// At 1000 Hz there are four times the ticks of 250 Hz: the time for them says so.
/// The first run of many is the run that `--seed` alone gives.
#[test]
fn json_goes_to_its_file_and_text_to_stdout() {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("report.json");
    let run = |json: &str| format!("run --quiet --topo t8 --json {json} -- hackbench -g 1 -l 5");
    let text = prints(&run(&path.display().to_string()));
    assert!(text.starts_with("Running in "), "{text}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), prints(&run("-")));
}

#[test]
fn a_machine_file_works_where_a_name_does() {
    let path = file("own.toml", include_str!("../data/machine.toml"));
    let report = json(&format!("run --quiet --topo {} --json -", path.display()));
    assert_eq!(report["scenario"]["topology"], "listed");
    let shown = prints(&format!("topo show {} --cpu 5", path.display()));
    assert!(shown.contains("8 CPUs"), "{shown}");
}

/// Genoa in NPS4: 8 nodes; CPU 100 is in socket 1, and its sched domains are SMT, MC, NODE and two
/// NUMA levels.
#[test]
fn every_machine_of_the_list_is_right_in_every_mode() {
    let names = [
        "spr",
        "spr-2x48",
        "spr-2x60",
        "spr-2x30",
        "genoa",
        "genoa-4n32",
        "milan-7543",
        "milan-7763",
        "icelake",
        "cascadelake",
        "power10",
        "t8",
        "t16",
        "t32",
        "t64",
    ];
    let list = prints("topo list");
    for name in names {
        assert!(list.lines().any(|line| line.split_whitespace().next() == Some(name)), "{name}");
        assert!(prints(&format!("topo check {name}.toml")).contains(" CPUs"));
    }
}

#[test]
fn policies_and_workloads_are_listed_with_their_sources() {
    let policies = prints("policies");
    assert_eq!(policies, prints("policies list"));
    for name in ["cfs", "wakeup_bias_prev", "SIS_UTIL", "migration_cost_ns", "skew_tick"] {
        assert!(policies.contains(name), "{name}");
    }
    let cfs = prints("policies show cfs");
    assert!(cfs.contains("6.1") && cfs.contains("SIS_UTIL"), "{cfs}");
    assert!(prints("workloads").starts_with("hackbench"));
    assert!(prints("workloads hackbench").contains("--loops"));
}

#[test]
fn a_reader_that_goes_away_is_no_accident() {
    let args = "topo show genoa --json";
    let mut child = command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // Closes the pipe before all of it has been read.
    drop(child.stdout.take());
    let mut errors = String::new();
    child.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
    assert_eq!((child.wait().unwrap().code(), errors.as_str()), (Some(0), ""));
}
