//! `KernelTask`: what the kernel keeps of a task.

use simsched_core::TaskId;

use super::KernelPolicy;

/// What the kernel keeps of a task, under the names that its fields have there (`struct task_struct`,
/// `struct sched_entity`, `struct sched_avg`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelTask {
    /// Its virtual runtime, in ns at nice 0.
    pub vruntime: u64,
    /// Its virtual deadline; 0 where the kernel has none (before 6.6).
    pub deadline: u64,
    /// How long it has run, in ns.
    pub sum_exec_runtime: u64,
    /// How much of a CPU it uses, of 1024.
    pub util_avg: u64,
    /// Its weight, of 1024 at nice 0, by how much of the time it was runnable.
    pub load_avg: u64,
    /// How much of the time it was runnable, of 1024.
    pub runnable_avg: u64,
    /// Whether it is on a runqueue, a task whose dequeue is delayed included.
    pub on_rq: bool,
    /// Whether its dequeue is delayed.
    pub sched_delayed: bool,
    /// How often it has changed whom it wakes.
    pub wakee_flips: u32,
}

impl KernelPolicy {
    /// What the kernel keeps of `task`; none before it begins and once it has ended, and of a policy that is not
    /// attached or has failed.
    #[must_use]
    pub fn task(&self, task: TaskId) -> Option<KernelTask> {
        let mut kernel = self.kernel.borrow_mut();
        let library = &mut kernel.as_mut()?.library;
        let found = library.id(task).ok().and_then(|id| library.class.task(id))?;
        Some(KernelTask {
            vruntime: found.vruntime.cast_unsigned(),
            deadline: found.deadline.cast_unsigned(),
            sum_exec_runtime: found.runtime,
            util_avg: found.util_avg,
            load_avg: found.load_avg,
            runnable_avg: found.runnable_avg,
            on_rq: found.on_rq == 1,
            sched_delayed: found.delayed != 0,
            wakee_flips: found.wakee_flips,
        })
    }
}
