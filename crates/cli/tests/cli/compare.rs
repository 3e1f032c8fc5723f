//! `simsched compare`: paired seeds, means and intervals, and what differs inside.

use serde_json::Value;

use crate::common::{command, json, prints, simsched};

const SIDES: &str = "compare --quiet --topo t16 --policy cfs --policy wakeup_bias_prev";
const LOAD: &str = "-- hackbench -g 2 -f 4 -T -p -l 100";

/// A patch that stands alone brings the scheduler that it was written for: the text says so.
#[test]
fn the_whole_names_of_the_policies_are_told_and_that_their_bases_differ() {
    let compared = |policy: &str| {
        let policies = format!("--policy cfs --policy {policy}");
        prints(&format!("compare --quiet --topo t8 {policies} -- hackbench -g 1 -f 2 -l 5"))
    };
    let alone = compared("cache_aware");
    assert!(alone.contains("\npolicies    cfs@6.1, eevdf@7.3+cache_aware\n"), "{alone}");
    assert!(alone.contains("eevdf@7.3 and cfs@6.1 are different schedulers"), "{alone}");
    assert!(!compared("wakeup_bias_prev").contains("different schedulers"));
}

fn metric<'a>(compared: &'a Value, name: &str) -> &'a Value {
    let metrics = compared["metrics"].as_array().unwrap();
    metrics.iter().find(|metric| metric["name"] == name).unwrap_or_else(|| panic!("{name}"))
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is a number"))
}

/// The runs are those that `simsched run` makes, seed by seed.
#[test]
fn both_sides_run_with_the_same_seeds() {
    let compared = json(&format!("{SIDES} --json - --seed 3 --seeds 2 {LOAD}"));
    for (idx, policy) in ["cfs", "wakeup_bias_prev"].into_iter().enumerate() {
        let run = format!("run --quiet --topo t16 --policy {policy} --seed 3 --seeds 2 --json -");
        let runs = json(&format!("{run} {LOAD}"));
        let digests: Vec<&Value> = (0..2).map(|seed| &runs["runs"][seed]["digest"]).collect();
        let side = &compared["policies"][idx];
        assert_eq!(side["digests"].as_array().unwrap().iter().collect::<Vec<_>>(), digests);
        let mean = number(&metric(&compared, "time")["policies"][idx]["mean"]);
        let want = number(&runs["summary"]["elapsed_ns"]["mean"]) / 1e9;
        assert!((mean - want).abs() < 1e-12, "{mean} is not {want}");
    }
}

#[test]
fn the_difference_is_that_of_the_values_that_are_listed() {
    let compared = json(&format!("{SIDES} --json - --seeds 6 {LOAD}"));
    let time = metric(&compared, "time");
    let values = |idx: usize| -> Vec<f64> {
        time["policies"][idx]["values"].as_array().unwrap().iter().map(number).collect()
    };
    let mean = |values: &[f64]| values.iter().sum::<f64>() / 6.0;
    let (base, other) = (values(0), values(1));
    assert_eq!((base.len(), other.len()), (6, 6));
    let percent = 100.0 * (mean(&other) - mean(&base)) / mean(&base);
    let paired = &time["policies"][1]["paired"];
    assert!((number(&paired["difference_pct"]) - percent).abs() < 1e-9);
    assert!((number(&time["policies"][1]["gain_pct"]) + percent).abs() < 1e-9, "less is better");
    let (low, high) = (number(&paired["low_pct"]), number(&paired["high_pct"]));
    assert!(low < percent && percent < high && low > -100.0, "{paired}");
    assert_eq!(paired["significant"], low > 0.0 || high < 0.0);
    let few = json(&format!("{SIDES} --json - --seeds 4 {LOAD}"));
    let sure = |of: &Value| of["policies"][1]["paired"]["significant"] == true;
    assert!(!few["metrics"].as_array().unwrap().iter().any(sure), "four seeds make nothing sure");
    assert!(time["policies"][0]["paired"].is_null(), "the base is compared with nothing");
}

#[test]
fn a_policy_gains_nothing_on_itself() {
    let compared =
        json(&format!("compare --quiet --topo t8 --policy cfs --policy cfs@6.1 --json - {LOAD}"));
    for metric in compared["metrics"].as_array().unwrap() {
        assert_eq!(metric["policies"][1]["paired"]["difference_pct"], 0.0, "{metric}");
        assert_eq!(metric["policies"][1]["paired"]["significant"], false);
    }
    assert_eq!(compared["why"], serde_json::json!([[]]));
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let on = |threads: &str| {
        let mut run =
            command(&format!("{SIDES} --json - --seeds 3 --span 2ms --warmup 2ms {LOAD}0"));
        let output = run.env("RAYON_NUM_THREADS", threads).output();
        output.expect("the command runs").stdout
    };
    let one = on("1");
    assert!(!one.is_empty());
    assert_eq!(one, on("2"));
    assert_eq!(one, on("7"));
}

/// Policies that decide alike but for wakeups: the migrations by wakeups are what differs.
#[test]
fn the_table_has_a_column_each_and_says_why() {
    let text = prints(&format!("{SIDES} --seeds 3 {LOAD}"));
    let (_, told) = text.split_once("\n\n").unwrap();
    let (explained, table) = told.split_once("\n\n").unwrap();
    assert!(explained.contains("*: sure"), "what the signs mean comes first: {explained}");
    let head = table.lines().next().unwrap();
    assert!(head.contains(" cfs ") && head.ends_with(" wakeup_bias_prev"), "{head}");
    let time = table.lines().nth(1).unwrap();
    assert!(time.starts_with("time ") && time.contains("Amean"));
    let change = time.trim_end().rsplit_once("  ").unwrap().1;
    let word = if change.contains('-') { " % better)" } else { " % worse)" };
    assert!(change.ends_with(word), "less time is better: {time}");
    let (_, why) = text.split_once("Why: wakeup_bias_prev against cfs\n").unwrap();
    assert!(why.contains("    wakeup, "), "{why}");
    for subject in ["migrations", "wakeups", "costs", "waits"] {
        assert!(why.contains(&format!("  {subject} (")), "{subject}: {why}");
    }
}

/// Largest first, within each subject.
#[test]
fn differences_come_largest_first() {
    let compared = json(&format!("{SIDES} --json - {LOAD}"));
    let why = compared["why"][0].as_array().unwrap();
    assert!(why.len() > 5, "{why:?}");
    for pair in why.windows(2).filter(|pair| pair[0]["subject"] == pair[1]["subject"]) {
        let [first, second] = [0, 1].map(|idx| number(&pair[idx]["points"]).abs());
        assert!(first >= second, "{pair:?}");
    }
}

#[test]
fn a_setting_of_one_side_is_left_out_on_the_other_and_said() {
    let args = "compare --topo t8 --policy cfs --policy fifo --set SIS_UTIL=off";
    let output = simsched(&format!("{args} --seeds 1 {LOAD}"));
    let (text, said) = (output.stdout, String::from_utf8(output.stderr).unwrap());
    assert_eq!(output.status.code(), Some(0));
    assert!(said.contains("fifo has no setting SIS_UTIL"), "{said}");
    assert!(String::from_utf8(text).unwrap().contains("fifo has no setting SIS_UTIL"));
}

/// 2 groups of 4 senders with 4 receivers and 20,000 messages each are 640,000 messages: at some
/// microseconds each they take far longer than the span.
#[test]
fn a_long_run_is_cut_and_extrapolated_and_says_so() {
    let load = "-- hackbench -g 2 -f 4 -T -p -l 20000";
    let args = format!("{SIDES} --seeds 1 --span 5ms --warmup 20ms");
    let cut = json(&format!("{args} --json - {load}"));
    let told = &cut["policies"][0]["cuts"][0];
    assert_eq!((&told["span_ns"], &told["batches"]), (&5_000_000.into(), &10.into()));
    assert_eq!((&told["work_unit"], &told["work_total"]), (&"messages".into(), &640_000.into()));
    // The time of all messages, at the rate of those of the span.
    let time = number(&metric(&cut, "time")["policies"][0]["mean"]);
    let want = 0.005 * 640_000.0 / number(&told["work"]);
    assert!((time - want).abs() < 1e-9 * want, "{time} is not {want}");
    assert!(metric(&cut, "time")["policies"][0]["batch_ci95_pct"].is_number());
    let text = prints(&format!("{args} {load}"));
    assert!(text.contains("measured    cfs: 5.000 ms of each run after at most "), "{text}");
}

/// A cut run extrapolates to what the whole run takes, within what batches and warm-up allow.
#[test]
fn an_extrapolated_time_is_near_that_of_the_whole_run() {
    let load = "-- hackbench -g 2 -f 4 -T -p -l 20000";
    let args = "compare --quiet --topo t16 --policy cfs --policy cfs --seeds 1 --json -";
    let of = |span: &str| {
        let compared = json(&format!("{args} {span} {load}"));
        number(&metric(&compared, "time")["policies"][0]["mean"])
    };
    let (whole, cut) = (of(""), of("--span 120ms --warmup 40ms"));
    assert!((cut / whole - 1.0).abs() < 0.15, "{cut} s of {whole} s");
}

/// Moving a price that is paid changes runs; one of another kind of machine is never paid.
#[test]
fn a_sweep_runs_what_is_paid_and_lists_what_is_not() {
    let load = "-- hackbench -g 1 -f 2 -T -p -l 20";
    let args = "compare --quiet --topo t8 --policy cfs --policy fifo --seeds 1 --sweep-hw --json -";
    let sweep = &json(&format!("{args} {load}"))["sweep_hw"];
    let names = |key: &str| -> Vec<String> {
        let names = sweep[key].as_array().unwrap().iter();
        names.map(|name| name.as_str().unwrap().to_owned()).collect()
    };
    let (paid, unpaid) = (names("paid"), names("unpaid"));
    assert!(paid.contains(&"costs.syscall".to_owned()), "{paid:?}");
    assert!(unpaid.contains(&"costs.scan_cross_socket".to_owned()), "{unpaid:?}");
    assert!(paid.iter().all(|name| !unpaid.contains(name)));
}
