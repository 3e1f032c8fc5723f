//! PELT against numbers taken from the kernel's own code, and against the closed form.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use flate2::read::GzDecoder;
use proptest::prelude::*;
use simsched_core::pelt::{
    LOAD_AVG_MAX, LOAD_AVG_PERIOD, PELT_MIN_DIVIDER, SCHED_CAPACITY_SHIFT, SchedAvg, SeState,
    accumulate_pelt_segments, decay_load, update_load_avg_blocked_se, update_load_avg_cfs_rq,
    update_load_avg_se,
};

fn open(file: &str) -> BufReader<GzDecoder<File>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(file);
    BufReader::new(GzDecoder::new(File::open(path).unwrap()))
}

/// Calls `check` with the numbers of each row; -1 reads as `u64::MAX`. Returns the number of rows.
fn for_each_row(file: &str, mut check: impl FnMut(&[u64])) -> usize {
    let mut rows = 0;
    let lines = open(file).lines().map(Result::unwrap);
    for line in lines.filter(|line| !line.starts_with('#')).skip(1) {
        let row: Vec<u64> = line
            .split(',')
            .map(|field| if field == "-1" { u64::MAX } else { field.parse().unwrap() })
            .collect();
        check(&row);
        rows += 1;
    }
    rows
}

/// The averages in the order of the files: time, three sums, contribution, three averages.
fn avg_of(fields: &[u64]) -> SchedAvg {
    SchedAvg {
        last_update_time: fields[0],
        load_sum: fields[1],
        runnable_sum: fields[2],
        util_sum: fields[3].try_into().unwrap(),
        period_contrib: fields[4].try_into().unwrap(),
        load_avg: fields[5],
        runnable_avg: fields[6],
        util_avg: fields[7],
    }
}

fn scale_load_down(weight: u64) -> u64 {
    if weight == 0 { 0 } else { (weight >> 10).max(2) }
}

#[test]
fn the_constants_are_those_of_the_kernel() {
    let mut text = String::new();
    open("pelt_constants.json.gz").read_to_string(&mut text).unwrap();
    for (name, value) in [
        ("LOAD_AVG_PERIOD", LOAD_AVG_PERIOD),
        ("LOAD_AVG_MAX", LOAD_AVG_MAX),
        ("PELT_MIN_DIVIDER", PELT_MIN_DIVIDER),
        ("SCHED_CAPACITY_SHIFT", SCHED_CAPACITY_SHIFT),
    ] {
        assert!(text.contains(&format!("\"{name}\": {value},")), "{name}");
    }
    // Half of 2^33 decayed by n periods is the factor itself, for all n below 32.
    let table: Vec<u64> = text.split(['[', ']']).nth(1).unwrap().split(',').map(parse).collect();
    assert_eq!(table.len(), 32);
    for (n, factor) in (0..).zip(table) {
        assert_eq!(decay_load(1 << 32, n), factor, "period {n}");
    }
}

fn parse(field: &str) -> u64 {
    field.trim().parse().unwrap()
}

#[test]
fn decay_load_agrees_with_the_kernel() {
    let rows = for_each_row("pelt_decay_load.csv.gz", |row| {
        assert_eq!(decay_load(row[0], row[1]), row[2], "{row:?}");
    });
    assert_eq!(rows, 4271);
}

#[test]
fn accumulate_pelt_segments_agrees_with_the_kernel() {
    let rows = for_each_row("pelt_accumulate_segments.csv.gz", |row| {
        let [d1, d3] = [row[1], row[2]].map(|d| u32::try_from(d).unwrap());
        assert_eq!(u64::from(accumulate_pelt_segments(row[0], d1, d3)), row[3], "{row:?}");
    });
    assert_eq!(rows, 2000);
}

#[test]
fn bare_sums_and_averages_agree_with_the_kernel() {
    let mut avg = SchedAvg::default();
    let rows = for_each_row("pelt_seq_raw.csv.gz", |row| {
        let &[_, step, now, load, runnable, running, weight, changed, ..] = row else { panic!() };
        if step == u64::MAX {
            avg = avg_of(&row[8..]);
            return;
        }
        let did = avg.update_load_sum(now, load, runnable, running != 0);
        if did {
            avg.update_load_avg(weight);
        }
        assert_eq!((u64::from(did), avg), (changed, avg_of(&row[8..])), "{row:?}");
    });
    assert_eq!(rows, 10404);
}

#[test]
fn entities_agree_with_the_kernel() {
    let mut avg = SchedAvg::default();
    let mut enqueued = 0;
    let rows = for_each_row("pelt_seq_se.csv.gz", |row| {
        let &[_, step, op, now, is_group, on_rq, is_curr, weight, group_runnable, changed, ..] =
            row
        else {
            panic!()
        };
        // Every sequence step stores the flag anew; what comes out says whether it was cleared.
        let (after, flag) = (avg_of(&row[10..18]), u32::try_from(row[18]).unwrap());
        if step == u64::MAX {
            (avg, enqueued) = (after, flag);
            return;
        }
        let weight = scale_load_down(weight);
        enqueued |= 1 << 31;
        let did = if op == 1 {
            update_load_avg_blocked_se(now, &mut avg, weight)
        } else {
            let runnable = if is_group == 0 { on_rq } else { group_runnable };
            let se = SeState { weight, on_rq: on_rq != 0, runnable, running: is_curr != 0 };
            update_load_avg_se(now, &mut avg, se, &mut enqueued)
        };
        assert_eq!((u64::from(did), avg), (changed, after), "{row:?}");
        if op == 0 && did {
            assert_eq!(enqueued, flag, "{row:?}");
        }
    });
    assert_eq!(rows, 5100);
}

#[test]
fn runqueues_agree_with_the_kernel() {
    let mut avg = SchedAvg::default();
    let rows = for_each_row("pelt_seq_cfs_rq.csv.gz", |row| {
        let &[_, step, now, weight, runnable, has_curr, changed, ..] = row else { panic!() };
        let after = avg_of(&row[7..]);
        if step == u64::MAX {
            avg = after;
            return;
        }
        let weight = scale_load_down(weight);
        let did = update_load_avg_cfs_rq(now, &mut avg, weight, runnable, has_curr != 0);
        assert_eq!((u64::from(did), avg), (changed, after), "{row:?}");
    });
    assert_eq!(rows, 5100);
}

const MS: u64 = 1_000_000;

/// A nice-0 task that always runs, updated every millisecond for `ms` milliseconds.
fn hog(ms: u64) -> SchedAvg {
    let mut avg = SchedAvg::default();
    for t in 1..=ms {
        let se = SeState { weight: 1024, on_rq: true, runnable: 1, running: true };
        update_load_avg_se(t * MS, &mut avg, se, &mut 0);
    }
    avg
}

/// Spec 04, invariant 1, first half.
#[test]
fn a_task_that_always_runs_reaches_half_after_32_ms_and_all_after_345() {
    assert!(hog(32).util_avg.abs_diff(500) <= 12);
    assert!(hog(33).util_avg.abs_diff(500) <= 12);
    assert!(hog(64).util_avg.abs_diff(751) <= 8);
    assert!(hog(345).util_avg >= 1020);
}

/// Spec 04, invariant 1, second half.
#[test]
fn a_sleep_of_32_periods_halves_a_task() {
    let mut avg = hog(1000);
    let last = avg.last_update_time;
    assert!(avg.util_avg >= 1023);
    update_load_avg_blocked_se(last + (32 << 20), &mut avg, 1024);
    assert!(avg.util_avg.abs_diff(512) <= 4, "{}", avg.util_avg);
}

/// Spec 04, invariant 2.
#[test]
fn load_converges_to_the_sum_of_the_weights() {
    assert!(hog(2000).load_avg.abs_diff(1024) <= 2);
    for nr_tasks in [1, 2, 7, 100] {
        let mut avg = SchedAvg::default();
        for t in 1..=2000 {
            update_load_avg_cfs_rq(t * MS, &mut avg, nr_tasks * 1024, nr_tasks, true);
        }
        assert!(avg.load_avg.abs_diff(nr_tasks * 1024) <= 2 * nr_tasks, "{avg:?}");
    }
}

/// Spec 04, invariant 10.
#[test]
fn a_saturated_task_that_sleeps_decays_along_the_published_curve() {
    let curve = [
        (1, 1003),
        (2, 982),
        (4, 943),
        (8, 868),
        (16, 736),
        (32, 528),
        (64, 273),
        (128, 72),
        (256, 5),
    ];
    for (ms, util) in curve {
        let mut avg = hog(1000);
        let last = 1000 * MS;
        update_load_avg_blocked_se(last + ms * MS, &mut avg, 1024);
        assert!(avg.util_avg.abs_diff(util) <= 1, "{ms} ms: {} for {util}", avg.util_avg);
    }
}

proptest! {
    /// Spec 04, invariant 7, first half.
    #[test]
    fn updating_twice_at_one_time_is_updating_once(
        steps in prop::collection::vec((1u64..50_000_000, any::<bool>()), 1..50),
    ) {
        let (mut avg, mut now) = (SchedAvg::default(), 0);
        for (delta, on_rq) in steps {
            now += delta;
            avg.update_load_sum(now, u64::from(on_rq), u64::from(on_rq), on_rq);
            avg.update_load_avg(1024);
            let once = avg;
            prop_assert!(!avg.update_load_sum(now, 1, 1, true));
            prop_assert_eq!(avg, once);
        }
    }

    /// Spec 04, invariant 7, second half: sums of a task that has run for a while.
    #[test]
    fn splitting_an_interval_changes_the_sums_by_less_than_a_thousandth(
        cuts in prop::collection::vec(1u64..30_000_000, 1..8),
        rest in 1u64..30_000_000,
    ) {
        let mut split = hog(100);
        let mut whole = split;
        let mut now = split.last_update_time;
        for cut in cuts {
            now += cut;
            split.update_load_sum(now, 1, 1, true);
        }
        now += rest;
        split.update_load_sum(now, 1, 1, true);
        whole.update_load_sum(now, 1, 1, true);
        prop_assert!(split.load_sum.abs_diff(whole.load_sum) * 1000 < whole.load_sum);
        prop_assert!(split.util_sum.abs_diff(whole.util_sum) * 1000 < whole.util_sum);
    }

    /// The multiplication by a reciprocal is the division it stands for.
    #[test]
    fn a_sum_is_divided_exactly(sum: u64, contrib in 0u32..1024, shift in 0u32..40) {
        let avg = SchedAvg { period_contrib: contrib, ..SchedAvg::default() };
        for sum in [sum, sum >> shift] {
            prop_assert_eq!(avg.divided(sum), sum / u64::from(avg.divider()));
        }
        let multiple = (sum >> shift) / u64::from(avg.divider()) * u64::from(avg.divider());
        prop_assert_eq!(avg.divided(multiple), multiple / u64::from(avg.divider()));
        let below = multiple.saturating_sub(1);
        prop_assert_eq!(avg.divided(below), below / u64::from(avg.divider()));
    }
}
