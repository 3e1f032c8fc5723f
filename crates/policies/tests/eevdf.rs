//! EEVDF against the kernel's numbers: virtual time, eligibility, lag, picks, placement, deadlines,
//! changes of weight.

#![allow(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    reason = "a test fails where it stands"
)]

use serde_json::Value;
use simsched_core::testkit::{PolicyHost, WorldKit};
use simsched_core::{SchedPolicy, TaskId};
use simsched_policies::fair::weight::LoadWeight;
use simsched_policies::fair::{
    Entity, EntityId, Fair, Features, Overrides, QueueId, Request, UtilEst, entity_lag, lag_limit,
};
use simsched_policies::fair::{GroupId, Version};
use simsched_topology::CpuId;

use crate::common::{for_each_json, for_each_row, machine};

const CPU: CpuId = CpuId(0);
const TICK: u64 = 4_000_000;
const BASE_SLICE: u64 = 2_800_000;

/// A class on eight CPUs, for the tunables of such a machine.
fn fair(nr_tasks: usize) -> Fair {
    let mut kit = WorldKit::new(machine([1, 1, 8, 1], "", "nodes_per_socket = 1"), 250);
    for _ in 0..nr_tasks {
        kit.add_task(0);
    }
    let host = PolicyHost::new(kit, Fair::new(Features::of(Version::V6_12), Overrides::default()));
    assert_eq!(host.policy.tunables().base_slice_ns, BASE_SLICE);
    *host.policy
}

/// The entities of these files carry no cached reciprocal.
fn load(weight: u64) -> LoadWeight {
    LoadWeight::new(weight)
}

/// The queue of a row, whose entities wait in their order but for the one that runs.
fn queue(row: &Value) -> Fair {
    let entities = row["entities"].as_array().unwrap();
    let mut fair = fair(entities.len() + 1);
    let curr = usize::try_from(row["curr"].as_i64().unwrap()).ok();
    fair.eevdf_rq_mut(CPU).zero_vruntime = row["zero_vruntime"].as_u64().unwrap();
    let mut nr_running = 0;
    for (at, entity) in entities.iter().enumerate() {
        let task = TaskId::new(at);
        let [weight, vruntime, deadline, slice] = numbers(entity)[..] else { panic!("{entity}") };
        let se = fair.entity_mut(task);
        (se.load, se.vruntime) = (load(weight), vruntime);
        se.on_rq = curr != Some(at) || row["curr_on_rq"] != 0;
        nr_running += u32::from(se.on_rq);
        *fair.request_mut(task) = Request { deadline, slice, ..Request::default() };
        if curr == Some(at) {
            fair.cfs_rq_mut(CPU).curr = Some(EntityId::of(task));
        } else {
            fair.wait(CPU, task);
        }
    }
    fair.cfs_rq_mut(CPU).nr_running = nr_running;
    fair
}

/// Signed and unsigned numbers, as the bits of the latter.
fn numbers(value: &Value) -> Vec<u64> {
    let bits = |int: &Value| int.as_u64().unwrap_or_else(|| int.as_i64().unwrap().cast_unsigned());
    value.as_array().unwrap().iter().map(bits).collect()
}

#[test]
fn a_pick_agrees_with_the_kernel() {
    let rows = for_each_json("6.12/eevdf_pick.jsonl", |_, row| {
        let mut fair = queue(row);
        let nr = row["entities"].as_array().unwrap().len();
        let (rq, eevdf) = (fair.cfs_rq(CPU), fair.eevdf_rq(GroupId::ROOT, CPU).unwrap());
        assert_eq!(eevdf.avg_vruntime, row["sum"].as_i64().unwrap(), "{row}");
        assert_eq!(eevdf.avg_load, row["load"].as_i64().unwrap(), "{row}");
        assert_eq!(u64::from(rq.nr_running), row["nr_running"].as_u64().unwrap());
        let eligible: Vec<u64> =
            (0..nr).map(|at| u64::from(fair.is_eligible(TaskId::new(at)))).collect();
        assert_eq!(eligible, numbers(&row["eligible"]), "{row}");
        if row["protect"] != 0 {
            fair.protect(CPU, TaskId::new(row["curr"].as_u64().unwrap() as usize));
        } else if let Some(curr) = row["curr"].as_u64() {
            fair.request_mut(TaskId::new(curr as usize)).vlag = i64::MIN;
        }
        let pick = fair.pick_eevdf(CPU).map_or(-1, |task| i64::from(task.0));
        assert_eq!(pick, row["pick"].as_i64().unwrap(), "{row}");
        let avruntime = fair.avg_vruntime(CPU);
        assert_eq!(avruntime, row["V"].as_u64().unwrap(), "{row}");
        let lag = |at: usize| {
            let (se, slice) = (fair.entity(TaskId::new(at)), fair.request(EntityId::new(at)).slice);
            entity_lag(avruntime, se.vruntime, lag_limit(slice, TICK, se.load)).cast_unsigned()
        };
        assert_eq!((0..nr).map(lag).collect::<Vec<_>>(), numbers(&row["lag"]), "{row}");
        let eevdf = fair.eevdf_rq(GroupId::ROOT, CPU).unwrap();
        assert_eq!(eevdf.avg_vruntime, row["sum_after"].as_i64().unwrap(), "{row}");
        assert_eq!(eevdf.zero_vruntime, row["zero_after"].as_u64().unwrap(), "{row}");
    });
    assert_eq!(rows, 1600);
}

#[test]
fn a_placement_agrees_with_the_kernel() {
    let rows = for_each_json("6.12/eevdf_place.jsonl", |_, row| {
        let mut fair = queue(row);
        let task = TaskId::new(row["entities"].as_array().unwrap().len());
        let [weight, vlag, custom, slice, relative, deadline] = numbers(&row["new"])[..] else {
            panic!("{row}")
        };
        let se = fair.entity_mut(task);
        se.load = load(weight);
        (se.custom_slice, se.rel_deadline) = (custom != 0, relative != 0);
        let vlag = vlag.cast_signed();
        *fair.request_mut(task) = Request { deadline, vlag, slice, ..Request::default() };
        fair.place_entity(task, row["initial"] != 0);
        let (se, request) = (fair.entity(task), fair.request(EntityId::of(task)));
        let out = [se.vruntime, request.deadline, request.slice, u64::from(se.rel_deadline)];
        assert_eq!(out[..], numbers(&row["out"])[..], "{row}");
        let zero = fair.eevdf_rq(GroupId::ROOT, CPU).unwrap().zero_vruntime;
        assert_eq!(zero, row["zero_after"].as_u64().unwrap(), "{row}");
    });
    assert_eq!(rows, 1100);
}

#[test]
fn a_deadline_moves_as_in_the_kernel() {
    let rows = for_each_row("6.12/eevdf_update_deadline.csv", |row| {
        let (deadline, slice) = (row.get("deadline_in"), row.get("slice_in"));
        let mut request = Request { deadline, slice, ..Request::default() };
        let common = (!row.flag("custom_slice")).then_some(BASE_SLICE);
        let weight = load(row.get("weight"));
        let is_served = request.update_deadline(row.get("vruntime"), weight, common);
        assert_eq!(is_served, row.flag("ret"), "{row:?}");
        row.expect("slice_out", request.slice);
        row.expect("deadline_out", request.deadline);
    });
    assert_eq!(rows, 1200);
}

#[test]
fn lag_is_limited_as_in_the_kernel() {
    let rows = for_each_row("6.12/eevdf_entity_lag.csv", |row| {
        let limit = lag_limit(row.get("slice"), TICK, load(row.get("weight")));
        row.expect("vlag", entity_lag(row.get("avruntime"), row.get("vruntime"), limit));
    });
    assert_eq!(rows, 1200);
}

#[test]
fn a_change_of_weight_keeps_lag_as_in_the_kernel() {
    let rows = for_each_row("6.12/eevdf_reweight.csv", |row| {
        let slice = row.get("slice");
        let deadline = row.get("deadline_in");
        let mut request = Request { deadline, slice, ..Request::default() };
        let weights: [u64; 2] = [row.get("old_weight"), row.get("new_weight")];
        let limit = lag_limit(slice, TICK, load(weights[0]));
        let (avruntime, vruntime) = (row.get("avruntime"), row.get("vruntime_in"));
        row.expect("vruntime_out", request.reweight(avruntime, vruntime, limit, weights));
        row.expect("deadline_out", request.deadline);
    });
    assert_eq!(rows, 1500);
}

#[test]
fn estimated_utilization_agrees_with_the_kernel() {
    const FLAG: u32 = 1 << 31;
    let rows = for_each_row("6.12/util_est_update.csv", |row| {
        let enqueued = if row.flag("flag_unchanged") { FLAG } else { 0 };
        let mut util_est = UtilEst { enqueued, ewma: row.get("util_est_in") };
        let util: u32 = row.get("util_avg");
        if row.flag("task_sleep") {
            util_est.update_single(util, row.get("runnable_avg"), 1024);
        }
        row.expect("util_est_out_raw", util_est.ewma | util_est.enqueued);
        row.expect("task_util_est_out", util_est.value().max(util));
    });
    assert_eq!(rows, 3000);
}

#[test]
fn the_first_utilization_of_a_task_agrees_with_the_kernel() {
    let rows = for_each_row("6.12/post_init_entity_util_avg.csv", |row| {
        let mut fair = fair(1);
        let rq = fair.cfs_rq_mut(CPU);
        (rq.avg.util_avg, rq.avg.load_avg) = (row.get("q_util_avg"), row.get("q_load_avg"));
        let mut se = Entity::new_task(0, SchedPolicy::Normal, QueueId(0));
        se.load = load(row.get("se_weight"));
        se.post_init_entity_util_avg(rq, 1024, true);
        row.expect("util_avg_out", se.avg.util_avg);
        row.expect("runnable_avg_out", se.avg.runnable_avg);
    });
    assert_eq!(rows, 600);
}
