//! `try_to_wake_up`, `wake_up_new_task`: ask where, price it, enqueue, preempt or kick.
//!
//! A wakeup takes two instants. At the first the waker looks at the wakee and asks the policy for
//! a CPU; at the second, after the time that this takes, the wakee is queued there. In between
//! other wakers may have chosen the same CPU: that race is the kernel's, and it is kept.

use simsched_topology::CpuId;

use super::state::{After, HandOff, Simulator, Stage, Waking};
use crate::error::SimError;
use crate::ids::TaskId;
use crate::ipc::Wake;
use crate::observer::{Cause, Cost, Observer, Tracepoint};
use crate::policy::{Enqueue, Placement, Policy, Preempt, Reason, TtwuQueue, WakeKind, Wakeup};
use crate::time::Nanos;
use crate::workload::Workload;
use crate::world::TaskState;

impl<P: Policy, W: Workload, O: Observer> Simulator<P, W, O> {
    /// Executes the wake list of `cpu` from its head on; then what comes after it.
    pub(super) fn run_wakes(&mut self, cpu: CpuId) -> Result<(), SimError> {
        while let Some(wake) = self.desk(cpu).wakes.pop_front() {
            if self.begin_wakeup(cpu, wake)? {
                return Ok(());
            }
        }
        match self.cpus[cpu.idx()].after {
            After::Syscall => self.back_in(cpu),
            After::Irq => self.irq_exit(cpu),
        }
    }

    /// `try_to_wake_up()` up to the choice of a CPU; false where nothing remains to be done.
    fn begin_wakeup(&mut self, cpu: CpuId, wake: Wake) -> Result<bool, SimError> {
        let task = wake.task;
        self.emit(Tracepoint::Waking { wakee: task, waker: cpu });
        if self.world.task(task).state != TaskState::Sleeping {
            return Ok(false);
        }
        if self.world.task(task).on_rq {
            self.ttwu_runnable(cpu, task);
            return Ok(false);
        }
        self.world.task_mut(task).state = TaskState::Waking;
        self.place(cpu, wake)?;
        Ok(true)
    }

    /// `ttwu_runnable()`: the wakee has not left its runqueue yet, so it stays there.
    fn ttwu_runnable(&mut self, waker: CpuId, task: TaskId) {
        let cpu = self.world.task(task).cpu;
        self.world.update_rq_clock(cpu);
        self.world.task_mut(task).state = TaskState::Running;
        let reason = Reason::STILL_QUEUED;
        self.emit(Tracepoint::Wakeup { wakee: task, cpu, reason, scanned: 0 });
        if self.world.curr(cpu) != Some(task) {
            self.check_preempt_curr(waker, cpu, task, Enqueue::Wakeup { migrated: false });
        }
        self.cpus[waker.idx()].debt += self.prices.list().wakeup;
    }

    /// Waits until the wakee's old CPU is done with it, or chooses a CPU.
    fn place(&mut self, cpu: CpuId, wake: Wake) -> Result<(), SimError> {
        let task = wake.task;
        let prev = self.world.task(task).cpu;
        if self.world.task(task).on_cpu {
            return self.wake_switching(cpu, wake, prev);
        }
        let kind = if wake.sync { WakeKind::WakeSync } else { WakeKind::Wake };
        let placement = self.ask(Wakeup { wakee: task, prev, waker: cpu, kind })?;
        self.begin_placement(cpu, Waking { wake, placement, fork: false });
        Ok(())
    }

    /// The wakee's old CPU is still switching away from it: give it back there if the hand-off rule
    /// accepts, else spin until that CPU is done.
    fn wake_switching(&mut self, cpu: CpuId, wake: Wake, prev: CpuId) -> Result<(), SimError> {
        let on_cpu = Placement { cpu: prev, reason: Reason::ON_CPU, scanned: 0, affine: false };
        let waking = Waking { wake, placement: on_cpu, fork: false };
        if self.ttwu_queue_cond(cpu, prev, wake.task, true) {
            self.begin_placement(cpu, waking);
            return Ok(());
        }
        let until = self.cpus[prev.idx()].until;
        let wait = until.since(self.world.now()) + Nanos(1);
        self.desk(cpu).waking = Some(waking);
        self.begin(cpu, Stage::Spin, Cost::Wakeup, wait);
        Ok(())
    }

    /// The wakee's old CPU should be done by now.
    pub(super) fn spin_done(&mut self, cpu: CpuId) -> Result<(), SimError> {
        let waking = self.desk(cpu).waking.take().expect("a spinning waker has a wakee");
        self.place(cpu, waking.wake)
    }

    /// `select_task_rq()`: the policy's answer, or the only CPU where the task may run.
    fn ask(&mut self, wakeup: Wakeup) -> Result<Placement, SimError> {
        let only = self.world.allowed(wakeup.wakee).filter(|set| set.len() == 1);
        if let Some(cpu) = only.and_then(|set| set.first()) {
            return Ok(Placement { cpu, reason: Reason::PINNED, scanned: 0, affine: false });
        }
        let placement = self.policy.select_task_rq(&self.world, &wakeup);
        if self.world.is_allowed(wakeup.wakee, placement.cpu) {
            return Ok(placement);
        }
        let contract = format!(
            "chose CPU {} for task {}, which may not run there",
            placement.cpu, wakeup.wakee
        );
        Err(SimError::PolicyBroke { at: self.world.now(), contract })
    }

    fn begin_placement(&mut self, cpu: CpuId, waking: Waking) {
        let distance = self.world.topology().distance_class(cpu, waking.placement.cpu);
        let list = self.prices.list();
        let affine = if waking.placement.affine { list.wake_affine } else { 0 };
        let ns = list.wakeup + affine + self.prices.scan(waking.placement.scanned, distance);
        let ns = self.jittered(cpu, ns);
        self.desk(cpu).waking = Some(waking);
        self.begin(cpu, Stage::Wake, Cost::Wakeup, ns);
    }

    /// The second instant of a wakeup: the wakee gets its CPU and is queued.
    pub(super) fn finish_wakeup(&mut self, cpu: CpuId) -> Result<(), SimError> {
        let waking = self.desk(cpu).waking.take().expect("a waker has a wakee");
        if waking.fork {
            self.wake_up_new_task(cpu, waking);
        } else {
            self.ttwu_queue(cpu, waking);
        }
        self.run_wakes(cpu)
    }

    /// `set_task_cpu()` and `ttwu_queue()`.
    fn ttwu_queue(&mut self, waker: CpuId, waking: Waking) {
        let Placement { cpu, reason, scanned, .. } = waking.placement;
        let task = waking.wake.task;
        let from = self.world.task(task).cpu;
        let migrated = cpu != from;
        if migrated {
            self.policy.migrate_task_rq(&self.world, task, cpu);
            self.world.task_mut(task).cpu = cpu;
            self.emit(Tracepoint::Migrate { task, from, to: cpu, cause: Cause::Wakeup, reason });
        }
        let hand_off = HandOff { task, migrated, reason, scanned };
        if reason == Reason::ON_CPU || self.ttwu_queue_cond(waker, cpu, task, false) {
            self.hand_over(waker, cpu, hand_off);
        } else {
            let distance = self.world.topology().distance_class(waker, cpu);
            self.cpus[waker.idx()].debt += self.prices.remote_enqueue(distance);
            self.world.update_rq_clock(cpu);
            self.ttwu_do_activate(waker, cpu, hand_off);
        }
    }

    /// `ttwu_queue_cond()`: whether the wakee goes to the hand-off list of `cpu`.
    fn ttwu_queue_cond(&self, waker: CpuId, cpu: CpuId, task: TaskId, on_cpu: bool) -> bool {
        let rule = self.policy.ttwu_queue();
        if rule == TtwuQueue::Off || !self.world.is_allowed(task, cpu) {
            return false;
        }
        let topology = self.world.topology();
        if topology.llc_of(waker) != topology.llc_of(cpu) {
            return true;
        }
        let may = rule == TtwuQueue::CrossLlcOrIdle || on_cpu;
        cpu != waker && may && self.world.rq(cpu).nr_running == 0
    }

    /// `__ttwu_queue_wakelist()`: the target will queue the wakee itself.
    fn hand_over(&mut self, waker: CpuId, cpu: CpuId, hand_off: HandOff) {
        self.cpus[waker.idx()].debt += self.prices.list().handoff;
        self.world.rq_update(cpu, |rq| rq.pending = true);
        let first = self.desks[cpu.idx()].inbox.is_empty();
        self.desk(cpu).inbox.push_back(hand_off);
        if first {
            self.kick(waker, cpu);
        }
    }

    /// `sched_ttwu_pending()`: the CPU queues what was handed to it, in order of arrival.
    pub(super) fn sched_ttwu_pending(&mut self, cpu: CpuId) {
        if self.desks[cpu.idx()].inbox.is_empty() {
            return;
        }
        self.world.update_rq_clock(cpu);
        while let Some(hand_off) = self.desk(cpu).inbox.pop_front() {
            self.ttwu_do_activate(cpu, cpu, hand_off);
        }
        self.world.rq_update(cpu, |rq| rq.pending = false);
    }

    /// `ttwu_do_activate()`: the wakee is queued, and the current task may have to go.
    fn ttwu_do_activate(&mut self, waker: CpuId, cpu: CpuId, hand_off: HandOff) {
        let HandOff { task, migrated, reason, scanned } = hand_off;
        let why = Enqueue::Wakeup { migrated };
        self.activate(cpu, task, why);
        self.emit(Tracepoint::Wakeup { wakee: task, cpu, reason, scanned });
        self.check_preempt_curr(waker, cpu, task, why);
        self.policy.task_woken(&self.world, cpu);
    }

    /// `activate_task()`.
    fn activate(&mut self, cpu: CpuId, task: TaskId, why: Enqueue) {
        self.policy.enqueue(&self.world, cpu, task, why);
        let row = self.world.task_mut(task);
        row.on_rq = true;
        row.state = TaskState::Running;
        self.world.rq_update(cpu, |rq| rq.nr_running += 1);
    }

    /// `check_preempt_curr()`: the idle task always goes, a task if the policy says so.
    fn check_preempt_curr(&mut self, waker: CpuId, cpu: CpuId, wakee: TaskId, why: Enqueue) {
        let goes = match self.world.curr(cpu) {
            None => true,
            Some(_) => self.policy.wakeup_preempt(&self.world, cpu, wakee, why) == Preempt::Yes,
        };
        if goes {
            self.resched_curr(waker, cpu);
        }
    }

    /// `resched_curr()`: marks the current task of `cpu`, and tells that CPU.
    pub(super) fn resched_curr(&mut self, from: CpuId, cpu: CpuId) {
        if self.world.rq(cpu).need_resched {
            return;
        }
        self.world.rq_update(cpu, |rq| rq.need_resched = true);
        self.cpu(cpu).need_resched = true;
        if from != cpu {
            self.kick(from, cpu);
        }
    }

    /// Makes `cpu` look: an interrupt, or nothing but the flag where its idle task is polling.
    fn kick(&mut self, from: CpuId, cpu: CpuId) {
        let distance = self.world.topology().distance_class(from, cpu);
        let row = &self.cpus[cpu.idx()];
        let delay = if row.stage == Stage::Idle && row.polling {
            self.prices.poll_notice(distance)
        } else {
            self.cpus[from.idx()].debt += self.prices.list().ipi_send;
            self.cpus[cpu.idx()].ipi_sent = true;
            self.prices.ipi_delivery(distance)
        };
        let at = self.world.now() + Nanos(u64::from(self.cpus[from.idx()].debt + delay));
        self.plan_resched(cpu, at);
    }

    /// `wake_up_new_task()` up to the choice of a CPU: the parent's op is done, the child is next.
    pub(super) fn begin_fork(
        &mut self,
        cpu: CpuId,
        parent: TaskId,
        child: TaskId,
    ) -> Result<(), SimError> {
        self.world.update_rq_clock(cpu);
        self.world.task_mut(child).cpu = cpu;
        self.policy.task_fork(&self.world, cpu, Some(parent), child);
        self.emit(Tracepoint::Fork { parent: Some(parent), child });
        self.emit(Tracepoint::Waking { wakee: child, waker: cpu });
        let kind = WakeKind::Fork;
        let placement = self.ask(Wakeup { wakee: child, prev: cpu, waker: cpu, kind })?;
        let wake = Wake { task: child, sync: false };
        self.begin_placement(cpu, Waking { wake, placement, fork: true });
        Ok(())
    }

    /// The second half of `wake_up_new_task()`.
    fn wake_up_new_task(&mut self, parent_cpu: CpuId, waking: Waking) {
        let Placement { cpu, reason, scanned, .. } = waking.placement;
        let task = waking.wake.task;
        if cpu != parent_cpu {
            self.world.task_mut(task).cpu = cpu;
            let cause = Cause::Fork;
            self.emit(Tracepoint::Migrate { task, from: parent_cpu, to: cpu, cause, reason });
        }
        let distance = self.world.topology().distance_class(parent_cpu, cpu);
        self.cpus[parent_cpu.idx()].debt += self.prices.remote_enqueue(distance);
        self.enqueue_new(parent_cpu, cpu, task, reason, scanned);
    }

    pub(super) fn enqueue_new(
        &mut self,
        from: CpuId,
        cpu: CpuId,
        task: TaskId,
        reason: Reason,
        scanned: u16,
    ) {
        self.world.update_rq_clock(cpu);
        self.counters.alive += 1;
        self.activate(cpu, task, Enqueue::New);
        self.emit(Tracepoint::Wakeup { wakee: task, cpu, reason, scanned });
        self.check_preempt_curr(from, cpu, task, Enqueue::New);
    }
}
