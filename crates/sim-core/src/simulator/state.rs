//! The struct `Simulator`: what it is made of, its builder, its accessors.

use std::collections::BTreeMap;
use std::sync::Arc;

use simsched_topology::{CpuId, CpuSet, Topology};

use super::cpu::{Cpu, Desk, TaskRun};
use super::mutex::Mutex;
use super::sem::Spinners;
use super::timers::PolicyTimer;
use super::tmigr::Tmigr;
use super::watch::{Locked, UtilWatch};
use crate::agenda::Agenda;
use crate::config::{Config, HardwareModel};
use crate::error::SimError;
use crate::hardware::{Hardware, IdleGovernor, Prices};
use crate::ids::TaskId;
use crate::ipc::{Ipc, Wakes};
use crate::names::{ReschedCause, TimerId};
use crate::observer::{Observer, Tracepoint};
use crate::policy::{Actions, Attached, Charge, CostedFunction, KernelRules, Moves, Policy, Wants};
use crate::time::{Nanos, SimTime};
use crate::workload::{Setup, TaskSpec, Workload};
use crate::world::World;

/// What a step of the simulator ends with. Errors are rare and large, so they are kept apart.
pub(super) type Step<T = ()> = Result<T, Box<SimError>>;

/// A machine under a policy and a workload, watched by an observer.
pub struct Simulator<P: ?Sized, W, O> {
    pub(super) world: World,
    pub(super) policy: Box<P>,
    /// What calls of the policy have asked for.
    pub(super) actions: Actions,
    /// The cause of reschedules among [`Self::actions`]: the call of the policy that is being made.
    pub(super) resched_cause: ReschedCause,
    pub(super) workload: W,
    pub(super) observer: O,
    pub(super) agenda: Agenda,
    pub(super) ipc: Ipc,
    pub(super) prices: Prices,
    pub(super) hardware: Hardware,
    /// What the policy has said of its kernel ([`Attached::rules`]).
    pub(super) rules: KernelRules,
    /// Where idle CPUs leave their timers to others.
    pub(super) tmigr: Option<Tmigr>,
    /// The names of the policy's reasons ([`Attached::reasons`]).
    pub(super) reasons: &'static [&'static str],
    /// The functions of the policy that are accounted under their own names ([`Attached::functions`]).
    pub(super) functions: &'static [CostedFunction],
    /// By function of the policy: what a call takes on this machine, in ns, and how it is charged.
    pub(super) function_costs: Vec<(u32, Charge)>,
    /// How many lines that CPUs share the policy has.
    pub(super) nr_lines: usize,
    /// Why the run ends behind the event under way: what the policy has done that it may not, or that it cannot go on.
    pub(super) broken: Option<SimError>,
    /// The observer has enabled trace events of the policy ([`Observer::wants`]).
    pub(super) is_watched: bool,
    /// The `util_avg` of each CPU as it was last emitted, if the observer has enabled that.
    pub(super) util_watch: Option<UtilWatch>,
    /// So many events at one instant are too many.
    pub(super) at_once_limit: u64,
    /// What the kernel does where a task is current is part of what the tasks compute,
    pub(super) recorded: bool,
    /// By task: how long it has spun for wakees that were leaving their CPUs, which is still to be taken out
    /// of what it computes; empty where nothing is recorded.
    pub(super) spun: Vec<Nanos>,
    /// and an idle CPU takes so long to a task; none takes what it takes here.
    pub(super) dispatch: Option<Nanos>,
    /// How long a task goes on that has to go, where recorded times are replayed.
    pub(super) preempt: Nanos,
    /// Parts of memory that the workload has declared.
    pub(super) nr_regions: usize,
    pub(super) config: Config,
    pub(super) cpus: Vec<Cpu>,
    pub(super) desks: Vec<Desk>,
    pub(super) tasks: Vec<TaskRun>,
    /// The timers of the policy ([`Attached::timers`]).
    pub(super) timers: Vec<PolicyTimer>,
    pub(super) pipes_free: Vec<SimTime>,
    /// The mutexes of the pipes where CPUs take turns; else none.
    pub(super) mutexes: Vec<Mutex>,
    /// Who spins at each semaphore.
    pub(super) sems_spin: Vec<Spinners>,
    pub(super) counters: Counters,
    /// The first tick that is not in jiffies yet.
    pub(super) jiffies_due: SimTime,
    /// A wake list between its filling and its execution; kept for its buffer.
    pub(super) scratch: Wakes,
    /// The tasks that a balancer moves; its buffer is lent to the policy.
    pub(super) moves: Moves,
    /// Whether the policy's own invariants are checked after each event.
    pub(super) paranoid: bool,
    /// Ops on pipes may take the short way: it is not switched off, nobody is paranoid, and CPUs take no
    /// turns.
    pub(super) has_short_way: bool,
}

/// What is counted while the run goes on.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counters {
    /// Events taken from the agenda, and ops done.
    pub events: u64,
    /// Tasks that have not ended (nor are still to be started), but for those of the machine.
    pub alive: u32,
    /// Timers that run, but for those of the machine's own tasks.
    pub timers: u32,
    /// CPUs that are not in an idle state.
    pub busy_cpus: u32,
    /// Rescheduling interrupts that have not arrived.
    pub in_flight: u32,
    /// Events since time last passed.
    pub at_once: u64,
    /// Lines of the kernel's own trace, where that is priced.
    pub traced: u32,
}

/// Masks hold CPUs of the machine only, and at least one.
fn declare_masks(world: &mut World, masks: &[CpuSet]) -> Result<(), SimError> {
    for (idx, mask) in masks.iter().enumerate() {
        let mask = mask.and(world.topology().cpus());
        if mask.is_empty() {
            let contract = format!("mask {idx} has no CPU of the machine");
            return Err(SimError::WorkloadBroke { at: world.now(), contract });
        }
        world.tasks_mut().declare_mask(mask);
    }
    Ok(())
}

/// How many timers the policy has.
fn nr_timers(attached: &Attached) -> Result<usize, SimError> {
    let (count, most) = (attached.timers as usize, TimerId::MAX);
    if count > most {
        let contract = format!("it has {count} timers, expected at most {most}");
        return Err(SimError::PolicyBroke { at: SimTime::ZERO, contract });
    }
    Ok(count)
}

/// The tasks before their start; some are threads of a process that has others.
fn task_runs(setup: &Setup) -> Vec<TaskRun> {
    let mut counts = BTreeMap::new();
    for task in &setup.tasks {
        *counts.entry(task.proc).or_insert(0_u32) += 1;
    }
    let run = |spec: &TaskSpec| TaskRun { is_thread: counts[&spec.proc] > 1, ..TaskRun::new() };
    setup.tasks.iter().map(run).collect()
}

impl<P: Policy + ?Sized, W: Workload, O: Observer> Simulator<P, W, O> {
    /// Builds a run of `workload` on `topology` under `policy`, watched by `observer`. A policy
    /// that is chosen at run time (`Box<dyn Policy + Send>`) takes the same code as a type of its own.
    ///
    /// # Errors
    /// When the workload places a task on a CPU that does not exist or where it may not run, or a
    /// setting of `config` is out of its range, or the machine lacks a price that the workload needs.
    pub fn new(
        topology: Arc<Topology>,
        mut policy: Box<P>,
        workload: W,
        observer: O,
        config: Config,
    ) -> Result<Self, SimError> {
        config.check()?;
        let setup = workload.setup();
        let mut world = World::new(Arc::clone(&topology), &setup.tasks, config.hz);
        declare_masks(&mut world, &setup.masks)?;
        world.set_seed(config.seed);
        world.set_inherited(config.launcher.unwrap_or_default().inherited(config.seed));
        world.set_resident(setup.resident_bytes());
        let attached = policy.attach(&world);
        let nr_timers = nr_timers(&attached)?;
        let Attached { rules, reasons, lines: line_nodes, functions, .. } = attached;
        let hardware = Hardware::new(&topology, &setup, &line_nodes, &config)?;
        let is_here = setup.recorded.is_some_and(|times| times.here);
        let is_free = is_here || config.hardware == HardwareModel::Free;
        let prices = match setup.recorded {
            Some(_) if is_free => Prices::nothing(&topology),
            _ => Prices::new(&topology, &config, &hardware.transfers),
        };
        let prices = prices.up_to_state(config.max_cstate);
        let (quantum, wants) = (prices.quantum(), observer.wants());
        let nr_cpus = topology.nr_cpus();
        let deepest = Desk::new(prices.idle_states(), &[]).governor;
        let polling = deepest.state(prices.idle_states()).polling;
        let desks = (0..nr_cpus).map(|_| Desk::new(prices.idle_states(), &line_nodes)).collect();
        let rng = |cpu: CpuId| config.seed.stream("jitter", cpu.idx() as u64);
        let mut simulator = Simulator {
            agenda: Agenda::new(nr_cpus, setup.tasks.len(), nr_timers).in_turns(quantum),
            ipc: Ipc::new(&setup, rules.ipc).with_spurious_wakeups(config.spurious_writer_wakeups),
            prices: prices.of(is_free, setup.recorded.is_some()),
            recorded: setup.recorded.is_some(),
            spun: setup.recorded.map_or(Vec::new(), |_| vec![Nanos::ZERO; setup.tasks.len()]),
            dispatch: setup.recorded.filter(|_| is_free).map(|times| times.dispatch),
            preempt: setup.recorded.map_or(Nanos::ZERO, |times| times.preempt),
            nr_regions: setup.regions.len(),
            rules,
            tmigr: rules.tmigr.then(|| Tmigr::new(&topology)),
            reasons,
            functions,
            function_costs: Vec::new(),
            nr_lines: line_nodes.len(),
            broken: None,
            is_watched: wants != Wants::NOTHING,
            util_watch: wants.has(Wants::UTIL_AVG).then(|| UtilWatch::new(nr_cpus)),
            at_once_limit: 1_000_000 + 100 * setup.tasks.len() as u64,
            hardware,
            cpus: topology.cpus().iter().map(|cpu| Cpu::new(polling, rng(cpu))).collect(),
            desks,
            tasks: task_runs(&setup),
            timers: vec![PolicyTimer::OFF; nr_timers],
            pipes_free: vec![SimTime::ZERO; setup.pipes as usize],
            mutexes: vec![Mutex::default(); if quantum > 1 { setup.pipes as usize } else { 0 }],
            sems_spin: vec![Spinners::default(); setup.sems as usize],
            counters: Counters::default(),
            jiffies_due: SimTime(world.tick().0),
            scratch: Wakes::default(),
            moves: Moves::default(),
            paranoid: false,
            has_short_way: quantum <= 1 && config.batch_ops,
            actions: Actions::with_capacity(setup.tasks.len()),
            resched_cause: ReschedCause::Other,
            world,
            policy,
            workload,
            observer,
            config,
        };
        simulator.function_costs = simulator.price_functions()?;
        simulator.begin_run(&setup.tasks, &deepest).map_err(|error| *error)?;
        Ok(simulator)
    }

    /// All CPUs are in their deepest idle state, with stopped ticks; then the tasks of the first hour start.
    fn begin_run(&mut self, tasks: &[TaskSpec], deepest: &IdleGovernor) -> Step {
        self.actions.set_wants(self.observer.wants());
        (0..self.cpus.len()).for_each(|cpu| self.look_at_util(Locked::Cpu(CpuId::new(cpu))));
        let latency = self.prices.advertised(deepest.state(self.prices.idle_states()));
        for cpu in (0..self.cpus.len()).map(CpuId::new) {
            self.world.set_idle_state(cpu, latency);
            self.nohz_balance_enter_idle(cpu);
        }
        for (idx, spec) in tasks.iter().enumerate() {
            self.start(TaskId::new(idx), spec.start)?;
        }
        self.forgive_costs();
        self.check_broken()
    }

    /// Makes the simulator check the policy's own invariants after each event.
    pub fn set_paranoid(&mut self) {
        (self.paranoid, self.has_short_way) = (true, false);
        self.actions.follow_events();
    }

    /// The world as it is now.
    pub fn world(&self) -> &World {
        &self.world
    }

    /// The policy.
    pub fn policy(&self) -> &P {
        &self.policy
    }

    /// The names of the reasons that the policy gives, indexed by [`Reason`](crate::Reason).
    pub fn reasons(&self) -> &'static [&'static str] {
        self.reasons
    }

    /// The functions of the policy that are accounted under their own names, by [`FuncId`](crate::FuncId).
    pub fn functions(&self) -> &'static [CostedFunction] {
        self.functions
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
    pub fn into_parts(self) -> (World, Box<P>, W, O) {
        (self.world, self.policy, self.workload, self.observer)
    }

    #[inline]
    pub(super) fn emit(&mut self, tracepoint: Tracepoint) {
        self.observer.on(&self.world, tracepoint);
        if self.prices.list().trace_page > 0 {
            self.fill_trace_page(&tracepoint);
        }
    }

    #[inline]
    pub(super) fn cpu(&mut self, cpu: CpuId) -> &mut Cpu {
        &mut self.cpus[cpu.idx()]
    }

    #[inline]
    pub(super) fn desk(&mut self, cpu: CpuId) -> &mut Desk {
        &mut self.desks[cpu.idx()]
    }

    /// Whether what `cpu` does for its current task is part of what that computes.
    #[inline]
    pub(super) fn is_paid(&self, cpu: CpuId) -> bool {
        self.recorded && self.cpus[cpu.idx()].task.is_some()
    }

    /// `ns` as `cpu` happens to pay it now.
    #[inline]
    pub(super) fn jittered(&mut self, cpu: CpuId, ns: u32) -> Nanos {
        if self.is_paid(cpu) {
            return Nanos::ZERO;
        }
        self.prices.jittered(&mut self.cpus[cpu.idx()].rng, ns)
    }

    /// How far `task` is: beside its CPU while it is current, in the table while it is not.
    pub(super) fn run(&mut self, task: TaskId) -> &mut TaskRun {
        let cpu = &mut self.cpus[self.world.task(task).cpu.idx()];
        if cpu.task == Some(task) { &mut cpu.run } else { &mut self.tasks[task.idx()] }
    }
}
