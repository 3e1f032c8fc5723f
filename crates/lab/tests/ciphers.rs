//! The kernel's tests of ciphers under 7.3: when they end beside the first scenarios, as recorded.

use std::collections::BTreeSet;

use simsched_lab::event::{Event, What};
use simsched_lab::reference::{Scenario, Turn};
use simsched_lab::run::Bed;

/// On how many CPUs children of a scenario are born (`fork_distinct_cpus`).
fn cpus(bed: &Bed, name: &str, seed: u64) -> usize {
    let events = crate::bed::run(bed, name, seed).events;
    let born = events.iter().filter_map(|event| match event.what {
        What::WakeupNew { target, .. } => Some(target),
        _ => None,
    });
    born.collect::<BTreeSet<_>>().len()
}

/// What is seen of the first scenario of the set with probes.
fn first_of_series(bed: &Bed, seed: u64) -> Vec<Event> {
    let turn = Turn { name: "th-free-2".to_owned(), length_ms: Some(400) };
    let scenario = Scenario {
        series: Some(vec![turn].into()),
        length_ms: Some(400),
        ..Scenario::new("th-free-2", Vec::new())
    };
    bed.run(&scenario, seed, &|| false).unwrap().unwrap().events
}

/// Whether a test of ciphers leaves its CPU.
fn is_test(what: &What) -> bool {
    matches!(what, What::Switch { prev, .. } if prev.comm.as_str() == "cryptomgr_test")
}

/// `forkstorm-N` begins 484 and 496 ms behind the first fork on t8, 484, 520 and 524 on t16. On t8 the second test still
/// holds a CPU: children are born on seven of eight in both recordings; on t16 it has ended: on sixteen of sixteen in
/// all three.
#[test]
fn a_test_holds_a_cpu_of_t8_while_children_are_forked_and_none_of_t16() {
    for seed in 1..=3 {
        let used = ["t8", "t16"]
            .map(|name| cpus(&crate::bed::of_7_3(name, "eevdf@7.3"), "forkstorm-N", seed));
        assert_eq!(used, [7, 16], "{seed}");
    }
}

/// On s2d2 the test of the set with probes is on CPU 21 in all eleven boots of 7.3.4, so behind the first LLC outside the
/// node of the boot CPU, and the first scenario's first child is behind LLC 0, that of the boot CPU, beside the shell,
/// in all but two of them (behind LLC 1 in one; the other was not followed).
#[test]
fn a_test_runs_in_the_second_node_and_the_shell_is_in_that_of_the_boot_cpu() {
    let bed = crate::bed::of_7_3("s2d2", "eevdf@7.3");
    let mut beside_boot_cpu = 0;
    for seed in 1..=8 {
        let events = first_of_series(&bed, seed);
        let test = events.iter().find(|event| is_test(&event.what)).unwrap().cpu;
        assert!((16..24).contains(&test), "{seed}: {test}");
        let child = events.iter().find_map(|event| match event.what {
            What::WakeupNew { target, .. } => Some(target),
            _ => None,
        });
        beside_boot_cpu += u32::from(child.unwrap() < 8);
    }
    assert!(beside_boot_cpu >= 6, "{beside_boot_cpu} of 8");
}

/// The test of ciphers that the set with probes shows ends 217 and 185 ms behind the first fork on n2x8, 92, 92, 112 and 124 ms on the
/// machines of 32 CPUs.
#[test]
fn a_test_ends_beside_the_first_scenario_of_the_set_with_probes() {
    for (machine, recorded) in [("n2x8", 185..=217), ("s2x8", 92..=124), ("s2d2", 92..=124)] {
        let events = first_of_series(&crate::bed::of_7_3(machine, "eevdf@7.3"), 1);
        let fork = events.iter().find(|event| matches!(event.what, What::Fork { .. })).unwrap().us;
        let end = events.iter().rfind(|event| is_test(&event.what)).unwrap().us;
        assert!(recorded.contains(&((end - fork) / 1_000)), "{machine}: {} us", end - fork);
    }
}
