//! Wakeup and fork placements of a running Linux 6.1: `select_task_rq` gives the answer of the
//! kernel wherever what was recorded leaves one answer, and elsewhere one of the possible ones.

#![allow(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    reason = "a test fails where it stands"
)]

mod branches;
mod hidden;
mod history;
mod row;
mod score;

use crate::common::patched;
use simsched_policies::catalog::FairSpec;
use simsched_policies::fair::{Features, Version};
use simsched_topology::{CpuId, Topology};

use hidden::{Answer, Rig};
use history::History;
use row::Row;
use score::Score;

/// Who answers.
enum Policy {
    /// The fair class with these features, which needs what a row does not show.
    Fair(Box<FairSpec>),
    /// A rule that needs nothing else.
    Rule(fn(&Row) -> CpuId),
}

/// Asks for all placements that were recorded on a machine, in their order.
fn replay(machine: &str, policy: &Policy) -> Score {
    let topology = Topology::builtin(machine, None).unwrap();
    let features = match policy {
        Policy::Fair(class) => FairSpec::clone(class),
        Policy::Rule(_) => Features::default().into(),
    };
    let mut rig = Rig::new(topology.clone(), features);
    let mut score = Score::default();
    let (mut history, mut scenario) = (History::new(*topology.cpus()), String::new());
    for line in crate::common::lines(&format!("lab/{machine}.jsonl")) {
        let row = Row::parse(&line);
        if row.scenario != scenario {
            scenario.clone_from(&row.scenario);
            history = History::new(*topology.cpus());
        }
        history.before(&row);
        if row.on_rq || row.is_pinned() {
            score.not_chosen(&row);
            continue;
        }
        history.record_wakee(&row);
        let answers = match policy {
            Policy::Fair(_) => rig.answers(&row, &mut history),
            Policy::Rule(rule) => Some(vec![Answer::of(rule(&row))]),
        };
        match answers {
            Some(answers) => {
                score.count(&topology, &row, &answers);
                history.after(&row, &answers);
            }
            None => score.unjudged += 1,
        }
    }
    score
}

#[test]
fn placements_on_two_sockets_are_those_of_the_kernel() {
    let score = replay("t16", &Policy::Fair(Box::new(Features::default().into())));
    score.assert_rows([18_013, 364, 4_511]);
    assert!(score.meets_the_bar(), "{score}");
    // By what the kernel did, and by each step of the search that can end it.
    for kind in ["stays", "moves", "target", "prev", "recent", "none_idle"] {
        assert!(score.single(&format!("wake {kind}")) > 0, "{kind}\n{score}");
    }
    for kind in ["sibling", "idle_core", "idle_cpu"] {
        assert!(score.rows(&format!("wake {kind}")) > 0, "{kind}\n{score}");
    }
}

#[test]
fn placements_in_one_cache_are_those_of_the_kernel() {
    let score = replay("t8", &Policy::Fair(Box::new(Features::default().into())));
    score.assert_rows([11_373, 204, 2_160]);
    assert!(score.meets_the_bar(), "{score}");
}

#[track_caller]
fn assert_wrong(machine: &str, policy: &Policy) {
    let score = replay(machine, policy);
    assert!(!score.meets_the_bar(), "{score}");
}

fn changed(change: fn(&mut Features)) -> Policy {
    let mut features = Features::default();
    change(&mut features);
    Policy::Fair(Box::new(features.into()))
}

#[test]
fn a_policy_that_never_moves_a_wakee_is_told_from_the_kernel() {
    assert_wrong("t16", &Policy::Rule(|row| row.prev));
    assert_wrong("t8", &Policy::Rule(|row| row.prev));
}

#[test]
fn a_policy_that_takes_any_idle_cpu_or_the_wakers_is_told_from_the_kernel() {
    let any_idle = |row: &Row| match row.idle.len() {
        0 => row.prev,
        idle => row.idle.iter().nth(row.time_us as usize % idle).unwrap(),
    };
    assert_wrong("t16", &Policy::Rule(any_idle));
    assert_wrong("t16", &Policy::Rule(|row| row.waker));
}

#[test]
fn a_changed_rule_of_the_search_is_told_from_the_kernel() {
    let bias = patched(Features::default(), &["wakeup_bias_prev"]);
    assert_wrong("t16", &Policy::Fair(Box::new(bias)));
    assert_wrong("t16", &changed(|features| features.wa_idle = false));
    assert_wrong("t16", &changed(|features| features.wa_weight = false));
    assert_wrong("t8", &changed(|features| features.sis_util = false));
}

#[test]
fn an_older_kernel_is_told_from_6_1_by_its_forks() {
    let score = replay("t16", &Policy::Fair(Box::new(Features::of(Version::V5_16).into())));
    assert!(!score.meets_the_bar() && score.right("fork") < score.rows("fork") * 9 / 10, "{score}");
}
