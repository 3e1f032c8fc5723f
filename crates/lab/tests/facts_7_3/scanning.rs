//! Facts 1 to 3: when the threads of a process are looked for, how many run on average, and when they are too many.

use super::watched::Watched;
use super::{SEEDS, assert_ends, assert_is, on};

/// The values that the average takes, without the zeros before the first other one.
fn averages(watched: &Watched) -> Vec<i64> {
    let mut found: Vec<i64> = watched
        .scans("p0")
        .iter()
        .map(|scan| scan.nr_running_avg)
        .skip_while(|avg| *avg == 0)
        .collect();
    found.dedup();
    found
}

#[track_caller]
fn assert_averages(machine: &str, rows: &[(u32, &[i64])]) {
    for (threads, expected) in rows {
        for seed in SEEDS {
            let found = averages(&Watched::new(&on(machine), &format!("th-free-{threads}"), seed));
            assert_eq!(&found, expected, "{machine}, {threads} threads, seed {seed}");
        }
    }
}

/// Whether the preference is dropped at this time in ms, which depends on whether it was first seen one tick after the
/// first look, at 6 ms, or two. None where the kernel has no such run.
#[track_caller]
fn assert_dropped(machine: &str, scenario: &str, ms: [Option<f64>; 2]) {
    for seed in SEEDS {
        let found = Watched::new(&on(machine), scenario, seed).preferences("p0");
        let [_, set, dropped] = found[..] else { panic!("{machine} {scenario} {seed}: {found:?}") };
        let expected = if set.0 < 8.0 { ms[0] } else { ms[1] };
        let is_then = expected.is_none_or(|ms| (dropped.0 - ms).abs() < 0.2);
        assert!(dropped.1.is_none() && is_then, "{machine} {scenario} {seed}: {found:?}");
    }
}

/// The work behind a tick looks every 8 ms, two ticks of 4 ms: 188 times in 1.5 s.
#[test]
fn cache_fact_01_scans_are_two_ticks_apart() {
    for seed in SEEDS {
        let scans = Watched::new(&on("n2x8"), "th-free-4", seed).scans("p0");
        let apart: Vec<f64> = scans.windows(2).map(|pair| pair[1].ms - pair[0].ms).collect();
        let median = apart.len() / 2;
        let mut sorted = apart.clone();
        sorted.sort_by(f64::total_cmp);
        assert!((sorted[median] - 8.0).abs() < 0.002, "{}", sorted[median]);
    }
    assert_is(&on("n2x8"), "th-free-4", "scans", 188);
    assert_is(&on("s2x8"), "th-free-4", "scans", 188);
}

/// No preference at the first look; one or two ticks later there is one, 5.8 to 9.9 ms after the mark.
#[test]
fn cache_fact_01_the_preference_is_seen_one_or_two_ticks_after_the_first_scan() {
    for scenario in ["th-free-2", "th-free-4", "th-free-6", "th-free-8"] {
        for seed in SEEDS {
            let found = Watched::new(&on("n2x8"), scenario, seed).preferences("p0");
            let later = found[1].0 - found[0].0;
            assert!(found[0].1.is_none() && found[1].1.is_some(), "{found:?}");
            assert!([4.0, 8.0].iter().any(|ms| (later - ms).abs() < 0.1), "{scenario}: {found:?}");
            assert!((5.7..10.0).contains(&found[1].0), "{scenario}: {found:?}");
        }
    }
}

/// The average is a whole number that is cut at each step, a quarter of the way with 8 CPUs in the LLC; it rises at
/// successive looks and then stays.
#[test]
#[ignore = "MISSED"]
fn cache_fact_02_nr_running_avg_settles_with_llcs_of_8_cpus() {
    assert_averages("n2x8", &[(2, &[1]), (3, &[1, 2]), (4, &[2, 3])]);
    assert_averages("n2x8", &[(6, &[3, 4, 5]), (8, &[4, 6, 7]), (12, &[6, 9])]);
}

#[test]
fn cache_fact_02_nr_running_avg_settles_with_llcs_of_16_cpus() {
    assert_averages("s2x8", &[(2, &[]), (3, &[]), (4, &[1]), (6, &[1, 2, 3])]);
    assert_averages("s2x8", &[(8, &[2, 3, 4, 5]), (12, &[3, 5, 6, 7])]);
}

/// What the description of the rules adds: with an LLC of 32 CPUs eight running threads count as one.
#[test]
fn cache_fact_02_eight_threads_count_as_one_with_llcs_of_32_cpus() {
    assert_is(&on("s2x16"), "th-free-8", "nr_running_avg_max", 1);
}

/// Eight threads are too many for an LLC of 8 cores: the third look that counts drops the preference.
#[test]
#[ignore = "MISSED"]
fn cache_fact_03_eight_threads_are_dropped_with_llcs_of_8_cpus() {
    assert_dropped("n2x8", "th-free-8", [Some(29.9), Some(25.95)]);
}

#[test]
fn cache_fact_03_eight_threads_are_dropped_with_four_llcs_of_8_cpus() {
    assert_dropped("s2d2", "th-free-8", [Some(29.8), None]);
}

/// With 16 CPUs in an LLC the average is 5, and all eight gather.
#[test]
fn cache_fact_03_eight_threads_gather_with_llcs_of_16_cpus() {
    assert_is(&on("s2x8"), "th-free-8", "pref_changes", 1);
    assert_ends(&on("s2x8"), "th-free-8", &[&[0, 8]]);
}

#[test]
fn cache_fact_03_twelve_threads_are_dropped_with_llcs_of_8_cpus() {
    assert_dropped("n2x8", "th-free-12", [Some(21.9), None]);
}

#[test]
fn cache_fact_03_twelve_threads_are_dropped_with_llcs_of_16_cpus() {
    assert_dropped("s2x8", "th-free-12", [Some(37.85), None]);
}

#[test]
fn cache_fact_03_six_threads_or_fewer_are_never_dropped() {
    for machine in ["n2x8", "s2x8", "s2d2"] {
        for threads in [2, 3, 4, 6] {
            for seed in SEEDS {
                let scenario = format!("th-free-{threads}");
                let found = Watched::new(&on(machine), &scenario, seed).preferences("p0");
                let keeps = found.iter().skip(1).all(|(_, preferred)| preferred.is_some());
                assert!(found.len() > 1 && keeps, "{machine} {scenario} {seed}: {found:?}");
            }
        }
    }
}

/// Two more threads every 250 ms: the third look after the seventh and eighth, at 773.85 to 773.97 ms.
#[test]
fn cache_fact_03_a_process_that_grows_is_dropped_at_eight_threads_with_llcs_of_8_cpus() {
    assert_dropped("n2x8", "life-grow", [Some(773.96), None]);
    assert_dropped("s2d2", "life-grow", [Some(773.85), None]);
}

/// With 16 CPUs in an LLC it takes the ninth and tenth thread, at 1018 ms.
#[test]
fn cache_fact_03_a_process_that_grows_is_dropped_at_ten_threads_with_llcs_of_16_cpus() {
    assert_dropped("s2x8", "life-grow", [None, Some(1017.87)]);
}

/// Once dropped, the twelve threads are spread evenly by the balancer.
#[test]
fn cache_fact_03_a_process_that_was_dropped_is_spread_evenly() {
    for machine in ["n2x8", "s2x8"] {
        for seed in SEEDS {
            let watched = Watched::new(&on(machine), "life-grow", seed);
            assert_eq!(watched.births("p0").len(), 12);
            assert_eq!(watched.places("p0", 1_950.0), [6, 6], "{machine} {seed}");
        }
    }
}

/// Threads that were moved before the drop go back in the end: four in each LLC.
#[test]
fn cache_fact_03_eight_threads_end_four_by_four() {
    assert_ends(&on("n2x8"), "th-free-8", &[&[4, 4]]);
    assert_ends(&on("s2d2"), "th-free-8", &[&[2, 2, 2, 2]]);
}
