//! What a group weighs on a CPU by each of the five formulas of 7.3, and what its queues tell it, against the kernel's
//! numbers.

#![allow(clippy::unwrap_used, reason = "a test fails where it stands")]

use simsched_core::pelt::SchedAvg;
use simsched_policies::fair::weight::LoadWeight;
use simsched_policies::fair::{CfsRq, CgroupMode, GroupId, TaskGroup, TgUpdate};
use simsched_topology::CpuId;

use crate::common::{for_each_row, vectors_73};

/// A queue of a group, with these averages of load and of what is runnable.
fn queue(load_avg: u64, runnable_avg: u64) -> CfsRq {
    let avg = SchedAvg { load_avg, runnable_avg, ..SchedAvg::default() };
    CfsRq { avg, wide: true, ..CfsRq::new(CpuId(0), GroupId(1), None) }
}

#[test]
fn vectors_7_3_calc_group_shares() {
    const MODES: [CgroupMode; 5] =
        [CgroupMode::Up, CgroupMode::Smp, CgroupMode::Concur, CgroupMode::Max, CgroupMode::Tasks];
    vectors_73("calc_group_shares.csv", 2400, |file| {
        for_each_row(file, |row| {
            let mut group = TaskGroup::new(None);
            group.shares = row.get("tg_shares");
            group.runnable_avg = row.get("tg_runnable_avg");
            group.nr_cpus = row.get("tg_cpus");
            let mut child = queue(row.get("q_load_avg"), 0);
            child.load = LoadWeight::new(row.get("q_load_weight"));
            child.tg_load_avg_contrib = row.get("q_contrib");
            for mode in MODES {
                // The columns have the names of the setting.
                row.expect(mode.name(), group.shares_by(mode, &child, row.get("tg_load_avg")));
            }
        })
    });
}

/// By the clock of the runqueue; both sums change if either average has changed enough.
#[test]
fn vectors_7_3_update_tg_load_avg() {
    vectors_73("update_tg_load_avg.csv", 2000, |file| {
        for_each_row(file, |row| {
            let mut child = queue(row.get("q_load_avg"), row.get("q_runnable_avg"));
            child.tg_load_avg_contrib = row.get("contrib_in");
            child.tg_runnable_avg_contrib = row.get("run_contrib_in");
            child.last_update_tg_load_avg = row.get("last_update_in");
            let mut sums: [i64; 2] = [row.get("tg_load_avg_in"), row.get("tg_runnable_avg_in")];
            let update = child.update_tg_contrib(Some(row.get("rq_clock")), true);
            if let TgUpdate::Written { load, runnable } = update {
                sums = [sums[0] + load, sums[1] + runnable];
            }
            row.expect("contrib_out", child.tg_load_avg_contrib);
            row.expect("run_contrib_out", child.tg_runnable_avg_contrib);
            row.expect("tg_load_avg_out", sums[0]);
            row.expect("tg_runnable_avg_out", sums[1]);
            row.expect("last_update_out", child.last_update_tg_load_avg);
        })
    });
}
