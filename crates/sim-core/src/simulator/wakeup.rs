//! `try_to_wake_up`: ask where, price it, enqueue, preempt or kick.
//!
//! A wakeup takes three instants. At the first the waker finds the wakee asleep and off its
//! runqueue, and takes it for itself; at the second, after its bookkeeping, it looks whether the
//! wakee's CPU has switched away, asks the policy for a CPU and gives it to the wakee; at the third,
//! after the time that choice and queueing take, the wakee is queued there. Between the last two
//! other wakers may choose the same CPU: that race is the kernel's, and it is kept.

use simsched_topology::CpuId;

use super::cpu::{HandOff, Irq, Stage, Waking};
use super::state::{Simulator, Step};
use crate::ids::TaskId;
use crate::ipc::Wake;
use crate::names::{Cause, Reason, ReschedCause};
use crate::observer::{Cost, Observer, Tracepoint};
use crate::policy::{Enqueue, Placement, Policy, Preempt, WakeKind, Wakeup};
use crate::time::Nanos;
use crate::workload::Workload;
use crate::world::TaskState;

impl<P: Policy + ?Sized, W: Workload, O: Observer> Simulator<P, W, O> {
    /// Goes on with the wake list of `cpu`; then with what comes after it. Interrupts are open
    /// between two wakeups of a list.
    pub(super) fn run_wakes(&mut self, cpu: CpuId) -> Step {
        while !self.desks[cpu.idx()].wakes.is_empty() {
            let row = &self.cpus[cpu.idx()];
            if row.deferred.any() {
                self.take_deferred(cpu);
                return Ok(());
            }
            if row.debt > 0 {
                self.begin(cpu, Stage::Debt, Cost::Wakeup, Nanos::ZERO);
                return Ok(());
            }
            let wake = self.desk(cpu).wakes.pop_front().expect("a list that is not empty");
            if self.begin_wakeup(cpu, wake)? {
                return Ok(());
            }
        }
        let desk = self.desk(cpu);
        desk.waitq = None;
        let behind = std::mem::take(&mut desk.behind_wakes);
        self.cpus[cpu.idx()].debt += behind;
        self.back_in(cpu)
    }

    /// `try_to_wake_up()` up to the look whether the wakee is still queued; false where nothing
    /// remains to be done.
    pub(super) fn begin_wakeup(&mut self, cpu: CpuId, wake: Wake) -> Step<bool> {
        let task = wake.task;
        if self.world.task(task).state != TaskState::Sleeping {
            return Ok(false);
        }
        self.emit(Tracepoint::Waking { wakee: task, waker: cpu, sync: wake.sync });
        if self.world.task(task).on_rq {
            self.ttwu_runnable(cpu, task);
            return Ok(false);
        }
        self.world.task_mut(task).state = TaskState::Waking;
        let kind = if wake.sync { WakeKind::WakeSync } else { WakeKind::Wake };
        self.begin_look(cpu, task, kind);
        Ok(true)
    }

    /// `ttwu_runnable()`: the wakee has not left its runqueue yet, so it stays there. Waking the
    /// very task that was interrupted costs nothing worth counting.
    fn ttwu_runnable(&mut self, waker: CpuId, task: TaskId) {
        let cpu = self.world.task(task).cpu;
        self.requeue_delayed(cpu, task);
        self.world.task_mut(task).state = TaskState::Running;
        let reason = Reason::STILL_QUEUED;
        self.emit(Tracepoint::Wakeup { wakee: task, cpu, reason, scanned: 0 });
        if self.world.curr(cpu) != Some(task) {
            self.world.update_rq_clock(cpu);
            self.check_preempt_curr(waker, cpu, task, Enqueue::Wakeup { migrated: false });
            self.task_woken(cpu);
        }
        if self.world.curr(waker) != Some(task) {
            self.cpus[waker.idx()].debt += self.prices.list().wakeup;
        }
    }

    /// The bookkeeping of a wakeup, before the choice of a CPU.
    pub(super) fn begin_look(&mut self, cpu: CpuId, task: TaskId, kind: WakeKind) {
        let ns = self.jittered(cpu, self.prices.list().wakeup);
        self.desk(cpu).wakee = Some((task, kind));
        self.begin(cpu, Stage::Look, Cost::Wakeup, ns);
    }

    /// The second instant of a wakeup: where shall the wakee go?
    pub(super) fn look_done(&mut self, cpu: CpuId) -> Step {
        let (task, kind) = self.desk(cpu).wakee.take().expect("a waker has a wakee");
        if kind == WakeKind::Fork {
            self.place_new(cpu, task);
            return Ok(());
        }
        if self.place(cpu, task, kind) { Ok(()) } else { self.wakeup_done(cpu) }
    }

    /// Chooses a CPU, unless the wakee's old one is still switching away from it: then it goes back
    /// there, if the hand-off rule accepts, or the waker spins until that CPU is done. True while
    /// something remains to be done.
    fn place(&mut self, cpu: CpuId, task: TaskId, kind: WakeKind) -> bool {
        let prev = self.world.task(task).cpu;
        if self.world.task(task).on_cpu {
            // Who has begun to wait does not ask again (`smp_cond_load_acquire(&p->on_cpu)`).
            let waits = self.cpus[cpu.idx()].stage == Stage::Spin;
            if !waits && self.ttwu_queue_cond(cpu, prev, task, true) {
                self.hand_back(cpu, prev, task);
                return false;
            }
            self.spin(cpu, prev, task, kind);
            return true;
        }
        let placement = self.ask(Wakeup { wakee: task, prev, waker: cpu, kind });
        let migrated = placement.cpu != prev;
        if migrated {
            self.set_task_cpu(task, prev, placement);
        }
        let hands_over = self.ttwu_queue_cond(cpu, placement.cpu, task, false);
        let waking = Waking { task, placement, migrated, fork: false, locked: None };
        self.begin_placement(cpu, waking, hands_over);
        true
    }

    /// The wakee's old CPU takes it back when it is done switching; nothing was chosen.
    fn hand_back(&mut self, cpu: CpuId, prev: CpuId, task: TaskId) {
        let reason = Reason::ON_CPU;
        self.cpus[cpu.idx()].debt += self.prices.list().handoff;
        let lines = self.hand_off_lines(cpu, prev, task);
        self.stall(cpu, Cost::RqLock, lines);
        self.hand_over(
            cpu,
            prev,
            HandOff { task, waker: cpu, migrated: false, reason, scanned: 0 },
        );
    }

    /// Waits for the wakee's old CPU, and looks again when it should be done.
    fn spin(&mut self, cpu: CpuId, prev: CpuId, task: TaskId, kind: WakeKind) {
        let now = self.world.now();
        let until = match self.prices.quantum() {
            0 | 1 => self.cpus[prev.idx()].until + Nanos(1),
            _ => self.agenda.next_turn(now),
        };
        let wait = until.since(now).max(Nanos(1));
        self.desk(cpu).wakee = Some((task, kind));
        if let Some(waker) = self.cpus[cpu.idx()].task.filter(|_| self.is_paid(cpu)) {
            // As long as this one spun in the recording is in what it computes.
            self.spun[waker.idx()] += wait;
        }
        if self.in_turns() {
            self.begin_pause(cpu, Stage::Spin, Cost::Wakeup, 0);
        } else {
            self.begin(cpu, Stage::Spin, Cost::Wakeup, wait);
        }
    }

    /// `set_task_cpu()`: the load and the virtual time of the wakee leave its old runqueue.
    pub(super) fn set_task_cpu(&mut self, task: TaskId, from: CpuId, placement: Placement) {
        let to = placement.cpu;
        self.migrate_task_rq(task, to);
        self.change_cpu(task, from, placement);
    }

    pub(super) fn change_cpu(&mut self, task: TaskId, from: CpuId, placement: Placement) {
        let Placement { cpu: to, reason, .. } = placement;
        self.world.task_mut(task).cpu = to;
        let (cause, domain) = (Cause::Wakeup, self.policy.domain_of(from, to));
        self.emit(Tracepoint::Migrate { task, from, to, cause, reason, domain });
    }

    /// `select_task_rq()`: the policy's answer, or the only CPU where the task may run; another where
    /// the answer is not allowed.
    pub(super) fn ask(&mut self, wakeup: Wakeup) -> Placement {
        let only = match self.world.allowed(wakeup.wakee) {
            Some(set) if set.len() == 1 => set.first(),
            None if self.world.topology().nr_cpus() == 1 => Some(wakeup.prev),
            _ => None,
        };
        if let Some(cpu) = only {
            return Placement::at(cpu, Reason::PINNED);
        }
        let placement = self.select_task_rq(&wakeup);
        if self.world.is_allowed(wakeup.wakee, placement.cpu) {
            return placement;
        }
        let cpu = self.select_fallback_rq(wakeup.wakee);
        Placement { cpu, reason: Reason::FALLBACK, ..placement }
    }

    /// `select_fallback_rq()`: a CPU where the wakee may run, in the node of its last one if there
    /// is one.
    pub(super) fn select_fallback_rq(&self, task: TaskId) -> CpuId {
        let topology = self.world.topology();
        let allowed = self.world.allowed(task).unwrap_or(topology.cpus());
        let node = topology.node_span(topology.node_of(self.world.task(task).cpu));
        let near = allowed.and(node).first();
        near.or(allowed.first()).expect("a task may run somewhere")
    }

    /// What is left of a choice that is made, and the way to the queue, or to the hand-off list if the rule
    /// accepts as the waker finds that CPU now.
    pub(super) fn begin_placement(&mut self, cpu: CpuId, waking: Waking, hands_over: bool) {
        let (list, target) = (self.prices.list(), waking.placement.cpu);
        let queueing = if hands_over {
            list.handoff
        } else {
            self.prices.enqueue(self.world.topology().distance_class(cpu, target))
        };
        let affine = match waking.placement {
            Placement { affine: true, .. } => list.wake_affine,
            Placement { reason, .. } if waking.fork || reason == Reason::PINNED => 0,
            _ => list.wake_select,
        };
        let moving = if waking.migrated { list.set_task_cpu } else { 0 };
        let scan = if waking.placement.scanned > 0 { list.wake_scan } else { 0 };
        let first = moving + affine + scan + self.prices.scan(&waking.placement);
        // A hand-off needs no lock, but lines.
        let locked = if hands_over {
            self.hand_off_lines(cpu, target, waking.task)
        } else {
            self.lock_rq(cpu, target, first)
        };
        let slower = self.slower(cpu, self.prices.scan_lines(&waking.placement));
        self.stall(cpu, Cost::RqLock, locked + slower);
        self.desk(cpu).waking = Some(waking);
        if !hands_over && self.in_turns() {
            let ns = self.jittered(cpu, first + self.prices.list().wake_lock);
            self.begin(cpu, Stage::Lock, Cost::Wakeup, ns);
            return;
        }
        let ns = self.jittered(cpu, first + queueing);
        self.begin(cpu, Stage::Wake, Cost::Wakeup, ns);
    }

    /// The lock of the runqueue is reached: who finds it taken looks again in its next turn.
    pub(super) fn lock_reached(&mut self, cpu: CpuId) {
        let target = self.desks[cpu.idx()].waking.expect("a waker has a wakee").placement.cpu;
        if self.rq_is_locked(target) {
            self.begin_pause(cpu, Stage::Lock, Cost::Wakeup, 0);
            return;
        }
        self.desk(target).rq_holder = Some(cpu);
        if let Some(waking) = &mut self.desk(cpu).waking {
            waking.locked = Some(target);
        }
        let distance = self.world.topology().distance_class(cpu, target);
        let ns = self.jittered(cpu, self.prices.enqueue(distance));
        self.begin(cpu, Stage::Wake, Cost::Wakeup, ns);
    }

    /// Whether a waker holds the lock of the runqueue of `cpu`, or `cpu` itself does: in `schedule()`, up
    /// to `finish_lock_switch()`, and where it queues what was handed to it.
    pub(super) fn rq_is_locked(&self, cpu: CpuId) -> bool {
        let schedules = matches!(
            self.cpus[cpu.idx()].stage,
            Stage::Dequeue | Stage::Pick | Stage::Switch | Stage::Irq(Irq::Activate)
        );
        schedules || self.desks[cpu.idx()].rq_holder.is_some()
    }

    /// The third instant of a wakeup: the wakee is queued.
    pub(super) fn finish_wakeup(&mut self, cpu: CpuId) -> Step {
        let mut waking = self.desk(cpu).waking.take().expect("a waker has a wakee");
        if !self.world.is_allowed(waking.task, waking.placement.cpu) {
            self.place_again(&mut waking);
        }
        let Waking { task, placement, migrated, fork, locked } = waking;
        if let Some(locked) = locked {
            self.desk(locked).rq_holder = None;
            self.cpus[cpu.idx()].debt += self.prices.list().wake_tail;
        }
        let Placement { cpu: target, reason, scanned, .. } = placement;
        if fork {
            self.wake_up_new_task(cpu, task, placement);
        } else {
            self.ttwu_queue(cpu, target, HandOff { task, waker: cpu, migrated, reason, scanned });
        }
        self.wakeup_done(cpu)
    }

    /// A wakeup is over: the next of the list, or the end of the interrupt that woke.
    fn wakeup_done(&mut self, cpu: CpuId) -> Step {
        if self.cpus[cpu.idx()].in_irq { self.irq_exit(cpu) } else { self.run_wakes(cpu) }
    }

    /// `ttwu_queue()`: by hand-off, or by the waker itself.
    fn ttwu_queue(&mut self, waker: CpuId, cpu: CpuId, hand_off: HandOff) {
        if self.ttwu_queue_cond(waker, cpu, hand_off.task, false) {
            self.hand_over(waker, cpu, hand_off);
        } else {
            self.world.update_rq_clock(cpu);
            self.ttwu_do_activate(waker, cpu, hand_off);
        }
    }

    /// `ttwu_do_activate()`: the wakee is queued, and the current task may have to go.
    pub(super) fn ttwu_do_activate(&mut self, waker: CpuId, cpu: CpuId, hand_off: HandOff) {
        let HandOff { task, migrated, reason, scanned, .. } = hand_off;
        let why = Enqueue::Wakeup { migrated };
        self.activate(cpu, task, why);
        self.emit(Tracepoint::Wakeup { wakee: task, cpu, reason, scanned });
        self.check_preempt_curr(waker, cpu, task, why);
        self.task_woken(cpu);
        self.cpus[waker.idx()].debt += self.prices.list().wakeup_event;
    }

    /// `activate_task()`.
    pub(super) fn activate(&mut self, cpu: CpuId, task: TaskId, why: Enqueue) {
        self.enqueue_task(cpu, task, why);
        if self.recorded {
            self.desk(cpu).woken = Some(task);
        }
        let row = self.world.task_mut(task);
        row.on_rq = true;
        row.state = TaskState::Running;
        self.count_task(task, 1);
    }

    /// `check_preempt_curr()`: the idle task always goes, a task if the policy says so, the stopper
    /// never.
    pub(super) fn check_preempt_curr(
        &mut self,
        waker: CpuId,
        cpu: CpuId,
        wakee: TaskId,
        why: Enqueue,
    ) {
        let preempt = match self.world.curr(cpu) {
            None if self.world.rq(cpu).stopping => Preempt::No,
            None => Preempt::Hard,
            Some(_) => {
                self.resched_cause = ReschedCause::Wakeup;
                let preempt = self.wakeup_preempt(cpu, wakee, why);
                self.resched_cause = ReschedCause::Other;
                preempt
            }
        };
        self.resched_as(waker, cpu, preempt, ReschedCause::Wakeup);
        self.skip_clock_update_if_resched(cpu);
    }

    /// The `schedule()` that is to come takes the clock as it is, unless it begins with a dequeue.
    pub(super) fn skip_clock_update_if_resched(&mut self, cpu: CpuId) {
        let stays_queued = self.world.curr(cpu).is_none_or(|curr| self.world.task(curr).on_rq);
        if stays_queued && self.world.rq(cpu).need_resched {
            self.world.skip_clock_update(cpu);
        }
    }
}
