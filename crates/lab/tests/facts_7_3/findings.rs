//! The old scenarios of the lab under 7.3.4: slices that end by a timer, latencies, and how herds spread.

use std::ops::RangeInclusive;

use simsched_lab::folder::Recorded;
use simsched_lab::value::Value;

use crate::bed::{number, run};

use super::{assert_within, on};

/// Whether a metric of a run, of the first seed, is in a range.
#[track_caller]
fn assert_first(machine: &str, scenario: &str, metric: &str, range: RangeInclusive<f64>) {
    let found = number(&run(&on(machine), scenario, 1), metric);
    assert!(range.contains(&found), "{machine} {scenario} {metric}: {found} not in {range:?}");
}

fn counts(recorded: &Recorded, metric: &str) -> Vec<u64> {
    match recorded.values.value(metric) {
        Some(Value::Vector(counts)) => counts,
        other => panic!("{metric}: {other:?}"),
    }
}

/// A slice ends when it is used up, 2.804 ms after it began, and not at a tick.
#[test]
fn finding_01_slices_end_when_they_are_used_up() {
    // Two equal hogs fall into step with the tick in some runs: share-0-0 has 2.804 ms in four of the kernel's five runs,
    // and 4 in the fifth.
    for hog in ["hog00", "hog01"] {
        let mut found = of_equal_hogs(&format!("slice_p50_ms {hog}"));
        found.sort_by(f64::total_cmp);
        let median = found[found.len() / 2];
        assert!((2.794..=2.814).contains(&median), "{found:?}");
    }
    for machine in ["t8", "t16"] {
        for (scenario, hog) in
            [("share-0x4", "hog03"), ("share-0-5", "hog01"), ("share-0-19", "hog01")]
        {
            assert_first(machine, scenario, &format!("slice_p50_ms {hog}"), 2.794..=2.814);
        }
    }
}

/// The rest until the other one's slice fits a whole number of ticks of 4 ms.
#[test]
fn finding_01_the_heavier_one_runs_until_a_tick_after_the_others_slice() {
    assert_first("t8", "share-0-5", "slice_p50_ms hog00", 9.18..=9.21);
    assert_first("t8", "share-m5-0-5-10", "slice_p50_ms hog00", 5.18..=5.21);
}

/// Switches of the scenarios about shares: 40 % more than under 6.12.
#[test]
fn finding_01_hogs_switch_as_often_as_their_slices_are_short() {
    assert_first("t8", "share-0x4", "switches", 728.0 * 0.95..=729.0 * 1.05);
    assert_first("t8", "share-0-5", "switches", 360.0 * 0.95..=362.0 * 1.05);
    assert_first("t8", "share-m5-0-5-10", "switches", 932.0 * 0.95..=934.0 * 1.05);
}

/// A metric of two equal hogs on t8 in ten runs.
fn of_equal_hogs(metric: &str) -> Vec<f64> {
    (1..=10).map(|seed| number(&run(&on("t8"), "share-0-0", seed), metric)).collect()
}

/// Of two equal hogs, as the mean over ten runs: 675 and 707 in the kernel, with 16 CPUs 531, 721 and 723.
#[test]
fn finding_01_two_equal_hogs_switch_as_often_as_their_slices_are_short() {
    let found = of_equal_hogs("switches");
    let mean = found.iter().sum::<f64>() / 10.0;
    assert!((675.0 * 0.95..=707.0 * 1.05).contains(&mean), "{found:?}");
}

/// A wakeup that does not preempt at once waits for 1.1 to 2.3 ms at worst, not for a tick.
#[test]
#[ignore = "MISSED"]
fn finding_02_the_worst_wakeup_beside_a_hog_is_1_to_2_ms_late() {
    assert_within(&on("t8"), "hogper-1-1", "lat_p99_us", 1_100.0..=2_310.0);
    assert_within(&on("t16"), "hogper-1-1", "lat_p99_us", 1_100.0..=2_310.0);
}

/// A round trip of a pair takes 17.9 us with the tracer.
#[test]
fn finding_03_a_round_trip_takes_18_us() {
    for machine in ["t8", "t16"] {
        assert_first(machine, "pingpong-1", "lat_p50_us", 17.92 * 0.95..=17.92 * 1.05);
    }
}

/// From the expiry of a timer to user space: 8.0 us where the CPU is idle, 9.7 beside a hog.
#[test]
fn finding_03_a_timer_takes_8_us_to_user_space() {
    assert_first("t8", "periodic-N", "lat_p50_us", 8.02 * 0.95..=8.02 * 1.05);
    for machine in ["t8", "t16"] {
        assert_first(machine, "hogper-1-1", "lat_p50_us", 9.676 * 0.95..=9.854 * 1.05);
    }
}

/// From a wakeup by a futex until it runs: 8.0 us.
#[test]
fn finding_03_a_futex_takes_8_us() {
    for machine in ["t8", "t16"] {
        assert_first(machine, "schbench-1x4", "lat_p50_us", 7.929 * 0.95..=7.992 * 1.05);
    }
}

/// The threads of a process are born some 60 us apart.
#[test]
fn finding_03_a_thread_takes_60_us_to_fork() {
    for seed in super::SEEDS {
        let births = super::watched::Watched::new(&on("n2x8"), "th-free-8", seed).births("p0");
        // Behind the main thread, which is a fork of the launcher.
        let apart = (births[7].0 - births[1].0) / 6.0;
        assert!((0.055..0.066).contains(&apart), "{apart} ms");
    }
}

/// Hogs that are released on one CPU: all CPUs are in use after 38 to 78 ms.
#[test]
#[ignore = "MISSED"]
fn finding_04_a_herd_of_eight_spreads_within_78_ms() {
    assert_within(&on("t16"), "hogs-herd-8", "all_cpus_used_at_ms", 38.0 * 0.95..=78.13 * 1.05);
}

/// 144 to 170 ms.
#[test]
#[ignore = "MISSED"]
fn finding_04_a_herd_of_sixteen_spreads_within_170_ms() {
    assert_within(&on("t16"), "hogs-herd-16", "all_cpus_used_at_ms", 143.6 * 0.95..=170.1 * 1.05);
}

/// 47 and 82 ms, and 385 in the third seed.
#[test]
fn finding_04_a_herd_of_thirty_two_spreads_within_385_ms() {
    assert_within(&on("t16"), "hogs-herd-32", "all_cpus_used_at_ms", 47.29 * 0.95..=384.8 * 1.05);
}

/// Sixteen on 16 CPUs: one each after 200 ms.
#[test]
#[ignore = "MISSED"]
fn finding_04_a_herd_of_sixteen_has_one_cpu_each_after_200_ms() {
    for seed in super::SEEDS {
        let recorded = run(&on("t16"), "hogs-herd-16", seed);
        assert_eq!(counts(&recorded, "per_llc_sorted@200"), [4; 4], "{seed}");
    }
}

/// Half as many again as there are CPUs, after 800 ms.
#[test]
#[ignore = "MISSED"]
fn finding_04_twenty_four_hogs_come_to_4_6_7_7_or_5_5_7_7() {
    for seed in super::SEEDS {
        let recorded = run(&on("t16"), "hogs-free-24", seed);
        let at = counts(&recorded, "per_llc_sorted@800");
        assert!([[4, 6, 7, 7], [5, 5, 7, 7]].contains(&[at[0], at[1], at[2], at[3]]), "{at:?}");
    }
}

/// Forks place as under 6.12.
#[test]
fn finding_04_forks_place_sixteen_evenly_and_24_in_heaps() {
    assert_births(16, &[4, 4, 4, 4]);
    assert_births(24, &[4, 4, 5, 11]);
}

#[test]
#[ignore = "MISSED"]
fn finding_04_forks_place_32_in_heaps() {
    assert_births(32, &[4, 6, 10, 12]);
}

#[track_caller]
fn assert_births(hogs: u32, expected: &[u64]) {
    for seed in super::SEEDS {
        let recorded = run(&on("t16"), &format!("hogs-free-{hogs}"), seed);
        assert_eq!(counts(&recorded, "fork_per_llc_sorted"), expected, "{hogs} {seed}");
    }
}
