//! A toy machine around a library: constant costs, ticks of all CPUs at one instant, tasks that only compute.
//!
//! It drives whole calls of the kernel's core (`__schedule()`, `sched_tick()`, softirqs, stoppers), for the test that
//! ends a build. A simulation asks the scheduling class only and has a core of its own.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::path::Path;

use crate::error::KernelError;
use crate::sys::{Loaded, RawEvent, RawMachine, Stub};

/// The machine: CPUs in threads, cores, LLCs and nodes of equal size, numbered one behind the other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) cpus: usize,
    pub(crate) smt: usize,
    pub(crate) per_llc: usize,
    pub(crate) nodes: usize,
}

/// From an interrupt's sending to its handler, in ns.
const INTERRUPT: u64 = 1_000;
/// From a flag's setting to its being seen by a CPU that polls, in ns.
const POLL: u64 = 500;
/// More reschedules than this at one instant are a loop.
const AT_ONCE: usize = 100;

/// Numbers of `simsched_kernel.h`: who runs on a CPU,
const IDLE: i32 = -1;
const STOPPER: i32 = -2;
/// what a call returns behind a BUG,
const DEAD: i32 = -1000;
/// and how `schedule()` is called.
const PREEMPT: i32 = 0;
const SLEEP: i32 = 1;
const EXIT: i32 = 2;
const FROM_IDLE: i32 = 3;

/// What happens at an instant on a CPU, in the order in which it is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Happens {
    Tick,
    Resched,
    Calls,
    Softirq,
    Timer(i32),
}

/// A library on a machine.
pub(crate) struct Host {
    library: Loaded,
    release: String,
    shape: Shape,
    now: u64,
    tick: u64,
    /// What is to happen: when, in which order it was asked for, where and what.
    agenda: BinaryHeap<Reverse<(u64, u64, usize, Happens)>>,
    asked: u64,
    idle: Vec<bool>,
    events: Vec<RawEvent>,
    process: i32,
    pub(crate) switches: u64,
}

impl Host {
    /// Makes the machine of a private copy of the library.
    ///
    /// # Errors
    /// When the file is no library, or the kernel's code says that something is wrong.
    pub(crate) fn new(library: &Path, shape: Shape, seed: u64) -> Result<Host, KernelError> {
        let mut library = Loaded::open(library)?;
        let of = |size: usize| -> Vec<i32> {
            (0..shape.cpus).map(|cpu| i32::try_from(cpu / size).expect("few CPUs")).collect()
        };
        let (core, llc, node) = (of(shape.smt), of(shape.per_llc), of(shape.cpus / shape.nodes));
        let distance: Vec<i32> = (0..shape.nodes * shape.nodes)
            .map(|at| if at % shape.nodes == at / shape.nodes { 10 } else { 20 })
            .collect();
        let machine = RawMachine {
            nodes: shape.nodes,
            smt: shape.smt,
            reclaim: 0,
            parts: false,
            core: &core,
            llc: &llc,
            node: &node,
            distance: &distance,
        };
        let made = library.create(&machine, seed);
        let mut host = Host {
            release: library.release(),
            library,
            shape,
            now: 0,
            tick: 0,
            agenda: BinaryHeap::new(),
            asked: 0,
            idle: vec![true; shape.cpus],
            events: Vec::new(),
            process: 0,
            switches: 0,
        };
        host.judged(made)?;
        let hz = u64::try_from(host.library.hz()).unwrap_or(0);
        host.tick = 1_000_000_000 / hz.clamp(100, 1000);
        host.process = host.library.proc_new();
        for cpu in 0..shape.cpus {
            host.enter_idle(cpu)?;
            host.at(0, cpu, Happens::Tick);
        }
        Ok(host)
    }

    /// A task that computes for ever, forked by who runs on `cpu`; on `pinned`, if that is given, else anywhere.
    pub(crate) fn fork(&mut self, cpu: usize, pinned: Option<usize>) -> Result<i32, KernelError> {
        let at = number(cpu);
        let task = self.library.fork(at, self.process, 0, 0, 0);
        self.judged(task)?;
        if let Some(pinned) = pinned {
            let mask: Vec<u64> = (0..self.shape.cpus.div_ceil(64))
                .map(|word| if pinned / 64 == word { 1 << (pinned % 64) } else { 0 })
                .collect();
            let set = self.library.affinity(at, task, &mask);
            self.judged(set)?;
        }
        let woken = self.library.wake_new(at, task);
        self.judged(woken)?;
        self.reschedule(cpu)?;
        Ok(task)
    }

    /// The task that runs on its CPU ends.
    pub(crate) fn end(&mut self, task: i32) -> Result<(), KernelError> {
        let cpu = self.cpu_of(task);
        self.schedule(cpu, EXIT)
    }

    /// Lets time pass until `until`, in ns.
    pub(crate) fn run(&mut self, until: u64) -> Result<(), KernelError> {
        while self.agenda.peek().is_some_and(|Reverse((at, ..))| *at <= until) {
            let Some(Reverse((at, _, cpu, what))) = self.agenda.pop() else { break };
            self.passed(at)?;
            self.happens(cpu, what)?;
            self.reschedule(cpu)?;
        }
        self.passed(until)
    }

    /// Lets time pass until the task runs; false if it does not within a second.
    pub(crate) fn run_until_current(&mut self, task: i32) -> Result<bool, KernelError> {
        let last = self.now + 1_000_000_000;
        while self.now < last {
            let cpu = number(self.cpu_of(task));
            if self.library.curr(cpu) == task {
                return Ok(true);
            }
            self.run(self.now + 100_000)?;
        }
        Ok(false)
    }

    pub(crate) fn now(&self) -> u64 {
        self.now
    }

    pub(crate) fn cpu_of(&mut self, task: i32) -> usize {
        usize::try_from(self.library.task_cpu(task)).unwrap_or(0).min(self.shape.cpus - 1)
    }

    /// How long the task has run, in ns.
    pub(crate) fn runtime(&mut self, task: i32) -> u64 {
        self.library.runtime(task)
    }

    /// Functions that nobody has.
    pub(crate) fn stubs(&mut self) -> Vec<Stub> {
        self.library.stubs()
    }

    fn at(&mut self, when: u64, cpu: usize, what: Happens) {
        self.asked += 1;
        self.agenda.push(Reverse((when, self.asked, cpu, what)));
    }

    fn passed(&mut self, now: u64) -> Result<(), KernelError> {
        self.now = now;
        let told = self.library.time(now, now / self.tick);
        self.judged(told)
    }

    fn happens(&mut self, cpu: usize, what: Happens) -> Result<(), KernelError> {
        let at = number(cpu);
        let done = match what {
            Happens::Tick => {
                self.at(self.now + self.tick, cpu, Happens::Tick);
                // The tick of an idle CPU is stopped.
                if self.idle[cpu] {
                    return Ok(());
                }
                self.library.tick(at)
            }
            Happens::Resched => return Ok(()),
            Happens::Calls => self.library.calls(at),
            Happens::Softirq => self.library.softirq(at),
            Happens::Timer(timer) => self.library.timer(at, timer),
        };
        self.judged(done)
    }

    /// Calls `schedule()` on the CPU as long as that is asked for.
    fn reschedule(&mut self, cpu: usize) -> Result<(), KernelError> {
        let at = number(cpu);
        for _ in 0..AT_ONCE {
            if self.library.resched(at) <= 0 {
                return Ok(());
            }
            if !self.idle[cpu] {
                self.schedule(cpu, PREEMPT)?;
                continue;
            }
            let left = self.library.idle_exit(at);
            self.judged(left)?;
            let done = self.library.calls(at);
            self.judged(done)?;
            self.schedule(cpu, FROM_IDLE)?;
        }
        Err(self.failed(format!("found {AT_ONCE} reschedules of CPU {cpu} at one instant")))
    }

    /// `schedule()`, with what a stopper that it gives has to do.
    fn schedule(&mut self, cpu: usize, how: i32) -> Result<(), KernelError> {
        let at = number(cpu);
        let mut next = self.library.schedule(at, how);
        self.judged(next)?;
        while next == STOPPER {
            while self.stopped(at)? > 0 {}
            next = self.library.schedule(at, SLEEP);
            self.judged(next)?;
        }
        self.idle[cpu] = next == IDLE;
        if next == IDLE { self.enter_idle(cpu) } else { Ok(()) }
    }

    /// The stopper does one work; how many are left.
    fn stopped(&mut self, at: i32) -> Result<i32, KernelError> {
        let left = self.library.stop(at);
        self.judged(left)?;
        Ok(left)
    }

    fn enter_idle(&mut self, cpu: usize) -> Result<(), KernelError> {
        let entered = self.library.idle_enter(number(cpu), 1, 1);
        self.judged(entered)
    }

    /// Plans what the call that returned this has asked for.
    fn judged(&mut self, returned: i32) -> Result<(), KernelError> {
        let said = self.library.take_error();
        if !said.is_empty() {
            return Err(KernelError::Said { release: self.release.clone(), said });
        }
        if returned < 0 && ![IDLE, STOPPER].contains(&returned) || returned == DEAD {
            return Err(self.failed(format!("found the error {returned} of a call")));
        }
        let mut events = std::mem::take(&mut self.events);
        self.library.take_events(&mut events);
        for event in &events {
            self.plan(*event);
        }
        self.events = events;
        Ok(())
    }

    fn plan(&mut self, event: RawEvent) {
        let cpu = usize::try_from(event.cpu).unwrap_or(0).min(self.shape.cpus - 1);
        // The kinds of `enum simsched_k_event_kind`; the others change nothing here.
        match event.kind {
            1 | 5 => self.at(self.now + INTERRUPT, cpu, Happens::Resched),
            2 => self.at(self.now + INTERRUPT, cpu, Happens::Calls),
            3 => self.at(self.now + POLL, cpu, Happens::Resched),
            4 => self.at(self.now, cpu, Happens::Softirq),
            6 => self.at(self.now.max(event.when), cpu, Happens::Timer(event.arg)),
            9 => self.switches += 1,
            _ => {}
        }
    }

    pub(crate) fn failed(&self, what: String) -> KernelError {
        KernelError::Smoke { release: self.release.clone(), what }
    }
}

fn number(cpu: usize) -> i32 {
    i32::try_from(cpu).expect("few CPUs")
}
