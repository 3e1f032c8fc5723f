//! The scenarios of the lab's cache set, one behind the other on one machine.

use std::sync::Arc;

use simsched_lab::reference::{Scenario, Turn};
use simsched_lab::run::Bed;
use simsched_topology::Topology;
use simsched_workloads::lab::Kernel;

/// Scenarios with short traces, in the order of their runs.
const SHORT: [&str; 7] =
    ["th-free-2", "th-free-3", "th-free-4", "th-free-6", "th-free-8", "th-free-12", "th-spread-2"];

fn bed() -> Bed {
    let topology = |mode| Arc::new(Topology::builtin("n2x8", Some(mode)).unwrap());
    Bed {
        topology: topology("lab-7.3"),
        untraced: topology("untraced-7.3"),
        kernel: Kernel::V7_3,
        ..crate::bed::bed("eevdf@7.3+cache_aware")
    }
}

fn scenario(names: &[&str], name: &str) -> Scenario {
    let turn = |name: &&str| Turn { name: (*name).to_owned(), length_ms: Some(200) };
    let series = Some(names.iter().map(turn).collect());
    Scenario { series, length_ms: Some(200), ..Scenario::new(name, Vec::new()) }
}

/// From the end of one to the begin of the next one are 22.9 to 32.9 ticks in the kernel, 26.9 in the middle (7.3.4 on
/// n2x8, 20 gaps behind traces of up to 750 lines).
#[test]
fn what_is_between_two_scenarios_takes_as_long_as_in_the_kernel() {
    let bed = bed();
    let watch = |name| bed.watch(&scenario(&SHORT, name), 1, &|| false).unwrap().unwrap();
    let records = SHORT.map(watch);
    let mut gaps: Vec<u64> = records
        .windows(2)
        .map(|two| two[1].started.get() - two[0].started.get() - two[0].elapsed_ns)
        .collect();
    gaps.sort_unstable();
    let ticks = |gap: u64| gap as f64 / 4e6;
    assert!(ticks(gaps[0]) > 22.0 && ticks(gaps[5]) < 33.9, "{gaps:?}");
    assert!((ticks(gaps[3]) - 26.9).abs() < 2.5, "{gaps:?}");
}

/// What a scenario comes to does not depend on what is run behind it.
#[test]
fn a_series_that_is_cut_short_is_the_begin_of_the_long_one() {
    let run = |names: &[&str]| {
        let recorded = bed().run(&scenario(names, "th-free-3"), 2, &|| false).unwrap().unwrap();
        recorded.events
    };
    let (short, long) = (run(&SHORT[..2]), run(&SHORT[..4]));
    assert!(short.len() > 20, "{}", short.len());
    let places = |events: &[simsched_lab::event::Event]| -> Vec<(u64, u32)> {
        events.iter().map(|event| (event.us, event.cpu)).collect()
    };
    assert_eq!(places(&short), places(&long));
}

/// A scenario that is not the first one begins on a machine that another one has used: its tasks have other pids, and
/// its record has only these.
#[test]
fn each_record_has_the_tasks_of_its_own_scenario() {
    let bed = bed();
    let watch = |name| bed.watch(&scenario(&SHORT, name), 1, &|| false).unwrap().unwrap();
    let pids = |name| watch(name).tasks.iter().map(|task| task.pid).collect::<Vec<_>>();
    let (two, three) = (pids("th-free-2"), pids("th-free-3"));
    assert_eq!((two.len(), three.len()), (3, 4));
    assert_eq!(two.last().unwrap() + 1, three[0]);
}
