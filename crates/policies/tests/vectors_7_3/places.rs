//! Lag, placement, deadlines and changes of weight in the one tree of 7.3, against the kernel's numbers.

#![allow(clippy::unwrap_used, reason = "a test fails where it stands")]

use simsched_core::TaskId;
use simsched_policies::fair::{EntityId, Request};

use super::tree::{CPU, bits, expect_sums, fair, task, tree};
use crate::common::{for_each_json, for_each_row, vectors_73};

const TASK: TaskId = TaskId(0);
const OTHER: TaskId = TaskId(1);

/// The kernel's function gets a flag that the new entity is counted already; ours, how many others there are.
#[test]
fn vectors_7_3_eevdf_place() {
    vectors_73("eevdf_place.jsonl", 1400, |file| {
        for_each_json(file, |_, row| {
            let mut fair = tree(row, None);
            let nr_others = row["h_nr"].as_u64().unwrap() - row["queued"].as_u64().unwrap();
            fair.cfs_rq_mut(CPU).h_nr_running = u32::try_from(nr_others).unwrap();
            let new = TaskId::new(row["entities"].as_array().unwrap().len());
            let [weight, vlag, custom, slice, relative, deadline] = bits(&row["new"])[..] else {
                panic!("{row}")
            };
            let vlag = vlag.cast_signed();
            *fair.request_mut(new) = Request { deadline, vlag, slice, weight, vprot: 0 };
            let se = fair.entity_mut(new);
            (se.custom_slice, se.rel_deadline) = (custom != 0, relative != 0);
            fair.place_entity(new, row["initial"] != 0);
            let (se, request) = (fair.entity(new), fair.request(EntityId::of(new)));
            let out = [se.vruntime, request.deadline, request.slice, u64::from(se.rel_deadline)];
            assert_eq!(out[..], bits(&row["out"])[..], "{row}");
            expect_sums(&fair, row, [Some("zero_after"), Some("sum_after"), None]);
        })
    });
}

#[test]
fn vectors_7_3_eevdf_reweight() {
    vectors_73("eevdf_reweight.jsonl", 1500, |file| {
        for_each_json(file, |_, row| {
            let which = row["which"].as_u64().unwrap();
            let absent = (row["on_rq"] == 0).then(|| usize::try_from(which).unwrap());
            let mut fair = tree(row, absent);
            let which = task(which);
            let [vlag, vruntime, deadline, relative] = bits(&row["in"])[..] else {
                panic!("{row}")
            };
            let request = fair.request_mut(which);
            (request.vlag, request.deadline) = (vlag.cast_signed(), deadline);
            request.vprot = row["vprot"].as_u64().unwrap();
            let se = fair.entity_mut(which);
            (se.vruntime, se.rel_deadline) = (vruntime, relative != 0);
            fair.reweight_in_tree(CPU, which, row["new_weight"].as_u64().unwrap());
            let (se, request) = (fair.entity(which), fair.request(EntityId::of(which)));
            let relative = u64::from(se.rel_deadline);
            let vlag = request.vlag.cast_unsigned();
            let out = [vlag, se.vruntime, request.deadline, relative, request.vprot];
            assert_eq!(out[..], bits(&row["out"])[..], "{row}");
            expect_sums(&fair, row, [Some("zero_after"), Some("sum_after"), Some("load_after")]);
        })
    });
}

/// Somebody else runs at the virtual time of the row, with the longest slice.
#[test]
fn vectors_7_3_eevdf_entity_lag() {
    let mut fair = fair(2);
    fair.eevdf_rq_mut(CPU).curr = Some(EntityId::of(OTHER));
    fair.entity_mut(OTHER).on_rq = true;
    vectors_73("eevdf_entity_lag.csv", 1500, |file| {
        for_each_row(file, |row| {
            fair.entity_mut(OTHER).vruntime = row.get("V");
            let (slice, weight) = (row.get("max_slice"), 1 << 20);
            *fair.request_mut(OTHER) = Request { slice, weight, ..Request::default() };
            let se = fair.entity_mut(TASK);
            (se.vruntime, se.sched_delayed) = (row.get("vruntime"), row.flag("delayed"));
            let (vlag, weight) = (row.get("vlag_in"), row.get("weight"));
            *fair.request_mut(TASK) = Request { vlag, weight, ..Request::default() };
            row.expect("changed", u8::from(fair.update_entity_lag(CPU, TASK)));
            row.expect("vlag_out", fair.request_mut(TASK).vlag);
            row.expect("lag", fair.note_lag(CPU, TASK, row.get("V")));
        })
    });
}

#[test]
fn vectors_7_3_eevdf_update_deadline() {
    let mut fair = fair(1);
    vectors_73("eevdf_update_deadline.csv", 1200, |file| {
        for_each_row(file, |row| {
            let (deadline, slice) = (row.get("deadline_in"), row.get("slice_in"));
            let weight = row.get("weight");
            *fair.request_mut(TASK) = Request { deadline, slice, weight, ..Request::default() };
            let se = fair.entity_mut(TASK);
            (se.vruntime, se.custom_slice) = (row.get("vruntime"), row.flag("custom_slice"));
            row.expect("ret", u8::from(fair.update_deadline(CPU, TASK)));
            row.expect("slice_out", fair.request_mut(TASK).slice);
            row.expect("deadline_out", fair.request_mut(TASK).deadline);
        })
    });
}
