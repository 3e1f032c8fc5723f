//! `WantedBalancer`: what a test wants [`super::RoundRobin`] to balance, and what it was asked.

use std::collections::VecDeque;

use simsched_topology::CpuId;

use crate::ids::TaskId;
use crate::names::{Cause, NO_DOMAIN, Reason};
use crate::policy::{BalanceStep, Far, Look, Moves, Trigger};
use crate::time::SimTime;
use crate::world::World;

/// Where a pass begins, or where a balancer is told something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In the softirq after a tick or a kick.
    Softirq,
    /// In `schedule()`.
    NewlyIdle,
    /// In the idle loop.
    IdleLoop,
    /// No pass: the interrupt of a kick.
    Kick,
    /// No pass: the tick of an idle CPU has been stopped.
    TickStopped,
}

/// One step of a pass that a test wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// This step.
    Step(BalanceStep),
    /// Move tasks that wait, from the tail of their queue, as many as there are; never the last.
    Pull {
        /// Where they wait.
        from: CpuId,
        /// Where they go.
        to: CpuId,
        /// How many at most.
        tasks: usize,
    },
    /// Move tasks whether they wait or not.
    Force {
        /// Where it is.
        from: CpuId,
        /// Where it goes.
        to: CpuId,
        /// Who.
        task: TaskId,
    },
}

/// A pass that a test wants, once.
#[derive(Clone, Debug)]
pub struct WantedPass {
    /// Where it begins.
    pub place: Place,
    /// On which CPU.
    pub cpu: CpuId,
    /// From when on.
    pub from: SimTime,
    /// What it does.
    pub steps: Vec<Wanted>,
}

/// A balancer that does what a test wants, or pulls wherever it can.
#[derive(Clone, Debug, Default)]
pub struct WantedBalancer {
    /// What the test wants.
    pub passes: Vec<WantedPass>,
    /// Kicks that the test wants: from when on, by the tick of which CPU, of which CPU.
    pub kicks: Vec<(SimTime, CpuId, CpuId)>,
    /// Where the stopper of a CPU pushes a task.
    pub push: Vec<(CpuId, CpuId)>,
    /// Whether it pulls wherever it can, and kicks, pushes and looks around as well.
    pub greedy: bool,
    /// When it was asked, on which CPU.
    pub asked: Vec<(SimTime, Place, CpuId)>,
    /// By CPU: what is left of its pass, and who begins it.
    steps: Vec<(Place, VecDeque<Wanted>)>,
}

/// The price of a greedy look.
const LOOK: Look =
    Look { cpus: 16, far: Far { same_core: 0, same_socket: 4, cross_socket: 8 }, groups: 4 };

impl WantedBalancer {
    pub(super) fn attach(&mut self, world: &World) {
        self.steps = vec![(Place::Softirq, VecDeque::new()); world.topology().nr_cpus()];
    }

    /// Notes the question.
    pub(super) fn ask(&mut self, world: &World, place: Place, cpu: CpuId) {
        if !self.greedy {
            self.asked.push((world.now(), place, cpu));
        }
    }

    /// Whether a pass begins; if so it is under way.
    pub(super) fn begin(&mut self, world: &World, place: Place, cpu: CpuId) -> bool {
        self.ask(world, place, cpu);
        let steps = if self.greedy {
            self.greedy_steps(world, place, cpu)
        } else {
            self.due(world, place, cpu).map(|idx| self.passes.remove(idx).steps)
        };
        let begins = steps.is_some();
        if let Some(steps) = steps {
            self.steps[cpu.idx()] = (place, steps.into());
        }
        begins
    }

    fn due(&self, world: &World, place: Place, cpu: CpuId) -> Option<usize> {
        let due = |p: &WantedPass| p.place == place && p.cpu == cpu && p.from <= world.now();
        self.passes.iter().position(due)
    }

    pub(super) fn tick(&mut self, world: &World, cpu: CpuId) -> Trigger {
        if self.greedy {
            let many = world.rq(cpu).nr_tasks() > 1;
            let idle = many.then(|| world.idle().next_wrap(cpu)).flatten();
            return Trigger { softirq: true, kick: idle };
        }
        let due = |kick: &(SimTime, CpuId, CpuId)| kick.1 == cpu && kick.0 <= world.now();
        let kick = self.kicks.iter().position(due).map(|idx| self.kicks.remove(idx).2);
        Trigger { softirq: self.due(world, Place::Softirq, cpu).is_some(), kick }
    }

    /// Looks for the longest queue; in every fourth jiffy its stopper is to push as well.
    fn greedy_steps(&mut self, world: &World, place: Place, cpu: CpuId) -> Option<Vec<Wanted>> {
        let look = Wanted::Step(BalanceStep::Look(LOOK));
        if place == Place::IdleLoop {
            return Some(vec![look; 3]);
        }
        let waiting = |other: &CpuId| world.rq(*other).nr_tasks();
        let from = world.topology().cpus().iter().max_by_key(waiting).filter(|from| *from != cpu);
        let Some(from) = from.filter(|from| waiting(from) > u32::from(place != Place::Softirq))
        else {
            return (place == Place::Softirq).then(|| vec![look]);
        };
        let pull =
            Wanted::Pull { from, to: cpu, tasks: if world.jiffies() & 1 == 0 { 1 } else { 3 } };
        let mut steps = vec![look, Wanted::Step(BalanceStep::Lock(from)), pull];
        if place == Place::Softirq && world.jiffies().is_multiple_of(4) {
            self.push.push((from, cpu));
            steps.push(Wanted::Step(BalanceStep::Stop { from }));
        }
        Some(steps)
    }

    /// The next step of the pass on `cpu`.
    pub(super) fn step(
        &mut self,
        world: &World,
        cpu: CpuId,
        queues: &mut [VecDeque<TaskId>],
        moves: &mut Moves,
    ) -> BalanceStep {
        while let Some(wanted) = self.steps[cpu.idx()].1.pop_front() {
            let (from, to, tasks) = match wanted {
                Wanted::Step(step) => return step,
                Wanted::Force { from, to, task } => {
                    moves.tasks.push(task);
                    (from, to, 0)
                }
                Wanted::Pull { from, to, tasks } => (from, to, tasks),
            };
            (moves.from, moves.to) = (from, to);
            let others = world.rq(from).nr_tasks().saturating_sub(1) as usize;
            detach(world, queues, moves, tasks.min(others));
            moves.cause = match self.steps[cpu.idx()].0 {
                Place::NewlyIdle => Cause::NewIdle,
                Place::IdleLoop => Cause::Nohz,
                _ => Cause::Periodic,
            };
            (moves.reason, moves.domain) = (Reason(0), 1);
            if !moves.tasks.is_empty() {
                return BalanceStep::Move;
            }
        }
        BalanceStep::Done
    }

    /// The stopper of `cpu` runs.
    pub(super) fn push(
        &mut self,
        world: &World,
        cpu: CpuId,
        queues: &mut [VecDeque<TaskId>],
        moves: &mut Moves,
    ) {
        let wanted = self.push.iter().position(|(from, _)| *from == cpu);
        let Some((from, to)) = wanted.map(|idx| self.push.remove(idx)) else { return };
        (moves.from, moves.to) = (from, to);
        (moves.reason, moves.domain) = (Reason(0), NO_DOMAIN);
        detach(world, queues, moves, 1);
    }
}

/// Takes up to `tasks` tasks off the tail of a queue that may go and do not run.
fn detach(world: &World, queues: &mut [VecDeque<TaskId>], moves: &mut Moves, tasks: usize) {
    let (from, to) = (moves.from, moves.to);
    let queue = &mut queues[from.idx()];
    for idx in (0..queue.len()).rev() {
        let task = queue[idx];
        let may_go = !world.task(task).on_cpu && world.is_allowed(task, to) && from != to;
        if may_go && moves.tasks.len() < tasks {
            queue.remove(idx);
            moves.tasks.push(task);
        }
    }
}
