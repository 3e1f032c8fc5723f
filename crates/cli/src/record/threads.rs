//! The threads of a run, as tracepoints of a kernel would name them.

use std::collections::BTreeMap;

use simsched_core::{Setup, TaskId};
use simsched_topology::CpuId;
use simsched_trace::{Thread, ThreadIx, Threads};

/// The pid of the stopper of CPU 0, the others follow: smaller ones belong to `init` and `kthreadd`.
const FIRST_STOPPER: usize = 3;

/// The smallest pid of a task: far from the threads that a kernel starts first.
const FIRST_PID: usize = 2000;

/// The priority of nice 0, and of the idle tasks (`MAX_PRIO - 20`).
const NORMAL_PRIO: i32 = 120;

/// Bytes of a name (`TASK_COMM_LEN` less its end).
const COMM: usize = 15;

/// All threads that a run can show, and where they stand in the table: tasks come first, then the idle
/// tasks (`swapper/N`, pid 0), then the stoppers (`migration/N`).
#[derive(Clone, Debug)]
pub(super) struct Table {
    pub(super) threads: Threads,
    nr_tasks: u32,
    nr_cpus: u32,
    /// By task: whether it is the first one of its process, for whose end somebody waits.
    leads: Vec<bool>,
}

impl Table {
    /// The threads of a workload on so many CPUs. Pids depend on nothing else, so they are the same in every
    /// run.
    pub(super) fn new(setup: &Setup, nr_cpus: usize) -> Table {
        let first = FIRST_PID.max((FIRST_STOPPER + nr_cpus).next_multiple_of(1000));
        let mut leaders = BTreeMap::new();
        let mut threads = Threads::default();
        let mut leads = Vec::with_capacity(setup.tasks.len());
        for (nth, task) in setup.tasks.iter().enumerate() {
            let pid = number(first + nth);
            let tgid = *leaders.entry(task.proc.idx()).or_insert(pid);
            leads.push(tgid == pid);
            let prio = NORMAL_PRIO + i32::from(task.nice);
            threads.push(Thread { pid, tgid, comm: cut(&task.name), prio });
        }
        for cpu in 0..nr_cpus {
            let comm = format!("swapper/{cpu}");
            threads.push(Thread { pid: 0, tgid: 0, comm, prio: NORMAL_PRIO });
        }
        for cpu in 0..nr_cpus {
            let pid = number(FIRST_STOPPER + cpu);
            let comm = format!("migration/{cpu}");
            threads.push(Thread { pid, tgid: pid, comm, prio: 0 });
        }
        let index = |nr: usize| u32::try_from(nr).unwrap_or(u32::MAX);
        Table { threads, nr_tasks: index(setup.tasks.len()), nr_cpus: index(nr_cpus), leads }
    }

    /// The entry of a task.
    pub(super) fn task(&self, task: TaskId) -> ThreadIx {
        ThreadIx(task.0)
    }

    /// The entry of the idle task of `cpu`.
    pub(super) fn idle(&self, cpu: CpuId) -> ThreadIx {
        ThreadIx(self.nr_tasks + u32::from(cpu.0))
    }

    /// The entry of the stopper of `cpu`.
    pub(super) fn stopper(&self, cpu: CpuId) -> ThreadIx {
        ThreadIx(self.nr_tasks + self.nr_cpus + u32::from(cpu.0))
    }

    /// Whether a task is the first one of its process.
    pub(super) fn leads(&self, task: TaskId) -> bool {
        self.leads[task.idx()]
    }
}

fn number(pid: usize) -> i32 {
    i32::try_from(pid).unwrap_or(i32::MAX)
}

/// A name as `task_struct` has it.
fn cut(name: &str) -> String {
    let mut end = name.len().min(COMM);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    name[..end].to_owned()
}
