//! The command that a page gives to repeat its runs.

use serde_json::{Value, json};

use crate::made::{run, with};
use crate::page::{page_of, text, xml};

/// The one command of the page of these files.
fn command(values: &[Value]) -> String {
    let html = page_of(values);
    let xml = xml(&html);
    let codes: Vec<String> =
        xml.descendants().filter(|node| node.has_tag_name("code")).map(text).collect();
    assert_eq!(codes.len(), 1);
    codes[0].clone()
}

#[test]
fn the_command_repeats_the_run() {
    let more = [
        ("scenario.settings", json!({ "hz": "1000" })),
        ("scenario.duration_ns", json!(30_000_000)),
        ("scenario.topology_file", json!("my machine.toml")),
    ];
    let found = command(&[with(run("cfs", 7), &more)]);
    let want = "simsched run --topo 'my machine.toml@default' --policy cfs --set hz=1000 --seed 7 \
                --duration 30ms --series=10ms -- hackbench -g 1";
    assert_eq!(found, want);
}

#[test]
fn the_command_has_the_words_of_the_workload_as_they_were_given() {
    let mut run = run("cfs", 7);
    run["scenario"]["workload_args"] = json!(["rt-app", "my load.json"]);
    let code = command(&[run]);
    assert!(code.ends_with(" -- rt-app 'my load.json'"), "{code}");
}

/// The second run has doubled the interval once less than the first.
#[test]
fn the_command_has_all_that_changes_the_runs() {
    let more = [
        ("precision", json!({ "asked_pct": 2.5 })),
        ("scenario.precision_limit", json!(5_000_000)),
        ("scenario.paranoid", json!(true)),
    ];
    let first = with(run("cfs", 3), &more);
    let second = with(run("cfs", 4), &[("series.interval_ns", json!(5_000_000))]);
    let code = command(&[json!({ "schema": 2, "runs": [first, second] })]);
    let want = "simsched run --topo small@default --policy cfs --seed 3 --seeds 2 --precision 2.5% \
                --precision-limit 5000000 --series=5ms --paranoid -- hackbench -g 1";
    assert_eq!(code, want);
}

#[test]
fn the_command_of_a_comparison_has_its_options() {
    let first = with(run("cfs", 1), &[("scenario.workload_args", json!(["replay", "a b.txt"]))]);
    let comparison = json!({
        "schema": 2, "topology": "small", "mode": "default", "topology_file": "built-in",
        "workload": "replay a b.txt", "seed": 1, "seeds": 1, "span_ns": 20_000_000,
        "warmup_ns": 50_000_000, "sweep_hw": { "flips": [] }, "metrics": [],
        "policies": [{ "policy": "cfs", "settings": { "hz": "1000" }, "runs": [first] },
                     { "policy": "bias", "settings": { "hz": "1000" }, "runs": [run("bias", 1)] }]
    });
    let want = "simsched compare --topo small@default --policy cfs --policy bias --set hz=1000 --seed 1 \
                --seeds 1 --span 20ms --warmup 50ms --sweep-hw -- replay 'a b.txt'";
    assert_eq!(command(&[comparison]), want);
}
