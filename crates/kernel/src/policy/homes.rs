//! Which LLC each process prefers under the kernel's cache-aware scheduling, for observers that want to know.

use simsched_core::{Cx, PolicyEvent, ProcId, TaskId, Wants};
use simsched_topology::{CpuId, LlcId};

use crate::library::Library;

/// What was traced last.
#[derive(Debug, Default)]
pub(super) struct Homes {
    /// By process.
    llcs: Vec<Option<LlcId>>,
}

impl Homes {
    /// Traces the LLC of the process of `task`, if it is another one than before.
    pub(super) fn trace(&mut self, library: &mut Library, cx: &mut Cx<'_>, task: TaskId) {
        if !cx.wants(Wants::PREFERRED) {
            return;
        }
        let proc = cx.world.task(task).proc;
        let cpu = u16::try_from(library.prefers(proc)).ok().map(CpuId);
        let llc = cpu.map(|cpu| cx.world.topology().llc_of(cpu));
        if std::mem::replace(self.of(proc), llc) != llc {
            cx.trace(PolicyEvent::Preferred(proc, llc));
        }
    }

    fn of(&mut self, proc: ProcId) -> &mut Option<LlcId> {
        if self.llcs.len() <= proc.idx() {
            self.llcs.resize(proc.idx() + 1, None);
        }
        &mut self.llcs[proc.idx()]
    }
}
