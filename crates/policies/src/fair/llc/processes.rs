//! `Processes`: the address spaces of a run, and how many threads each has at present.

use simsched_core::{ProcId, TaskId, World};

/// An address space (`struct mm_struct`): the row of a process in tables of those that have one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct MmId(pub u32);

impl MmId {
    /// The row.
    #[inline]
    #[must_use]
    pub const fn idx(self) -> usize {
        self.0 as usize
    }
}

/// Who has which address space, and how many of them live.
///
/// Threads of the machine's own kernel have none. A process whose first thread has ended before others
/// counts without it, where the kernel counts the zombie.
#[derive(Clone, Debug, Default)]
pub struct Processes {
    /// By task: the address space in which it begins.
    pub(super) declared_mms: Vec<Option<MmId>>,
    /// By task: its address space, until it ends.
    pub(super) mms: Vec<Option<MmId>>,
    /// By address space: the process.
    procs: Vec<ProcId>,
    /// By address space: tasks that were declared of it or have come by an exec.
    declared: Vec<u32>,
    /// By address space: tasks that have begun and have not ended.
    pub(super) threads: Vec<u32>,
}

impl Processes {
    /// The processes of a run, before anybody has begun.
    #[must_use]
    pub fn new(world: &World) -> Processes {
        let tasks = (0..world.tasks().len()).map(TaskId::new);
        let proc_of = |task| (!world.tasks().is_background(task)).then(|| world.task(task).proc.0);
        Processes::of_tasks(tasks.map(proc_of))
    }

    /// The same from the process of each task; `None` is a thread of the kernel.
    #[must_use]
    pub fn of_tasks(tasks: impl Iterator<Item = Option<u32>>) -> Processes {
        let mut processes = Processes::default();
        let mut rows: Vec<Option<MmId>> = Vec::new();
        for proc in tasks {
            let mm = proc.map(|id| {
                let proc = id as usize;
                rows.resize(rows.len().max(proc + 1), None);
                let next = MmId(u32::try_from(processes.declared.len()).expect("few processes"));
                let mm = *rows[proc].get_or_insert(next);
                if mm == next {
                    processes.procs.push(ProcId(id));
                    processes.declared.push(0);
                    processes.threads.push(0);
                }
                processes.declared[mm.idx()] += 1;
                mm
            });
            processes.mms.push(mm);
        }
        processes.declared_mms.clone_from(&processes.mms);
        processes
    }

    /// How many address spaces there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.declared.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.declared.is_empty()
    }

    /// The address space of `task`; none if it is a thread of the kernel, or ends.
    ///
    /// # Panics
    /// When there is no such task.
    #[inline]
    #[must_use]
    pub fn mm(&self, task: TaskId) -> Option<MmId> {
        self.mms[task.idx()]
    }

    /// The process of `mm`.
    ///
    /// # Panics
    /// When there is no such address space.
    #[must_use]
    pub fn proc(&self, mm: MmId) -> ProcId {
        self.procs[mm.idx()]
    }

    /// How many threads of `mm` were declared, or have come by an exec: no more can live at once.
    ///
    /// # Panics
    /// When there is no such address space.
    #[must_use]
    pub fn declared(&self, mm: MmId) -> u32 {
        self.declared[mm.idx()]
    }

    /// How many threads live. Source: `get_nr_threads()`.
    ///
    /// # Panics
    /// When there is no such address space.
    #[inline]
    #[must_use]
    pub fn nr_threads(&self, mm: MmId) -> u32 {
        self.threads[mm.idx()]
    }

    /// `task` begins; its address space, if it is the first thread of that.
    pub fn begin(&mut self, task: TaskId) -> Option<MmId> {
        self.mms[task.idx()] = self.declared_mms[task.idx()];
        let mm = self.mm(task)?;
        self.threads[mm.idx()] += 1;
        (self.threads[mm.idx()] == 1).then_some(mm)
    }

    /// `task` leaves its address space for that of `proc`, which it returns, and whether it is the first thread there;
    /// `None` is a process that has none. Source: `exec_mmap()`.
    pub fn exec(&mut self, task: TaskId, proc: ProcId) -> Option<(MmId, bool)> {
        self.end(task);
        let row = self.procs.iter().position(|known| *known == proc)?;
        let mm = MmId(u32::try_from(row).expect("few processes"));
        self.mms[task.idx()] = Some(mm);
        self.declared[row] += 1;
        self.threads[row] += 1;
        Some((mm, self.threads[row] == 1))
    }

    /// `task` has left its address space and its process, for it ends. Source: `exit_mm()`.
    pub fn end(&mut self, task: TaskId) {
        if let Some(mm) = self.mms[task.idx()].take() {
            self.threads[mm.idx()] -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_counted_by_process_while_they_live_and_kernel_threads_are_not() {
        let mut all = Processes::of_tasks([Some(7), None, Some(2), Some(7)].into_iter());
        let tasks: Vec<TaskId> = (0..4).map(TaskId::new).collect();
        let mms: Vec<_> = tasks.iter().map(|&task| all.mm(task)).collect();
        assert_eq!(mms, [Some(MmId(0)), None, Some(MmId(1)), Some(MmId(0))]);
        assert_eq!((all.len(), all.declared(MmId(0)), all.nr_threads(MmId(0))), (2, 2, 0));
        assert_eq!(all.begin(tasks[0]), Some(MmId(0)), "the first of its process");
        assert_eq!((all.begin(tasks[3]), all.begin(tasks[1])), (None, None));
        assert_eq!(all.nr_threads(MmId(0)), 2);
        all.end(tasks[0]);
        all.end(tasks[1]);
        assert_eq!((all.nr_threads(MmId(0)), all.nr_threads(MmId(1))), (1, 0));
    }
}
