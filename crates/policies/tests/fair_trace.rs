//! Whole traces of the kernel's fair class on one CPU, replayed through [`Policy`]: every virtual
//! time after every step, and every number of every entity and queue at each full dump.

#![allow(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    reason = "a test fails where it stands"
)]

use serde_json::Value;
use simsched_core::testkit::{PolicyHost, WorldKit};
use simsched_core::{Dequeue, Dequeued, Enqueue, Preempt, SchedPolicy, TaskId};
use simsched_policies::fair::{
    CfsRq, Entity, EntityId, Fair, Features, GroupId, Overrides, Request, TaskGroup, UtilEst,
    Version,
};
use simsched_topology::CpuId;

use crate::common::{for_each_json, ints, lines, one_cpu};

const CPU: CpuId = CpuId(0);

struct Replay {
    host: PolicyHost<Fair>,
    resched: bool,
    version: Version,
}

impl Replay {
    /// The tasks that a trace will fork, and the groups of its header.
    fn new(file: &str, version: Version) -> Replay {
        let mut kit = WorldKit::new(one_cpu(), 250);
        let mut steps = lines(file).map(|line| serde_json::from_str::<Value>(&line).unwrap());
        let header = steps.next().unwrap();
        let (mut homes, mut slices) = (Vec::new(), Vec::new());
        for step in steps.filter(|step| step["op"] == "fork") {
            let task = kit.add_task(i8::try_from(step["nice"].as_i64().unwrap()).unwrap());
            if step["policy"] == 5 {
                kit.task(task).policy = SchedPolicy::Idle;
            }
            homes.push(GroupId(u32::try_from(step["group"].as_u64().unwrap()).unwrap()));
            slices.push(step["slice"].as_u64().unwrap_or(0));
        }
        let mut fair = Fair::new(Features::of(version), Overrides::default());
        if header["groups"] != "0 root" {
            let below = |parent| TaskGroup::new(Some(GroupId(parent)));
            fair.set_groups(vec![below(0), below(1), below(0)]);
        }
        let mut host = PolicyHost::new(kit, fair);
        for (task, group) in (0..).map(TaskId).zip(homes) {
            host.policy.set_task_group(task, group);
        }
        for (task, slice) in (0..).map(TaskId).zip(slices) {
            if version.is_eevdf() && slice > 0 {
                host.policy.entity_mut(task).custom_slice = true;
                host.policy.request_mut(task).slice = slice;
            }
        }
        Replay { host, resched: false, version }
    }

    fn step(&mut self, step: &Value) {
        self.host.kit.set_clock(step["t"].as_u64().unwrap());
        let task = step["i"].as_u64().map(|task| TaskId(u32::try_from(task).unwrap()));
        let curr = self.host.kit.world().curr(CPU);
        match step["op"].as_str().unwrap() {
            "fork" => {
                let child = task.unwrap();
                self.host.task_fork(CPU, None, child);
                self.enqueue(child, Enqueue::New);
            }
            "wake" if self.host.kit.world().task(task.unwrap()).on_rq => {
                assert!(self.host.policy.entity(task.unwrap()).sched_delayed, "{step}");
                self.queue(task.unwrap(), Enqueue::Delayed);
            }
            "wake" => self.enqueue(task.unwrap(), Enqueue::Wakeup { migrated: false }),
            "tick" => {
                if let Some(curr) = curr {
                    let preempt = self.host.task_tick(CPU, curr);
                    self.note(preempt);
                }
            }
            "sleep" => {
                assert_eq!(task, curr);
                let curr = curr.unwrap();
                if self.host.dequeue(CPU, curr, Dequeue::Sleep) == Dequeued::Left {
                    self.host.kit.task(curr).on_rq = false;
                    self.count(-1);
                }
                self.schedule();
            }
            "resched" => {
                let idle = curr.is_none() && self.host.kit.world().rq(CPU).nr_running > 0;
                assert!(self.resched || idle, "nobody asked for {step}");
                self.schedule();
            }
            "nice" => {
                let task = task.unwrap();
                let nice = i8::try_from(step["nice"].as_i64().unwrap()).unwrap();
                self.host.kit.task(task).nice = nice;
                let preempt = self.host.reweight_task(task);
                self.note(preempt);
            }
            "shares" => {
                let group = GroupId(u32::try_from(step["g"].as_u64().unwrap()).unwrap());
                let shares = step["value"].as_u64().unwrap();
                self.host.call(|policy, cx| policy.set_group_shares(cx, group, shares << 10));
                self.settle();
            }
            op => panic!("{op}"),
        }
    }

    fn enqueue(&mut self, task: TaskId, why: Enqueue) {
        self.queue(task, why);
        if why != Enqueue::New {
            self.host.task_woken(CPU);
        }
    }

    fn queue(&mut self, task: TaskId, why: Enqueue) {
        self.host.enqueue(CPU, task, why);
        self.settle();
        if !self.host.kit.world().task(task).on_rq {
            self.host.kit.task(task).on_rq = true;
            self.count(1);
        }
        let preempt = self.host.wakeup_preempt(CPU, task, why);
        self.note(preempt);
    }

    fn count(&mut self, by: i32) {
        let nr_running = self.host.kit.world().rq(CPU).nr_running;
        self.host.kit.set_nr_running(CPU, nr_running.checked_add_signed(by).unwrap());
    }

    fn note(&mut self, preempt: Preempt) {
        self.resched |= preempt == Preempt::Hard;
    }

    /// Makes true what the last call has asked for.
    fn settle(&mut self) {
        while let Some(cpu) = self.host.actions.next_resched() {
            self.resched |= self.host.kit.world().curr(cpu).is_some();
            self.host.kit.set_need_resched(cpu, self.resched);
        }
    }

    fn schedule(&mut self) {
        let prev = self.host.kit.world().curr(CPU);
        let next = self.host.pick_next(CPU, prev);
        self.settle();
        self.resched = false;
        self.host.kit.set_need_resched(CPU, false);
        while let Some(task) = self.host.actions.next_blocked() {
            self.host.kit.task(task).on_rq = false;
            self.count(-1);
        }
        if let (Some(prev), None) = (prev, next) {
            self.host.put_prev_task(CPU, prev);
        }
        self.host.kit.run_on(CPU, next);
        if next.is_none() {
            self.host.idle_entered(CPU);
        }
    }

    fn compare(&self, step: &Value) {
        let curr = self.host.kit.world().curr(CPU).map_or(-1, |curr| i64::from(curr.0));
        assert_eq!(step["curr"], curr, "{step}");
        for (task, vruntime) in (0..).map(TaskId).zip(ints(&step["v"])) {
            assert_eq!(self.host.policy.entity(task).vruntime, vruntime, "task {task}: {step}");
        }
        self.host.check(CPU).unwrap();
        let Some(tasks) = step.get("task") else { return };
        for (task, dump) in (0..).map(TaskId).zip(tasks.as_array().unwrap()) {
            let se = self.host.policy.entity(task);
            // Since 6.8 the dump has the flag with the estimate.
            let util_est = match self.version.is_eevdf() {
                true => se.util_est.ewma | se.util_est.enqueued,
                false => se.util_est.value(),
            };
            let util_est = u64::from(util_est);
            let request = self.request(EntityId::of(task));
            assert_eq!(entity_dump(se, request, util_est), numbers(dump), "task {task}: {step}");
        }
        for (group, dump) in (0..).map(GroupId).zip(step["rq"].as_array().unwrap()) {
            let rq = self.host.policy.group_cfs_rq(group, CPU);
            let rq = if self.version.is_eevdf() { eevdf_dump(rq) } else { queue_dump(rq) };
            assert_eq!(rq, numbers(dump), "group {group:?}: {step}");
        }
        for (group, dump) in (1..).map(GroupId).zip(step["gse"].as_array().unwrap()) {
            let se = self.host.policy.group_entity(group, CPU).unwrap();
            assert_eq!(se.util_est, UtilEst::default());
            let load_avg = self.host.policy.group(group).load_avg.cast_unsigned();
            let request = self.request(self.host.policy.group_cfs_rq(group, CPU).se.unwrap());
            let dumped = entity_dump(se, request, load_avg);
            assert_eq!(dumped, numbers(dump), "group {group:?}: {step}");
        }
    }

    fn request(&self, se: EntityId) -> Option<&Request> {
        self.version.is_eevdf().then(|| self.host.policy.request(se))
    }
}

/// Signed and unsigned numbers, as the bits of the latter.
fn numbers(value: &Value) -> Vec<u64> {
    let bits = |int: &Value| int.as_u64().unwrap_or_else(|| int.as_i64().unwrap().cast_unsigned());
    value.as_array().unwrap().iter().map(bits).collect()
}

/// In the order of the files.
fn entity_dump(se: &Entity, request: Option<&Request>, last: u64) -> Vec<u64> {
    let avg = &se.avg;
    let mut dump = vec![
        u64::from(se.on_rq),
        se.load.weight,
        se.vruntime,
        se.sum_exec_runtime,
        avg.last_update_time,
        avg.load_sum,
        avg.runnable_sum,
        u64::from(avg.util_sum),
        u64::from(avg.period_contrib),
        avg.load_avg,
        avg.runnable_avg,
        avg.util_avg,
    ];
    if let Some(request) = request {
        let flags = [se.sched_delayed, se.rel_deadline].map(u64::from);
        dump.extend([request.deadline, request.slice, request.vlag.cast_unsigned()]);
        dump.extend(flags);
    }
    dump.push(last);
    dump
}

/// In the order of the files.
fn eevdf_dump(rq: &CfsRq) -> Vec<u64> {
    let plain = queue_dump(rq);
    let virtual_time = [
        u64::from(rq.h_nr_delayed),
        rq.eevdf.zero_vruntime,
        rq.eevdf.avg_vruntime.cast_unsigned(),
        rq.eevdf.avg_load.cast_unsigned(),
    ];
    [&plain[..3], &virtual_time, &plain[4..]].concat()
}

/// In the order of the files.
fn queue_dump(rq: &CfsRq) -> Vec<u64> {
    let avg = &rq.avg;
    vec![
        rq.load.weight,
        u64::from(rq.nr_running),
        u64::from(rq.h_nr_running),
        rq.min_vruntime,
        avg.last_update_time,
        avg.load_sum,
        avg.runnable_sum,
        u64::from(avg.util_sum),
        u64::from(avg.period_contrib),
        avg.load_avg,
        avg.runnable_avg,
        avg.util_avg,
        rq.tg_load_avg_contrib,
        u64::from(rq.util_est_enqueued),
    ]
}

#[track_caller]
fn check(file: &str, steps: usize) {
    let version = if file.starts_with("6.1/") { Version::V6_1 } else { Version::V6_12 };
    let mut replay = Replay::new(file, version);
    let mut resched_due = false;
    let seen = for_each_json(file, |_, step| {
        let is_resched = step["op"] == "resched";
        assert!(!resched_due || is_resched, "a reschedule is missing before {step}");
        replay.step(step);
        replay.compare(step);
        let idle = replay.host.kit.world().curr(CPU).is_none();
        resched_due = replay.resched || (idle && replay.host.kit.world().rq(CPU).nr_running > 0);
    });
    assert_eq!(seen, steps);
}

macro_rules! traces {
    ($($name:ident $file:literal $steps:literal)*) => {$(
        #[test]
        fn $name() {
            check($file, $steps);
        }
    )*};
}

traces! {
    root_only_0 "6.1/fair_trace_0.jsonl" 300
    root_only_with_nice_1 "6.1/fair_trace_1.jsonl" 302
    nested_groups_2 "6.1/fair_trace_2.jsonl" 301
    nested_groups_with_shares_3 "6.1/fair_trace_3.jsonl" 300
    root_only_4 "6.1/fair_trace_4.jsonl" 302
    nested_groups_5 "6.1/fair_trace_5.jsonl" 300
    root_only_with_idle_policy_6 "6.1/fair_trace_6.jsonl" 300
    nested_groups_with_nice_and_shares_7 "6.1/fair_trace_7.jsonl" 303
    eevdf_root_only_0 "6.12/fair_trace_0.jsonl" 301
    eevdf_root_only_with_nice_1 "6.12/fair_trace_1.jsonl" 300
    eevdf_nested_groups_2 "6.12/fair_trace_2.jsonl" 301
    eevdf_nested_groups_with_shares_3 "6.12/fair_trace_3.jsonl" 301
    eevdf_root_only_4 "6.12/fair_trace_4.jsonl" 300
    eevdf_nested_groups_5 "6.12/fair_trace_5.jsonl" 300
    eevdf_root_only_with_idle_policy_6 "6.12/fair_trace_6.jsonl" 300
    eevdf_nested_groups_with_nice_and_shares_7 "6.12/fair_trace_7.jsonl" 301
}
