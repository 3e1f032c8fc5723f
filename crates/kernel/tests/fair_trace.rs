//! Whole traces of the kernel's fair class on one CPU, replayed through a library: which task runs, every virtual time
//! after every step, what is asked for, and where there is a slice timer when it expires.
//!
//! The traces are those that the classes in Rust are held against (`crates/policies/tests/data`); they were printed by
//! the kernel's functions in another program, so what they test here is what stands around those functions. Those with
//! groups of several shapes and with slices of a task's own are left out: no run can ask a library for them.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test fails where it stands, and says why it does nothing"
)]

mod common;

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use serde_json::Value;
use simsched_core::testkit::{PolicyHost, WorldKit};
use simsched_core::{Dequeue, Dequeued, Enqueue, Preempt, SchedPolicy, TaskId, When};
use simsched_kernel::{KernelPolicy, KernelSettings, KernelTask};
use simsched_topology::{CpuId, Topology};

const CPU: CpuId = CpuId(0);

/// One CPU.
const MACHINE: &str = r#"
name = "test"
title = "a machine for tests"
costs = "x86"
[cores]
sockets = 1
llcs_per_socket = 1
cores_per_llc = 1
threads_per_core = 1
numbering = "smt_split"
[mode.test]
nodes_per_socket = 1
[c2c_ns]
smt = 10
same_llc = 25
same_socket = 100
cross_socket = 200
[[idle]]
name = "C1"
exit_us = 1
residency_us = 2
polling = true
"#;

/// The lines of a trace, of which the first is its header.
fn lines(file: &str) -> impl Iterator<Item = Value> {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../policies/tests/data");
    let file = File::open(data.join(format!("{file}.jsonl.gz"))).unwrap();
    let lines = BufReader::new(GzDecoder::new(file)).lines();
    lines.map(|line| serde_json::from_str(&line.unwrap()).unwrap())
}

struct Replay {
    host: PolicyHost<KernelPolicy>,
    /// 1: when the task returns to user mode, 2: at once.
    pending: i64,
    /// When the slice timer expires, on the clock of the trace; 0: it is not armed.
    expires: u64,
    now: u64,
    /// The names of the numbers of a task in a full dump.
    columns: Vec<String>,
}

impl Replay {
    fn new(file: &str, library: &Path) -> Replay {
        let mut kit = WorldKit::new(Topology::parse(MACHINE, "test.toml", None).unwrap(), 250);
        let mut steps = lines(file);
        let header = steps.next().unwrap();
        assert_eq!(header["groups"], "0 root", "a trace without groups");
        for step in steps.filter(|step| step["op"] == "fork") {
            let task = kit.add_task(i8::try_from(step["nice"].as_i64().unwrap()).unwrap());
            if step["policy"] == 5 {
                kit.task(task).policy = SchedPolicy::Idle;
            }
        }
        let mut features = Vec::new();
        if header["sysctl"]["hrtick"] == 0 {
            features.push("NO_HRTICK".to_owned());
        }
        let settings = KernelSettings { features, ..KernelSettings::default() };
        let host = PolicyHost::new(kit, KernelPolicy::new(library, settings));
        let dump = header["full_dump"].as_str().unwrap();
        let columns = dump.split("task = [").nth(1).unwrap().split(']').next().unwrap();
        let columns = columns.split(", ").map(str::to_owned).collect();
        Replay { host, pending: 0, expires: 0, now: 0, columns }
    }

    fn curr(&self) -> Option<TaskId> {
        self.host.kit.world().curr(CPU)
    }

    fn step(&mut self, step: &Value) {
        self.now = step["t"].as_u64().unwrap();
        self.host.kit.set_clock(self.now);
        let task = step["i"].as_u64().map(|task| TaskId(u32::try_from(task).unwrap()));
        match step["op"].as_str().unwrap() {
            "fork" => {
                self.host.task_fork(CPU, None, task.unwrap());
                self.queue(task.unwrap(), Enqueue::New);
            }
            "wake" if self.host.kit.world().task(task.unwrap()).on_rq => {
                self.queue(task.unwrap(), Enqueue::Delayed);
            }
            "wake" => {
                self.queue(task.unwrap(), Enqueue::Wakeup { migrated: false });
                self.host.task_woken(CPU);
            }
            "tick" => {
                if let Some(curr) = self.curr() {
                    let preempt = self.host.task_tick(CPU, curr);
                    self.note(preempt);
                }
            }
            "hrtick" => {
                assert_eq!(self.expires, self.now, "the timer of {step}");
                self.expires = 0;
                let timer = simsched_core::TimerId(0);
                self.host.timer(CPU, timer);
            }
            "yield" => self.host.yield_task(CPU, task.unwrap()),
            "sleep" => {
                let curr = self.curr().unwrap();
                assert_eq!(task, Some(curr));
                if self.host.dequeue(CPU, curr, Dequeue::Sleep) == Dequeued::Left {
                    self.host.kit.task(curr).on_rq = false;
                    self.count(-1);
                }
                self.schedule();
            }
            "resched" => self.schedule(),
            "nice" => {
                let nice = i8::try_from(step["nice"].as_i64().unwrap()).unwrap();
                self.host.kit.task(task.unwrap()).nice = nice;
                let preempt = self.host.reweight_task(task.unwrap());
                self.note(preempt);
            }
            op => panic!("{op}"),
        }
        self.settle();
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
        let level = match preempt {
            Preempt::No => 0,
            Preempt::Lazy => 1,
            Preempt::Hard => 2,
        };
        self.pending = self.pending.max(level);
        self.host.kit.set_need_resched(CPU, self.pending == 2);
        self.host.kit.set_need_resched_lazy(CPU, self.pending == 1);
    }

    /// Makes true what the last call has asked for.
    fn settle(&mut self) {
        while self.host.actions.next_resched().is_some() {
            self.note(Preempt::Hard);
        }
        while self.host.actions.next_resched_lazy().is_some() {
            self.note(Preempt::Lazy);
        }
        while let Some(task) = self.host.actions.next_blocked() {
            self.host.kit.task(task).on_rq = false;
            self.count(-1);
        }
        let boot = self.now - self.host.kit.world().now().0;
        while let Some((_, plan)) = self.host.actions.next_timer() {
            match plan {
                None => self.expires = 0,
                Some((_, When::Near(at))) => {
                    panic!("{at:?}, as another CPU asks, and there is none")
                }
                Some((_, When::At(at))) => self.expires = at.0 + boot,
                Some((_, When::AfterSchedule(delay))) => {
                    let at = self.now + delay.0;
                    if self.expires == 0 || self.expires.abs_diff(at) > When::NEAR.0 {
                        self.expires = at;
                    }
                }
            }
        }
        assert_eq!(self.host.actions.take_failed(), None);
    }

    fn schedule(&mut self) {
        let prev = self.curr();
        let next = self.host.pick_next(CPU, prev);
        self.settle();
        self.pending = 0;
        self.note(Preempt::No);
        if let (Some(prev), None) = (prev, next) {
            self.host.put_prev_task(CPU, prev);
        }
        self.host.kit.run_on(CPU, next);
        if next.is_none() {
            self.host.idle_entered(CPU);
        }
    }

    fn compare(&mut self, step: &Value) {
        let curr = self.curr().map_or(-1, |curr| i64::from(curr.0));
        assert_eq!(step["curr"], curr, "{step}");
        if let Some(timer) = step.get("ht") {
            assert_eq!(*timer, self.expires, "when the slice timer expires: {step}");
        }
        if let Some(pending) = step.get("rs") {
            assert_eq!(*pending, self.pending, "what is asked for: {step}");
        }
        let of = |nth: usize| self.host.policy.task(TaskId::new(nth));
        for (nth, vruntime) in step["v"].as_array().unwrap().iter().enumerate() {
            let found = of(nth).unwrap().vruntime;
            assert_eq!(bits(vruntime), found, "vruntime of task {nth}: {step}");
        }
        for (nth, dump) in step["task"].as_array().into_iter().flatten().enumerate() {
            let found = of(nth).unwrap();
            for (name, value) in self.columns.iter().zip(dump.as_array().unwrap()) {
                if let Some(kept) = named(&found, name) {
                    assert_eq!(bits(value), kept, "{name} of task {nth}: {step}");
                }
            }
        }
        let wrong = self.host.check(CPU);
        assert_eq!(wrong, Ok(()), "{step}");
    }
}

/// Signed and unsigned numbers, as the bits of the latter.
fn bits(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| value.as_i64().unwrap().cast_unsigned())
}

/// The number that a dump calls so, as far as a library tells it.
fn named(task: &KernelTask, name: &str) -> Option<u64> {
    Some(match name {
        "on_rq" => u64::from(task.on_rq),
        "vruntime" => task.vruntime,
        "sum_exec_runtime" => task.sum_exec_runtime,
        "load_avg" => task.load_avg,
        "runnable_avg" => task.runnable_avg,
        "util_avg" => task.util_avg,
        "deadline" => task.deadline,
        "sched_delayed" => u64::from(task.sched_delayed),
        _ => return None,
    })
}

/// Replays the traces of these numbers; how many steps they have.
fn check(version: &str, library: Option<PathBuf>, files: &[u32]) -> Option<usize> {
    let library = library?;
    let mut seen = 0;
    for file in files {
        let file = format!("{version}/fair_trace_{file}");
        let mut replay = Replay::new(&file, &library);
        for step in lines(&file).skip(1) {
            let is_due = replay.pending > 0;
            assert!(!is_due || step["op"] == "resched", "a reschedule is missing before {step}");
            replay.step(&step);
            replay.compare(&step);
            seen += 1;
        }
    }
    Some(seen)
}

#[test]
fn traces_of_6_1() {
    let seen = check("6.1", common::library("6.1"), &[0, 1, 4, 6]);
    assert!(seen.is_none_or(|steps| steps == 1204), "{seen:?}");
}

#[test]
fn traces_of_6_12() {
    let seen = check("6.12", common::library("6.12"), &[0, 1, 4]);
    assert!(seen.is_none_or(|steps| steps == 901), "{seen:?}");
}

/// Traces 8 and 9 have the slice timer and tasks that yield.
#[test]
fn traces_of_7_3() {
    let package = Path::new("/usr/src/linux-source-7.3.tar.xz");
    if !package.exists() {
        println!("skipped: there is no {}", package.display());
        return;
    }
    let seen = check("7.3", common::library("7.3"), &[0, 1, 4, 8, 9]);
    assert!(seen.is_none_or(|steps| steps == 1502), "{seen:?}");
}
