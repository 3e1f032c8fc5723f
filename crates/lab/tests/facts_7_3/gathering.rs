//! Facts 5 and 7: how long it takes until the threads of a process are in one LLC, and who moves them. Times that
//! are passes of the balancer are held to within one or two of its intervals, as the lab says: 32 ms on 16 CPUs, 64
//! on 32.

use simsched_lab::probes::Mover;

use super::watched::{Move, Watched};
use super::{SEEDS, assert_within, numbers, off, on};

/// Two passes on 16 CPUs, in ms.
const ON_16: f64 = 32.0;
/// Two passes on 32 CPUs, in ms.
const ON_32: f64 = 64.0;

/// Whether with each seed it takes what it takes in the kernel, from the first to the second time in ms, give or take
/// these passes.
#[track_caller]
fn assert_gathers(machine: &str, scenario: &str, [least, most]: [f64; 2], passes: f64) {
    assert_within(&on(machine), scenario, "gather_ms", (least - passes).max(0.0)..=most + passes);
}

/// The moves of a process that bring a thread to the LLC that it prefers at last.
fn gathering(watched: &Watched) -> Vec<Move> {
    let home = watched.preferences("p0").last().unwrap().1;
    watched.moves("p0").into_iter().filter(|moved| Some(moved.to) == home).collect()
}

/// Hogs that are alone on their CPUs are never pulled: the stopper of their CPU moves each of them.
#[test]
fn cache_fact_05_hogs_are_gathered_by_active_balance_alone() {
    for machine in ["n2x8", "s2x8", "s2d2"] {
        for threads in [3, 4, 6] {
            for seed in SEEDS {
                let watched = Watched::new(&on(machine), &format!("th-free-{threads}"), seed);
                let moves = gathering(&watched);
                let by_stopper = |moved: &Move| moved.by == Mover::ActiveLlc;
                assert!(moves.iter().all(by_stopper), "{machine} {threads} {seed}: {moves:?}");
            }
        }
    }
}

/// One thread at a time. The first two of four are moved at 33.8 and 65.8 ms.
#[test]
#[ignore = "MISSED"]
fn cache_fact_05_passes_take_one_thread_each() {
    for seed in SEEDS {
        let moves = gathering(&Watched::new(&on("n2x8"), "th-free-4", seed));
        let [first, second] = [moves[0].ms, moves[1].ms];
        assert!(
            (first - 33.8).abs() < 0.5 && (second - 65.8).abs() < 0.5,
            "{seed}: {first} {second}"
        );
    }
}

#[test]
#[ignore = "MISSED"]
fn cache_fact_05_three_threads_gather_after_34_ms_with_16_cpus() {
    assert_gathers("n2x8", "th-free-3", [34.0, 34.0], ON_16);
}

#[test]
fn cache_fact_05_four_threads_gather_after_66_ms_with_16_cpus() {
    assert_gathers("n2x8", "th-free-4", [65.8, 66.0], ON_16);
}

#[test]
fn cache_fact_05_six_threads_gather_after_50_to_118_ms_with_16_cpus() {
    assert_gathers("n2x8", "th-free-6", [50.0, 118.0], ON_16);
}

#[test]
fn cache_fact_05_three_threads_gather_after_62_ms_with_32_cpus() {
    assert_gathers("s2x8", "th-free-3", [62.0, 62.0], ON_32);
}

#[test]
fn cache_fact_05_four_threads_gather_after_14_to_130_ms_with_32_cpus() {
    assert_gathers("s2x8", "th-free-4", [14.0, 130.0], ON_32);
}

#[test]
fn cache_fact_05_six_threads_gather_after_130_to_138_ms_with_32_cpus() {
    assert_gathers("s2x8", "th-free-6", [130.0, 138.0], ON_32);
}

#[test]
#[ignore = "MISSED"]
fn cache_fact_05_eight_threads_gather_after_18_to_78_ms_with_32_cpus() {
    assert_gathers("s2x8", "th-free-8", [18.0, 78.0], ON_32);
}

#[test]
#[ignore = "MISSED"]
fn cache_fact_05_four_threads_gather_after_110_ms_with_four_llcs() {
    let found = numbers(&on("s2d2"), "th-free-4", "gather_ms");
    // Where they prefer an LLC that is not the first of its node they do not: fact 9.
    let found: Vec<f64> = found.into_iter().flatten().collect();
    let is_alike = |ms: &f64| (110.0 - ON_32..=110.0 + ON_32).contains(ms);
    assert!(found.len() > 1 && found.iter().all(is_alike), "{found:?}");
}

#[test]
#[ignore = "MISSED"]
fn cache_fact_05_six_threads_gather_after_210_ms_with_four_llcs() {
    assert_gathers("s2d2", "th-free-6", [210.0, 210.0], ON_32);
}

/// Threads that are pinned make passes fail, which doubles the interval: once they are let go at 100 ms it takes 76 to
/// 290 ms more.
#[test]
#[ignore = "MISSED"]
fn cache_fact_07_threads_that_were_pinned_gather_late() {
    for (machine, scenario) in
        [("n2x8", "th-spread-4"), ("s2x8", "th-spread-4"), ("s2x8", "th-spread-6")]
    {
        assert_within(&on(machine), scenario, "gather_after_start_ms", 76.0..=290.0);
    }
}

#[test]
#[ignore = "MISSED"]
fn cache_fact_07_threads_that_were_pinned_gather_late_with_four_llcs() {
    assert_within(&on("s2d2"), "th-spread-4", "gather_after_start_ms", 76.0..=290.0);
}

#[test]
fn cache_fact_07_four_pinned_threads_gather_at_226_to_386_ms_with_16_cpus() {
    assert_gathers("n2x8", "th-spread-4", [226.0, 386.0], ON_16);
}

#[test]
#[ignore = "MISSED"]
fn cache_fact_07_six_pinned_threads_gather_at_386_to_390_ms_with_16_cpus() {
    assert_gathers("n2x8", "th-spread-6", [386.0, 390.0], ON_16);
}

#[test]
fn cache_fact_07_four_pinned_threads_gather_at_194_to_258_ms_with_32_cpus() {
    assert_gathers("s2x8", "th-spread-4", [194.0, 258.0], ON_32);
}

#[test]
fn cache_fact_07_six_pinned_threads_gather_at_226_ms_with_32_cpus() {
    assert_gathers("s2x8", "th-spread-6", [226.0, 226.0], ON_32);
}

#[test]
#[ignore = "MISSED"]
fn cache_fact_07_four_pinned_threads_gather_at_290_ms_with_four_llcs() {
    assert_gathers("s2d2", "th-spread-4", [290.0, 290.0], ON_32);
}

/// Twelve hogs on 8 cores without cache-aware scheduling: all four that are free have left after 702 ms in one run; in
/// the other one of them is still there at the end.
#[test]
#[ignore = "MISSED"]
fn cache_fact_11_off_four_threads_beside_eight_leave_as_late() {
    for seed in SEEDS {
        let watched = Watched::new(&off("n2x8"), "th-load-8", seed);
        let left = |ms| watched.places("p0", ms)[1];
        let early = left(300.0);
        assert!(early <= 1 && left(990.0) >= 3, "{seed}: {early}, {:?}", watched.moves("p0"));
    }
}
