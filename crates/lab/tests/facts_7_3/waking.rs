//! Facts 12 to 14, and where hackbench is born: threads that sleep and wake each other, and lives of processes.

use super::watched::Watched;
use super::{SEEDS, assert_ends, assert_is, assert_within, machine, numbers, on};
use simsched_lab::event::What;

const POLICIES: [&str; 2] = ["eevdf@7.3", "eevdf@7.3+cache_aware"];

/// A thread that runs for 1 ms of 10, between two ticks, is never current at a tick.
#[test]
fn cache_fact_12_threads_that_never_run_at_a_tick_are_never_scanned() {
    for machine in ["n2x8", "s2x8"] {
        assert_eq!(numbers(&on(machine), "sl-4-1-9", "scans"), [None; 3]);
        assert_is(&on(machine), "sl-4-1-9", "gathered_procs", 0);
        assert_is(&on(machine), "sl-4-1-9", "xllc_migrations", 0);
    }
}

/// Twelve threads that run for a quarter of the time are born unevenly, and some stay behind for good.
#[test]
fn cache_fact_12_late_sleepers_stay_behind() {
    assert_is(&on("n2x8"), "sl-12-1-3", "gathered_procs", 0);
    assert_ends(&on("n2x8"), "sl-12-1-3", &[&[2, 10], &[3, 9]]);
}

/// All eight workers come to one LLC; the message thread comes with them, or never, and then nearly all wakeups cross.
#[test]
fn cache_fact_12_schbenchs_message_thread_comes_along_or_never() {
    let found = numbers(&on("s2x8"), "sb-1x8", "xllc_wakeups_per_wakeup");
    let is_one = |part: &Option<f64>| part.is_some_and(|part| !(0.1..=0.9).contains(&part));
    assert!(found.iter().all(is_one), "{found:?}");
    let off = numbers(&super::off("s2x8"), "sb-1x8", "xllc_wakeups_per_wakeup");
    assert!(off.iter().all(|part| part.is_some_and(|part| (part - 0.5).abs() < 0.01)), "{off:?}");
}

#[test]
#[ignore = "MISSED"]
fn cache_fact_12_half_busy_threads_gather() {
    for machine in ["n2x8", "s2x8", "s2d2"] {
        assert_is(&on(machine), "sl-4-2-2", "gathered_procs", 1);
        assert_is(&on(machine), "sl-4-2-2", "pref_changes", 1);
    }
}

/// Partners on a pipe find each other by their wakeups, with the feature and without: none crosses.
#[test]
fn cache_fact_13_no_wakeup_of_a_pair_or_a_star_crosses() {
    for name in ["n2x8", "s2x8", "s2d2"] {
        for policy in POLICIES {
            for scenario in ["pc-1x1", "pc-1x4", "tpp-1", "tpp-4"] {
                let metric = "xllc_wakeups_per_wakeup";
                assert_within(&machine(name, policy, Vec::new()), scenario, metric, 0.0..=0.004_9);
            }
        }
    }
}

/// A star is together within 0.8 ms. (The kernel has one run of eight in which a thread is away once more later.)
#[test]
#[ignore = "MISSED"]
fn cache_fact_13_a_star_is_together_within_a_millisecond() {
    for name in ["n2x8", "s2x8"] {
        for policy in POLICIES {
            for scenario in ["pc-1x1", "pc-1x4"] {
                assert_within(&machine(name, policy, Vec::new()), scenario, "gather_ms", 0.0..=0.8);
            }
        }
    }
}

/// Four pairs of one process: two in each LLC without it.
#[test]
fn cache_fact_13_off_four_pairs_of_one_process_stay_apart() {
    for name in ["n2x8", "s2x8"] {
        assert_is(&super::off(name), "tpp-4", "gathered_procs", 0);
    }
    assert_ends(&super::off("n2x8"), "tpp-4", &[&[4, 4]]);
}

#[test]
fn cache_fact_13_off_two_of_four_pairs_are_in_each_node() {
    assert_ends(&super::off("s2x8"), "tpp-4", &[&[4, 4]]);
}

/// All in one LLC with it: within 34, 30 and 74 ms, give or take two passes of 32 or 64 ms.
#[test]
fn cache_fact_13_four_pairs_of_one_process_share_an_llc() {
    for (name, most) in [("n2x8", 34.0 + 32.0), ("s2x8", 30.0 + 64.0), ("s2d2", 74.0 + 64.0)] {
        assert_is(&on(name), "tpp-4", "gathered_procs", 1);
        assert_within(&on(name), "tpp-4", "gather_after_start_ms", 0.0..=most);
    }
}

/// The child has no preference at first, and then that for the LLC which its parent leaves empty.
#[test]
fn cache_fact_14_a_forked_process_begins_without_preference_in_the_emptier_llc() {
    for name in ["n2x8", "s2x8"] {
        for seed in SEEDS {
            let watched = Watched::new(&on(name), "life-fork", seed);
            let [parent, child] = ["p0", "p1"].map(|process| watched.preferences(process));
            assert!(child[0].1.is_none() && child[0].0 > 800.0, "{name} {seed}: {child:?}");
            assert_eq!(child.len(), 2, "{name} {seed}: {child:?}");
            assert_ne!(child[1].1, parent[1].1, "{name} {seed}");
            assert!(child[1].0 - child[0].0 < 8.1, "{name} {seed}: {child:?}");
        }
    }
}

#[test]
fn cache_fact_14_all_threads_of_a_forked_process_are_born_in_the_emptier_llc() {
    for name in ["n2x8", "s2x8"] {
        assert_within(&on(name), "life-fork", "gather_after_start_ms p1", 0.0..=0.0);
    }
}

/// The new image is first seen with a preference 8 ms behind the first scan without, which is within 6 ms of its birth.
#[test]
fn cache_fact_14_a_new_image_begins_without_preference() {
    for name in ["n2x8", "s2x8", "s2d2"] {
        for seed in SEEDS {
            let watched = Watched::new(&on(name), "life-exec", seed);
            let image = watched.preferences("p1");
            let [none, some] = image[..] else { panic!("{name} {seed}: {image:?}") };
            assert!(
                none.1.is_none() && (800.6..807.0).contains(&none.0),
                "{name} {seed}: {none:?}"
            );
            assert!(some.1.is_some() && some.0 - none.0 < 8.1, "{name} {seed}: {image:?}");
        }
    }
}

/// 66 and 70 ms on n2x8, 66 on s2x8, give or take two passes of 32 or 64 ms.
#[test]
fn cache_fact_14_a_new_image_gathers_again_from_a_spread_start() {
    for (name, most) in [("n2x8", 70.0 + 32.0), ("s2x8", 66.0 + 64.0)] {
        assert_is(&on(name), "life-exec", "gathered_procs", 2);
        assert_within(&on(name), "life-exec", "gather_after_start_ms p1", 0.5..=most);
    }
}

/// The preference of the last thread is dropped 2 to 6 ms after the second-last has ended, and it stays where it is.
#[test]
fn cache_fact_14_the_last_thread_of_a_process_has_no_preference() {
    for name in ["n2x8", "s2x8", "s2d2"] {
        for seed in SEEDS {
            let watched = Watched::new(&on(name), "life-exit", seed);
            let exits = watched.exits("p0");
            let preferences = watched.preferences("p0");
            let [_, _, dropped] = preferences[..] else { panic!("{name} {seed}: {preferences:?}") };
            let later = dropped.0 - exits[exits.len() - 2];
            assert!(
                dropped.1.is_none() && (1.5..6.5).contains(&later),
                "{name} {seed}: {later} ms"
            );
            let moved =
                watched.moves("p0").into_iter().filter(|moved| moved.ms > dropped.0).count();
            assert_eq!(moved, 0, "{name} {seed}");
        }
    }
}

/// Threads of hackbench sleep at once on the pipe from which all start, so that all find an idle node.
#[test]
fn hackbench_is_born_in_one_llc() {
    for name in ["s2x8", "s2x16"] {
        for scenario in ["hackbench-g1f2l10", "hackbench-g1f4l10", "hackbench-g1f8l10"] {
            let bed = super::off(name);
            let recorded = crate::bed::run(&bed, scenario, 1);
            let llc =
                |cpu: u32| bed.topology.llc_of(simsched_topology::CpuId::new(cpu as usize)).idx();
            let born = recorded.events.iter().filter_map(|event| match event.what {
                What::WakeupNew { target, .. } => Some(llc(target)),
                _ => None,
            });
            let mut llcs: Vec<usize> = born.collect();
            llcs.dedup();
            assert_eq!(llcs.len(), 1, "{name} {scenario}: {llcs:?}");
        }
    }
}
