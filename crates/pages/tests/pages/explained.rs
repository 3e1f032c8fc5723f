//! Sentences about reports that differ in what the tests have changed, and in nothing else.

use serde_json::{Value, json};
use simsched_pages::{Explanation, explain};

use crate::made::{document, run, seeds, with};

fn told(base: &Value, other: &Value) -> Explanation {
    explain(&document("a.json", base), &document("b.json", other), false).unwrap()
}

fn against(values: &[(&str, Value)]) -> Explanation {
    told(&run("cfs", 1), &with(run("bias", 1), values))
}

#[test]
fn nothing_that_differs_is_said_to_be_nothing() {
    let told = against(&[]);
    assert_eq!(
        told.changed,
        ["Nothing that is measured can be told to differ: it is within 3 % or within chance."]
    );
    assert!(told.causes.is_empty(), "{:?}", told.causes);
    assert!(told.same[0].starts_with("Within 3 % of the base: time of the program, "));
}

#[test]
fn one_run_is_told_to_be_itself() {
    let told = told(&run("cfs", 1), &run("cfs", 1));
    assert_eq!(told.changed, ["Nothing: the digests are equal, so these are the same runs."]);
}

#[test]
fn if_only_wakeup_migrations_fall_it_says_so() {
    let told = against(&[
        ("cpu_migrations", json!(600)),
        ("migrations.total", json!(600)),
        ("migrations.by_cause.wakeup", json!(400)),
        ("migrations.by_cause_and_reason.wakeup.idle_core", json!(100)),
        ("migrations.by_reason.idle_core", json!(100)),
        ("migrations.by_distance.same_llc", json!(100)),
    ]);
    assert_eq!(told.changed, ["The number of migrations falls: from 1,000 to 600 (-40.0 %)."]);
    let want = "Only migrations by wakeup fall, from 800 to 400 (-50.0 %); those by fork and newidle do \
                not change beyond 3 % or chance; of those by wakeup, 400 fewer by idle_core; by \
                distance, 400 fewer of same_llc.";
    assert_eq!(told.causes, [want]);
}

#[test]
fn of_two_causes_the_larger_comes_first() {
    let told = against(&[
        ("migrations.by_cause.wakeup", json!(700)),
        ("migrations.by_cause.newidle", json!(360)),
    ]);
    let want = "Of the migrations, those by newidle rise from 160 to 360 (+125.0 %) and those by wakeup \
                fall from 800 to 700 (-12.5 %).";
    assert_eq!(told.causes, [want]);
}

/// 20 us for 10,000 messages are 2 ns each: 18,000 of 80,000 us, 2,250 of 8,000 ns a message.
#[test]
fn costs_are_told_for_each_message_by_name() {
    let told =
        against(&[("costs.wakeup", json!(5_000_000)), ("costs.context_switch", json!(13_000_000))]);
    let want = "A message costs 15.0 % less CPU time, 6.800 us instead of 8.000 us: wakeup -1.500 us and \
                context_switch +300.0 ns.";
    assert_eq!(told.causes, [want]);
}

/// 15 of 80 ms: what one message costs cannot be held against the whole.
#[test]
fn costs_of_a_run_that_counts_no_messages_are_those_of_all_its_work() {
    let told = against(&[("costs.wakeup", json!(5_000_000)), ("workload", json!({}))]);
    let want =
        "The work costs 18.8 % less CPU time, 65.00 ms instead of 80.00 ms: wakeup -15.00 ms.";
    assert_eq!(told.causes, [want]);
}

#[test]
fn a_faster_program_is_told_before_larger_changes_inside() {
    let told = against(&[
        ("elapsed_ns", json!(9_000_000)),
        ("wakeup_latency_ns.p99", json!(120_000)),
        ("preemptions", json!(140)),
    ]);
    let want = [
        "The time of the program falls: from 10.00 ms to 9.000 ms (-10.0 %).",
        "The wakeup latency rises, its p99 most: from 40.00 us to 120.0 us (+200.0 %); its mean, \
         median, p90 and p99.9 stay.",
        "The number of preemptions rises: from 70 to 140 (+100.0 %).",
    ];
    assert_eq!(told.changed, want);
}

#[test]
fn a_tail_that_rises_while_the_median_falls_is_told_as_both() {
    let told = against(&[
        ("wakeup_latency_ns.p99", json!(120_000)),
        ("wakeup_latency_ns.p50", json!(1_500)),
    ]);
    let want = "The wakeup latency rises, its p99 most: from 40.00 us to 120.0 us (+200.0 %); against \
                that its median -50.0 %; its mean, p90 and p99.9 stay.";
    assert_eq!(told.changed, [want]);
}

/// 32 of 320 ms of CPU time.
#[test]
fn tasks_that_wait_while_cpus_idle_are_a_cause() {
    let told = against(&[("idle_while_waiting_ns", json!(32_000_000))]);
    let want = "CPUs idle longer while tasks wait for one: from 1.000 ms to 32.00 ms (+3100 %), which is \
                10.0 % of all CPU time instead of 0.3 %.";
    assert_eq!(told.causes, [want]);
}

#[test]
fn where_wakeups_go_is_told_in_parts_of_a_hundred() {
    let told =
        against(&[("wakeups.by_reason.prev", json!(800)), ("wakeups.by_reason.bias", json!(400))]);
    let want = "Wakeups choose their CPUs differently: of 100, 40 instead of 60 go by prev and 20 instead \
                of 0 go by bias.";
    assert_eq!(told.causes, [want]);
}

/// 2,041 placements looked at 20,410 CPUs.
#[test]
fn a_shorter_search_is_a_cause() {
    let told = against(&[("scanned_cpus", json!(4_082))]);
    assert_eq!(told.causes, ["Placing a task looks at 2 CPUs instead of 10 (-80.0 %)."]);
}

/// 10, 20 and 30 % of 10 ms more: the logarithm of the ratio is ln(1.2) = 0.182 +-
/// 4.303 * (0.1 / 1.2) / sqrt(3) = 0.207; with half the scatter +- 0.1035, so from 8.2 to 33.1 %.
#[test]
fn several_seeds_have_an_interval_that_decides() {
    let base = seeds("cfs", &[1.0, 1.0, 1.0], &[]);
    let slower = seeds("bias", &[1.1, 1.2, 1.3], &["elapsed_ns"]);
    let want = "The time of the program rises: from 10.00 ms to 12.00 ms (+20.0 %, 95 % interval +8.2 % \
                to +33.1 %).";
    let found = told(&base, &slower);
    assert!(found.changed[0].starts_with("Nothing"), "{:?}", found.changed);
    assert_eq!(
        found.same.last().unwrap(),
        "Not to be told from chance with 3 seeds: time of the program."
    );
    // The same differences, and no doubt with half the scatter.
    let surer = seeds("bias", &[1.15, 1.2, 1.25], &["elapsed_ns"]);
    let found = told(&base, &surer);
    assert_eq!(found.changed, [want]);
    let few = "With 3 seeds no difference is sure: run with --seeds 5.";
    assert_eq!(found.cautions, [few]);
    let five = |policy, factors: [f64; 5]| seeds(policy, &factors, &["elapsed_ns"]);
    let found = told(&five("cfs", [1.0; 5]), &five("bias", [1.15, 1.2, 1.25, 1.2, 1.2]));
    assert!(found.cautions.is_empty(), "{:?}", found.cautions);
}

#[test]
fn small_but_certain_changes_of_several_seeds_count() {
    let base = seeds("cfs", &[1.0, 1.0, 1.0], &[]);
    let found = told(&base, &seeds("bias", &[1.019, 1.02, 1.021], &["elapsed_ns"]));
    assert!(found.changed[0].starts_with("The time of the program rises"), "{:?}", found.changed);
    let found = told(&base, &seeds("bias", &[1.004, 1.005, 1.006], &["elapsed_ns"]));
    assert!(found.changed[0].starts_with("Nothing"), "{:?}", found.changed);
}

#[test]
fn other_machines_and_workloads_are_refused_unless_asked_for() {
    for (key, what) in [("scenario.mode", "machine"), ("scenario.workload", "workload")] {
        let other = with(run("cfs", 2), &[(key, json!("other"))]);
        let [a, b] = [document("a.json", &run("cfs", 1)), document("b.json", &other)];
        let error = explain(&a, &b, false).unwrap_err().to_string();
        let want = format!("expected the same {what} in both");
        assert!(error.starts_with("a.json and b.json: found ") && error.contains(&want), "{error}");
        let anyway = explain(&a, &b, true).unwrap();
        assert!(anyway.cautions[0].starts_with(&format!("The {what} differs: ")));
    }
}

#[test]
fn a_comparison_is_refused_with_what_explains_it() {
    let policy = json!({ "policy": "cfs", "runs": [run("cfs", 1)] });
    let comparison = json!({
        "schema": 2, "topology": "small", "workload": "hackbench -g 1", "policies": [policy],
        "metrics": []
    });
    let [a, b] = [document("a.json", &run("cfs", 1)), document("b.json", &comparison)];
    let want = "b.json: found a comparison, expected what `run --json` writes; `simsched report` \
                explains a comparison";
    assert_eq!(explain(&a, &b, false).unwrap_err().to_string(), want);
}

#[test]
fn what_is_partial_or_has_one_seed_is_said() {
    let partial = with(run("bias", 1), &[("end", json!("duration")), ("elapsed_ns", Value::Null)]);
    let found = told(&run("cfs", 1), &partial);
    let all = found.cautions.join("\n");
    for said in ["One seed on each side", "bias@6.1: the run ended by --duration"] {
        assert!(all.contains(said), "{all}");
    }
}

#[test]
fn the_text_names_both_sides_and_is_always_the_same() {
    let found = against(&[("elapsed_ns", json!(9_000_000))]);
    let text = found.text();
    let lines: Vec<&str> = text.lines().take(3).collect();
    let want = [
        "base: cfs@6.1 (a.json, seed 1)",
        "other: bias@6.1 (b.json, seed 1)",
        "both: hackbench -g 1 on small@default",
    ];
    assert_eq!(lines, want);
    assert!(text.contains("\nWhat changed:\n- The time of the program falls"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    assert_eq!(text, against(&[("elapsed_ns", json!(9_000_000))]).text());
}
