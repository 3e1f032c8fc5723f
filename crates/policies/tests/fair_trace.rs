//! Whole traces of the kernel's fair class on one CPU, replayed through [`Policy`]: every virtual
//! time after every step, and every number of every entity and queue at each full dump.

#![allow(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    reason = "a test fails where it stands"
)]

use serde_json::Value;
use simsched_core::testkit::{PolicyHost, WorldKit};
use simsched_core::{Dequeue, Dequeued, Enqueue, Preempt, SchedPolicy, TaskId, TimerId, When};
use simsched_policies::fair::{
    CfsRq, EevdfRq, Entity, EntityId, Fair, Features, GroupId, Overrides, Request, TaskGroup,
    UtilEst, Version,
};
use simsched_topology::CpuId;

use crate::common::{for_each_json, ints, lines, one_cpu, vectors_73};

const CPU: CpuId = CpuId(0);

struct Replay {
    host: PolicyHost<Fair>,
    /// The request to reschedule that is pending.
    due: Preempt,
    /// The current task has yielded, which ends in `schedule()`.
    yields: bool,
    /// When the slice timer expires; 0 where it is not armed.
    slice_end: u64,
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
        let mut features = Features::of(version);
        features.hrtick &= header["sysctl"]["hrtick"] != 0;
        let mut fair = Fair::new(features, Overrides::default());
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
        if let Some(cpus) = header["online_cpus_for_shares"].as_u64() {
            let groups = if header["groups"] == "0 root" { 0 } else { 3 };
            for group in (1..=groups).map(GroupId) {
                host.policy.group_mut(group).nr_cpus = u32::try_from(cpus).unwrap();
            }
        }
        Replay { host, due: Preempt::No, yields: false, slice_end: 0, version }
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
            "hrtick" => {
                self.slice_end = 0;
                self.host.timer(CPU, TimerId(0));
                self.settle();
            }
            "yield" => {
                self.host.yield_task(CPU, curr.unwrap());
                self.yields = true;
                self.settle();
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
                assert!(self.due != Preempt::No || self.yields || idle, "nobody asked for {step}");
                self.schedule();
            }
            "nice" => {
                let task = task.unwrap();
                let nice = i8::try_from(step["nice"].as_i64().unwrap()).unwrap();
                self.host.kit.task(task).nice = nice;
                let preempt = self.host.reweight_task(task);
                self.note(preempt);
                self.settle();
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
        self.settle();
    }

    fn count(&mut self, by: i32) {
        let nr_running = self.host.kit.world().rq(CPU).nr_running;
        self.host.kit.set_nr_running(CPU, nr_running.checked_add_signed(by).unwrap());
    }

    fn note(&mut self, preempt: Preempt) {
        if self.due == Preempt::No || preempt == Preempt::Hard {
            self.due = preempt;
        }
        self.host.kit.set_need_resched(CPU, self.due == Preempt::Hard);
    }

    /// Makes true what the last call has asked for.
    fn settle(&mut self) {
        while let Some(task) = self.host.actions.next_blocked() {
            self.host.kit.task(task).on_rq = false;
            self.count(-1);
        }
        let runs = self.host.kit.world().curr(CPU).is_some();
        while self.host.actions.next_resched().is_some() {
            self.note(if runs { Preempt::Hard } else { Preempt::No });
        }
        while self.host.actions.next_resched_lazy().is_some() {
            self.note(if runs { Preempt::Lazy } else { Preempt::No });
        }
        while let Some((_, plan)) = self.host.actions.next_timer() {
            let now = self.host.kit.world().rq(CPU).clock;
            match plan {
                None => self.slice_end = 0,
                Some((_, When::AfterSchedule(delay))) => {
                    let end = now + delay.get();
                    if self.slice_end == 0 || end.abs_diff(self.slice_end) > When::NEAR.get() {
                        self.slice_end = end;
                    }
                }
                Some((_, when)) => panic!("{when:?}"),
            }
        }
    }

    fn schedule(&mut self) {
        let prev = self.host.kit.world().curr(CPU);
        let next = self.host.pick_next(CPU, prev);
        self.settle();
        (self.due, self.yields) = (Preempt::No, false);
        self.host.kit.set_need_resched(CPU, false);
        if let (Some(prev), None) = (prev, next) {
            self.host.put_prev_task(CPU, prev);
        }
        self.host.kit.run_on(CPU, next);
        if next.is_none() {
            self.host.idle_entered(CPU);
            self.settle();
        }
    }

    fn compare(&self, step: &Value) {
        let curr = self.host.kit.world().curr(CPU).map_or(-1, |curr| i64::from(curr.0));
        assert_eq!(step["curr"], curr, "{step}");
        for (task, vruntime) in (0..).map(TaskId).zip(ints(&step["v"])) {
            assert_eq!(self.host.policy.entity(task).vruntime, vruntime, "task {task}: {step}");
        }
        self.host.check(CPU).unwrap_or_else(|err| panic!("{err}: {step}"));
        if let Some(due) = step.get("rs")
            && curr >= 0
        {
            assert_eq!(due, self.due as u8, "the request that is pending: {step}");
        }
        if let Some(end) = step.get("ht") {
            assert_eq!(end, self.slice_end, "the end of the slice: {step}");
        }
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
            let mut own = entity_dump(se, request, self.version);
            own.push(util_est);
            assert_eq!(own, numbers(dump), "task {task}: {step}");
        }
        for (group, dump) in (0..).map(GroupId).zip(step["rq"].as_array().unwrap()) {
            let rq = self.host.policy.group_cfs_rq(group, CPU);
            let rq = match self.version {
                Version::V7_3 => flat_dump(rq, self.host.policy.eevdf_rq(group, CPU).unwrap()),
                version if version.is_eevdf() => {
                    eevdf_dump(rq, self.host.policy.eevdf_rq(group, CPU).unwrap())
                }
                _ => queue_dump(rq, self.host.policy.cfs_order(group, CPU).unwrap().min_vruntime),
            };
            assert_eq!(rq, numbers(dump), "group {group:?}: {step}");
        }
        for (group, dump) in (1..).map(GroupId).zip(step["gse"].as_array().unwrap()) {
            let se = self.host.policy.group_entity(group, CPU).unwrap();
            assert_eq!(se.util_est, UtilEst::default());
            let row = self.host.policy.group(group);
            let request = self.request(self.host.policy.group_cfs_rq(group, CPU).se.unwrap());
            let mut dumped = entity_dump(se, request, self.version);
            dumped.push(row.load_avg.cast_unsigned());
            if self.version == Version::V7_3 {
                dumped.push(row.runnable_avg.cast_unsigned());
            }
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
fn entity_dump(se: &Entity, request: Option<&Request>, version: Version) -> Vec<u64> {
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
        if version == Version::V7_3 {
            dump.insert(2, request.weight);
            dump.push(request.vprot);
        }
    }
    dump
}

/// In the order of the files.
fn eevdf_dump(rq: &CfsRq, eevdf: &EevdfRq) -> Vec<u64> {
    let plain = queue_dump(rq, 0);
    let virtual_time = [
        u64::from(rq.h_nr_delayed),
        eevdf.zero_vruntime,
        eevdf.avg_vruntime.cast_unsigned(),
        eevdf.avg_load.cast_unsigned(),
    ];
    [&plain[..3], &virtual_time, &plain[4..]].concat()
}

/// In the order of the files. Virtual time is that of the root; the other queues have none.
fn flat_dump(rq: &CfsRq, eevdf: &EevdfRq) -> Vec<u64> {
    let plain = queue_dump(rq, 0);
    let virtual_time = [
        u64::from(rq.h_nr_runnable()),
        eevdf.zero_vruntime,
        eevdf.avg_vruntime.cast_unsigned(),
        eevdf.avg_load.cast_unsigned(),
    ];
    let told =
        [rq.tg_load_avg_contrib, rq.tg_runnable_avg_contrib, u64::from(rq.util_est_enqueued)];
    [&plain[..3], &virtual_time, &plain[4..12], &told].concat()
}

/// In the order of the files.
fn queue_dump(rq: &CfsRq, min_vruntime: u64) -> Vec<u64> {
    let avg = &rq.avg;
    vec![
        rq.load.weight,
        u64::from(rq.nr_running),
        u64::from(rq.h_nr_running),
        min_vruntime,
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
    assert_eq!(seen(file), steps);
}

/// How many steps of `file` the class has taken as the kernel has.
fn seen(file: &str) -> usize {
    let version = match file.split('/').next().unwrap() {
        "6.1" => Version::V6_1,
        "6.12" => Version::V6_12,
        _ => Version::V7_3,
    };
    let mut replay = Replay::new(file, version);
    let mut resched_due = false;
    for_each_json(file, |_, step| {
        let is_resched = step["op"] == "resched";
        assert!(!resched_due || is_resched, "a reschedule is missing before {step}");
        replay.step(step);
        replay.compare(step);
        let idle = replay.host.kit.world().curr(CPU).is_none();
        let has_work = replay.host.kit.world().rq(CPU).nr_running > 0;
        resched_due = replay.due != Preempt::No || replay.yields || (idle && has_work);
    })
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

macro_rules! traces_of_7_3 {
    ($($name:ident $file:literal $steps:literal)*) => {$(
        #[test]
        fn $name() {
            vectors_73($file, $steps, seen);
        }
    )*};
}

traces_of_7_3! {
    vectors_7_3_fair_trace_0 "fair_trace_0.jsonl" 301
    vectors_7_3_fair_trace_1 "fair_trace_1.jsonl" 300
    vectors_7_3_fair_trace_2 "fair_trace_2.jsonl" 300
    vectors_7_3_fair_trace_3 "fair_trace_3.jsonl" 301
    vectors_7_3_fair_trace_4 "fair_trace_4.jsonl" 300
    vectors_7_3_fair_trace_5 "fair_trace_5.jsonl" 300
    vectors_7_3_fair_trace_6 "fair_trace_6.jsonl" 300
    vectors_7_3_fair_trace_7 "fair_trace_7.jsonl" 300
    vectors_7_3_fair_trace_8 "fair_trace_8.jsonl" 301
    vectors_7_3_fair_trace_9 "fair_trace_9.jsonl" 300
    vectors_7_3_fair_trace_10 "fair_trace_10.jsonl" 300
    vectors_7_3_fair_trace_11 "fair_trace_11.jsonl" 303
}
