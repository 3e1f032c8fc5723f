//! The order of one runqueue against the kernel's numbers: slices, placement, picks, the tick.

#![allow(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    reason = "a test fails where it stands"
)]

use simsched_core::testkit::{PolicyHost, WorldKit};
use simsched_core::{Preempt, SchedPolicy, TaskId};
use simsched_policies::fair::weight::LoadWeight;
use simsched_policies::fair::{EntityId, Fair, Features, GroupId, Overrides, QueueId, TaskGroup};
use simsched_topology::CpuId;

use crate::common::{Row, for_each_json, for_each_row, machine};

const CPU: CpuId = CpuId(0);
const NR_CPUS: u32 = 8;

/// A class on eight CPUs, for the tunables of such a machine, with two nested groups.
fn fair(nr_tasks: u32) -> Fair {
    let mut kit = WorldKit::new(machine([1, 1, 8, 1], "", "nodes_per_socket = 1"), 250);
    for _ in 0..nr_tasks {
        kit.add_task(0);
    }
    let mut fair = Fair::new(Features::default(), Overrides::default());
    fair.set_groups(vec![TaskGroup::new(Some(GroupId(0))), TaskGroup::new(Some(GroupId(1)))]);
    *PolicyHost::new(kit, fair).policy
}

#[test]
fn sched_slice_agrees_with_the_kernel() {
    let mut fair = fair(1);
    let rows = for_each_json("6.1/sched_slice.jsonl", |_, row| {
        let levels = row["levels"].as_array().unwrap();
        // The task's queue is that of the group as deep as there are levels above.
        let mut queue = QueueId(u32::try_from(levels.len() - 1).unwrap() * NR_CPUS);
        let task = EntityId::of(TaskId(0));
        fair.entity_mut(TaskId(0)).cfs_rq = queue;
        let mut se = task;
        for level in levels {
            let entity = fair.se_mut(se);
            assert_eq!(entity.cfs_rq, queue);
            entity.load = LoadWeight::new(level["w"].as_u64().unwrap());
            entity.on_rq = level["on_rq"] == 1;
            let rq = fair.queue_mut(queue);
            rq.load = LoadWeight::new(level["rqw"].as_u64().unwrap());
            if let Some(above) = rq.se {
                se = above;
                queue = fair.se_mut(se).cfs_rq;
            }
        }
        let is_idle = row["se_idle"] == 1;
        let nr_running = u32::try_from(row["nr_running"].as_u64().unwrap()).unwrap();
        let entity = fair.se_mut(task);
        entity.policy = if is_idle { SchedPolicy::Idle } else { SchedPolicy::Normal };
        let queue = entity.cfs_rq;
        let rq = fair.queue_mut(queue);
        rq.nr_running = nr_running;
        rq.idle_nr_running = if row["q_idle_only"] == 1 { nr_running } else { 0 };
        fair.cfs_rq_mut(CPU).h_nr_running = u32::try_from(row["h_nr"].as_u64().unwrap()).unwrap();
        let [slice, vslice] = fair.slices(task);
        assert_eq!(slice, row["slice"].as_u64().unwrap(), "{row}");
        assert_eq!(vslice, row["vslice"].as_u64().unwrap(), "{row}");
    });
    assert_eq!(rows, 1000);
}

#[test]
fn place_entity_agrees_with_the_kernel() {
    let mut fair = fair(1);
    let task = TaskId(0);
    let rows = for_each_row("6.1/place_entity.csv", |row| {
        let is_idle = row.flag("se_idle");
        let nr_running: u32 = row.get("h_nr_running");
        fair.cfs_order_mut(CPU).min_vruntime = row.get("min_vruntime");
        let rq = fair.cfs_rq_mut(CPU);
        rq.load = LoadWeight::new(row.get("q_load_weight"));
        (rq.nr_running, rq.h_nr_running) = (nr_running, nr_running);
        rq.idle_nr_running = if row.flag("q_idle_only") { nr_running } else { 0 };
        let entity = fair.entity_mut(task);
        entity.vruntime = row.get("se_vruntime_in");
        entity.exec_start = row.get("exec_start");
        entity.policy = if is_idle { SchedPolicy::Idle } else { SchedPolicy::Normal };
        // The entities of this file carry no cached reciprocal.
        entity.load = LoadWeight::new(row.get("se_weight"));
        if row.flag("initial") {
            fair.place_initial(task, row.get("clock_task"));
        } else {
            fair.place_wakeup(task, row.get("clock_task"));
        }
        row.expect("se_vruntime_out", fair.entity(task).vruntime);
    });
    assert_eq!(rows, 1700);
}

/// The weight of a task, with the reciprocal of the table if it has one.
fn load(row: &Row<'_>, column: &str) -> LoadWeight {
    let weight = row.get(column);
    let idle = LoadWeight::of_idle_policy();
    let known = (-20..20).map(LoadWeight::of_nice).chain([idle]);
    known.into_iter().find(|load| load.weight == weight).unwrap_or(LoadWeight::new(weight))
}

#[test]
fn check_preempt_tick_agrees_with_the_kernel() {
    let mut fair = fair(2);
    let [curr, left] = [TaskId(0), TaskId(1)];
    let rows = for_each_row("6.1/check_preempt_tick.csv", |row| {
        let entity = fair.entity_mut(curr);
        entity.on_rq = true;
        entity.load = load(row, "curr_weight");
        entity.vruntime = row.get("curr_vruntime");
        entity.sum_exec_runtime = row.get("curr_ran");
        let vruntime = row.get("leftmost_vruntime");
        let rq = fair.cfs_rq_mut(CPU);
        rq.load = LoadWeight::new(row.get("q_load_weight"));
        rq.nr_running = row.get("nr_running");
        rq.h_nr_running = rq.nr_running;
        rq.curr = Some(EntityId::of(curr));
        fair.cfs_order_mut(CPU).timeline.insert(vruntime, EntityId::of(left));
        let preempt = fair.check_preempt_tick(curr) == Preempt::Hard;
        fair.cfs_order_mut(CPU).timeline.remove(vruntime, EntityId::of(left));
        assert_eq!(preempt, row.flag("resched"), "{row:?}");
    });
    assert_eq!(rows, 1200);
}

#[test]
fn pick_next_entity_agrees_with_the_kernel() {
    let mut fair = fair(64);
    let rows = for_each_row("6.1/pick_next_entity.csv", |row| {
        let mut vruntimes: Vec<u64> =
            row.text("vruntimes").split(';').filter_map(|text| text.parse().ok()).collect();
        let nr_waiting = vruntimes.len();
        let curr = (row.text("curr_vruntime") != "-1").then(|| {
            vruntimes.push(row.get("curr_vruntime"));
            TaskId(u32::try_from(nr_waiting).unwrap())
        });
        let buddy = |column: &str| {
            u32::try_from(row.get::<i64>(column)).ok().map(|idx| EntityId::of(TaskId(idx)))
        };
        for (task, &vruntime) in (0..).map(TaskId).zip(&vruntimes) {
            let entity = fair.entity_mut(task);
            (entity.vruntime, entity.on_rq) = (vruntime, true);
        }
        let order = fair.cfs_order_mut(CPU);
        for (task, &vruntime) in (0..).map(TaskId).zip(&vruntimes[..nr_waiting]) {
            order.timeline.insert(vruntime, EntityId::of(task));
        }
        (order.skip, order.last) = (buddy("skip"), buddy("last"));
        fair.cfs_rq_mut(CPU).next = buddy("next");
        let picked = fair.pick_next_entity(CPU, curr).unwrap();
        row.expect("pick", picked.0);
        fair.cfs_order_mut(CPU).timeline = simsched_policies::fair::Timeline::default();
    });
    assert_eq!(rows, 1500);
}

#[test]
fn task_h_load_agrees_with_the_kernel() {
    let mut fair = fair(1);
    let task = TaskId(0);
    let mut jiffies = 0;
    let rows = for_each_row("common/task_h_load.csv", |row| {
        let depth: u32 = row.get("depth");
        for level in 0..depth {
            let queue = QueueId(level * NR_CPUS);
            let rq = fair.queue_mut(queue);
            rq.avg.load_avg = row.get(&format!("q{}", level + 1));
            if let Some(se) = rq.se {
                fair.se_mut(se).avg.load_avg = row.get(&format!("e{level}"));
            }
        }
        let entity = fair.entity_mut(task);
        entity.cfs_rq = QueueId((depth - 1) * NR_CPUS);
        entity.avg.load_avg = row.get("task_load_avg");
        jiffies += 1;
        row.expect("h_load", fair.task_h_load(task, jiffies));
    });
    assert_eq!(rows, 1000);
}
