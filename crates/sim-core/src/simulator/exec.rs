//! `begin_new_exec()`: a task takes a new image.

use simsched_topology::CpuId;

use super::state::Simulator;
use crate::ids::{ProcId, TaskId};
use crate::observer::Observer;
use crate::policy::Policy;
use crate::workload::Workload;

impl<P: Policy + ?Sized, W: Workload, O: Observer> Simulator<P, W, O> {
    /// `task`, which is current on `cpu`, is of `proc` from now on. It keeps its parent and its children.
    pub(super) fn takes_image(&mut self, cpu: CpuId, task: TaskId, proc: ProcId) {
        self.world.task_mut(task).proc = proc;
        self.ipc.exec(task, proc);
        self.exec_mmap(cpu, task);
    }
}
