//! `EveryAction`: a policy that asks for everything that a policy can ask for, at random.

use rand::Rng;
use simsched_topology::{CpuId, NodeId};

use super::plans::Plans;
use crate::ids::TaskId;
use crate::names::{CallId, FuncId, LineId, Reason, TimerId};
use crate::policy::{
    Access, Attached, BalanceStep, Balancer, Charge, CostedFunction, Cx, Dequeue, Dequeued,
    Enqueue, FifoQueues, Look, Moves, Placement, Policy, PolicyEvent, Preempt, Report, Touch,
    Wakeup, When,
};
use crate::rng::{Seed, Stream};
use crate::time::{Nanos, SimTime};
use crate::world::{TaskState, World};

/// How long a task is throttled.
const HELD: Nanos = Nanos::from_micros(300);
/// The longest delay of a timer that only measures.
const LONGEST: u64 = 3_000_000;
/// Most delays are shorter than this: less than the handler of an interrupt takes, or a switch.
const SOON: u64 = 4_000;
/// Timers of each CPU: the first lets its tasks go, the others only measure.
const TIMERS: u32 = 3;

/// First in, first out; a wakee goes to any CPU where it may run. Each call asks for one thing or another by
/// the throw of a die that is the policy's own: both kinds of rescheduling on any CPU, timers armed and
/// cancelled, calls on other CPUs and on this one, work at the return to user mode, tasks throttled, sleepers
/// that stay queued, accesses to a shared line, calls of a function, trace events.
///
/// It keeps account of what was promised to it, and [`Report::check`] says which promise was broken: a timer
/// fires once, on its CPU, not before its time, and behind all of that CPU that were to expire before it; a
/// call arrives once; which CPUs are idle; a task is put before the idle task takes its place.
#[derive(Debug)]
pub struct EveryAction {
    queues: FifoQueues,
    rng: Stream,
    /// What is promised of timers and calls.
    plans: Plans,
    /// Who is throttled, and where.
    held: Vec<(CpuId, TaskId)>,
    /// Sleepers that are queued, and where.
    asleep: Vec<(CpuId, TaskId)>,
    /// By CPU: its idle task is current, as far as was said.
    idle: Vec<bool>,
    /// By CPU: the task behind which nothing was to be picked, until it is put.
    last: Vec<Option<TaskId>>,
}

impl Default for EveryAction {
    fn default() -> EveryAction {
        EveryAction {
            queues: FifoQueues::default(),
            rng: Seed(7).stream("every_action", 0),
            plans: Plans::default(),
            held: Vec::new(),
            asleep: Vec::new(),
            idle: Vec::new(),
            last: Vec::new(),
        }
    }
}

impl EveryAction {
    /// What its timers and calls have been asked for, and have done.
    #[must_use]
    pub fn plans(&self) -> &Plans {
        &self.plans
    }

    fn any(&mut self, below: u32) -> u32 {
        u32::try_from(self.rng.next_u64() % u64::from(below)).expect("below a number of 32 bits")
    }

    fn any_cpu(&mut self, world: &World) -> CpuId {
        let cpus = world.topology().cpus();
        let nth = self.any(u32::try_from(cpus.len()).expect("few CPUs"));
        cpus.iter().nth(nth as usize).expect("a CPU of the machine")
    }

    /// Asks for up to two things.
    fn ask(&mut self, cx: &mut Cx<'_>, task: TaskId) {
        self.ask_once(cx, task);
        self.ask_once(cx, task);
    }

    fn ask_once(&mut self, cx: &mut Cx<'_>, task: TaskId) {
        let at = self.any_cpu(cx.world);
        match self.any(24) {
            0 => cx.resched(at),
            1 => cx.resched_lazy(at),
            2..=7 => self.arm(cx, at),
            8 | 14 => {
                let timer = self.timer();
                self.plans.cancelled(timer);
                cx.cancel(timer);
            }
            15 | 16 => {
                let what = CallId(self.any(4));
                self.plans.called(cx.world.now(), at, what);
                cx.call_on(at, what);
            }
            9 | 10 => cx.add_task_work(task),
            11 => {
                let access = if self.any(2) == 0 { Access::Read } else { Access::Write };
                cx.touch(Touch { line: LineId(0), access, what: FuncId(0) });
            }
            12 => cx.did(FuncId(0), 1),
            13 => {
                cx.trace(PolicyEvent::Preferred(cx.world.task(task).proc, None));
                cx.trace(PolicyEvent::CacheWork { task, home: None, nr_running_avg: 0 });
            }
            _ => {}
        }
    }

    /// A timer that only measures: few, so that each is armed and cancelled at all stages of its life.
    fn timer(&mut self) -> TimerId {
        TimerId(1 + self.any(TIMERS - 1))
    }

    /// A timer that only measures is armed on any CPU: for soon, or for later, or for an instant that has passed.
    fn arm(&mut self, cx: &mut Cx<'_>, on: CpuId) {
        let (draw, now) = (self.rng.next_u64(), cx.world.now());
        // CPUs on which tasks run, more often than others.
        let few = u16::try_from(cx.world.topology().nr_cpus().min(4)).expect("at most four");
        let on = if self.any(2) == 0 { CpuId(on.0 % few) } else { on };
        let delay = Nanos(draw % if self.any(3) == 0 { LONGEST } else { SOON });
        let when = match self.any(5) {
            0 | 1 => When::AfterSchedule(delay),
            2 => When::At(SimTime(now.0.saturating_sub(delay.0))),
            3 => When::Near(now + delay),
            _ => When::At(now + delay),
        };
        let timer = self.timer();
        self.plans.armed(cx.world.now(), timer, on, when);
        cx.arm(timer, on, when);
    }

    /// `task`, which is not queued, is throttled on `cpu` until a timer unthrottles it.
    fn hold(&mut self, cx: &mut Cx<'_>, cpu: CpuId, task: TaskId) {
        self.held.push((cpu, task));
        cx.throttle(task);
        cx.resched(cpu);
        let (timer, when) = (TimerId(TIMERS * u32::from(cpu.0)), When::At(cx.world.now() + HELD));
        self.plans.armed(cx.world.now(), timer, cpu, when);
        cx.arm(timer, cpu, when);
    }

    /// All that are throttled on `cpu` are unthrottled.
    fn let_go(&mut self, cx: &mut Cx<'_>, cpu: CpuId) {
        for (_, task) in self.held.extract_if(.., |(at, _)| *at == cpu) {
            self.queues.push(cpu, task);
            cx.unthrottle(task);
        }
        cx.resched(cpu);
    }
}

/// Takes the pair of `task` out of a list; whether it was there.
fn take(list: &mut Vec<(CpuId, TaskId)>, task: TaskId) -> bool {
    let found = list.iter().position(|(_, other)| *other == task);
    found.map(|at| list.remove(at)).is_some()
}

impl Policy for EveryAction {
    fn attach(&mut self, world: &World) -> Attached {
        let nr_cpus = world.topology().nr_cpus();
        self.queues = FifoQueues::new(world);
        self.idle = vec![true; nr_cpus];
        self.last = vec![None; nr_cpus];
        Attached {
            reasons: &["any"],
            lines: vec![NodeId(0)],
            functions: &[CostedFunction {
                name: "every_action_update",
                item: "dequeue_count",
                charge: Charge::Extra,
            }],
            timers: TIMERS * u32::try_from(nr_cpus).expect("few CPUs"),
            ..Attached::default()
        }
    }

    fn select_task_rq(&mut self, mut cx: Cx<'_>, wakeup: &Wakeup) -> Placement {
        self.ask(&mut cx, wakeup.wakee);
        let cpu = self.any_cpu(cx.world);
        let goes = cx.world.is_allowed(wakeup.wakee, cpu);
        Placement::at(if goes { cpu } else { wakeup.prev }, Reason(0))
    }

    fn enqueue(&mut self, mut cx: Cx<'_>, cpu: CpuId, task: TaskId, why: Enqueue) {
        if why == Enqueue::Delayed {
            take(&mut self.asleep, task);
        }
        let row = cx.world.task(task);
        if row.delayed && why != Enqueue::Delayed {
            // It sleeps on where it was moved to.
            self.asleep.push((cpu, task));
        } else if row.throttled {
            self.held.push((cpu, task));
            self.let_go(&mut cx, cpu);
        } else if why != Enqueue::Delayed && self.any(6) == 0 {
            self.hold(&mut cx, cpu, task);
        } else {
            self.queues.push(cpu, task);
        }
        self.ask(&mut cx, task);
    }

    fn dequeue(&mut self, mut cx: Cx<'_>, cpu: CpuId, task: TaskId, why: Dequeue) -> Dequeued {
        self.queues.remove(cpu, task);
        take(&mut self.held, task);
        take(&mut self.asleep, task);
        self.ask(&mut cx, task);
        let row = cx.world.task(task);
        let may_stay = why == Dequeue::Sleep && row.state != TaskState::Dead && !row.throttled;
        if why == Dequeue::Sleep && self.any(6) == 0 {
            // What was decided for it holds for who sleeps on its queue, and for nobody else.
            if row.throttled { cx.unthrottle(task) } else { cx.throttle(task) }
        }
        if may_stay && self.any(3) == 0 {
            self.asleep.push((cpu, task));
            return Dequeued::Delayed;
        }
        Dequeued::Left
    }

    fn pick_next(&mut self, mut cx: Cx<'_>, cpu: CpuId, prev: Option<TaskId>) -> Option<TaskId> {
        if self.last[cpu.idx()].is_some_and(|last| prev != Some(last)) {
            self.plans.broke(format!("CPU {cpu} picks behind {prev:?}, before the last was put"));
        }
        let next = self.queues.next(cpu);
        self.last[cpu.idx()] = prev.filter(|_| next.is_none());
        if next.is_none() || self.any(2) == 0 {
            for (_, task) in self.asleep.extract_if(.., |(at, _)| *at == cpu) {
                cx.block(task);
            }
        }
        next.inspect(|task| self.ask(&mut cx, *task))
    }

    fn put_prev_task(&mut self, cx: Cx<'_>, cpu: CpuId, prev: TaskId) {
        let last = self.last[cpu.idx()].take();
        if last != Some(prev) && !cx.world.rq(cpu).stopper {
            self.plans.broke(format!("CPU {cpu} puts {prev}, and nothing leaves it but {last:?}"));
        }
        self.queues.put(cpu, prev);
    }

    fn wakeup_preempt(&mut self, mut cx: Cx<'_>, cpu: CpuId, wakee: TaskId, _: Enqueue) -> Preempt {
        self.ask(&mut cx, wakee);
        let is_free = |task: &TaskId| {
            let row = cx.world.task(*task);
            row.on_rq && !row.delayed && !row.throttled
        };
        if let Some(curr) = cx.world.curr(cpu).filter(is_free).filter(|_| self.any(4) == 0) {
            // It may be on its way to sleep, and is queued still.
            self.queues.remove(cpu, curr);
            self.hold(&mut cx, cpu, curr);
        }
        [Preempt::No, Preempt::Lazy, Preempt::Hard][self.any(3) as usize]
    }

    fn task_tick(&mut self, mut cx: Cx<'_>, cpu: CpuId, curr: TaskId) -> Preempt {
        if cx.world.rq(cpu).need_resched_lazy {
            self.plans.broke(format!("the tick of CPU {cpu} has left a lazy request as it is"));
        }
        self.ask(&mut cx, curr);
        [Preempt::Lazy, Preempt::Hard][self.any(2) as usize]
    }

    fn task_work(&mut self, mut cx: Cx<'_>, cpu: CpuId, task: TaskId) -> Look {
        match self.any(3) {
            // Another CPU may have throttled it in the meantime: it is to be let go once.
            0 if !cx.world.task(task).throttled => {
                self.queues.remove(cpu, task);
                self.hold(&mut cx, cpu, task);
            }
            1 => return Look { cpus: 2, ..Look::default() },
            _ => cx.add_task_work(task),
        }
        Look::default()
    }

    fn idle_entered(&mut self, _: Cx<'_>, cpu: CpuId) {
        self.idle[cpu.idx()] = true;
        if let Some(last) = self.last[cpu.idx()] {
            self.plans.broke(format!("CPU {cpu} is idle, and {last} was not put"));
        }
    }

    fn idle_left(&mut self, _: Cx<'_>, cpu: CpuId) {
        if !std::mem::take(&mut self.idle[cpu.idx()]) {
            self.plans.broke(format!("the idle task leaves CPU {cpu}, which was not idle"));
        }
    }

    fn timer(&mut self, mut cx: Cx<'_>, cpu: CpuId, timer: TimerId) {
        self.plans.fired(cx.world.now(), timer, cpu);
        if timer.0.is_multiple_of(TIMERS) {
            self.let_go(&mut cx, cpu);
        }
    }

    fn called(&mut self, _: Cx<'_>, cpu: CpuId, what: CallId) {
        self.plans.arrived(cpu, what);
    }
}

impl Balancer for EveryAction {
    fn newidle_balance(&mut self, _: Cx<'_>, _: CpuId) -> bool {
        self.any(2) == 0
    }

    /// A pass looks at two CPUs, or at its own clock, and finds nothing.
    fn balance_step(&mut self, _: Cx<'_>, cpu: CpuId, _: &mut Moves) -> BalanceStep {
        match self.any(4) {
            0 => BalanceStep::Look(Look { cpus: 2, ..Look::default() }),
            1 => BalanceStep::Lock(cpu),
            _ => BalanceStep::Done,
        }
    }
}

impl Report for EveryAction {
    fn check(&self, world: &World, cpu: CpuId) -> Result<(), String> {
        let rq = world.rq(cpu);
        let is_idle = rq.curr.is_none() && !rq.stopping;
        if is_idle != self.idle[cpu.idx()] {
            return Err(format!("CPU {cpu} is idle: {is_idle}, and the opposite was said"));
        }
        self.plans.check()
    }
}
