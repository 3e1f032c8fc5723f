//! Files that make no page are named, with the line or the key.

use serde_json::{Value, json};
use simsched_pages::read;

use crate::made::{run, with};

fn refused(value: &Value) -> String {
    read("a.json", &value.to_string()).unwrap_err().to_string()
}

#[test]
fn a_value_of_another_kind_is_named_with_file_and_key() {
    let cases = [
        ("digest", json!(7), "a.json: key digest: found 7, expected a text"),
        (
            "scenario.workload",
            Value::Null,
            "a.json: key scenario.workload: found null, expected a text",
        ),
        (
            "elapsed_ns",
            json!("soon"),
            "a.json: key elapsed_ns: found \"soon\", expected a number from 0",
        ),
        ("events", json!(-3), "a.json: key events: found -3, expected a number from 0"),
        (
            "migrations.by_cause",
            json!({ "wakeup": "x" }),
            "a.json: key migrations.by_cause: found an object, expected an object of numbers",
        ),
        (
            "machine.llcs.1.cores",
            json!(5),
            "a.json: key machine.llcs[1].cores: found 5, expected a text",
        ),
        ("schema", json!(1), "a.json: key schema: found 1, expected 2"),
    ];
    for (key, value, want) in cases {
        assert_eq!(refused(&with(run("cfs", 1), &[(key, value)])), want);
    }
}

#[test]
fn a_key_of_one_of_several_runs_is_named_with_the_run() {
    let broken = with(run("cfs", 2), &[("migrations.total", json!([]))]);
    let seeds = json!({ "schema": 2, "runs": [run("cfs", 1), broken] });
    let want =
        "a.json: key runs[1].migrations.total: found an array of 0, expected a number from 0";
    assert_eq!(refused(&seeds), want);
    let none = json!({ "schema": 2, "runs": [] });
    assert_eq!(refused(&none), "a.json: key runs: found none, expected at least one run");
}

#[test]
fn the_json_of_something_else_is_named_as_what_it_is() {
    let cases = [
        (json!({ "schema": 2, "claims": [] }), "found the verdicts of `validate`"),
        (json!({ "schema": 2, "folders": [] }), "found the verdicts of `lab`"),
        (json!({ "schema": 2, "sched_domains": [] }), "found a machine of `topo show`"),
        (json!([1]), "found an array of 1 at the top"),
        (json!({ "schema": 2 }), "key scenario: found nothing, expected an object"),
        (json!({}), "key schema: found nothing, expected 2"),
    ];
    for (value, want) in cases {
        let found = refused(&value);
        assert!(found.starts_with("a.json: ") && found.contains(want), "{found}");
    }
}

#[test]
fn no_json_is_named_with_its_line() {
    let error = read("a.json", "{\n  \"schema\": 1,\n  x\n}").unwrap_err().to_string();
    assert!(error.starts_with("a.json: line 3, column 3: "), "{error}");
}
