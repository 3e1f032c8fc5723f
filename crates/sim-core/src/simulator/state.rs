//! The struct `Simulator`: what it is made of, its builder, its accessors.

use std::collections::VecDeque;
use std::sync::Arc;

use simsched_topology::{CpuId, Topology};

use crate::agenda::Agenda;
use crate::config::Config;
use crate::error::SimError;
use crate::hardware::{IdleGovernor, Prices};
use crate::ids::TaskId;
use crate::ipc::{Ipc, Wake, Wakes};
use crate::observer::{Cost, Observer, Tracepoint};
use crate::policy::{Placement, Policy, Reason};
use crate::rng::Stream;
use crate::time::{Nanos, SimTime};
use crate::workload::{Op, Outcome, Start, Workload};
use crate::world::World;

/// What a step of the simulator ends with. Errors are rare and large, so they are kept apart.
pub(super) type Step<T = ()> = Result<T, Box<SimError>>;

/// A machine under a policy and a workload, watched by an observer.
pub struct Simulator<P, W, O> {
    pub(super) world: World,
    pub(super) policy: P,
    pub(super) workload: W,
    pub(super) observer: O,
    pub(super) agenda: Agenda,
    pub(super) ipc: Ipc,
    pub(super) prices: Prices,
    pub(super) config: Config,
    pub(super) cpus: Vec<Cpu>,
    pub(super) desks: Vec<Desk>,
    pub(super) tasks: Vec<TaskRun>,
    pub(super) pipes_free: Vec<SimTime>,
    pub(super) counters: Counters,
    /// A wake list between its filling and its execution; kept for its buffer.
    pub(super) scratch: Wakes,
    /// Whether the policy's own invariants are checked after each event.
    pub(super) paranoid: bool,
}

/// What is counted while the run goes on.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counters {
    /// Events taken from the agenda, and ops done.
    pub events: u64,
    /// Tasks that have not ended (nor are still to be started).
    pub alive: u32,
    /// Timers that run.
    pub timers: u32,
    /// CPUs that are not in an idle state.
    pub busy_cpus: u32,
    /// Rescheduling interrupts that have not arrived.
    pub in_flight: u32,
    /// Events since time last passed.
    pub at_once: u64,
}

/// What a CPU is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// Waiting in an idle state; no end is planned.
    Idle,
    /// Coming out of an idle state.
    IdleExit,
    /// Executing the op of its current task.
    Op,
    /// Handling an interrupt.
    Irq(Irq),
    /// Working off what it did on the side, and nothing else.
    Debt,
    /// Waiting for another CPU to finish switching away from the wakee.
    Spin,
    /// Choosing a CPU for a wakee and queueing it there.
    Wake,
    /// In `schedule()`, before the dequeue and the choice of the next task.
    Schedule,
    /// Switching to the current task.
    Switch,
}

/// Why a CPU was interrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Irq {
    /// A rescheduling interrupt, which also empties the hand-off list.
    Ipi,
    /// The tick.
    Tick,
    /// A task's timer.
    Timer(TaskId),
}

/// A wakeup between its two instants.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waking {
    pub task: TaskId,
    pub placement: Placement,
    pub migrated: bool,
    pub fork: bool,
}

/// A wakeup in a hand-off list.
#[derive(Clone, Copy, Debug)]
pub(super) struct HandOff {
    pub task: TaskId,
    pub migrated: bool,
    pub reason: Reason,
    pub scanned: u16,
}

/// What a CPU is doing: all that the end of an op touches, in two cache lines.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub(super) struct Cpu {
    /// The current task; `None` is the idle task. The same as in the world's runqueue.
    pub task: Option<TaskId>,
    /// The current task is to be rescheduled. The same as in the world's runqueue.
    pub need_resched: bool,
    /// How far the current task is.
    pub run: TaskRun,
    /// The jitter of what this CPU pays.
    pub dice: Stream,
    /// Up to when the CPU's time has been charged.
    pub charged: SimTime,
    /// When the stage proper begins: before that the CPU works off what it owed.
    pub debt_end: SimTime,
    /// When the stage ends.
    pub until: SimTime,
    /// Work done on the side that delays the next stage, in ns.
    pub debt: u32,
    pub stage: Stage,
    /// What the stage's time is charged to.
    pub cost: Cost,
    /// Interrupts that came at a bad time.
    pub deferred: Deferred,
    /// The planned look at the flag is an interrupt, not only a line that a polling CPU sees.
    pub ipi_sent: bool,
    /// Its idle task watches the need-resched flag, from the choice of such a state until it goes to
    /// `schedule()`: no interrupt is needed.
    pub polling: bool,
    pub tick_stopped: bool,
    /// A tick has found the CPU idle since it last ran a task.
    pub idle_ticked: bool,
    pub in_irq: bool,
}

const _: () = assert!(size_of::<Cpu>() == 128, "two cache lines");

/// What waits for a CPU, and what it needs less often.
pub(super) struct Desk {
    /// Whom the system call under way has to wake still.
    pub wakes: VecDeque<Wake>,
    /// The wakeup that the CPU is in the middle of.
    pub waking: Option<Waking>,
    /// The wakee that another CPU is still switching away from.
    pub spinning: Option<Wake>,
    /// Since when the CPU has been handling interrupts.
    pub irq_since: SimTime,
    /// The task that the CPU is switching away from.
    pub prev: Option<TaskId>,
    /// Tasks whose timers have expired and are not handled yet.
    pub timers: VecDeque<TaskId>,
    /// The hand-off list (`rq->wake_list`), in order of arrival.
    pub inbox: VecDeque<HandOff>,
    pub governor: IdleGovernor,
}

/// Which interrupts wait until a CPU is open to them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Deferred(u8);

impl Deferred {
    pub(super) const TICK: u8 = 1;
    pub(super) const IPI: u8 = 2;
    pub(super) const TIMER: u8 = 4;

    #[inline]
    pub(super) fn any(self) -> bool {
        self.0 != 0
    }

    pub(super) fn add(&mut self, irq: u8) {
        self.0 |= irq;
    }

    /// Takes `irq` out; tells whether it was there.
    pub(super) fn take(&mut self, irq: u8) -> bool {
        let was = self.0 & irq != 0;
        self.0 &= !irq;
        was
    }
}

/// The progress of one task that is not current on a CPU; of a current one the copy beside its CPU
/// counts.
#[derive(Clone, Copy, Debug)]
pub(super) struct TaskRun {
    pub op: Op,
    pub outcome: Outcome,
    /// What is left of an interrupted op.
    pub remains: Nanos,
    pub progress: Progress,
    /// On which CPU its timer runs.
    pub timer_cpu: CpuId,
    /// It has slept in its op and was woken.
    pub retry: bool,
    /// The stage under way only looks whether the op can be done.
    pub look: bool,
}

/// Where a task is between two of its ops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// It has to ask for its next op.
    Next,
    /// Its op is under way; `remains` tells how long.
    Under,
    /// Its op could not be done: it sleeps or will, and looks again when it is woken.
    Blocked,
    /// It sleeps until its timer expires, then its op is done.
    Timed,
    /// It has ended.
    Ended,
}

impl<P: Policy, W: Workload, O: Observer> Simulator<P, W, O> {
    /// Builds a run of `workload` on `topology` under `policy`, watched by `observer`.
    ///
    /// # Errors
    /// When the workload places a task on a CPU that does not exist or where it may not run, or a
    /// setting of `config` is out of its range.
    pub fn new(
        topology: Arc<Topology>,
        mut policy: P,
        workload: W,
        observer: O,
        config: Config,
    ) -> Result<Self, SimError> {
        config.check()?;
        let setup = workload.setup();
        let world = World::new(Arc::clone(&topology), &setup.tasks, config.hz);
        policy.attach(&world);
        let nr_cpus = topology.nr_cpus();
        let deepest = Desk::new(&topology).governor;
        let polling = deepest.state(topology.idle_states()).polling;
        let dice = |cpu: CpuId| config.seed.stream("jitter", cpu.idx() as u64);
        let mut simulator = Simulator {
            agenda: Agenda::new(nr_cpus, setup.tasks.len()),
            ipc: Ipc::new(&setup, config.ipc),
            prices: Prices::new(&topology, config.jitter_1024),
            cpus: topology.cpus().iter().map(|cpu| Cpu::new(polling, dice(cpu))).collect(),
            desks: topology.cpus().iter().map(|_| Desk::new(&topology)).collect(),
            tasks: vec![TaskRun::new(); setup.tasks.len()],
            pipes_free: vec![SimTime::ZERO; setup.pipes as usize],
            counters: Counters::default(),
            scratch: Wakes::default(),
            paranoid: false,
            world,
            policy,
            workload,
            observer,
            config,
        };
        for (idx, spec) in setup.tasks.iter().enumerate() {
            if let Start::AtZero(cpu) = spec.start {
                simulator.start_at_zero(TaskId::new(idx), cpu).map_err(|error| *error)?;
            }
        }
        Ok(simulator)
    }

    /// Makes the simulator check the policy's own invariants after each event.
    pub fn set_paranoid(&mut self) {
        self.paranoid = true;
    }

    /// The world as it is now.
    pub fn world(&self) -> &World {
        &self.world
    }

    /// The policy.
    pub fn policy(&self) -> &P {
        &self.policy
    }

    /// The observer.
    pub fn observer(&self) -> &O {
        &self.observer
    }

    /// The observer, to take from it what it has gathered so far.
    pub fn observer_mut(&mut self) -> &mut O {
        &mut self.observer
    }

    /// Events taken from the agenda so far.
    pub fn events(&self) -> u64 {
        self.counters.events
    }

    /// Takes the run apart: the last world, the policy, the workload and the observer.
    pub fn into_parts(self) -> (World, P, W, O) {
        (self.world, self.policy, self.workload, self.observer)
    }

    #[inline]
    pub(super) fn emit(&mut self, tracepoint: Tracepoint) {
        self.observer.on(&self.world, tracepoint);
    }

    #[inline]
    pub(super) fn cpu(&mut self, cpu: CpuId) -> &mut Cpu {
        &mut self.cpus[cpu.idx()]
    }

    #[inline]
    pub(super) fn desk(&mut self, cpu: CpuId) -> &mut Desk {
        &mut self.desks[cpu.idx()]
    }

    /// `ns` as `cpu` happens to pay it now.
    #[inline]
    pub(super) fn jittered(&mut self, cpu: CpuId, ns: u32) -> Nanos {
        self.prices.jittered(&mut self.cpus[cpu.idx()].dice, ns)
    }

    /// How far `task` is: beside its CPU while it is current, in the table while it is not.
    pub(super) fn run(&mut self, task: TaskId) -> &mut TaskRun {
        let cpu = &mut self.cpus[self.world.task(task).cpu.idx()];
        if cpu.task == Some(task) { &mut cpu.run } else { &mut self.tasks[task.idx()] }
    }

    /// Starts a stage that takes `ns` beside what the CPU still owes. Stages of one cost that follow
    /// each other are charged in one sum.
    #[inline]
    pub(super) fn begin(&mut self, cpu: CpuId, stage: Stage, cost: Cost, ns: Nanos) {
        let now = self.world.now();
        let row = &mut self.cpus[cpu.idx()];
        row.stage = stage;
        if row.cost != cost || row.debt != 0 || row.debt_end > row.charged {
            self.charge(cpu);
            let row = &mut self.cpus[cpu.idx()];
            row.cost = cost;
            row.debt_end = now + Nanos(u64::from(std::mem::take(&mut row.debt)));
        }
        let row = &mut self.cpus[cpu.idx()];
        row.until = row.debt_end.max(now) + ns;
        let until = row.until;
        self.agenda.arm_stage(cpu, until);
    }

    /// Charges the CPU's time from the last charge to now: first to what it did on the side, then
    /// to its present stage.
    #[inline]
    pub(super) fn charge(&mut self, cpu: CpuId) {
        let now = self.world.now();
        let row = &mut self.cpus[cpu.idx()];
        let since = std::mem::replace(&mut row.charged, now);
        let what = row.cost;
        let side = row.debt_end.min(now).since(since);
        let amount = now.since(since) - side;
        if side.0 > 0 {
            self.emit(Tracepoint::Charge { cpu, what: Cost::Wakeup, amount: side });
        }
        if amount.0 > 0 {
            self.emit(Tracepoint::Charge { cpu, what, amount });
        }
    }
}

impl Cpu {
    fn new(polling: bool, dice: Stream) -> Cpu {
        Cpu {
            task: None,
            need_resched: false,
            run: TaskRun::new(),
            dice,
            charged: SimTime::ZERO,
            debt_end: SimTime::ZERO,
            until: SimTime::NEVER,
            debt: 0,
            stage: Stage::Idle,
            cost: Cost::Idle,
            deferred: Deferred::default(),
            ipi_sent: false,
            polling,
            tick_stopped: true,
            idle_ticked: false,
            in_irq: false,
        }
    }
}

impl Cpu {
    /// Whether the current task, which could go on, has to give way: at the border of user space, or
    /// inside it. Kernel code is left at its end only (`PREEMPT_VOLUNTARY`).
    #[inline]
    pub(super) fn goes(&self) -> bool {
        self.need_resched && (self.run.progress == Progress::Next || self.run.op.is_user())
    }
}

impl Desk {
    fn new(topology: &Topology) -> Desk {
        Desk {
            wakes: VecDeque::with_capacity(4),
            waking: None,
            spinning: None,
            irq_since: SimTime::ZERO,
            prev: None,
            timers: VecDeque::with_capacity(4),
            inbox: VecDeque::with_capacity(32),
            governor: IdleGovernor::new(topology.idle_states()),
        }
    }
}

impl TaskRun {
    fn new() -> TaskRun {
        TaskRun {
            op: Op::Yield,
            outcome: Outcome::Started,
            remains: Nanos::ZERO,
            progress: Progress::Next,
            timer_cpu: CpuId(0),
            retry: false,
            look: false,
        }
    }
}
