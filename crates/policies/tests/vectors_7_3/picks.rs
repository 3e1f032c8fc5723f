//! Which task of the one tree of 7.3 is picked, and for how long the running task is protected, against the kernel's numbers.

#![allow(clippy::unwrap_used, reason = "a test fails where it stands")]

use serde_json::Value;
use simsched_core::TaskId;
use simsched_policies::fair::{EntityId, Fair, GroupId};

use super::tree::{CPU, bits, expect_sums, task, tree};
use crate::common::{for_each_json, vectors_73};

/// First the picks, then what virtual time moves.
#[test]
fn vectors_7_3_eevdf_pick() {
    vectors_73("eevdf_pick.jsonl", 1600, |file| {
        for_each_json(file, |_, row| {
            let mut fair = tree(row, None);
            let rq = fair.cfs_rq_mut(CPU);
            rq.h_nr_running = u32::try_from(row["h_nr"].as_u64().unwrap()).unwrap();
            rq.next = row["next"].as_u64().map(|next| EntityId::of(task(next)));
            if let Some(curr) = row["curr"].as_u64() {
                fair.request_mut(task(curr)).vprot = row["vprot"].as_u64().unwrap();
            }
            expect_sums(&fair, row, [None, Some("sum"), Some("load")]);
            check_picks(&fair, row);
            check_virtual_time(&mut fair, row);
            if let Some(curr) = row["curr"].as_u64().filter(|_| row["curr_on_rq"] != 0) {
                check_protection(&mut fair, row, task(curr));
            }
        })
    });
}

fn tasks(row: &Value) -> impl Iterator<Item = TaskId> {
    (0..row["entities"].as_array().unwrap().len()).map(TaskId::new)
}

fn check_picks(fair: &Fair, row: &Value) {
    let eligible: Vec<u64> = tasks(row).map(|task| u64::from(fair.is_eligible(task))).collect();
    assert_eq!(eligible, bits(&row["eligible"]), "{row}");
    let number = |pick: Option<TaskId>| pick.map_or(-1, |task| i64::from(task.0));
    assert_eq!(row["pick"], number(fair.pick_eevdf(CPU)), "{row}");
    assert_eq!(row["pick_noprot"], number(fair.pick_unprotected(CPU)), "{row}");
}

fn check_virtual_time(fair: &mut Fair, row: &Value) {
    // Of nobody the kernel has the longest time as the shortest slice.
    let (shortest, longest) = fair.slices_of_tree(CPU).unwrap_or((u64::MAX, 0));
    assert_eq!(row["min_slice"], shortest, "{row}");
    assert_eq!(row["max_slice"], longest, "{row}");
    let avruntime = fair.avg_vruntime(CPU);
    assert_eq!(row["V"], avruntime, "{row}");
    let lags: Vec<u64> =
        tasks(row).map(|task| fair.note_lag(CPU, task, avruntime).cast_unsigned()).collect();
    assert_eq!(lags, bits(&row["lag"]), "{row}");
    expect_sums(fair, row, [Some("zero_after"), Some("sum_after"), None]);
}

fn check_protection(fair: &mut Fair, row: &Value, curr: TaskId) {
    assert_eq!(
        row["inelig"],
        fair.eevdf_rq(GroupId::ROOT, CPU).unwrap().ineligible_vruntime(),
        "{row}"
    );
    let given = fair.request_mut(curr).vprot;
    fair.protect(CPU, curr);
    assert_eq!(row["set_prot"], fair.request_mut(curr).vprot, "{row}");
    fair.request_mut(curr).vprot = given;
    fair.update_protection(CPU, curr);
    assert_eq!(row["upd_prot"], fair.request_mut(curr).vprot, "{row}");
}
