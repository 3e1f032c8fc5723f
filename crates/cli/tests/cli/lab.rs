//! `simsched lab`: verdicts on recordings of a kernel and on the simulator's runs.

use std::fs;
use std::path::{Path, PathBuf};

use simsched_lab::tracefs;

use crate::common::{command, json, prints, simsched};

/// What a real kernel did, on 16 CPUs: some scenarios of one seed.
fn folder() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../lab/tests/data/6.1-t16");
    path.display().to_string()
}

fn scratch(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name)
}

fn last_line(text: &str) -> &str {
    text.lines().last().unwrap()
}

#[test]
fn a_kernels_own_run_meets_all_that_is_judged() {
    let text =
        prints(&format!("lab {} --recorded lockstep-s1 --bar exact=100,loose=100", folder()));
    assert!(text.starts_with("6.1-t16: as recorded under lockstep-s1\n"), "{text}");
    let summary = "exact 53 of 53 (100.0 %), tight 34 of 34 (100.0 %), loose 17 of 17 (100.0 %), \
                   9 shown";
    assert_eq!(last_line(&text), summary);
    let line = text.lines().find(|line| line.contains("per_node_sorted@200")).unwrap();
    let words: Vec<&str> = line.split_whitespace().collect();
    let expected =
        ["hogs-free-17", "per_node_sorted@200", "exact", "8,9", "8,9", "8,9", "-", "8,9"];
    assert_eq!(words[..8], expected);
    assert_eq!(words[8], "met");
}

#[test]
fn a_policy_that_never_moves_a_task_does_not_reach_the_bar() {
    let args = format!("lab {} --policy fifo --only hogs-herd-8 --quiet", folder());
    let output = simsched(&args);
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(last_line(&text).contains("; below the bar: exact, "), "{text}");
    assert!(output.stderr.is_empty());
    prints(&format!("{args} --bar exact=0"));
}

#[test]
fn a_kernel_without_a_policy_is_not_yet_run() {
    let path = scratch("6.99-t16");
    fs::create_dir_all(&path).unwrap();
    let text = prints(&format!("lab {}", path.display()));
    assert!(text.starts_with("6.99-t16: not yet: there is no policy for kernel 6.99\n"), "{text}");
    assert_eq!(json(&format!("lab {} --json -", path.display()))["folders"][0]["state"], "not_yet");
}

#[test]
fn the_json_says_what_the_text_says() {
    let args = format!("lab {} --only hogs-free-17 --bar tight=5", folder());
    let (text, json) = (prints(&args), json(&format!("{args} --json -")));
    assert_eq!(
        (&json["schema"], &json["seed"], &json["passed"]),
        (&1.into(), &1.into(), &true.into())
    );
    let folder = &json["folders"][0];
    assert_eq!((&folder["kernel"], &folder["topology"]), (&"6.1".into(), &"t16".into()));
    assert_eq!((&folder["policy"], &folder["state"]), (&"cfs@6.1".into(), &"done".into()));
    let scenario = &folder["scenarios"][0];
    assert_eq!(scenario["name"], "hogs-free-17");
    let metrics = scenario["metrics"].as_array().unwrap();
    assert_eq!(metrics[0]["kernel"].to_string(), "[159,162,163]");
    let met = |class: &str| {
        metrics
            .iter()
            .filter(|metric| metric["class"] == class && metric["verdict"] == "met")
            .count()
    };
    let summary = &json["summary"];
    assert_eq!(summary["exact"]["met"], met("exact"));
    assert_eq!(summary["tight"]["bar_percent"], 5.0);
    let judged = |class: &str| {
        let count = &summary[class];
        format!("{class} {} of {} ", count["met"], count["judged"])
    };
    for class in ["exact", "tight", "loose"] {
        assert!(last_line(&text).contains(&judged(class)), "{text}");
    }
}

#[test]
fn the_bytes_are_the_same_on_any_number_of_threads() {
    let args = format!("lab {} --only hogs --bar exact=0", folder());
    let on = |threads: &str| command(&args).env("RAYON_NUM_THREADS", threads).output().unwrap();
    let (one, four) = (on("1"), on("4"));
    assert_eq!(one.status.code(), Some(0));
    assert!(one.stdout.len() > 1000);
    assert_eq!(one.stdout, four.stdout);
}

#[test]
fn the_events_of_a_scenario_are_written_as_the_kernels_tracer_writes_its_own() {
    let path = scratch("forkstorm.trace");
    let only = format!("lab {} --only forkstorm-N --bar exact=0", folder());
    prints(&format!("{only} --dump {}", path.display()));
    let text = fs::read_to_string(&path).unwrap();
    let events = tracefs::read(&text, &path).unwrap();
    assert!(text.starts_with("# tracer: nop\n"), "{text}");
    assert_eq!(text.matches("sched_process_fork: comm=lab").count(), 16);
    assert!(events.len() > 100);
    // Those of the kernel are written again, but for events that nobody asks for.
    prints(&format!("{only} --recorded lockstep-s1 --dump {}", path.display()));
    let text = fs::read_to_string(&path).unwrap();
    assert_eq!(tracefs::read(&text, &path).unwrap().len(), 148);
}

#[test]
fn who_came_between_while_the_kernel_ran_is_shown_for_a_scenario_with_a_miss() {
    // A policy that never moves a task has misses here; in the recording threads of the kernel ran.
    let args = format!("lab {} --policy fifo --only hogs-herd-8 --bar exact=0 --outside", folder());
    let text = prints(&args);
    let line = text.lines().find(|line| line.starts_with("outside hogs-herd-8, lockstep-s1: "));
    assert!(line.unwrap().contains(" of 83 switches are with others (k"), "{text}");
    let seed = &json(&format!("{args} --json -"))["folders"][0]["scenarios"][0]["outside"][0];
    assert_eq!((&seed["label"], &seed["switches"]), (&"lockstep-s1".into(), &83.into()));
    let parts = seed["by_name"].as_object().unwrap().values();
    let sum: u64 = parts.map(|count| count.as_u64().unwrap()).sum();
    assert_eq!(seed["with_outsiders"], sum);
    assert!(seed["first"].as_str().unwrap().contains("sched_switch: "));
}

#[test]
fn bad_input_is_told_in_one_sentence() {
    let folder = folder();
    for (args, part) in [
        ("lab nowhere/6.1-t16".to_owned(), "nowhere/6.1-t16: "),
        (format!("lab {folder}/lockstep-s1"), "found the name 'lockstep-s1', expected <kernel>-"),
        (format!("lab {folder}/robustness.json"), "found a file, expected a folder <kernel>-"),
        (format!("lab {folder} --recorded other"), "found no label 'other', expected one of lock"),
        (format!("lab {folder} --only hogs-17"), "--only: found 'hogs-17', expected one of "),
        (format!("lab {folder} --only hogs-hred-8"), "; did you mean `hogs-herd-8`?"),
        (format!("lab {folder} --only hogs --only hgos"), "--only: found 'hgos', expected"),
        (format!("lab {folder} --bar exact=high"), "--bar: found 'exact=high', expected percent"),
        (format!("lab {folder} --dump x"), "--dump: found 10 scenarios, expected one: see --only"),
        (format!("lab {folder} --policy cfq"), "cfq"),
        (format!("lab {folder} --set hz=7"), "hz"),
    ] {
        let output = simsched(&args);
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{args}: {text}");
        assert!(output.stdout.is_empty() && text.lines().count() == 1, "{args}: {text}");
        assert!(text.starts_with("simsched: ") && text.contains(part), "{args}: {text}");
    }
}
