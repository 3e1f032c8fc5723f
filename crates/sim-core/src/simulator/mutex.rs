//! The mutex of a pipe, on a machine whose CPUs take turns: spinners look once in each of theirs.
//!
//! Source: `mutex_optimistic_spin()`, `__mutex_lock_common()` and `__mutex_unlock_slowpath()` in
//! `kernel/locking/mutex.c`, `osq_lock()`, and the calls in `fs/pipe.c`, Linux 6.1 and 7.3.

use std::collections::VecDeque;

use simsched_topology::CpuId;

use super::cpu::{Phase, Progress, Stage};
use super::state::{Simulator, Step};
use crate::ids::{PipeId, TaskId};
use crate::ipc::{Page, Wake};
use crate::observer::{Cost, Observer};
use crate::policy::Policy;
use crate::time::Nanos;
use crate::workload::{Op, Workload};
use crate::world::TaskState;

/// A mutex, and who wants it.
#[derive(Clone, Debug, Default)]
pub(super) struct Mutex {
    owner: Option<TaskId>,
    /// The first sleeper has looked in vain: who unlocks gives it the mutex (`MUTEX_FLAG_HANDOFF`).
    handoff: bool,
    /// In the order in which they came (`lock->osq`): the first looks at the mutex.
    spinners: VecDeque<TaskId>,
    /// In the order in which they came (`lock->wait_list`).
    sleepers: VecDeque<TaskId>,
    /// Who looks whether this owner is still the same (`mutex_spin_on_owner()`).
    watched: Vec<(TaskId, TaskId)>,
    /// Writers that do not have it yet, and the pages that they have allocated for its pipe.
    allocated: Vec<(TaskId, u8)>,
}

impl Mutex {
    /// `__mutex_trylock()`: also of one to whom it was handed.
    fn try_lock(&mut self, task: TaskId) -> bool {
        let gets = self.owner.is_none_or(|owner| owner == task);
        if gets {
            self.owner = Some(task);
            self.stop_spinning(task);
            let first = self.sleepers.front() == Some(&task);
            self.handoff &= !first;
            self.sleepers.retain(|&other| other != task);
        }
        gets
    }

    /// Whether `task` watches an owner who has not changed since.
    fn still_watches(&self, task: TaskId) -> bool {
        self.owner.is_some_and(|owner| self.watched.contains(&(task, owner)))
    }

    /// `task` watches the present owner from now on.
    fn watch(&mut self, task: TaskId) {
        self.forget(task);
        if let Some(owner) = self.owner {
            self.watched.push((task, owner));
        }
    }

    /// `task` watches nobody any more; whether it did.
    fn forget(&mut self, task: TaskId) -> bool {
        let before = self.watched.len();
        self.watched.retain(|&(other, _)| other != task);
        self.watched.len() < before
    }

    /// `task` does not spin any more.
    fn stop_spinning(&mut self, task: TaskId) {
        self.forget(task);
        self.spinners.retain(|&other| other != task);
    }

    /// `mutex_unlock()`: whom to wake.
    fn unlock(&mut self) -> Option<TaskId> {
        let first = self.sleepers.front().copied();
        self.owner = first.filter(|_| self.handoff);
        self.handoff = false;
        first
    }

    /// Whether `task` may look at the mutex: the first spinner, and the first sleeper once it is awake.
    fn may_look(&self, task: TaskId) -> bool {
        self.spinners.front() == Some(&task) || self.sleepers.front() == Some(&task)
    }
}

/// The pipe of an op that is on one.
fn pipe_of(op: Op) -> Option<PipeId> {
    match op {
        Op::Write { pipe, .. } | Op::Read { pipe, .. } => Some(pipe),
        _ => None,
    }
}

impl<P: Policy + ?Sized, W: Workload, O: Observer> Simulator<P, W, O> {
    /// Begins the next part of an op on a pipe.
    fn phase(&mut self, cpu: CpuId, phase: Phase, ns: u32) {
        let run = &mut self.cpus[cpu.idx()].run;
        (run.phase, run.progress) = (phase, Progress::Under);
        let ns = self.jittered(cpu, ns);
        self.begin(cpu, Stage::Op, Cost::Syscall, ns);
    }

    /// Whether the CPUs take turns, and an op on a pipe has parts: the mutex, and the copy.
    #[inline]
    pub(super) fn in_turns(&self) -> bool {
        self.prices.quantum() > 1
    }

    /// The system call begins.
    pub(super) fn enter_pipe(&mut self, cpu: CpuId, op: Op) {
        self.cpus[cpu.idx()].run.look = false;
        let entry = self.prices.pipe_entry(op);
        let pages = self.ipc.prefill(op);
        if let (Some(pipe), Some(task), 1..) = (pipe_of(op), self.cpus[cpu.idx()].task, pages) {
            self.mutexes[pipe.idx()].allocated.push((task, pages));
        }
        let allocates = u32::from(pages) * self.prices.list().pipe_alloc_page;
        self.phase(cpu, Phase::Enter, entry + allocates);
    }

    /// A sleeper is back: from the pipe's wait queue, or from the mutex's.
    pub(super) fn retry_pipe(&mut self, cpu: CpuId) {
        let slept_for_mutex = self.cpus[cpu.idx()].run.phase == Phase::Sleep;
        let phase = if slept_for_mutex { Phase::Woken } else { Phase::Look };
        self.phase(cpu, phase, self.prices.list().recheck);
    }

    /// A part of an op on a pipe is over; false if the op has its effect now.
    pub(super) fn pipe_goes_on(&mut self, cpu: CpuId, task: TaskId, op: Op) -> Step<bool> {
        let Some(pipe) = pipe_of(op) else { return Ok(false) };
        let run = &self.cpus[cpu.idx()].run;
        let (phase, retry) = (run.phase, run.retry);
        match phase {
            Phase::None => return Ok(false),
            Phase::Hold => {
                self.cpus[cpu.idx()].run.phase = Phase::None;
                self.unlock(cpu, pipe);
                return Ok(false);
            }
            Phase::Unready => {
                self.unlock(cpu, pipe);
                let wait = self.prices.list().pipe_wait;
                if self.desks[cpu.idx()].wakes.is_empty() {
                    self.phase(cpu, Phase::Look, wait);
                } else {
                    let run = &mut self.cpus[cpu.idx()].run;
                    (run.phase, run.progress) = (Phase::Look, Progress::Under);
                    run.remains = Nanos(u64::from(wait));
                    self.run_wakes(cpu)?;
                }
            }
            Phase::Look => {
                if self.ipc.finds_pipe_unready(op, retry) {
                    self.cpus[cpu.idx()].run.phase = Phase::None;
                    return Ok(false);
                }
                let relock = self.prices.list().pipe_relock;
                self.phase(cpu, Phase::Again, relock);
            }
            // `might_sleep()` in `mutex_lock()` gives way.
            Phase::Enter | Phase::Again if self.cpus[cpu.idx()].need_resched.is_hard() => {
                self.give_way(cpu, Phase::Again);
            }
            Phase::Enter | Phase::Again => self.arrives(cpu, task, op, pipe),
            Phase::Spin => self.spins(cpu, task, op, pipe),
            Phase::Slow => self.slow(cpu, task, op, pipe),
            Phase::Sleep | Phase::Woken => self.woken(cpu, task, op, pipe),
        }
        Ok(true)
    }

    /// The task is preempted, and goes on with `phase`.
    fn give_way(&mut self, cpu: CpuId, phase: Phase) {
        let run = &mut self.cpus[cpu.idx()].run;
        (run.phase, run.progress, run.remains) = (phase, Progress::Under, Nanos::ZERO);
        self.enter_schedule(cpu);
    }

    /// At the mutex: takes it, or spins, or sleeps.
    fn arrives(&mut self, cpu: CpuId, task: TaskId, op: Op, pipe: PipeId) {
        let has_sleepers = !self.mutexes[pipe.idx()].sleepers.is_empty();
        if self.mutexes[pipe.idx()].try_lock(task) {
            let slow = if has_sleepers { self.prices.list().mutex_slow } else { 0 };
            self.locked(cpu, op, slow);
        } else if self.owner_runs(pipe) {
            let mutex = &mut self.mutexes[pipe.idx()];
            mutex.spinners.push_back(task);
            if mutex.may_look(task) {
                mutex.watch(task);
            }
            let spin = self.prices.list().mutex_spin;
            self.spin_on(cpu, spin);
        } else {
            self.slow(cpu, task, op, pipe);
        }
    }

    /// `owner_on_cpu()`.
    fn owner_runs(&self, pipe: PipeId) -> bool {
        let owner = self.mutexes[pipe.idx()].owner;
        owner.is_none_or(|owner| self.world.task(owner).on_cpu)
    }

    /// Ends its turn after `ns`: the next look comes with the next one.
    fn spin_on(&mut self, cpu: CpuId, ns: u32) {
        let run = &mut self.cpus[cpu.idx()].run;
        (run.phase, run.progress) = (Phase::Spin, Progress::Under);
        self.begin_pause(cpu, Stage::Op, Cost::Syscall, ns);
    }

    /// A spinner's look. One who sees that the owner has changed tries to get the mutex a turn later,
    /// since there is a PAUSE in between.
    fn spins(&mut self, cpu: CpuId, task: TaskId, op: Op, pipe: PipeId) {
        let goes = self.cpus[cpu.idx()].need_resched.is_hard();
        let mutex = &mut self.mutexes[pipe.idx()];
        let looks = mutex.may_look(task);
        let same = mutex.still_watches(task);
        if looks && !same && mutex.forget(task) {
            self.spin_on(cpu, 0);
            return;
        }
        if looks && !same {
            if mutex.try_lock(task) {
                let spun = self.prices.list().mutex_spun;
                self.locked(cpu, op, spun);
                return;
            }
            mutex.watch(task);
        }
        if !goes && (!looks || self.owner_runs(pipe)) {
            self.spin_on(cpu, 0);
            return;
        }
        self.mutexes[pipe.idx()].stop_spinning(task);
        if goes {
            self.give_way(cpu, Phase::Slow);
        } else {
            self.slow(cpu, task, op, pipe);
        }
    }

    /// Gets the mutex at the last moment, or sleeps for it.
    fn slow(&mut self, cpu: CpuId, task: TaskId, op: Op, pipe: PipeId) {
        let mutex = &mut self.mutexes[pipe.idx()];
        if mutex.try_lock(task) {
            self.locked(cpu, op, 0);
            return;
        }
        if !mutex.sleepers.contains(&task) {
            mutex.sleepers.push_back(task);
        }
        let run = &mut self.cpus[cpu.idx()].run;
        (run.phase, run.progress) = (Phase::Sleep, Progress::Blocked);
        let row = self.world.task_mut(task);
        (row.state, row.uninterruptible) = (TaskState::Sleeping, true);
        self.enter_schedule(cpu);
    }

    /// One who slept for the mutex looks: the first asks to be handed it, and spins.
    fn woken(&mut self, cpu: CpuId, task: TaskId, op: Op, pipe: PipeId) {
        let mutex = &mut self.mutexes[pipe.idx()];
        if mutex.try_lock(task) {
            self.locked(cpu, op, 0);
            return;
        }
        let first = mutex.sleepers.front() == Some(&task);
        mutex.handoff |= first;
        if first {
            mutex.watch(task);
        }
        if first && !self.cpus[cpu.idx()].need_resched.is_hard() && self.owner_runs(pipe) {
            self.spin_on(cpu, 0);
        } else {
            self.slow(cpu, task, op, pipe);
        }
    }

    /// The mutex is taken: the pipe is looked at, and copied to or from if it is ready.
    fn locked(&mut self, cpu: CpuId, op: Op, before: u32) {
        self.fills_pipe(cpu, op);
        let retry = self.cpus[cpu.idx()].run.retry;
        if self.ipc.finds_pipe_unready(op, retry) {
            let look = self.prices.list().lock;
            self.phase(cpu, Phase::Unready, before + look);
            return;
        }
        let (Op::Write { bytes, .. } | Op::Read { bytes, .. }) = op else { return };
        let page = self.ipc.turns_page(op);
        let copy = self.prices.list().pipe_copy.saturating_add(self.prices.copy(bytes));
        let held = before + copy.saturating_add(self.prices.pipe_page(page));
        if page == Page::Allocated && self.cpus[cpu.idx()].need_resched.is_hard() {
            // `might_sleep()` in the allocation of the page gives way, and keeps the mutex.
            self.give_way(cpu, Phase::Hold);
            self.cpus[cpu.idx()].run.remains = Nanos(u64::from(held));
            return;
        }
        self.phase(cpu, Phase::Hold, held);
    }

    /// What the task has allocated for the pipe of `op` before it had the mutex is the pipe's.
    fn fills_pipe(&mut self, cpu: CpuId, op: Op) {
        let (Some(pipe), Some(task)) = (pipe_of(op), self.cpus[cpu.idx()].task) else { return };
        let allocated = &mut self.mutexes[pipe.idx()].allocated;
        if let Some(at) = allocated.iter().position(|&(writer, _)| writer == task) {
            let (_, pages) = allocated.swap_remove(at);
            self.ipc.fill(pipe, pages);
        }
    }

    /// An op on a pipe has looked for sleepers `looks` times; those that it found have prices of their
    /// own.
    pub(super) fn looked_for_sleepers(&mut self, cpu: CpuId, looks: u32) {
        let found = u32::try_from(self.scratch.len()).unwrap_or(looks);
        self.cpus[cpu.idx()].debt += looks.saturating_sub(found) * self.prices.list().pipe_wake;
    }

    /// Frees the pages that `op` has left behind the mutex of its pipe.
    pub(super) fn frees_pages(&mut self, cpu: CpuId, op: Op) {
        let pages = self.ipc.trim(op);
        self.cpus[cpu.idx()].debt += pages * self.prices.list().pipe_free_page;
    }

    fn unlock(&mut self, cpu: CpuId, pipe: PipeId) {
        if let Some(task) = self.mutexes[pipe.idx()].unlock() {
            if self.world.task(task).state != TaskState::Sleeping {
                self.cpus[cpu.idx()].debt += self.prices.list().mutex_wake;
            }
            self.desk(cpu).wakes.push_back(Wake { task, sync: false });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: TaskId = TaskId(0);
    const B: TaskId = TaskId(1);
    const C: TaskId = TaskId(2);

    #[test]
    fn only_the_first_spinner_looks() {
        let mut mutex = Mutex::default();
        assert!(mutex.try_lock(A) && !mutex.try_lock(B));
        mutex.spinners.extend([B, C]);
        assert!(mutex.may_look(B) && !mutex.may_look(C));
        assert_eq!(mutex.unlock(), None);
        assert!(mutex.try_lock(B) && mutex.may_look(C));
    }

    #[test]
    fn a_sleeper_that_asked_for_it_is_handed_the_mutex() {
        let mut mutex = Mutex::default();
        assert!(mutex.try_lock(A));
        mutex.sleepers.push_back(B);
        mutex.handoff = true;
        assert_eq!(mutex.unlock(), Some(B));
        assert!(!mutex.try_lock(C) && mutex.try_lock(B));
        assert!(mutex.sleepers.is_empty());
    }

    #[test]
    fn a_sleeper_that_is_woken_may_come_too_late() {
        let mut mutex = Mutex::default();
        assert!(mutex.try_lock(A));
        mutex.sleepers.push_back(B);
        assert_eq!(mutex.unlock(), Some(B));
        assert!(mutex.try_lock(C) && !mutex.try_lock(B));
    }

    #[test]
    fn who_watches_an_owner_sees_that_it_has_changed() {
        let mut mutex = Mutex::default();
        assert!(mutex.try_lock(A));
        mutex.watch(B);
        assert!(mutex.still_watches(B));
        mutex.unlock();
        assert!(!mutex.still_watches(B) && mutex.try_lock(C));
        assert!(!mutex.still_watches(B) && mutex.forget(B) && !mutex.forget(B));
    }
}
