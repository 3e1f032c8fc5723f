//! Rules of wakeups and of group types against the kernel's numbers.

#![allow(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    reason = "a test fails where it stands"
)]

use simsched_core::TaskId;
use simsched_policies::fair::features::adjust_numa_imbalance;
use simsched_policies::fair::{
    AffineLoads, BalanceInterval, Candidate, GroupStats, HotCheck, NumaType, Version, Wakee,
    nr_idle_scan, task_hot, wake_affine_weight, wake_wide,
};
use simsched_topology::CpuId;

use crate::balance_groups::group_type;
use crate::common::{Row, for_each_row};

#[test]
fn wake_wide_agrees_with_the_kernel() {
    let rows = for_each_row("common/wake_wide.csv", |row| {
        let [waker, wakee, llc_size] =
            ["waker_flips", "wakee_flips", "llc_size"].map(|column| row.get(column));
        assert_eq!(wake_wide(waker, wakee, llc_size), row.flag("result"), "{row:?}");
    });
    assert_eq!(rows, 800);
}

#[test]
fn record_wakee_agrees_with_the_kernel() {
    let mut waker = Wakee::new(CpuId(0));
    let rows = for_each_row("common/record_wakee.csv", |row| {
        if row.text("step") == "-1" {
            waker = Wakee::new(CpuId(0));
        } else {
            waker.record_wakee(row.get("jiffies"), 250, TaskId(row.get("wakee")));
        }
        if row.text("step") == "-1" {
            (waker.flips, waker.flip_decay_ts) = (row.get("flips_out"), row.get("decay_ts_out"));
        }
        row.expect("flips_out", waker.flips);
        row.expect("decay_ts_out", waker.flip_decay_ts);
    });
    assert_eq!(rows, 492);
}

#[test]
fn wake_affine_weight_agrees_with_the_kernel() {
    let rows = for_each_row("common/wake_affine_weight.csv", |row| {
        let loads = AffineLoads {
            this_load: row.get("this_cpu_load"),
            prev_load: row.get("prev_cpu_load"),
            task_load: row.get("task_h_load"),
            sync_load: row.flag("sync").then(|| row.get("current_h_load")),
            this_capacity: row.get("this_capacity"),
            prev_capacity: row.get("prev_capacity"),
            bias_pct: Some(row.get("imbalance_pct")),
        };
        assert_eq!(wake_affine_weight(&loads), row.flag("result"), "{row:?}");
    });
    assert_eq!(rows, 2500);
}

#[test]
fn the_scan_hint_agrees_with_the_kernel() {
    let rows = for_each_row("common/sis_util_nr_idle_scan.csv", |row| {
        let hint =
            nr_idle_scan(row.get("llc_weight"), row.get("imbalance_pct"), row.get("sum_util"));
        row.expect("nr_idle_scan", hint);
    });
    assert_eq!(rows, 1834);
}

#[test]
fn balance_intervals_agree_with_the_kernel() {
    let rows = for_each_row("common/sd_balance_interval.csv", |row| {
        let interval = BalanceInterval {
            balance_interval_ms: row.get("balance_interval_ms"),
            busy_factor: row.get("busy_factor"),
            is_busy: row.flag("cpu_busy"),
        };
        row.expect("max_interval_jiffies", 250 * row.get::<u64>("online_cpus") / 10);
        row.expect("result_jiffies", interval.jiffies(250, row.get("max_interval_jiffies")));
    });
    assert_eq!(rows, 400);
}

#[test]
fn adjust_numa_imbalance_agrees_with_the_kernel() {
    let rows = for_each_row("common/adjust_numa_imbalance.csv", |row| {
        // The parameter is an int, which callers hand a long.
        #[expect(clippy::cast_possible_truncation, reason = "as the kernel does")]
        let imbalance = i64::from(row.get::<i64>("imbalance_long") as i32);
        let [dst_running, limit] = ["dst_running", "imb_numa_nr"].map(|column| row.get(column));
        let left = adjust_numa_imbalance(imbalance, dst_running, limit);
        row.expect("result_long", left);
    });
    assert_eq!(rows, 400);
}

#[test]
fn task_hot_agrees_with_the_kernel() {
    for (file, has_last_buddy) in [("6.1/task_hot.csv", true), ("6.12/task_hot.csv", false)] {
        check_task_hot(file, has_last_buddy);
    }
}

fn check_task_hot(file: &str, has_last_buddy: bool) {
    let rows = for_each_row(file, |row| {
        let cost: u32 = row.get("migration_cost");
        let check = HotCheck {
            by_llc: None,
            competes: row.flag("fair_class") && !row.flag("idle_policy"),
            shares_core: row.flag("sd_smt"),
            is_buddy: row.flag("is_next_buddy") || (has_last_buddy && row.flag("is_last_buddy")),
            dst_is_busy: row.get::<u32>("dst_nr_running") > 0,
            migration_cost_ns: (cost != u32::MAX).then_some(u64::from(cost)),
            clock_task: row.get("src_clock_task"),
            exec_start: row.get("exec_start"),
        };
        assert_eq!(task_hot(&check), row.flag("result"), "{row:?}");
    });
    assert_eq!(rows, 1000);
}

#[test]
fn group_types_agree_with_the_kernel() {
    assert_eq!(check_group_types("6.1/group_classify.csv", Version::V6_1), 2200);
    assert_eq!(check_group_types("6.12/group_classify.csv", Version::V6_12), 2200);
}

/// The type of a group by its sums; returns the number of rows.
pub(crate) fn check_group_types(file: &str, version: Version) -> usize {
    for_each_row(file, |row| {
        let stats = GroupStats {
            nr_running: row.get("sum_nr_running"),
            weight: row.get("group_weight"),
            capacity: row.get("group_capacity"),
            util: row.get("group_util"),
            runnable: row.get("group_runnable"),
            misfit_load: row.get("misfit_load"),
            imbalanced: row.flag("imbalanced"),
            asym_packing: row.flag("asym_packing"),
            smt_balance: version >= Version::V6_6 && row.flag("smt_balance"),
            llc_balance: version >= Version::V7_2 && row.flag("llc_balance"),
            ..GroupStats::default()
        };
        let pct = row.get("imbalance_pct");
        assert_eq!(stats.has_capacity(pct), row.flag("has_capacity"), "{row:?}");
        assert_eq!(stats.is_overloaded(pct), row.flag("is_overloaded"), "{row:?}");
        assert_eq!(stats.classify(pct), group_type(row.text("type")), "{row:?}");
    })
}

#[test]
fn numa_classes_agree_with_the_kernel() {
    let rows = for_each_row("common/numa_classify.csv", |row| {
        let stats = GroupStats {
            nr_running: row.get("nr_running"),
            weight: row.get("weight"),
            capacity: row.get("compute_capacity"),
            util: row.get("util"),
            runnable: row.get("runnable"),
            ..GroupStats::default()
        };
        let class = match row.text("type") {
            "has_spare" => NumaType::HasSpare,
            "fully_busy" => NumaType::FullyBusy,
            _ => NumaType::Overloaded,
        };
        assert_eq!(stats.numa_classify(row.get("imbalance_pct")), class, "{row:?}");
    });
    assert_eq!(rows, 800);
}

#[test]
fn the_idler_group_agrees_with_the_kernel() {
    for of in ["6.1", "6.12"] {
        assert_eq!(check_idler_group(&format!("{of}/pick_busiest_idlest.csv")), 1200);
    }
}

/// The column `c_idler`; the rest of the file is about load balance. Returns the number of rows.
pub(crate) fn check_idler_group(file: &str) -> usize {
    let candidate = |row: &Row<'_>, prefix: &str| {
        let get = |column: &str| row.get::<u64>(&format!("{prefix}{column}"));
        Candidate {
            group_type: group_type(row.text(&format!("{prefix}type"))),
            avg_load: get("avg_load"),
            idle_cpus: u32::try_from(get("idle_cpus")).unwrap(),
            util: get("util"),
            max_capacity: get("capacity") / get("weight"),
        }
    };
    for_each_row(file, |row| {
        let [best, group] = ["o_", "c_"].map(|prefix| candidate(row, prefix));
        assert_eq!(group.is_idler_than(&best), row.flag("c_idler"), "{row:?}");
    })
}
