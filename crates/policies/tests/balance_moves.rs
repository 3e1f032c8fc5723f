//! Whole passes over one domain: which tasks move, and what the domain remembers.

use serde_json::{Value, json};
use simsched_core::{Enqueue, TaskId};
use simsched_policies::fair::weight::SCHED_PRIO_TO_WEIGHT;
use simsched_policies::fair::{CpuIdleType, Features, Request, Version};
use simsched_topology::{CpuId, CpuSet};

use crate::common::driver::Driver;
use crate::common::{for_each_json, vector_machine};

pub(crate) fn number<T: TryFrom<u64>>(value: &Value) -> T {
    T::try_from(value.as_u64().unwrap()).ok().unwrap()
}

/// A task of the file: `[cpu, is_running, weight, load, util, runnable, util_est, ns since exec_start,
/// affinity]`, all attached to their queues at this instant.
struct Row<'a>(&'a Value);

impl Row<'_> {
    fn cpu(&self) -> CpuId {
        CpuId(number(&self.0[0]))
    }

    fn weight(&self) -> u64 {
        number(&self.0[2])
    }

    fn nice(&self) -> i8 {
        let weight = self.weight() >> 10;
        let at = SCHED_PRIO_TO_WEIGHT.iter().position(|&of_nice| of_nice == weight).unwrap();
        i8::try_from(at).unwrap() - 20
    }

    fn allowed(&self) -> Option<CpuSet> {
        let cpus = self.0[8].as_str().unwrap();
        (cpus != "all").then(|| cpus.parse().unwrap())
    }

    fn queue(&self, driver: &mut Driver, task: TaskId) {
        let cpu = self.cpu();
        driver.host.kit.set_allowed(task, self.allowed());
        driver.host.kit.task(task).cpu = cpu;
        let avg = &mut driver.host.policy.entity_mut(task).avg;
        (avg.load_avg, avg.util_avg) = (number(&self.0[3]), number(&self.0[4]));
        avg.runnable_avg = number(&self.0[5]);
        driver.host.enqueue(cpu, task, Enqueue::Moved);
        driver.host.kit.task(task).on_rq = true;
        let nr_running = driver.host.kit.world().rq(cpu).nr_running + 1;
        driver.host.kit.set_nr_running(cpu, nr_running);
        if number::<u8>(&self.0[1]) != 0 {
            let next = driver.host.pick_next(cpu, None);
            driver.host.kit.run_on(cpu, next);
        }
    }
}

/// The machine with the tasks of the row. The one that runs was queued last, at the earliest virtual
/// time, so that it is picked.
fn driver(row: &Value, version: Version) -> Driver {
    let tasks: Vec<Row<'_>> = row["task"].as_array().unwrap().iter().map(Row).collect();
    let nices: Vec<i8> = tasks.iter().map(Row::nice).collect();
    // Before 7.3 the reference was built without preemption.
    let preemption = version >= Version::V7_3;
    let features = Features { preemption, ..Features::of(version) };
    let mut driver = Driver::new(vector_machine("mini_2x4x2"), features, &nices);
    for list in row["list"].as_object().unwrap().values() {
        let list: Vec<TaskId> = list.as_array().unwrap().iter().map(number).map(TaskId).collect();
        for (behind, &task) in (0..).zip(list.iter().rev()) {
            driver.host.policy.entity_mut(task).vruntime = 1_000 - behind;
            if version.is_eevdf() {
                // Of those that are eligible the one with the most lag.
                let entity = driver.host.policy.entity_mut(task);
                entity.rel_deadline = true;
                // In the one tree of 7.3 the weight is kept beside the deadline.
                let weight = tasks[task.idx()].weight();
                *driver.host.policy.request_mut(task) =
                    Request { deadline: 1_000_000 - behind, weight, ..Request::default() };
            }
            tasks[task.idx()].queue(&mut driver, task);
        }
        assert_eq!(driver.curr(tasks[list[0].idx()].cpu()), Some(list[0]));
    }
    let now = driver.host.kit.world().sched_clock();
    for (task, row) in (0..).map(TaskId).zip(&tasks) {
        driver.host.policy.entity_mut(task).exec_start = now - number::<u64>(&row.0[7]);
    }
    driver
}

pub(crate) fn idle_type(name: &Value) -> CpuIdleType {
    match name.as_str().unwrap() {
        "idle" => CpuIdleType::Idle,
        "not_idle" => CpuIdleType::NotIdle,
        "newly_idle" => CpuIdleType::NewlyIdle,
        other => panic!("{other}"),
    }
}

#[test]
fn passes_agree_with_the_kernel() {
    for (of, version) in [("6.1", Version::V6_1), ("6.12", Version::V6_12)] {
        assert_eq!(check_moves(&format!("{of}/load_balance_moves.jsonl"), version), 120);
    }
}

/// One pass for each row; returns the number of rows.
pub(crate) fn check_moves(file: &str, version: Version) -> usize {
    let mut moved = [0; 2];
    let rows = for_each_json(file, |_, row| {
        let mut driver = driver(row, version);
        let dst = CpuId(number(&row["dst"]));
        let domains = driver.host.policy.domains().of(dst);
        let sd = domains.iter().position(|sd| sd.name == row["sd"]).unwrap();
        let min_interval = domains[sd].min_interval;
        let state = driver.host.policy.sd_state_mut(dst, sd);
        // The reference has just built its topology.
        state.balance_interval = min_interval;
        state.nr_balance_failed = number(&row["failed"]);
        let done = driver.load_balance(dst, sd, idle_type(&row["idle"]));
        let result = if done.looked_at == 0 { json!(-1) } else { json!(done.moved.len()) };
        assert_eq!(result, row["moved"], "{row}");
        let tasks = (0..).map(TaskId).zip(row["task"].as_array().unwrap());
        let gone = tasks.filter_map(|(task, state)| {
            let (from, to) = (number::<u16>(&state[0]), driver.host.kit.world().task(task).cpu.0);
            (from != to).then(|| json!([task.0, from, to]))
        });
        assert_eq!(Value::Array(gone.collect()), row["to_dst"], "{row}");
        let state = driver.host.policy.sd_state_mut(dst, sd);
        assert_eq!(json!(state.nr_balance_failed), row["failed_out"], "{row}");
        assert_eq!(json!(state.balance_interval), row["interval_out"], "{row}");
        moved[usize::from(done.moved.len() > 1)] += done.moved.len();
    });
    assert!(moved[0] > 10 && moved[1] > 10, "{moved:?}");
    rows
}
