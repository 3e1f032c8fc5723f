//! `RoundRobin`: the simplest policy that keeps every contract.

use std::collections::VecDeque;

use simsched_topology::CpuId;

use super::balancer::{Place, WantedBalancer};
use crate::ids::{ProcId, TaskId};
use crate::names::{FuncId, Reason, TimerId};
use crate::policy::{
    Attached, BalanceStep, Balancer, CostedFunction, Cx, Dequeue, Dequeued, Enqueue, KernelRules,
    Moves, Placement, Policy, Preempt, Report, Trigger, TtwuQueue, Wakeup, When,
};
use crate::time::Nanos;
use crate::world::World;

/// One queue for each CPU, first in first out; a tick sends the current task to the end; a wakee
/// goes where it was, or to a CPU that the test chose for it. It balances what the test wants.
#[derive(Clone, Debug, Default)]
pub struct RoundRobin {
    queues: Vec<VecDeque<TaskId>>,
    curr: Vec<Option<TaskId>>,
    /// Where the wakeups of a task go, by task; `None` is where it was.
    pub target: Vec<Option<CpuId>>,
    /// How wakees get to other CPUs.
    pub ttwu_queue: Option<TtwuQueue>,
    /// Whether a CPU is marked until all that was handed to it is queued.
    pub ttwu_pending_stays: bool,
    /// [`KernelRules::sm_idle`].
    pub sm_idle: bool,
    /// [`KernelRules::tmigr`].
    pub tmigr: bool,
    /// [`KernelRules::exit_resched`].
    pub exit_resched: bool,
    /// Whether a wakee preempts.
    pub preempts: bool,
    /// Whether it does so only when the current task returns to user mode.
    pub lazy: bool,
    /// After so long on its CPU a task goes to the end of the queue, by a timer; by ticks if this is none.
    pub slice: Option<Nanos>,
    /// Whether it breaks its contract and never picks anybody.
    pub loses: bool,
    /// Whether its accounting asks for a reschedule when a task yields.
    pub asks_at_yield: bool,
    /// What it asks for besides at each enqueue.
    pub at_enqueue: Option<fn(&mut Cx<'_>)>,
    /// Functions with a cost; each enqueue calls all of them once.
    pub functions: &'static [CostedFunction],
    /// Of which processes new images were, in the order in which tasks took them.
    pub images: Vec<ProcId>,
    /// What it balances.
    pub balancer: WantedBalancer,
}

impl Policy for RoundRobin {
    fn attach(&mut self, world: &World) -> Attached {
        self.queues = vec![VecDeque::new(); world.topology().nr_cpus()];
        self.curr = vec![None; world.topology().nr_cpus()];
        self.target.resize(world.tasks().len(), None);
        self.balancer.attach(world);
        let timers = self.slice.map_or(0, |_| u32::try_from(self.queues.len()).expect("few CPUs"));
        let ttwu_queue = self.ttwu_queue.unwrap_or_default();
        let ttwu_pending_stays = self.ttwu_pending_stays;
        let rules = KernelRules {
            ttwu_queue,
            ttwu_pending_stays,
            sm_idle: self.sm_idle,
            tmigr: self.tmigr,
            exit_resched: self.exit_resched,
            ..KernelRules::default()
        };
        Attached {
            rules,
            reasons: &["prev"],
            functions: self.functions,
            timers,
            ..Attached::default()
        }
    }

    fn select_task_rq(&mut self, cx: Cx<'_>, wakeup: &Wakeup) -> Placement {
        let wanted = self.target[wakeup.wakee.idx()].unwrap_or(wakeup.prev);
        let allowed = cx.world.allowed(wakeup.wakee);
        let cpu = match allowed {
            Some(set) if !set.contains(wanted) => set.first().expect("a task may run somewhere"),
            _ => wanted,
        };
        Placement::at(cpu, Reason(0))
    }

    fn enqueue(&mut self, mut cx: Cx<'_>, cpu: CpuId, task: TaskId, _: Enqueue) {
        FuncId::all().take(self.functions.len()).for_each(|function| cx.did(function, 1));
        if let Some(ask) = self.at_enqueue {
            ask(&mut cx);
        }
        self.queues[cpu.idx()].push_back(task);
    }

    fn dequeue(&mut self, _: Cx<'_>, cpu: CpuId, task: TaskId, _: Dequeue) -> Dequeued {
        if self.curr[cpu.idx()] == Some(task) {
            self.curr[cpu.idx()] = None;
        } else {
            self.queues[cpu.idx()].retain(|queued| *queued != task);
        }
        Dequeued::Left
    }

    fn pick_next(&mut self, mut cx: Cx<'_>, cpu: CpuId, _: Option<TaskId>) -> Option<TaskId> {
        if let Some(slice) = self.slice {
            cx.arm(TimerId(u32::from(cpu.0)), cpu, When::AfterSchedule(slice));
        }
        if self.loses {
            return None;
        }
        let queue = &mut self.queues[cpu.idx()];
        queue.extend(self.curr[cpu.idx()].take());
        self.curr[cpu.idx()] = queue.pop_front();
        self.curr[cpu.idx()]
    }

    fn wakeup_preempt(&mut self, _: Cx<'_>, _: CpuId, _: TaskId, _: Enqueue) -> Preempt {
        match (self.preempts, self.lazy) {
            (false, _) => Preempt::No,
            (true, true) => Preempt::Lazy,
            (true, false) => Preempt::Hard,
        }
    }

    fn task_tick(&mut self, _: Cx<'_>, cpu: CpuId, _: TaskId) -> Preempt {
        let alone = self.queues[cpu.idx()].is_empty();
        if alone || self.slice.is_some() { Preempt::No } else { Preempt::Hard }
    }

    fn timer(&mut self, mut cx: Cx<'_>, cpu: CpuId, _: TimerId) {
        cx.resched(cpu);
    }

    fn yield_task(&mut self, mut cx: Cx<'_>, cpu: CpuId, _: TaskId) {
        if self.asks_at_yield {
            cx.resched(cpu);
        }
    }

    fn exec_mmap(&mut self, cx: Cx<'_>, _: CpuId, task: TaskId) {
        self.images.push(cx.world.task(task).proc);
    }

    fn put_prev_task(&mut self, _: Cx<'_>, cpu: CpuId, prev: TaskId) {
        if self.curr[cpu.idx()].take().is_some() {
            self.queues[cpu.idx()].push_front(prev);
        }
    }
}

impl Balancer for RoundRobin {
    fn newidle_balance(&mut self, cx: Cx<'_>, cpu: CpuId) -> bool {
        self.balancer.begin(cx.world, Place::NewlyIdle, cpu)
    }

    fn trigger_load_balance(&mut self, cx: Cx<'_>, cpu: CpuId) -> Trigger {
        self.balancer.tick(cx.world, cpu)
    }

    fn nohz_csd_func(&mut self, cx: Cx<'_>, cpu: CpuId) -> bool {
        self.balancer.ask(cx.world, Place::Kick, cpu);
        cx.world.is_idle(cpu)
    }

    fn run_rebalance_domains(&mut self, cx: Cx<'_>, cpu: CpuId) {
        self.balancer.begin(cx.world, Place::Softirq, cpu);
    }

    fn nohz_run_idle_balance(&mut self, cx: Cx<'_>, cpu: CpuId) -> bool {
        self.balancer.begin(cx.world, Place::IdleLoop, cpu)
    }

    fn nohz_balance_enter_idle(&mut self, cx: Cx<'_>, cpu: CpuId) {
        self.balancer.ask(cx.world, Place::TickStopped, cpu);
    }

    fn balance_step(&mut self, cx: Cx<'_>, cpu: CpuId, moves: &mut Moves) -> BalanceStep {
        self.balancer.step(cx.world, cpu, &mut self.queues, moves)
    }

    fn active_load_balance_cpu_stop(&mut self, cx: Cx<'_>, cpu: CpuId, moves: &mut Moves) {
        self.balancer.push(cx.world, cpu, &mut self.queues, moves);
    }
}

impl Report for RoundRobin {}
