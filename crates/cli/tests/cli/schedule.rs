//! The schedule of a run: what is written of it agrees with what the run reports.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::Value;

use crate::common::{SMALL, prints, simsched};

/// Long enough to keep all CPUs of the machine busy.
const RUN: &str = "run --quiet --whole --topo t8 -- hackbench -g 1 -T -p -l 20";

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// Runs with these options in front of the workload; the report.
fn run(options: &str) -> Value {
    let args = RUN.replace(" -- ", &format!(" {options} --json - -- "));
    serde_json::from_str(&prints(&args)).unwrap()
}

/// The same with one file of the schedule, and its text.
fn written(option: &str) -> (Value, String) {
    let path = path(&format!("schedule{option}"));
    let report = run(&format!("{option}={}", path.display()));
    (report, std::fs::read_to_string(path).unwrap())
}

fn number(report: &Value, key: &str) -> usize {
    usize::try_from(report[key].as_u64().unwrap()).unwrap()
}

#[test]
fn a_run_is_the_same_whether_its_schedule_is_written_or_not() {
    let dat = path("schedule.dat");
    let map = path("schedule.map");
    let both = format!("--trace-dat {} --map={}", dat.display(), map.display());
    assert_eq!(run(&both), run(""));
}

#[test]
fn the_events_are_in_order_and_as_many_as_are_reported() {
    let (report, text) = written("--ftrace");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "cpus=8");
    let time = |line: &str| {
        let word = line.split_whitespace().nth(2).unwrap();
        word.trim_end_matches(':').parse::<f64>().unwrap()
    };
    assert!(lines[1..].is_sorted_by(|a, b| time(a) <= time(b)));
    let count = |what: &str| lines.iter().filter(|line| line.contains(what)).count();
    assert_eq!(count(" sched_switch: "), number(&report, "context_switches"));
    let of_idle = count("prev_comm=swapper");
    assert_eq!(count(" sched_switch: ") - of_idle, number(&report, "task_switches"));
    assert_eq!(count(" sched_process_exit: "), number(&report, "exits"));
    assert_eq!(count(" sched_process_fork: "), number(&report, "forks"));
    assert_eq!(count(" sched_wakeup: "), number(&report["wakeups"], "total"));
    let forked = report["migrations"]["by_cause"]["fork"].as_u64().unwrap();
    let forked = usize::try_from(forked).unwrap();
    assert_eq!(count(" sched_migrate_task: ") + forked, number(&report["migrations"], "total"));
}

/// Whom a CPU executes is whom it switched to, and who is asleep does not run. On machines whose CPUs take
/// turns that is so but for what happens within one turn.
#[test]
fn the_events_tell_one_story() {
    let path = path("story.txt");
    let machine = RUN.replace("t8", "genoa");
    prints(&machine.replace(" -- ", &format!(" --ftrace {} -- ", path.display())));
    let text = std::fs::read_to_string(path).unwrap();
    let mut current: BTreeMap<&str, (String, String)> = BTreeMap::new();
    let mut asleep: BTreeMap<String, bool> = BTreeMap::new();
    for line in text.lines().skip(1) {
        let field = |key: &str| {
            let value = line.split_once(key).unwrap().1;
            value.split(' ').next().unwrap().to_owned()
        };
        let cpu = line.split_whitespace().nth(1).unwrap();
        let who = line[17..].split(' ').next().unwrap();
        if let Some((_, pid)) = current.get(cpu) {
            assert_eq!(who, pid, "{line}");
        }
        if line.contains(" sched_switch: ") {
            let (prev, next) = (field("prev_pid="), field("next_pid="));
            assert_eq!(who, prev, "{line}");
            assert_ne!(asleep.get(&next), Some(&true), "{line}");
            let state = field("prev_state=");
            assert!(["R", "S", "D", "X", "Z"].contains(&state.as_str()), "{line}");
            asleep.insert(prev, state != "R");
            current.insert(cpu, (field("next_comm="), next));
        } else if line.contains(" sched_wakeup: ") {
            asleep.insert(field(" pid="), false);
        }
    }
    assert!(current.len() > 8);
}

/// A task has its CPU from one switch to the next, so all CPU time is in the run times: that of tasks is what
/// is reported as used, but for interrupts of idle CPUs and what is not over at the end.
#[test]
fn run_times_add_up_to_the_cpu_time_that_is_reported() {
    let (report, text) = written("--timehist");
    let mut by_task = (0.0, 0.0);
    let mut rows = (0, 0);
    for line in text.lines().skip(3) {
        let run: f64 = line.split_whitespace().last().unwrap().parse().unwrap();
        if line.contains("<idle>") {
            (by_task.1, rows.1) = (by_task.1 + run, rows.1 + 1);
        } else {
            (by_task.0, rows.0) = (by_task.0 + run, rows.0 + 1);
        }
    }
    assert_eq!(rows.0, number(&report, "task_switches"));
    assert_eq!(rows.0 + rows.1, number(&report, "context_switches"));
    let of = |part: &str| report["cpu_time_ns"][part].as_u64().unwrap() as f64 / 1e6;
    let (busy, idle) = (of("user") + of("system"), of("idle"));
    assert!((by_task.0 / busy - 1.0).abs() < 0.1, "{} ms of tasks, {busy} reported", by_task.0);
    assert!(by_task.1 < idle + 0.1 * busy, "{} ms idle, {idle} reported", by_task.1);
}

#[test]
fn a_report_that_is_printed_stands_before_the_text_of_the_run() {
    let text = prints(&SMALL.replace(" -- ", " --latency -- "));
    let total = text.find("TOTAL:").unwrap();
    assert!(total < text.find("context switches").unwrap(), "{text}");
}

#[test]
fn what_cannot_be_is_one_sentence() {
    let said = |options: &str| {
        let output = simsched(&SMALL.replace(" -- ", &format!(" {options} -- ")));
        assert_eq!(output.status.code(), Some(2), "{options}");
        String::from_utf8(output.stderr).unwrap()
    };
    let seeds = "simsched: --map tells the schedule of one whole run: found --seeds beside it, \
                 expected only one of them\n";
    assert_eq!(said("--map --seeds 2"), seeds);
    assert!(said("--ftrace - --precision 5%").contains("found --precision beside it"));
    assert!(said("--trace-dat -").starts_with("simsched: --trace-dat: found '-', expected a file"));
    let twice = "--timehist and --map: found '-' for both, expected a place for each";
    assert!(said("--timehist --map").contains(twice));
    assert!(said("--latency --json -").contains("--latency and --json: found '-' for both"));
    assert!(said("--ftrace missing/folder/x").starts_with("simsched: missing/folder/x: No such"));
}

/// What could not be written leaves nothing behind.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_ends_the_run() {
    let output = simsched(&SMALL.replace(" -- ", " --ftrace /dev/full -- "));
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(said, "simsched: /dev/full: No space left on device (os error 28)\n");
    assert!(output.stdout.is_empty());
}

/// Every line that docs/traces.md shows is printed by one of its commands.
#[test]
fn the_how_to_shows_what_is_printed() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/traces.md");
    // A published package has no documents beside it.
    let Ok(page) = std::fs::read_to_string(path) else { return };
    let commands = page.lines().filter_map(|line| line.strip_prefix("simsched "));
    let small = commands.filter(|command| command.contains("--topo t8"));
    let printed: Vec<String> = small.map(prints).collect();
    assert_eq!(printed.len(), 4);
    let printed: Vec<&str> =
        printed.iter().flat_map(|text| text.lines()).map(str::trim_end).collect();
    let blocks = page.split("```text\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    for line in blocks.flat_map(str::lines) {
        assert!(printed.contains(&line), "no command prints: {line}");
    }
}

/// A task that is moved while it runs makes way for the stopper of its CPU, which moves it and sleeps again.
#[test]
fn the_stopper_is_a_thread_as_others() {
    let path = path("stopper.txt");
    let scenario = "--duration 20ms -- lab:hogs-herd-16";
    prints(&format!("run --quiet --topo t8 --ftrace {} {scenario}", path.display()));
    let text = std::fs::read_to_string(path).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let to =
        lines.iter().position(|line| line.contains("next_comm=migration/2 next_pid=5")).unwrap();
    assert!(lines[to].contains("prev_pid=2000 prev_prio=120 prev_state=R ==>"), "{}", lines[to]);
    let own: Vec<&&str> =
        lines[to..].iter().filter(|line| line.trim_start().starts_with("migration/2-5 ")).collect();
    assert!(own[0].contains("sched_migrate_task:") && own[0].contains("orig_cpu=2"), "{}", own[0]);
    assert!(own[1].contains("prev_pid=5 prev_prio=0 prev_state=S"), "{}", own[1]);
}
