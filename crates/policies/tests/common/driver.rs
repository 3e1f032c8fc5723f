//! A machine in slow motion: what the simulator does for a policy, without time of its own.

use simsched_core::testkit::{PolicyHost, WorldKit};
use simsched_core::{Dequeue, Dequeued, Enqueue, Placement, Preempt, TaskId, WakeKind, Wakeup};
use simsched_policies::catalog::FairSpec;
use simsched_policies::fair::{Entity, Fair};
use simsched_topology::{CpuId, CpuSet, Topology};

/// The tick at HZ=250, in ns.
pub(crate) const TICK: u64 = 4_000_000;

/// From a tick to the switch that it asks for, in ns.
const SWITCH: u64 = 2_000;

pub(crate) struct Driver {
    pub(crate) host: PolicyHost<Fair>,
    clock: u64,
    /// What a look at a domain takes, in ns.
    pub(crate) look_ns: u64,
    /// Where the stopper was called.
    pub(crate) stops: Vec<CpuId>,
    /// CPUs of which a call has asked for a reschedule that is still to come.
    pub(crate) due: CpuSet,
    /// The CPU that is in `schedule()`.
    pub(crate) scheduling: Option<CpuId>,
}

impl Driver {
    /// An idle machine with one declared task for each nice value.
    pub(crate) fn new(topology: Topology, class: impl Into<FairSpec>, nices: &[i8]) -> Driver {
        let mut kit = WorldKit::new(topology, 250);
        for &nice in nices {
            kit.add_task(nice);
        }
        Driver::of(kit, class)
    }

    /// The idle machine of `kit`, which has all its tasks.
    pub(crate) fn of(kit: WorldKit, class: impl Into<FairSpec>) -> Driver {
        let mut host = PolicyHost::new(kit, class.into().fair_class());
        for cpu in host.kit.world().topology_arc().cpus().iter() {
            host.nohz_balance_enter_idle(cpu);
        }
        let clock = 1_000_000_000;
        Driver { host, clock, look_ns: 0, stops: Vec::new(), due: CpuSet::new(), scheduling: None }
    }

    pub(crate) fn entity(&self, task: TaskId) -> &Entity {
        self.host.policy.entity(task)
    }

    pub(crate) fn curr(&self, cpu: CpuId) -> Option<TaskId> {
        self.host.kit.world().curr(cpu)
    }

    /// Lets time pass, tick by tick; calls `each` after every tick.
    pub(crate) fn pass(&mut self, ns: u64, mut each: impl FnMut(&mut Driver)) {
        let end = self.clock + ns;
        while self.clock < end {
            let next_tick = (self.clock / TICK + 1) * TICK;
            self.clock = next_tick.min(end);
            self.host.kit.set_clock(self.clock);
            if self.clock == next_tick {
                self.tick();
                each(self);
            }
        }
    }

    /// Lets time pass until just after the next tick.
    pub(crate) fn until_next_tick(&mut self) {
        let next_tick = (self.clock / TICK + 1) * TICK;
        self.pass(next_tick - self.clock, |_| {});
    }

    fn tick(&mut self) {
        let cpus = *self.host.kit.world().topology().cpus();
        let mut preempted = Vec::new();
        for cpu in cpus.iter() {
            // An idle CPU has no tick.
            let Some(curr) = self.curr(cpu) else { continue };
            if self.host.task_tick(cpu, curr) != Preempt::No || self.is_due(cpu) {
                preempted.push(cpu);
            }
            while let Some(task) = self.host.actions.next_work() {
                self.host.task_work(cpu, task);
            }
            self.trigger(cpu);
        }
        // The switch comes a little after the tick, which the next slice will notice.
        self.clock += SWITCH;
        self.host.kit.set_clock(self.clock);
        for cpu in preempted {
            self.schedule(cpu);
        }
    }

    /// Lets time pass without a tick.
    pub(crate) fn spend(&mut self, ns: u64) {
        self.clock += ns;
        self.host.kit.set_clock(self.clock);
    }

    /// A new task by nobody on `cpu`, which starts there.
    pub(crate) fn start(&mut self, task: TaskId, cpu: CpuId) {
        self.host.task_fork(cpu, None, task);
        self.enqueue(task, cpu, Enqueue::New);
    }

    /// A new task by `parent`, which starts where the slow path wants it.
    pub(crate) fn fork(&mut self, parent: TaskId, child: TaskId) -> Placement {
        let waker = self.host.kit.world().task(parent).cpu;
        self.host.task_fork(waker, Some(parent), child);
        let wakeup = Wakeup { wakee: child, prev: waker, waker, kind: WakeKind::Fork };
        let placement = self.host.select_task_rq(&wakeup);
        self.enqueue(child, placement.cpu, Enqueue::New);
        placement
    }

    /// The whole wakeup of a sleeping task by whoever runs on `waker`.
    pub(crate) fn wake(&mut self, task: TaskId, waker: CpuId, kind: WakeKind) -> Placement {
        let prev = self.host.kit.world().task(task).cpu;
        let wakeup = Wakeup { wakee: task, prev, waker, kind };
        let placement = self.host.select_task_rq(&wakeup);
        self.wake_on(task, placement.cpu);
        placement
    }

    /// The end of a wakeup; true if the wakee preempts. A sleeper that is queued still stays where it is.
    pub(crate) fn wake_on(&mut self, task: TaskId, cpu: CpuId) -> bool {
        if self.host.kit.world().task(task).on_rq {
            return self.enqueue(task, self.host.kit.world().task(task).cpu, Enqueue::Delayed);
        }
        let migrated = self.host.kit.world().task(task).cpu != cpu;
        if migrated {
            self.host.migrate_task_rq(task, cpu);
        }
        let preempts = self.enqueue(task, cpu, Enqueue::Wakeup { migrated });
        self.host.task_woken(cpu);
        preempts
    }

    fn enqueue(&mut self, task: TaskId, cpu: CpuId, why: Enqueue) -> bool {
        self.host.kit.task(task).cpu = cpu;
        self.host.enqueue(cpu, task, why);
        if why != Enqueue::Delayed {
            self.host.kit.task(task).on_rq = true;
            self.count(cpu, 1);
        }
        let idle = self.curr(cpu).is_none();
        let preempts = idle
            || self.is_due(cpu)
            || self.host.wakeup_preempt(cpu, task, why) != Preempt::No
            || self.is_due(cpu);
        self.settle();
        if preempts {
            self.schedule(cpu);
        }
        self.check(cpu);
        preempts
    }

    /// The running task of `cpu` goes to sleep.
    pub(crate) fn sleep(&mut self, cpu: CpuId) -> TaskId {
        let curr = self.curr(cpu).unwrap();
        if self.host.dequeue(cpu, curr, Dequeue::Sleep) == Dequeued::Left {
            self.host.kit.task(curr).on_rq = false;
            self.count(cpu, -1);
        }
        self.schedule(cpu);
        self.check(cpu);
        curr
    }

    /// Moves a waiting task.
    pub(crate) fn migrate(&mut self, task: TaskId, to: CpuId) {
        let from = self.host.kit.world().task(task).cpu;
        self.host.dequeue(from, task, Dequeue::Moved);
        self.count(from, -1);
        self.host.migrate_task_rq(task, to);
        self.host.kit.task(task).cpu = to;
        self.host.enqueue(to, task, Enqueue::Moved);
        self.count(to, 1);
        self.check(from);
        self.check(to);
    }

    pub(crate) fn renice(&mut self, task: TaskId, nice: i8) {
        self.host.kit.task(task).nice = nice;
        let cpu = self.host.kit.world().task(task).cpu;
        let preempts = self.host.reweight_task(task) != Preempt::No || self.is_due(cpu);
        self.settle();
        if preempts {
            self.schedule(cpu);
        }
        self.check(cpu);
    }

    pub(crate) fn yields(&mut self, cpu: CpuId) {
        let curr = self.curr(cpu).unwrap();
        self.host.yield_task(cpu, curr);
        self.schedule(cpu);
    }

    pub(crate) fn schedule(&mut self, cpu: CpuId) {
        let prev = self.curr(cpu);
        let mut next = self.host.pick_next(cpu, prev);
        self.is_due(cpu);
        self.settle();
        if next.is_none() && self.host.newidle_balance(cpu) {
            let outer = self.scheduling.replace(cpu);
            self.steps(cpu);
            self.scheduling = outer;
            next = self.host.pick_next(cpu, prev);
            self.settle();
        }
        if let (Some(prev), None) = (prev, next) {
            self.host.put_prev_task(cpu, prev);
        }
        if prev.is_none() && next.is_some() {
            self.host.idle_left(cpu);
        }
        self.host.kit.run_on(cpu, next);
        if next.is_none() {
            self.host.idle_entered(cpu);
            if self.host.nohz_run_idle_balance(cpu) {
                self.steps(cpu);
            }
            self.host.nohz_balance_enter_idle(cpu);
        }
    }

    /// Whether a call has asked for a reschedule of `cpu`, which is answered once.
    fn is_due(&mut self, cpu: CpuId) -> bool {
        while let Some(asked) = self.host.actions.next_resched() {
            self.due.insert(asked);
        }
        // All run in user mode.
        while let Some(asked) = self.host.actions.next_resched_lazy() {
            self.due.insert(asked);
        }
        self.due.remove(cpu)
    }

    /// Sleepers that were queued still have left.
    fn settle(&mut self) {
        while let Some(task) = self.host.actions.next_blocked() {
            self.host.kit.task(task).on_rq = false;
            self.count(self.host.kit.world().task(task).cpu, -1);
        }
    }

    pub(crate) fn count(&mut self, cpu: CpuId, by: i32) {
        let nr_running = self.host.kit.world().rq(cpu).nr_running.checked_add_signed(by).unwrap();
        self.host.kit.set_nr_running(cpu, nr_running);
    }

    /// The policy's own invariants.
    pub(crate) fn check(&self, cpu: CpuId) {
        self.host.check(cpu).unwrap();
    }
}
