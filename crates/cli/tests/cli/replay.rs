//! `simsched replay`: a recording is given back, and can be asked what-if questions.

use std::io::Write;

use serde_json::Value;

use crate::common::{file, json, prints, simsched};

/// The text of ftrace of a run of ours, which is a recording like any other one.
fn recorded(name: &str, workload: &str) -> String {
    let path = file(&format!("{name}.txt"), "");
    let path = path.to_str().unwrap().to_owned();
    prints(&format!("run --topo t8 -q --ftrace {path} -- {workload}"));
    path
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap()
}

#[test]
fn a_run_is_given_back_to_the_nanosecond_and_to_three_percent_of_its_switches() {
    // With how many threads that were kept on a CPU for some time: the hogs, and who forks them.
    for (workload, kept) in [
        ("lab:pingpong-1w20", 0),
        ("lab:periodic-N", 0),
        ("lab:schbench-1x4", 0),
        ("lab:share-0-0", 3),
        ("lab:share-0x4", 5),
        ("lab:hogper-1-1", 3),
        // Of a herd of eight, which goes where idle CPUs look first, a third of the switches may be missing.
        ("lab:hogs-herd-4", 5),
    ] {
        let path = recorded(&workload.replace(':', "-"), workload);
        let options = "--topo t8 --set hardware=free -q --json -";
        let replay = json(&format!("replay {path} {options}"));
        let threads = replay["threads"].as_array().unwrap();
        assert!(threads.len() > 2, "{workload}");
        for thread in threads {
            let runtime = |side: &str| number(&thread[side]["runtime_ns"]);
            assert_eq!(runtime("recorded"), runtime("replayed"), "{workload}: {thread}");
        }
        let switches = |side: &str| number(&replay[side]["task_switches"]);
        let (from, to) = (switches("recorded"), switches("replayed"));
        // Two pairs of 150 are missing or too many where threads of the kernel run between two hogs: `share-0-0` with seed
        // 1 has 146, then 150, and 1,174 and 1,195 with eight seeds together.
        assert!(100 * from.abs_diff(to) <= 3 * from, "{workload}: {from} switches, then {to}");
        assert_eq!(replay["recording"]["format"], "ftrace");
        assert_eq!(number(&replay["recording"]["kept"]), kept, "{workload}");
        let told = threads.iter().filter(|thread| thread["kept"] == true).count();
        assert_eq!(told as u64, kept, "{workload}");
    }
}

#[test]
fn a_recording_may_be_compressed_by_gzip() {
    let path = recorded("replay-plain", "lab:pingpong-1w20");
    let text = std::fs::read(&path).unwrap();
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(&text).unwrap();
    let packed = packed.finish().unwrap();
    std::fs::write(format!("{path}.gz"), &packed).unwrap();
    let digest =
        |path: &str| json(&format!("replay {path} --topo t8 -q --json -"))["run"]["digest"].clone();
    assert_eq!(digest(&format!("{path}.gz")), digest(&path));
    std::fs::write(format!("{path}.gz"), &packed[..packed.len() / 2]).unwrap();
    let cut = simsched(&format!("replay {path}.gz --topo t8 -q"));
    assert_eq!(cut.status.code(), Some(2), "{cut:?}");
}

/// A file of a few kilobytes may be one of gigabytes when it is unpacked.
#[test]
fn what_is_too_long_when_it_is_unpacked_is_refused() {
    let path = recorded("replay-long", "lab:schbench-1x4");
    let packed = format!("{path}.gz");
    let gzip = format!("gzip -c {path} > {packed}");
    assert!(std::process::Command::new("sh").args(["-c", &gzip]).status().unwrap().success());
    let said = "found more than 1 KiB, expected at most as much; `--max-input` allows more";
    for args in [
        format!("replay {packed} --topo t8 -q --max-input=1K"),
        format!("run --topo t8 -q -- replay {path} --max-input 1K"),
    ] {
        crate::common::check(&args, 2, &[&path, said]);
    }
    prints(&format!("replay {packed} --topo t8 -q --max-input=100M"));
    let wrong = format!("replay {path} --topo t8 --max-input=1X");
    crate::common::check(&wrong, 2, &["--max-input: found '1X', expected a number of bytes"]);
}

#[test]
fn a_recording_is_a_workload_that_policies_can_be_compared_with() {
    let path = recorded("replay-compared", "lab:schbench-1x4");
    let text = prints(&format!(
        "compare --topo t16 --policy cfs --policy eevdf@6.12 --seeds 1 -q -- replay {path} --timers relative"
    ));
    assert!(text.contains(&format!("replay {path} --timers relative")), "{text}");
    assert!(text.contains("task_switches"), "{text}");
    let same = format!("run --topo t16 -q --json - -- replay {path}");
    assert_eq!(json(&same), json(&same));
}

#[test]
fn what_cannot_be_replayed_is_told_with_its_line() {
    let path = file("replay-bad.txt", "# tracer: nop\nnonsense\n");
    let path = path.to_str().unwrap();
    let cases = [
        (
            format!("replay {path} --topo t8"),
            format!("{path}: line 2: found 'nonsense', expected "),
        ),
        ("replay /no/such.txt --topo t8".into(), "/no/such.txt: No such file".into()),
        ("run --topo t8 -- replay".into(), "replay: found no file, expected ".into()),
        (
            format!("run --topo t8 -- replay {path} --timers never"),
            "replay: --timers: found 'never', expected absolute or relative".into(),
        ),
    ];
    for (args, told) in cases {
        let output = simsched(&args);
        let errors = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{args}: {errors}");
        assert!(errors.starts_with(&format!("simsched: {told}")), "{args}: {errors}");
        assert_eq!(errors.lines().count(), 1, "{errors}");
    }
}

/// Wakeups of pipes are synchronous, those of futexes are not.
#[test]
fn the_text_of_a_run_says_which_wakeups_are_synchronous() {
    let calls = |name: &str, load: &str| {
        let path = file(name, "").display().to_string();
        prints(&format!("run --topo t8 -q --duration 20ms --ftrace {path} -- {load}"));
        let text = std::fs::read_to_string(&path).unwrap();
        let calls: Vec<&str> = text.lines().filter(|line| line.contains("sched_waking:")).collect();
        (calls.len(), calls.iter().filter(|line| line.ends_with(" sync=1")).count())
    };
    let (all, sync) = calls("sync-pipes.txt", "hackbench -g 1 -f 4 -T -p -l 50");
    assert!(all > 20 && sync > all / 2, "{sync} of {all}");
    let (all, sync) = calls("sync-futexes.txt", "schbench -m 1 -t 4 -r 1");
    assert!(all > 20 && sync == 0, "{sync} of {all}");
}

/// On its own machine and policy a trace gives itself: CPU time and switches within 1 %, and the points of its
/// latencies within 5 %, where no threads share CPUs; on a server with its clocks and siblings, too.
#[test]
fn an_own_trace_repeats_itself_on_its_own_machine() {
    let jobs = [
        ("t8", "hackbench -g 1 -f 4 -l 100"),
        ("t16", "lab:pingpong-4w20"),
        ("genoa", "schbench -m 2 -t 8 -r 1"),
    ];
    for ((topo, load), seed) in jobs.iter().flat_map(|job| (1..=3).map(move |seed| (job, seed))) {
        let path = file(&format!("own-{topo}.txt"), "").display().to_string();
        let run = format!("run --topo {topo} -q --seed {seed} --duration 300ms --ftrace {path}");
        prints(&format!("{run} -- {load}"));
        let told = json(&format!("replay {path} --topo {topo} -q --json -"));
        let is = |key: &str| told["recording"][key] == true;
        assert!(is("here") && is("here_assumed"), "{}", told["recording"]);
        let sides = |key: &str| ["recorded", "replayed"].map(|it| told[it][key].as_f64().unwrap());
        let change = |key: &str| sides(key)[1] / sides(key)[0] - 1.0;
        let at = format!("{topo}, seed {seed}: {} {}", told["recorded"], told["replayed"]);
        assert!(change("runtime_ns").abs() < 0.01 && change("task_switches").abs() < 0.01, "{at}");
        for key in ["latency_p50_ns", "latency_p90_ns", "latency_p99_ns"] {
            // Neither can be known better than the recording's times, of which each is the difference of two.
            let apart = (sides(key)[1] - sides(key)[0]).abs();
            let resolution = told["recording"]["resolution_ns"].as_f64().unwrap();
            assert!(change(key).abs() < 0.05 || apart < 2.0 * resolution, "{key} of {at}");
        }
    }
}

/// Without the machine on which it was made, what siblings and clocks took counts as work.
#[test]
fn a_recording_of_an_unknown_machine_has_slower_times() {
    let path = file("own-unknown.txt", "").display().to_string();
    prints(&format!(
        "run --topo genoa -q --duration 50ms --ftrace {path} -- schbench -m 1 -t 4 -r 1"
    ));
    let told = |more: &str| json(&format!("replay {path} --topo genoa -q --json - {more}"));
    let unknown = told("--recorded-on unknown");
    let lacks = unknown["recording"]["not_recorded"].to_string();
    assert!(lacks.contains("busy siblings and slower clocks"), "{lacks}");
    assert_eq!(unknown["recording"]["here"], false);
    let here = told("--recorded-on genoa");
    assert_eq!(here["replayed"], told("")["replayed"]);
    assert_ne!(here["replayed"]["runtime_ns"], unknown["replayed"]["runtime_ns"]);
    let small = format!("replay {path} --topo genoa --recorded-on t8");
    crate::common::check(&small, 2, &["--recorded-on: found t8, which has 8 CPUs", "384"]);
    let refused = simsched(&format!("replay {path} --topo genoa --recorded-on geona"));
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("genoa"), "a name that is near");
}
