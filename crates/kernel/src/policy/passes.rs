//! The passes of the load balancer, as calls of the library that are suspended where time passes.
//!
//! Such a call waits before it reads a domain, before it locks a runqueue, and behind the attaching of tasks. Each of
//! these is a step; the call goes on when the simulation asks for the next one, behind the time of the step.

use std::collections::VecDeque;

use rand::Rng;
use simsched_core::{BalanceStep, Cause, Cx, Look, Moves, Preempt, Stream, TaskId, Trigger, World};
use simsched_policies::fair::{GROUP_LEVEL, look_at, look_at_all};
use simsched_topology::CpuId;

use super::report::set_of;
use super::slices::START_SLICE;
use super::{Kernel, event, placement, walked};
use crate::library::{Answer, Library, answer_of, done, number};

/// Numbers of `simsched_kernel.h`: where a call may wait,
const AT_LOCK: u32 = 1;
const AT_CLOCK: u32 = 2;
const AT_PASS: u32 = 8;
/// where it does,
const DONE: i32 = 0;
const WAITS_LOCK: i32 = 1;
const WAITS_CLOCK: i32 = 2;
const WAITS_PASS: i32 = 6;
const WAITS_ACTED: i32 = 7;
/// and which call it is.
const SOFTIRQ: i32 = 5;
const STOP: i32 = 7;
pub(super) const IDLE_ENTER: i32 = 10;
const NEWIDLE: i32 = 14;

/// How many random numbers wait for a balance before idle: one for each domain of a CPU, and there are fewer.
const DRAWS: i32 = 16;

/// Where a pass is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum At {
    /// None is under way.
    #[default]
    Nowhere,
    /// Before it reads the CPUs of a domain, or one.
    Look,
    /// Before it locks this runqueue.
    Lock(CpuId),
    /// It has detached tasks, and attaches them when they are enqueued.
    Detached,
    /// Where no time passes any more: it goes on when it is asked to.
    Ready,
    /// It is over.
    Over,
}

/// What a pass has done since it was resumed last.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Did {
    Moved { tasks: Vec<TaskId>, from: CpuId, to: CpuId },
    Stopped { from: CpuId },
}

/// The pass of one CPU.
#[derive(Clone, Debug)]
struct Pass {
    at: At,
    cause: Cause,
    did: VecDeque<Did>,
    /// The runqueue whose clock is to be brought to the present before it goes on.
    locks: Option<CpuId>,
    /// Where it attaches tasks now, whose preemption is asked for apart.
    attaching: Option<CpuId>,
    /// Tasks that are on their way.
    moving: Vec<TaskId>,
    /// Those of them that the kernel has attached, and are to be enqueued still.
    attached: Vec<TaskId>,
    /// The task that was enqueued last, and whether any of those attached preempts.
    last: Option<TaskId>,
    preempts: Preempt,
}

/// The passes of all CPUs; the number of a CPU is that of its suspended call.
#[derive(Clone, Debug)]
pub(super) struct Passes {
    by_cpu: Vec<Pass>,
    words: Vec<u64>,
    /// By CPU: the random numbers of its balances before idle.
    randoms: Vec<Stream>,
}

impl Passes {
    /// None.
    pub(super) fn new(library: &mut Library, world: &World) -> Passes {
        let cpus = world.topology().nr_cpus();
        library.class.suspend_at(AT_LOCK | AT_CLOCK | AT_PASS);
        let none = Pass {
            at: At::Nowhere,
            cause: Cause::Periodic,
            did: VecDeque::new(),
            locks: None,
            attaching: None,
            moving: Vec::new(),
            attached: Vec::new(),
            last: None,
            preempts: Preempt::No,
        };
        let cpus_of = world.topology().cpus().iter();
        let randoms =
            cpus_of.map(|cpu| world.seed().stream("NI_RANDOM", u64::from(cpu.0))).collect();
        Passes { by_cpu: vec![none; cpus], words: vec![0; cpus.div_ceil(64)], randoms }
    }

    /// Whether `wakee`, which the pass of `this` has attached and which was enqueued last, preempts; none if it came
    /// otherwise.
    pub(super) fn attached(&mut self, this: CpuId, wakee: TaskId) -> Option<Preempt> {
        let pass = &mut self.by_cpu[this.idx()];
        (pass.last.take()? == wakee).then(|| std::mem::replace(&mut pass.preempts, Preempt::No))
    }
}

impl Kernel {
    /// A balance of `cpu` before it becomes idle begins, and whether it takes time. It draws a number for each domain.
    pub(super) fn newidle(&mut self, cx: &mut Cx<'_>, cpu: CpuId) -> Answer<bool> {
        for _ in self.library.class.randoms(number(cpu))..DRAWS {
            let drawn = self.passes.randoms[cpu.idx()].next_u32();
            self.library.class.random(number(cpu), drawn);
        }
        self.begin(cx, cpu, NEWIDLE, Cause::NewIdle)
    }

    /// Begins a pass on `cpu`, and whether it takes time.
    pub(super) fn begin(
        &mut self,
        cx: &mut Cx<'_>,
        cpu: CpuId,
        call: i32,
        cause: Cause,
    ) -> Answer<bool> {
        self.take_events(cx)?;
        let pass = &mut self.passes.by_cpu[cpu.idx()];
        if pass.at != At::Nowhere {
            return Err(format!("a pass begins on CPU {cpu}, where one is under way"));
        }
        pass.cause = cause;
        self.library.all_idleness(cx.world)?;
        self.library.affinities(cx.world)?;
        self.library.have_left(cx.world)?;
        self.library.clock(cx.world, cpu)?;
        self.library.flag(cx.world, cpu)?;
        let waits = self.library.class.start(number(cpu), call, number(cpu));
        self.arrived(cx, cpu, waits)?;
        let pass = &mut self.passes.by_cpu[cpu.idx()];
        if pass.at == At::Over {
            pass.at = At::Nowhere;
            return Ok(false);
        }
        Ok(true)
    }

    /// The pass of `cpu` goes on.
    fn resume(&mut self, cx: &mut Cx<'_>, cpu: CpuId) -> Answer {
        // What others have asked for meanwhile.
        self.take_events(cx)?;
        self.library.all_idleness(cx.world)?;
        self.library.affinities(cx.world)?;
        self.library.have_left(cx.world)?;
        self.library.flag(cx.world, cpu)?;
        let locked = self.passes.by_cpu[cpu.idx()].locks.take();
        match locked {
            Some(locked) => {
                self.library.flag(cx.world, locked)?;
                self.library.clock(cx.world, locked)?;
            }
            None => self.library.present(cx.world)?,
        }
        let before = locked.map(|locked| self.library.class.resched(number(locked)));
        let waits = self.library.class.resume(number(cpu));
        // No interrupt tells of a lazy request to the queue from which a task was taken.
        if let (Some(locked), Some(0)) = (locked, before)
            && self.library.class.resched(number(locked)) == 1
            && self.passes.by_cpu[cpu.idx()].attaching != Some(locked)
        {
            cx.resched_lazy(locked);
        }
        self.arrived(cx, cpu, waits)
    }

    /// The pass of `cpu` waits, or is over: what it has done until then, and where it is.
    fn arrived(&mut self, cx: &mut Cx<'_>, cpu: CpuId, waits: i32) -> Answer {
        done("pass", waits)?;
        self.take_events(cx)?;
        let pass = &mut self.passes.by_cpu[cpu.idx()];
        let mut moved: Option<(Vec<TaskId>, CpuId, CpuId)> = None;
        for event in &self.events {
            match event.kind {
                event::MIGRATE => {
                    let gone = || format!("task {} moves, and never came", event.task);
                    let task = self.library.task_of(event.task).ok_or_else(gone)?;
                    let [from, to] = [event.cpu, event.arg].map(cpu_of);
                    match &mut moved {
                        None => moved = Some((vec![task], from, to)),
                        Some((tasks, ..)) => tasks.push(task),
                    }
                    self.library.moved(task, to);
                }
                // The current task of a queue from which a task was taken is rescheduled.
                event::IPI if pass.attaching != Some(cpu_of(event.cpu)) => {
                    cx.resched(cpu_of(event.cpu));
                }
                event::STOP => pass.did.push_back(Did::Stopped { from: cpu_of(event.cpu) }),
                event::CALL | event::POLL if self.slices.are_used() => {
                    cx.call_on(cpu_of(event.cpu), START_SLICE);
                }
                event::CALL | event::POLL | event::SOFTIRQ => {
                    return Err(format!("a pass on CPU {cpu} asks for event {}", event.kind));
                }
                _ => {}
            }
        }
        pass.at = match waits {
            DONE => At::Over,
            WAITS_LOCK if moved.is_some() => At::Detached,
            WAITS_LOCK => At::Lock(cpu_of(self.library.class.slot_cpu(number(cpu)))),
            WAITS_PASS => At::Look,
            WAITS_CLOCK | WAITS_ACTED => At::Ready,
            _ => return Err(format!("a pass on CPU {cpu} waits for another one")),
        };
        if let Some((tasks, from, to)) = moved {
            tasks.iter().for_each(|&task| walked(&self.library, cx, task, GROUP_LEVEL));
            if pass.at != At::Detached {
                return Err(format!("a pass on CPU {cpu} moves tasks and does not attach them"));
            }
            pass.moving.clone_from(&tasks);
            pass.did.push_back(Did::Moved { tasks, from, to });
        }
        Ok(())
    }

    /// Whether a pass of this CPU has moved `task` to `cpu`: then it attaches it now, with all that have come with it.
    pub(super) fn attaches(&mut self, cx: &mut Cx<'_>, cpu: CpuId, task: TaskId) -> Answer<bool> {
        let this = cx.world.this_cpu();
        let pass = &mut self.passes.by_cpu[this.idx()];
        if pass.at == At::Detached && pass.moving.contains(&task) {
            pass.attached = std::mem::take(&mut pass.moving);
            pass.locks = Some(cpu);
            pass.attaching = Some(cpu);
            self.library.flag(cx.world, cpu)?;
            let before = self.library.class.resched(number(cpu));
            self.resume(cx, this)?;
            let after = self.library.class.resched(number(cpu));
            let pass = &mut self.passes.by_cpu[this.idx()];
            pass.attaching = None;
            pass.preempts = answer_of(if after > before { after } else { 0 });
            if pass.cause == Cause::Active {
                self.finish(cx, this)?;
            }
        }
        let pass = &mut self.passes.by_cpu[this.idx()];
        let Some(at) = pass.attached.iter().position(|&moved| moved == task) else {
            // Who comes otherwise is asked whether it preempts, as all are; so is who came before and comes again.
            pass.last = None;
            return Ok(false);
        };
        pass.attached.swap_remove(at);
        pass.last = Some(task);
        Ok(true)
    }

    /// The stopper of `cpu` goes on to where it moves a task, or to its end.
    fn finish(&mut self, cx: &mut Cx<'_>, cpu: CpuId) -> Answer {
        loop {
            let pass = &mut self.passes.by_cpu[cpu.idx()];
            match pass.at {
                At::Detached => return Ok(()),
                At::Over | At::Nowhere => {
                    pass.at = At::Nowhere;
                    return Ok(());
                }
                At::Lock(locked) => pass.locks = Some(locked),
                At::Look | At::Ready => {}
            }
            self.resume(cx, cpu)?;
        }
    }

    /// The next step of the pass of `cpu`.
    pub(super) fn step(
        &mut self,
        cx: &mut Cx<'_>,
        cpu: CpuId,
        moves: &mut Moves,
    ) -> Answer<BalanceStep> {
        loop {
            let pass = &mut self.passes.by_cpu[cpu.idx()];
            match pass.did.pop_front() {
                Some(Did::Moved { tasks, from, to }) => {
                    fill(moves, tasks, from, to, pass.cause);
                    return Ok(BalanceStep::Move);
                }
                Some(Did::Stopped { from }) => return Ok(BalanceStep::Stop { from }),
                None => {}
            }
            match pass.at {
                At::Nowhere => return Ok(BalanceStep::Done),
                At::Over => {
                    pass.at = At::Nowhere;
                    return Ok(BalanceStep::Done);
                }
                At::Lock(locked) => {
                    pass.at = At::Ready;
                    pass.locks = Some(locked);
                    return Ok(BalanceStep::Lock(locked));
                }
                At::Look => {
                    pass.at = At::Ready;
                    return Ok(BalanceStep::Look(self.look(cx.world, cpu)));
                }
                At::Detached => {
                    return Err(format!("CPU {cpu} has moved tasks that nobody attached"));
                }
                At::Ready => self.resume(cx, cpu)?,
            }
        }
    }

    /// What the pass of `cpu` is about to read.
    fn look(&mut self, world: &World, cpu: CpuId) -> Look {
        let words = &mut self.passes.words;
        words.fill(0);
        match usize::try_from(self.library.class.look(number(cpu), words)) {
            Ok(groups @ 1..) => look_at_all(world, cpu, &set_of(words), groups),
            _ => look_at(world, cpu, cpu_of(self.library.class.slot_cpu(number(cpu)))),
        }
    }

    /// The balance softirq begins: for the idle CPUs if it looks at one of them first.
    pub(super) fn softirq(&mut self, cx: &mut Cx<'_>, cpu: CpuId) -> Answer {
        self.begin(cx, cpu, SOFTIRQ, Cause::Periodic)?;
        let pass = &mut self.passes.by_cpu[cpu.idx()];
        if pass.at == At::Look {
            pass.cause = Cause::Nohz;
        }
        Ok(())
    }

    /// What a tick of `cpu` asks for.
    pub(super) fn trigger(&mut self, cx: &mut Cx<'_>, cpu: CpuId) -> Answer<Trigger> {
        self.take_events(cx)?;
        self.library.all_idleness(cx.world)?;
        self.library.clock(cx.world, cpu)?;
        done("trigger", self.library.class.trigger(number(cpu)))?;
        let events = self.take_events(cx)?;
        let kick = events.iter().find(|event| matches!(event.kind, event::CALL | event::POLL));
        Ok(Trigger {
            softirq: events.iter().any(|event| event.kind == event::SOFTIRQ),
            kick: kick.map(|event| cpu_of(event.cpu)),
        })
    }

    /// The stopper of `cpu` moves at most one task.
    pub(super) fn stop(&mut self, cx: &mut Cx<'_>, cpu: CpuId, moves: &mut Moves) -> Answer {
        self.begin(cx, cpu, STOP, Cause::Active)?;
        self.finish(cx, cpu)?;
        match self.passes.by_cpu[cpu.idx()].did.pop_front() {
            Some(Did::Moved { tasks, from, to }) => fill(moves, tasks, from, to, Cause::Active),
            Some(Did::Stopped { .. }) => return Err("a stopper calls for a stopper".to_owned()),
            None => {}
        }
        Ok(())
    }
}

fn fill(moves: &mut Moves, tasks: Vec<TaskId>, from: CpuId, to: CpuId, cause: Cause) {
    moves.tasks.clear();
    moves.tasks.extend(tasks);
    (moves.from, moves.to, moves.cause, moves.reason) = (from, to, cause, placement::BALANCE);
}

pub(super) fn cpu_of(cpu: i32) -> CpuId {
    CpuId(u16::try_from(cpu).unwrap_or(0))
}
