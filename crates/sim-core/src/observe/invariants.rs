//! `Invariants`: checks the world at the tracepoints of a run (tests, `--paranoid`).

use std::fmt;

use simsched_topology::{CpuId, CpuSet};

use super::life::{Event, Life};
use crate::ids::TaskId;
use crate::names::Cause;
use crate::observer::{Observer, Tracepoint};
use crate::time::{Nanos, SimTime};
use crate::world::{TaskState, World};

/// A rule that a run has broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// When.
    pub at: SimTime,
    /// What is wrong, in words.
    pub what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "broken invariant at {}: {}", self.at, self.what)
    }
}

/// Watches that a run keeps the rules, and remembers the first that it breaks.
///
/// At every tracepoint: each task follows the state machine of a task; time and the clocks of the
/// runqueue concerned do not run backwards nor ahead of the present; a CPU is charged for no more
/// time than has passed; who is queued or runs may do so on that CPU; a CPU goes idle only if
/// nothing is runnable there. At each switch, wakeup and first instruction also the whole machine,
/// on a large one at every few of them: no task is current twice, none is runnable and nowhere,
/// `nr_running` of each CPU counts its tasks, and the idle masks equal a recount.
/// At the end ([`Invariants::finish`]): each CPU was charged for all the time there was.
///
/// The policy's own rules are not seen here: `Report::check` knows them.
#[derive(Clone, Debug)]
pub struct Invariants {
    lives: Vec<Life>,
    cpus: Vec<Seen>,
    now: SimTime,
    /// By how much the CPUs' times may differ: less than this, in ns.
    quantum: u64,
    /// Tracepoints until the next look at the whole machine.
    countdown: usize,
    /// Room for a recount: runnable tasks by CPU.
    runnable: Vec<u32>,
    first: Option<Violation>,
}

/// What was last seen of one CPU.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    clock: u64,
    clock_task: u64,
    charged: Nanos,
}

/// A look at the whole machine may cost this many rows for each tracepoint, on average.
const ROWS_PER_TRACEPOINT: usize = 64;

impl Invariants {
    /// The rules for a run of `nr_tasks` tasks, none of them started, on `nr_cpus` CPUs.
    #[must_use]
    pub fn new(nr_cpus: usize, nr_tasks: usize) -> Invariants {
        Invariants {
            lives: vec![Life::NEW; nr_tasks],
            cpus: vec![Seen::default(); nr_cpus],
            now: SimTime::ZERO,
            quantum: 1,
            countdown: 0,
            runnable: vec![0; nr_cpus],
            first: None,
        }
    }

    /// The first rule that was broken, if any.
    #[must_use]
    pub fn violation(&self) -> Option<&Violation> {
        self.first.as_ref()
    }

    /// The last look: at the whole machine, and at the time that each CPU was charged for. To be
    /// called when the simulator has stopped and has charged all CPUs up to now.
    ///
    /// # Errors
    /// The first rule that was broken in the whole run.
    pub fn finish(&mut self, world: &World) -> Result<(), Violation> {
        let last = self.machine(world).and_then(|()| self.all_time_is_charged(world));
        self.note(world.now(), last);
        self.first.clone().map_or(Ok(()), Err)
    }

    fn note(&mut self, at: SimTime, checked: Result<(), String>) {
        if let Err(what) = checked
            && self.first.is_none()
        {
            self.first = Some(Violation { at, what });
        }
    }

    fn check(&mut self, world: &World, tracepoint: Tracepoint) -> Result<(), String> {
        self.quantum = u64::from(world.topology().costs().turn).max(1);
        let behind = self.now.since(world.now()).0;
        ensure(behind < self.quantum, || format!("time ran backwards from {}", self.now))?;
        self.now = self.now.max(world.now());
        match tracepoint {
            // A call that finds its task awake does nothing, and a new task is woken as a new one.
            Tracepoint::Waking { wakee, .. } => match world.task(wakee).state {
                TaskState::Sleeping => self.live(world, wakee, Event::Waking),
                _ => Ok(()),
            },
            Tracepoint::Wakeup { wakee, cpu, reason, .. } => {
                self.live(world, wakee, Event::Wakeup(reason))?;
                ensure(world.task(wakee).on_rq, || {
                    format!("{} is woken and not queued", name(world, wakee))
                })?;
                self.settled_on(world, wakee, cpu)?;
                self.machine_now_and_then(world)
            }
            Tracepoint::Switch { cpu, prev, next, preempted } => {
                self.switch(world, cpu, prev, next, preempted)?;
                self.machine_now_and_then(world)
            }
            Tracepoint::Running { cpu, task } => {
                self.live(world, task, Event::Executes)?;
                ensure(world.curr(cpu) == Some(task), || {
                    format!("{} executes on CPU {cpu} and is not current there", name(world, task))
                })?;
                self.clocks(world, cpu)?;
                self.machine_now_and_then(world)
            }
            Tracepoint::Migrate { task, to, cause, .. } => {
                let row = world.task(task);
                // A sleeper that is queued still is moved like any other that waits.
                let is_delayed = row.on_rq && row.state == TaskState::Sleeping;
                if !is_delayed || matches!(cause, Cause::Wakeup | Cause::Fork) {
                    self.live(world, task, Event::Migrate(cause))?;
                }
                allowed(world, task, to)
            }
            Tracepoint::Fork { child, .. } => self.live(world, child, Event::Fork),
            Tracepoint::Exit { task } => self.live(world, task, Event::Exit),
            Tracepoint::Charge { cpu, amount, .. } => self.charge(world, cpu, amount),
            Tracepoint::Stopper { cpu, begins } => stopper(world, cpu, begins),
            Tracepoint::Preferred { .. }
            | Tracepoint::CacheWork { .. }
            | Tracepoint::UtilAvg { .. }
            | Tracepoint::SetNeedResched { .. } => Ok(()),
            Tracepoint::Mark { task, .. } => self.live(world, task, Event::Executes),
        }
    }

    fn live(&mut self, world: &World, task: TaskId, event: Event) -> Result<(), String> {
        let life = &mut self.lives[task.idx()];
        if *life == Life::NEW && world.tasks().begins_asleep(task) {
            *life = Life::ASLEEP;
        }
        *life = life
            .after(event)
            .ok_or_else(|| format!("{} has {event:?} while it is {life:?}", name(world, task)))?;
        Ok(())
    }

    /// The rules of a switch from `prev` to `next`, which has just happened.
    fn switch(
        &mut self,
        world: &World,
        cpu: CpuId,
        prev: Option<TaskId>,
        next: Option<TaskId>,
        runnable: bool,
    ) -> Result<(), String> {
        ensure(prev.is_none() || prev != next, || {
            format!("CPU {cpu} switches from {prev:?} to the same")
        })?;
        if let Some(prev) = prev {
            self.live(world, prev, Event::SwitchOut { runnable })?;
        }
        ensure(world.curr(cpu) == next, || format!("CPU {cpu} did not switch to {next:?}"))?;
        match next {
            Some(next) => {
                self.live(world, next, Event::SwitchIn)?;
                self.settled_on(world, next, cpu)
            }
            None => {
                let idles = !world.rq(cpu).stopping;
                ensure(!idles || world.rq(cpu).nr_running == 0, || {
                    format!("CPU {cpu} goes idle with {} runnable tasks", world.rq(cpu).nr_running)
                })?;
                self.clocks(world, cpu)
            }
        }
    }

    /// `task` is where it is said to be, may be there, and the clocks there are right.
    fn settled_on(&mut self, world: &World, task: TaskId, cpu: CpuId) -> Result<(), String> {
        ensure(world.task(task).cpu == cpu, || {
            format!("{} is on CPU {} and not on CPU {cpu}", name(world, task), world.task(task).cpu)
        })?;
        // Who may not any more is moved by the stopper, which runs first.
        if !world.rq(cpu).stopper {
            allowed(world, task, cpu)?;
        }
        self.clocks(world, cpu)
    }

    fn clocks(&mut self, world: &World, cpu: CpuId) -> Result<(), String> {
        let (rq, seen) = (world.rq(cpu), &mut self.cpus[cpu.idx()]);
        ensure(seen.clock <= rq.clock && seen.clock_task <= rq.clock_task, || {
            format!("a clock of CPU {cpu} ran backwards")
        })?;
        ensure(rq.clock < world.sched_clock() + self.quantum, || {
            format!("CPU {cpu} is ahead of the present")
        })?;
        ensure(rq.clock_task <= rq.clock, || format!("clock_task of CPU {cpu} is ahead of clock"))?;
        (seen.clock, seen.clock_task) = (rq.clock, rq.clock_task);
        Ok(())
    }

    fn charge(&mut self, world: &World, cpu: CpuId, amount: Nanos) -> Result<(), String> {
        let charged = &mut self.cpus[cpu.idx()].charged;
        *charged += amount;
        ensure(charged.get() < world.now().get() + self.quantum, || {
            format!("CPU {cpu} was charged for {charged}, more than has passed")
        })
    }

    fn all_time_is_charged(&self, world: &World) -> Result<(), String> {
        for cpu in world.topology().cpus().iter() {
            let charged = self.cpus[cpu.idx()].charged;
            ensure(charged.get() == world.now().get(), || {
                format!("CPU {cpu} was charged for {charged} of {}", world.now())
            })?;
        }
        Ok(())
    }

    fn machine_now_and_then(&mut self, world: &World) -> Result<(), String> {
        if self.countdown > 0 {
            self.countdown -= 1;
            return Ok(());
        }
        self.countdown = (self.lives.len() + self.cpus.len()) / ROWS_PER_TRACEPOINT;
        self.machine(world)
    }

    /// The whole machine.
    fn machine(&mut self, world: &World) -> Result<(), String> {
        self.tasks(world)?;
        let mut idle = CpuSet::new();
        for cpu in world.topology().cpus().iter() {
            self.runqueue(world, cpu)?;
            if world.rq(cpu).is_idle() {
                idle.insert(cpu);
            }
        }
        ensure(*world.idle() == idle, || format!("idle is {}, not {idle}", world.idle()))?;
        for cpu in world.topology().cpus().iter() {
            let is = world.topology().smt_mask(cpu).is_subset(&idle);
            ensure(world.idle_cores().contains(cpu) == is, || {
                format!("whether the core of CPU {cpu} is idle should be {is}")
            })?;
        }
        Ok(())
    }

    /// Recounts the runnable tasks of each CPU, without those that are throttled; none is runnable and nowhere.
    fn tasks(&mut self, world: &World) -> Result<(), String> {
        self.runnable.fill(0);
        for task in (0..world.tasks().len()).map(TaskId::new) {
            let row = world.task(task);
            self.runnable[row.cpu.idx()] += u32::from(row.on_rq && !row.throttled);
            let lost = row.state == TaskState::Running && !row.on_rq;
            ensure(!lost, || {
                format!("{} is lost: runnable and on no runqueue", name(world, task))
            })?;
        }
        Ok(())
    }

    /// The current task is here and so on no other CPU, and the count of runnable tasks is right.
    fn runqueue(&mut self, world: &World, cpu: CpuId) -> Result<(), String> {
        self.clocks(world, cpu)?;
        let (rq, counted) = (world.rq(cpu), self.runnable[cpu.idx()]);
        let others = u32::from(rq.stopper) + u32::from(rq.leaving);
        ensure(rq.nr_running == counted + others, || {
            format!("nr_running of CPU {cpu} is {}, and {counted} tasks are there", rq.nr_running)
        })?;
        let Some(curr) = rq.curr else { return Ok(()) };
        ensure(world.task(curr).cpu == cpu, || {
            let other = world.task(curr).cpu;
            format!("{} is current on CPU {cpu} and belongs to CPU {other}", name(world, curr))
        })
    }
}

impl Observer for Invariants {
    fn on(&mut self, world: &World, tracepoint: Tracepoint) {
        if self.first.is_none() {
            let checked = self.check(world, tracepoint);
            self.note(world.now(), checked);
        }
    }
}

/// The stopper runs in place of a task, and only as long as it is runnable.
fn stopper(world: &World, cpu: CpuId, begins: bool) -> Result<(), String> {
    let rq = world.rq(cpu);
    ensure(!begins || (rq.stopping && rq.stopper && rq.curr.is_none()), || {
        format!("the stopper of CPU {cpu} begins beside {:?}", rq.curr)
    })
}

fn ensure(holds: bool, what: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(what()) }
}

fn allowed(world: &World, task: TaskId, cpu: CpuId) -> Result<(), String> {
    ensure(world.is_allowed(task, cpu), || {
        format!("{} may not run on CPU {cpu}", name(world, task))
    })
}

fn name(world: &World, task: TaskId) -> String {
    format!("task {task} ({})", world.tasks().name(task))
}

#[cfg(test)]
mod tests;
