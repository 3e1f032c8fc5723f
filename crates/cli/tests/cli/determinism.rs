//! The same command gives the same bytes: again, on any number of threads, watched or not.

use crate::common::{command, json, prints};

const RUN: &str = "run --quiet --topo t16 --json -";
const LOAD: &str = "-- hackbench -g 2 -f 4 -T -p -l 30";

fn digest(args: &str) -> String {
    json(args)["digest"].to_string()
}

#[test]
fn the_same_command_gives_the_same_bytes() {
    assert_eq!(prints(&format!("{RUN} {LOAD}")), prints(&format!("{RUN} {LOAD}")));
    let text = format!("run --quiet --topo genoa {LOAD}");
    assert_eq!(prints(&text), prints(&text));
}

#[test]
fn who_checks_every_step_changes_none() {
    for policy in ["cfs", "cfs@5.16", "wakeup_bias_prev", "fifo"] {
        let run = format!("{RUN} --policy {policy}");
        let (with, without) = (format!("{run} --paranoid {LOAD}"), format!("{run} {LOAD}"));
        let mut with = json(&with);
        // How to repeat it is told apart.
        let asked = with["scenario"].as_object_mut().unwrap().shift_remove("paranoid");
        assert_eq!(asked, Some(true.into()));
        assert_eq!(with, json(&without), "{policy}");
    }
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let on = |threads: &str| {
        let mut run = command(&format!("{RUN} --seeds 4 {LOAD}"));
        let output = run.env("RAYON_NUM_THREADS", threads).output();
        output.expect("the command runs").stdout
    };
    let one = on("1");
    assert!(!one.is_empty());
    assert_eq!(one, on("2"));
    assert_eq!(one, on("8"));
}

#[test]
fn a_seed_a_policy_and_a_machine_each_make_another_run() {
    let first = digest(&format!("{RUN} {LOAD}"));
    for other in ["--seed 2", "--policy wakeup_bias_prev", "--topo t8", "--set hz=1000"] {
        let run = match other.starts_with("--topo") {
            true => format!("run --quiet {other} --json - {LOAD}"),
            false => format!("{RUN} {other} {LOAD}"),
        };
        assert_ne!(first, digest(&run), "{other}");
    }
}

/// What is said in two ways is one run.
#[test]
fn a_setting_is_the_same_in_the_expression_and_beside_it() {
    let inside = digest(&format!("{RUN} --policy cfs+SIS_UTIL=off {LOAD}"));
    assert_eq!(inside, digest(&format!("{RUN} --set SIS_UTIL=off {LOAD}")));
    let patch = digest(&format!("{RUN} --policy cfs+wakeup_bias_prev {LOAD}"));
    assert_eq!(patch, digest(&format!("{RUN} --policy wakeup_bias_prev {LOAD}")));
}
