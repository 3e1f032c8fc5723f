//! The start of a program is left out of the numbers of its run, and counted apart.

use serde_json::Value;

use crate::common::{check, json, prints};

/// The numbers of a run by default, and of the same run as a whole.
fn both(args: &str) -> [Value; 2] {
    ["", "--whole "].map(|whole| json(&format!("run --quiet {whole}--json - {args}")))
}

const PROGRAMS: [&str; 7] = [
    "hackbench -g 2 -f 4 -l 50 -T -p",
    "schbench -m 1 -t 4 -r 1",
    "netperf -t TCP_RR -l 1 -n 4",
    "sysbench oltp_read_write --threads=4 --time=1 run",
    "tbench 4 -t 1",
    "stress-ng --cpu 2 -t 1",
    "verilator --threads 4 --cycles 2000",
];

/// The two of them are one run, and what is in both is what one observer counts of it.
#[test]
fn the_start_and_what_is_measured_are_the_whole_run() {
    for program in PROGRAMS {
        let [part, whole] = both(&format!("--topo t8 --duration 1500ms -- {program}"));
        assert_eq!(part["digest"], whole["digest"], "{program}");
        for key in ["elapsed_ns", "workload", "events", "policy_metrics", "domains", "end"] {
            assert_eq!(part[key], whole[key], "{program}: {key}");
        }
        let all = part["whole"].as_object().unwrap_or_else(|| panic!("{program}: {part}"));
        assert_eq!(all.len(), 17, "{program}");
        for (key, count) in all {
            assert_eq!(*count, whole[key], "{program}: {key}");
        }
        assert!(whole.get("whole").is_none() && whole.get("start_ns").is_none(), "{program}");
        let number = |value: &Value| value.as_u64().unwrap();
        let [start, measured] = ["start_ns", "simulated_ns"].map(|key| number(&part[key]));
        assert!(start > 0 && start + measured == number(&whole["simulated_ns"]), "{program}");
        let time = ["user", "system", "idle"].map(|kind| number(&part["cpu_time_ns"][kind]));
        assert_eq!(time.iter().sum::<u64>(), 8 * measured, "{program}: all CPU time");
        // The last one that is born is woken for the first time right behind.
        let (forks, woken) = (&part["forks"], &part["first_wakeups"]["total"]);
        assert!(number(forks) == 0 && number(woken) <= 1, "{program}: {forks} {woken}");
        assert!(number(&whole["forks"]) > 0, "{program}");
        for key in ["context_switches", "task_switches"] {
            let (part, whole) = (number(&part[key]), number(&whole[key]));
            assert!(0 < part && part <= whole, "{program}: {key}: {part} of {whole}");
        }
    }
}

/// hackbench reads the clock when all of its threads are ready, and again when they have ended.
#[test]
fn what_is_measured_is_what_the_program_measures() {
    let [part, _] = both("--topo genoa -- hackbench -g 2 -f 10 -l 50 -T -p");
    let [measured, elapsed] = ["simulated_ns", "elapsed_ns"].map(|key| part[key].as_f64().unwrap());
    assert!(elapsed <= measured && measured < 1.01 * elapsed, "{measured} {elapsed}");
    let text = prints("run --quiet --topo genoa -- hackbench -g 2 -f 10 -l 50 -T -p");
    assert!(text.contains("without the start of the program (--whole: with it)"), "{text}");
}

/// A run that is stopped before, and one of which a span or a precision is asked for.
#[test]
fn other_parts_have_no_start() {
    let [early, whole] = both("--topo t8 --duration 100us -- hackbench -g 2 -l 50");
    assert_eq!((early.get("start_ns"), &early["migrations"]), (None, &whole["migrations"]));
    let sides = "--topo t8 --policy cfs --policy eevdf --seeds 1";
    let load = "-- hackbench -g 2 -f 4 -l 2000 -p -T";
    let span = json(&format!("compare -q --json - {sides} --span 1ms --warmup 1ms {load}"));
    let run = &span["policies"][0]["runs"][0];
    assert!(run["cut"].is_object() && run.get("start_ns").is_none(), "{run}");
    let [all, since] = ["--whole ", ""].map(|whole| {
        json(&format!("compare -q --json - {whole}{sides} -- hackbench -g 2 -f 4 -l 20 -p -T"))
    });
    assert_eq!((&all["whole"], &since["whole"]), (&Value::Bool(true), &Value::Bool(false)));
    let [all, since] = [all, since].map(|it| it["policies"][0]["runs"][0].clone());
    assert_eq!(all["context_switches"], since["whole"]["context_switches"]);
    check(&format!("compare -q {sides} --whole --span 1ms {load}"), 2, &["--whole", "--span"]);
    check(&format!("run -q --whole --precision 5% {load}"), 2, &["--whole", "--precision"]);
}
