//! `simsched report` and `simsched explain`, and what runs keep for them.

use std::fs;

use serde_json::Value;

use crate::common::{command, file, json, prints, simsched};

const RUN: &str = "run --quiet --topo t16";
const WORK: &str = "-- hackbench -g 2 -f 4 -T -p -l 30";

fn report(options: &str) -> Value {
    json(&format!("{RUN} {options} --json - {WORK}"))
}

fn numbers(value: &Value) -> Vec<u64> {
    value.as_array().unwrap().iter().map(|number| number.as_u64().unwrap()).collect()
}

fn counts(value: &Value, names: &[&str]) -> u64 {
    names.iter().map(|name| value[name].as_u64().unwrap()).sum()
}

#[test]
fn moves_from_llc_to_llc_add_up_to_those_by_distance() {
    let report = report("");
    let rows: Vec<Vec<u64>> =
        report["migrations_by_llc"].as_array().unwrap().iter().map(numbers).collect();
    let of = |within: bool| -> u64 {
        rows.iter().filter(|row| (row[0] == row[1]) == within).map(|row| row[2]).sum()
    };
    let by_distance = &report["migrations"]["by_distance"];
    assert_eq!(of(true), counts(by_distance, &["same_core", "same_llc"]));
    assert_eq!(of(false), counts(by_distance, &["same_node", "same_socket", "cross_socket"]));
    assert!(of(false) > 0 && rows.iter().all(|row| row[0] < 4 && row[1] < 4 && row[2] > 0));
}

/// The end of a bucket is at most a sixteenth above its spans, and that of a quantile 1/128.
#[test]
fn histograms_have_every_sample_and_its_percentiles() {
    let report = report("");
    for key in ["wakeup_latency_ns", "runqueue_wait_ns"] {
        let (points, buckets) = (&report[key], &report["histograms"][key]);
        let (ends, counts) = (numbers(&buckets["up_to"]), numbers(&buckets["count"]));
        assert_eq!(counts.iter().sum::<u64>(), points["count"].as_u64().unwrap(), "{key}");
        assert!(ends.is_sorted_by(|a, b| a < b) && ends.len() < 400, "{key}: {ends:?}");
        let rank = counts.iter().sum::<u64>().div_ceil(2);
        let mut seen = 0;
        let median = ends.iter().zip(&counts).find(|(_, count)| {
            seen += **count;
            seen >= rank
        });
        let (median, told) = (*median.unwrap().0, points["p50"].as_u64().unwrap());
        assert!(median >= told && median - told <= told / 16 + 1, "{key}: {median} for {told}");
        assert!(*ends.last().unwrap() >= points["max"].as_u64().unwrap(), "{key}");
    }
}

#[test]
fn cpus_are_as_busy_together_as_their_time_says() {
    let report = report("");
    let parts: Vec<f64> = report["cpu_utilisation"]
        .as_array()
        .unwrap()
        .iter()
        .map(|part| part.as_f64().unwrap())
        .collect();
    assert_eq!(parts.len(), 16);
    let time = &report["cpu_time_ns"];
    let busy = counts(time, &["user", "system"]) as f64;
    let all = counts(time, &["user", "system", "idle"]) as f64;
    assert!((parts.iter().sum::<f64>() / 16.0 - busy / all).abs() < 1e-4);
}

#[test]
fn the_machine_has_each_cpu_in_one_core() {
    let report = json(&format!("run --quiet --topo genoa@nps4 --duration 1us --json - {WORK}"));
    let llcs = report["machine"]["llcs"].as_array().unwrap();
    let cores: Vec<&str> =
        llcs.iter().flat_map(|llc| llc["cores"].as_str().unwrap().split(' ')).collect();
    assert_eq!((llcs.len(), cores.len(), cores[0]), (24, 192, "0,192"));
    let mut cpus: Vec<u32> =
        cores.iter().flat_map(|core| core.split(',')).map(|cpu| cpu.parse().unwrap()).collect();
    cpus.sort_unstable();
    assert!(cpus.iter().copied().eq(0..384));
    assert_eq!((llcs[23]["package"].as_u64(), llcs[23]["node"].as_u64()), (Some(1), Some(7)));
}

#[test]
fn a_series_is_kept_on_request_and_changes_nothing() {
    let plain = report("");
    let mut with = report("--series=20us");
    let series = with.as_object_mut().unwrap().remove("series").unwrap();
    assert_eq!(with, plain);
    let intervals = series["intervals"].as_u64().unwrap();
    let length = series["interval_ns"].as_u64().unwrap();
    assert!((1..=128).contains(&intervals));
    assert!(length.is_multiple_of(20_000) && (length / 20_000).is_power_of_two(), "{length}");
    assert_eq!(plain["whole"]["simulated_ns"].as_u64().unwrap().div_ceil(length), intervals);
    let rows = series["cpu_busy_pct"].as_array().unwrap();
    assert_eq!(rows.len() as u64, intervals);
    assert!(rows.iter().all(|row| numbers(row).len() == 16));
    assert!(rows.iter().flat_map(numbers).all(|percent| percent <= 100));
    for (cause, moves) in series["migrations"].as_object().unwrap() {
        let total: u64 = numbers(moves).iter().sum();
        assert_eq!(
            plain["whole"]["migrations"]["by_cause"][cause].as_u64(),
            Some(total),
            "{cause}"
        );
    }
}

#[test]
fn a_page_shows_the_run_and_the_command_that_repeats_it() {
    let text = prints(&format!("{RUN} --seed 3 --set hz=1000 --json - {WORK}"));
    let run: Value = serde_json::from_str(&text).unwrap();
    let path = file("pages-run.json", &text);
    let out = path.with_file_name("pages-run.html");
    assert_eq!(prints(&format!("report {} {}", out.display(), path.display())), "");
    let page = fs::read_to_string(&out).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>\n"));
    assert!(page.contains(run["digest"].as_str().unwrap()));
    assert_eq!(prints(&format!("report - {}", path.display())), page);
    let (_, code) = page.split_once("<code>").unwrap();
    let code = code.split_once("</code>").unwrap().0.replace("<span>", "").replace("</span>", "");
    let again = code.strip_prefix("simsched run ").unwrap();
    let again = json(&format!("run --quiet --json - {again}"));
    assert_eq!(again, run);
}

#[test]
fn a_comparison_keeps_its_runs_for_its_page() {
    let args = "--topo t8 --policy cfs --policy wakeup_bias_prev --seeds 2 --quiet --json -";
    let text = prints(&format!("compare {args} -- hackbench -g 1 -f 2 -T -p -l 5"));
    let found: Value = serde_json::from_str(&text).unwrap();
    let alone = json("run --quiet --topo t8 --seed 2 --json - -- hackbench -g 1 -f 2 -T -p -l 5");
    assert_eq!(found["policies"][0]["runs"][1], alone);
    let path = file("pages-compare.json", &text);
    let page = prints(&format!("report - {}", path.display()));
    assert!(page.contains("<span>compare</span>") && page.contains("cfs@6.1+wakeup_bias_prev"));
}

#[test]
fn two_results_are_explained_and_others_refused() {
    let kept = |name: &str, options: &str, work: &str| {
        file(name, &prints(&format!("run --quiet --topo t8 {options} --json - -- {work}")))
    };
    let work = "hackbench -g 1 -f 4 -T -p -l 20";
    let a = kept("explain-a.json", "--seeds 2", work);
    let b = kept("explain-b.json", "--seeds 2 --policy cfs+wakeup_bias_prev", work);
    let c = kept("explain-c.json", "", "hackbench -g 2");
    let [a, b, c] = [a, b, c].map(|path| path.display().to_string());
    let told = prints(&format!("explain {a} {b}"));
    assert!(told.contains("other: cfs@6.1+wakeup_bias_prev") && told.contains("What changed:"));
    assert_eq!(told, prints(&format!("explain {a} {b}")));
    assert!(prints(&format!("explain {a} {a}")).contains("Nothing: the digests are equal"));
    let output = simsched(&format!("explain {a} {c}"));
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(error.contains("expected the same workload in both"), "{error}");
    assert!(prints(&format!("explain --anyway {a} {c}")).contains("The workload differs"));
}

#[test]
fn what_is_no_result_is_refused_and_no_page_is_left() {
    let broken = file("pages-broken.json", "{ \"schema\": 2, \"scenario\": 5 }");
    let out = broken.with_file_name("pages-broken.html");
    let (broken, page) = (broken.display().to_string(), out.display().to_string());
    let cases = [
        (format!("report {page} {broken}"), "key scenario: found 5, expected an object"),
        (format!("report {page} missing.json"), "missing.json: "),
        (format!("report {broken} {broken}"), "expected a place for each"),
        (format!("report {page}"), "RUN.json"),
    ];
    for (args, want) in cases {
        let output = command(&args).output().unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{error}");
        assert!(error.contains(want) && error.lines().count() == 1, "{args}: {error}");
        assert!(!out.exists());
    }
}

/// Every result is read: a cell of a sweep as its run, a replay as what was replayed.
#[test]
fn cells_of_sweeps_and_replays_are_read_as_runs() {
    let folder = crate::sweeps::fresh("pages-sweep");
    let plan =
        "topo = 't8'\nseeds = 2\nduration = '50us'\nworkload = 'hackbench -g 1 -f 2 -T -p'\n";
    let said = crate::sweeps::sweep(&file("pages-plan.toml", plan), &folder, "");
    assert!(said.contains("stopped     by duration: 2 cells, their numbers are partial"), "{said}");
    let cells = fs::read_dir(folder.join("cells")).unwrap();
    let cells: Vec<String> = cells.map(|cell| cell.unwrap().path().display().to_string()).collect();
    let recording = file("pages-recording.txt", "").display().to_string();
    prints(&format!("run --topo t8 -q --ftrace {recording} -- lab:pingpong-1w20"));
    let replays = ["cfs", "eevdf@6.12"].map(|policy| {
        let json = file(&format!("pages-replay-{policy}.json"), "").display().to_string();
        prints(&format!("replay {recording} --topo t8 -q --policy {policy} --json {json}"));
        json
    });
    for pair in [&cells[..], &replays[..]] {
        let (a, b) = (&pair[0], &pair[1]);
        assert!(prints(&format!("explain {a} {b}")).contains("What changed:"));
        assert!(prints(&format!("report - {a}")).contains("<html"));
    }
    let text = fs::read_to_string(&cells[0]).unwrap();
    let wrong = file("pages-cell.json", &text.replace("\"digest\":", "\"digests\":"));
    let args = format!("report - {}", wrong.display());
    crate::common::check(&args, 2, &["key report.digest: found nothing, expected a text"]);
}
