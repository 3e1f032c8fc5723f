//! Load of 7.3 where it differs from that of 6.12, sums beyond 32 bits and a weight that stays the same, against the
//! kernel's numbers.

#![allow(clippy::unwrap_used, reason = "a test fails where it stands")]

use simsched_core::TaskId;
use simsched_core::pelt::SchedAvg;
use simsched_policies::fair::weight::LoadWeight;
use simsched_policies::fair::{Fair, Removed};

use super::tree::{CPU, fair};
use crate::common::{Row, for_each_row, vectors_73};

const TASK: TaskId = TaskId(0);

/// The columns `<prefix>last_update_time`, `<prefix>load_sum` and so on.
fn avg(row: &Row<'_>, prefix: &str) -> SchedAvg {
    SchedAvg {
        last_update_time: row.get(&format!("{prefix}last_update_time")),
        load_sum: row.get(&format!("{prefix}load_sum")),
        runnable_sum: row.get(&format!("{prefix}runnable_sum")),
        util_sum: row.get(&format!("{prefix}util_sum")),
        period_contrib: row.get(&format!("{prefix}period_contrib")),
        load_avg: row.get(&format!("{prefix}load_avg")),
        runnable_avg: row.get(&format!("{prefix}runnable_avg")),
        util_avg: row.get(&format!("{prefix}util_avg")),
    }
}

/// The averages of a task and of its queue, with this weight of the task.
fn set(fair: &mut Fair, row: &Row<'_>, weight: &str) {
    let se = fair.entity_mut(TASK);
    (se.avg, se.load) = (avg(row, "se_in_"), LoadWeight::new(row.get(weight)));
    fair.cfs_rq_mut(CPU).avg = avg(row, "q_in_");
}

#[test]
fn vectors_7_3_reweight_entity_load() {
    let mut fair = fair(1);
    vectors_73("reweight_entity_load.csv", 1000, |file| {
        for_each_row(file, |row| {
            set(&mut fair, row, "old_weight");
            fair.entity_mut(TASK).on_rq = row.flag("on_rq");
            fair.cfs_rq_mut(CPU).load = LoadWeight::new(row.get("q_load_weight_in"));
            fair.reweight_entity(TASK, row.get("new_weight"));
            row.expect("new_weight", fair.entity(TASK).load.weight);
            row.expect("q_load_weight_out", fair.cfs_rq(CPU).load.weight);
            row.expect("se_load_avg_out", fair.entity(TASK).avg.load_avg);
            assert_eq!(fair.cfs_rq(CPU).avg, avg(row, "q_out_"), "{row:?}");
        })
    });
}

/// A removal is folded in at the time of the queue's last update, so that nothing else happens.
#[test]
fn vectors_7_3_pelt_wide_sums() {
    let mut fair = fair(1);
    vectors_73("pelt_wide_sums.csv", 600, |file| {
        for_each_row(file, |row| {
            set(&mut fair, row, "se_weight");
            let mut se = *fair.entity(TASK);
            let rq = fair.cfs_rq_mut(CPU);
            match row.get("op") {
                0 => rq.attach_entity_load_avg(&mut se),
                1 => rq.detach_entity_load_avg(&se),
                2 => {
                    rq.removed_nr = 1;
                    rq.removed = Removed {
                        load_avg: row.get("removed_load"),
                        util_avg: row.get("removed_util"),
                        runnable_avg: row.get("removed_runnable"),
                    };
                    rq.update_load_avg(rq.avg.last_update_time);
                }
                3 => {
                    fair.reweight_entity(TASK, row.get("new_weight"));
                    se = *fair.entity(TASK);
                }
                op => panic!("{op}"),
            }
            assert_eq!(se.avg, avg(row, "se_out_"), "{row:?}");
            assert_eq!(fair.cfs_rq(CPU).avg, avg(row, "q_out_"), "{row:?}");
        })
    });
}
