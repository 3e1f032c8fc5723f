//! Traces of cache-aware load balancing with tasks that wake, sleep (delayed or not), run, scan and are moved between
//! the CPUs of a machine: epochs, counts and preferences after every step, against the kernel's numbers.

#![allow(clippy::unwrap_used, reason = "a test fails where it stands")]

use serde_json::{Value, json};
use simsched_core::testkit::{PolicyHost, WorldKit};
use simsched_core::{Dequeue, Dequeued, Enqueue, Preempt, ProcId, TaskId};
use simsched_policies::fair::{CacheAware, Fair, RqLlc};
use simsched_topology::CpuId;

use super::cache::{class, cpu, signed, topology};
use crate::common::{for_each_json, lines, vectors_73};

struct Replay {
    host: PolicyHost<Fair>,
    /// By CPU: the request to reschedule that is pending.
    due: Vec<Preempt>,
    nr_procs: usize,
}

impl Replay {
    /// All tasks of a trace have begun, and one more of each process. The last of them has none.
    fn new(file: &str) -> Replay {
        let first: Value = serde_json::from_str(&lines(file).nth(1).unwrap()).unwrap();
        let homes = first["task"].as_array().unwrap();
        let (nr_tasks, nr_procs) = (homes.len(), first["proc"].as_array().unwrap().len());
        let topology = topology("mini_2x4x2");
        let due = vec![Preempt::No; topology.nr_cpus()];
        let mut kit = WorldKit::new(topology, 250);
        kit.set_clock(4_000_000_000);
        for (at, proc) in
            (0..nr_tasks).map(|at| (at, at % nr_procs)).chain((nr_tasks..).zip(0..nr_procs))
        {
            let task = kit.add_task(0);
            kit.task(task).proc = ProcId(u32::try_from(proc).unwrap());
            kit.task(task).cpu = homes.get(at).map_or(CpuId(0), |home| cpu(&home[0]).unwrap());
        }
        let mut host = PolicyHost::new(kit, class().fair_class());
        let kernel_thread = TaskId::new(nr_tasks - 1);
        host.policy.cache_aware_mut().unwrap().set_kernel_thread(kernel_thread);
        for task in (0..nr_tasks + nr_procs).map(TaskId::new) {
            let cpu = host.kit.world().task(task).cpu;
            host.task_fork(cpu, None, task);
        }
        Replay { host, due, nr_procs }
    }

    fn llc(&self) -> &CacheAware {
        self.host.policy.cache_aware().unwrap()
    }

    fn step(&mut self, step: &Value) {
        self.host.kit.set_clock(step["t"].as_u64().unwrap());
        let on = cpu(&step["c"]).unwrap();
        let task = step["i"].as_u64().map(|task| TaskId(u32::try_from(task).unwrap()));
        let curr = self.host.kit.world().curr(on);
        match step["op"].as_str().unwrap() {
            "wake" => self.wake(on, task.unwrap()),
            "sleep" => {
                assert_eq!(task, curr, "{step}");
                self.sleep(on, task.unwrap());
            }
            "tick" => {
                if let Some(curr) = curr {
                    let preempt = self.host.task_tick(on, curr);
                    self.note(on, preempt);
                    self.settle();
                }
            }
            "scan" => {
                assert_eq!(task, curr, "{step}");
                assert!(self.llc().has_work(task.unwrap()), "nobody has asked for {step}");
                self.host.task_work(on, task.unwrap());
            }
            "move" => self.migrate(on, task.unwrap()),
            "resched" => {
                assert!(self.is_due(on), "nobody has asked for {step}");
                self.schedule(on);
            }
            op => panic!("{op}"),
        }
    }

    fn wake(&mut self, on: CpuId, task: TaskId) {
        let row = self.host.kit.world().task(task);
        let (on_rq, migrated) = (row.on_rq, row.cpu != on);
        if on_rq {
            assert!(self.host.policy.entity(task).sched_delayed && !migrated);
            return self.enqueue(on, task, Enqueue::Delayed);
        }
        if migrated {
            self.host.migrate_task_rq(task, on);
            self.host.kit.task(task).cpu = on;
        }
        self.enqueue(on, task, Enqueue::Wakeup { migrated });
        self.host.task_woken(on);
    }

    fn enqueue(&mut self, on: CpuId, task: TaskId, why: Enqueue) {
        self.host.enqueue(on, task, why);
        self.settle();
        if why != Enqueue::Delayed {
            self.host.kit.task(task).on_rq = true;
            self.count(on, 1);
        }
        let preempt = self.host.wakeup_preempt(on, task, why);
        self.note(on, preempt);
        self.settle();
    }

    fn sleep(&mut self, on: CpuId, curr: TaskId) {
        if self.host.dequeue(on, curr, Dequeue::Sleep) == Dequeued::Left {
            self.host.kit.task(curr).on_rq = false;
            self.count(on, -1);
        }
        self.schedule(on);
    }

    fn migrate(&mut self, to: CpuId, task: TaskId) {
        let from = self.host.kit.world().task(task).cpu;
        self.host.dequeue(from, task, Dequeue::Moved);
        self.settle();
        self.count(from, -1);
        self.host.migrate_task_rq(task, to);
        self.host.kit.task(task).cpu = to;
        self.enqueue(to, task, Enqueue::Moved);
    }

    fn schedule(&mut self, on: CpuId) {
        let prev = self.host.kit.world().curr(on);
        let next = self.host.pick_next(on, prev);
        self.settle();
        self.due[on.idx()] = Preempt::No;
        self.host.kit.set_need_resched(on, false);
        if let (Some(prev), None) = (prev, next) {
            self.host.put_prev_task(on, prev);
        }
        self.host.kit.run_on(on, next);
        if next.is_none() {
            self.host.idle_entered(on);
        }
        self.settle();
    }

    fn count(&mut self, cpu: CpuId, by: i32) {
        let nr_running = self.host.kit.world().rq(cpu).nr_running;
        self.host.kit.set_nr_running(cpu, nr_running.checked_add_signed(by).unwrap());
    }

    fn note(&mut self, on: CpuId, preempt: Preempt) {
        let due = &mut self.due[on.idx()];
        if *due == Preempt::No || preempt == Preempt::Hard {
            *due = preempt;
        }
        self.host.kit.set_need_resched(on, *due == Preempt::Hard);
    }

    /// Makes true what the last call has asked for.
    fn settle(&mut self) {
        while let Some(task) = self.host.actions.next_blocked() {
            self.host.kit.task(task).on_rq = false;
            self.count(self.host.kit.world().task(task).cpu, -1);
        }
        let runs = |host: &PolicyHost<Fair>, cpu| host.kit.world().curr(cpu).is_some();
        while let Some(cpu) = self.host.actions.next_resched() {
            self.note(cpu, if runs(&self.host, cpu) { Preempt::Hard } else { Preempt::No });
        }
        while let Some(cpu) = self.host.actions.next_resched_lazy() {
            self.note(cpu, if runs(&self.host, cpu) { Preempt::Lazy } else { Preempt::No });
        }
        while self.host.actions.next_work().is_some() {}
    }

    /// Whether `cpu` must reschedule.
    fn is_due(&self, cpu: CpuId) -> bool {
        let idle = self.host.kit.world().curr(cpu).is_none();
        let has_work = self.host.kit.world().rq(cpu).nr_running > 0;
        self.due[cpu.idx()] != Preempt::No || idle && has_work
    }

    fn compare(&self, step: &Value) {
        let on = cpu(&step["c"]).unwrap();
        let curr = self.host.kit.world().curr(on).map(|curr| curr.0);
        assert_eq!(step["curr"], signed(curr), "{step}");
        self.host.check(on).unwrap_or_else(|err| panic!("{err}: {step}"));
        let llc = self.llc();
        let [epoch, next, runtime] = llc.occupancy().cpu(on);
        let RqLlc { nr_llc_running, nr_pref_llc_running } = llc.rq(on);
        let dump = json!([epoch, next, runtime, nr_llc_running, nr_pref_llc_running]);
        assert_eq!(step["cpu"], dump, "{step}");
        let counts: Vec<u32> = (0..4).map(|id| llc.llc_count(on, id)).collect();
        assert_eq!(step["want"], json!(counts), "{step}");
        let procs: Vec<Value> = (0..self.nr_procs).map(|proc| self.proc_dump(on, proc)).collect();
        assert_eq!(step["proc"], json!(procs), "{step}");
        let nr_tasks = step["task"].as_array().unwrap().len();
        let tasks: Vec<Value> = (0..nr_tasks).map(|task| self.task_dump(task)).collect();
        assert_eq!(step["task"], json!(tasks), "{step}");
    }

    /// In the order of the files.
    fn proc_dump(&self, on: CpuId, proc: usize) -> Value {
        let (llc, first) = (self.llc(), TaskId::new(proc));
        let pref_cpu = signed(llc.preferred_cpu(first).map(|CpuId(cpu)| cpu));
        let [epoch, next_scan, nr_running_avg] = llc.process(first);
        let [here, runtime] = llc.occupancy().part(on, llc.mm(first));
        json!([pref_cpu, epoch, next_scan, nr_running_avg, here, runtime])
    }

    /// In the order of the files.
    fn task_dump(&self, task: usize) -> Value {
        let (llc, task) = (self.llc(), TaskId::new(task));
        let row = self.host.kit.world().task(task);
        let delayed = self.host.policy.entity(task).sched_delayed;
        let queued = llc.pref_llc_queued(task);
        let [on_rq, delayed, queued] = [row.on_rq, delayed, queued].map(u8::from);
        json!([row.cpu.0, on_rq, delayed, signed(llc.pref(task)), queued])
    }
}

/// How many steps of `file` cache-aware load balancing has taken as the kernel has.
fn seen(file: &str) -> usize {
    let mut replay = Replay::new(file);
    let mut due: Option<CpuId> = None;
    for_each_json(file, |_, step| {
        let on = cpu(&step["c"]).unwrap();
        // A task that returns to user mode scans first.
        let goes_on = step["op"] == "resched" || step["op"] == "scan";
        assert!(due.is_none_or(|due| goes_on && due == on), "CPU {due:?} before {step}");
        replay.step(step);
        replay.compare(step);
        due = Some(on).filter(|&on| replay.is_due(on));
    })
}

/// Six traces of the same kind.
#[test]
fn vectors_7_3_cache_trace() {
    for (at, steps) in [260, 260, 261, 260, 260, 261].into_iter().enumerate() {
        vectors_73(&format!("cache_trace_{at}.jsonl"), steps, seen);
    }
}
