//! The ends of tasks, and who waits for them; it answers whom to wake.
//!
//! Source: `pthread_join` waits on a futex that the kernel posts when a thread ends
//! (`mm_release`); `waitpid` and `wait` sleep on `wait_chldexit`, which an ending process wakes
//! synchronously (`__wake_up_parent()` in `kernel/exit.c`, Linux 6.1). The scheduler takes a
//! synchronous wakeup of a task on its way out for a plain one.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::waitq::{Queue, Sleepers, Sync, WaitFor};
use super::{Verdict, Wakes};
use crate::ids::{ProcId, TaskId};
use crate::workload::{Outcome, TaskSpec};

/// No parent, or no family.
const NONE: u32 = u32::MAX;

/// What is known of the life of one task.
#[derive(Clone, Debug)]
struct Life {
    /// Whoever sleeps in `Join`, in the order in which they came.
    joiners: Queue,
    proc: ProcId,
    parent: u32,
    /// Which child of its parent it is, in the order of birth.
    birth: u32,
    /// The index of its own [`Family`], from its first child on.
    family: u32,
    is_dead: bool,
    is_reaped: bool,
}

/// The children of one task.
#[derive(Clone, Debug, Default)]
struct Family {
    /// How many were born.
    born: u32,
    /// How many of them nobody has waited for.
    unreaped: u32,
    /// Those that have ended, by birth; who was joined meanwhile is skipped.
    dead: BinaryHeap<Reverse<(u32, TaskId)>>,
    /// Whether the parent sleeps in `WaitAny`.
    is_awaited: bool,
}

/// The lives of all tasks.
#[derive(Clone, Debug)]
pub(super) struct Lives {
    lives: Vec<Life>,
    families: Vec<Family>,
    /// By process: how many of its tasks have not ended, born or not.
    left: Vec<u32>,
    /// By process: whether a task was declared of it.
    is_declared: Vec<bool>,
}

impl Lives {
    /// All are alive and nobody has a parent.
    pub(super) fn new(tasks: &[TaskSpec]) -> Lives {
        let life = |spec: &TaskSpec| Life {
            joiners: Queue::default(),
            proc: spec.proc,
            parent: NONE,
            birth: 0,
            family: NONE,
            is_dead: false,
            is_reaped: false,
        };
        let procs = tasks.iter().map(|spec| spec.proc.idx() + 1).max().unwrap_or(0);
        let mut left = vec![0; procs];
        tasks.iter().for_each(|spec| left[spec.proc.idx()] += 1);
        let is_declared = left.iter().map(|&tasks| tasks > 0).collect();
        Lives { lives: tasks.iter().map(life).collect(), families: Vec::new(), left, is_declared }
    }

    /// Whether a task was declared of `proc`.
    pub(super) fn declares(&self, proc: ProcId) -> bool {
        self.is_declared.get(proc.idx()).is_some_and(|&is_declared| is_declared)
    }

    /// `task` is of `proc` from now on, and lives.
    pub(super) fn exec(&mut self, task: TaskId, proc: ProcId) {
        let was = std::mem::replace(&mut self.lives[task.idx()].proc, proc);
        self.left[was.idx()] -= 1;
        self.left[proc.idx()] += 1;
    }

    /// Whether no other task of its process is left: with it ends the address space.
    pub(super) fn is_last_of_process(&self, task: TaskId) -> bool {
        self.left[self.lives[task.idx()].proc.idx()] == 1
    }

    /// `child` is born to `parent`.
    pub(super) fn spawned(&mut self, parent: TaskId, child: TaskId) {
        let family_idx = self.family_of(parent);
        let family = &mut self.families[family_idx];
        let birth = family.born;
        family.born += 1;
        family.unreaped += 1;
        let life = &mut self.lives[child.idx()];
        life.parent = parent.0;
        life.birth = birth;
    }

    /// `task` ends: wakes those who join it, in the order in which they came, and then its parent
    /// if that one waits for any child.
    pub(super) fn exit(&mut self, task: TaskId, sleepers: &mut Sleepers, wakes: &mut Wakes) {
        let life = &mut self.lives[task.idx()];
        life.is_dead = true;
        self.left[life.proc.idx()] -= 1;
        let (proc, parent, birth) = (life.proc, life.parent, life.birth);
        let mut joiners = std::mem::take(&mut life.joiners);
        while let Some(joiner) = joiners.first() {
            let sync = self.sync_to(proc, joiner);
            sleepers.wake_first(&mut joiners, sync, wakes);
        }
        if parent == NONE {
            return;
        }
        let parent = TaskId(parent);
        let sync = self.sync_to(proc, parent);
        let family_idx = self.family_of(parent);
        let family = &mut self.families[family_idx];
        family.dead.push(Reverse((birth, task)));
        if std::mem::take(&mut family.is_awaited) {
            sleepers.wake(parent, sync, wakes);
        }
    }

    /// Waits for the end of `child`.
    pub(super) fn join(&mut self, child: TaskId, task: TaskId, sleepers: &mut Sleepers) -> Verdict {
        let life = &mut self.lives[child.idx()];
        if !life.is_dead {
            sleepers.push_back(&mut life.joiners, task, WaitFor::Exit, child.0);
            return Verdict::Block;
        }
        self.reap(child);
        Verdict::Done(Outcome::Done)
    }

    /// Waits for the end of any child, the eldest first; at once done without one when there is
    /// none to wait for (`ECHILD`).
    pub(super) fn wait_any(&mut self, task: TaskId, sleepers: &mut Sleepers) -> Verdict {
        let family_idx = self.family_of(task);
        while let Some(Reverse((_, child))) = self.families[family_idx].dead.pop() {
            if !self.lives[child.idx()].is_reaped {
                self.reap(child);
                return Verdict::Done(Outcome::Child(child));
            }
        }
        let family = &mut self.families[family_idx];
        if family.unreaped == 0 {
            return Verdict::Done(Outcome::Done);
        }
        family.is_awaited = true;
        sleepers.sleep(task, WaitFor::AnyChild, 0);
        Verdict::Block
    }

    /// A thread's end is posted on a futex, a process's end wakes synchronously.
    fn sync_to(&self, ending: ProcId, waiter: TaskId) -> Sync {
        if self.lives[waiter.idx()].proc == ending { Sync::No } else { Sync::Yes }
    }

    /// Somebody has waited for `child`.
    fn reap(&mut self, child: TaskId) {
        let life = &mut self.lives[child.idx()];
        if std::mem::replace(&mut life.is_reaped, true) || life.parent == NONE {
            return;
        }
        let parent = TaskId(life.parent);
        let family_idx = self.family_of(parent);
        self.families[family_idx].unreaped -= 1;
    }

    /// The index of the family of `parent`, which is made when it is first asked for.
    fn family_of(&mut self, parent: TaskId) -> usize {
        let life = &mut self.lives[parent.idx()];
        if life.family == NONE {
            life.family = u32::try_from(self.families.len()).expect("fewer families than tasks");
            self.families.push(Family::default());
        }
        life.family as usize
    }
}
