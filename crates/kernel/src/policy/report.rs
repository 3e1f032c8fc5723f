//! `KernelPolicy` as a [`Report`]: its sched domains, and whether the library has the tasks where the simulation has
//! them.

use simsched_core::{NO_DOMAIN, Report, SdCounts, TaskId, World};
use simsched_topology::{CpuId, CpuSet};

use super::KernelPolicy;
use crate::library::{Library, number};

/// The sched domains that the kernel has built.
#[derive(Debug, Default)]
pub(super) struct Domains {
    /// By CPU, from the lowest: name and CPUs.
    by_cpu: Vec<Vec<(&'static str, CpuSet)>>,
}

impl Domains {
    /// Those of all CPUs of a machine.
    pub(super) fn of(library: &mut Library, world: &World) -> Domains {
        let mut words = vec![0; world.topology().nr_cpus().div_ceil(64)];
        let mut domain = |cpu, level| {
            words.fill(0);
            let name = library.class.span(number(cpu), level, &mut words)?;
            Some((known(&name), set_of(&words)))
        };
        let of_cpu = |cpu| (0..).map_while(|level| domain(cpu, level)).collect();
        Domains { by_cpu: world.topology().cpus().iter().map(of_cpu).collect() }
    }

    /// The lowest domain of `from` that has `to`.
    pub(super) fn common(&self, from: CpuId, to: CpuId) -> u8 {
        let domains = self.by_cpu.get(from.idx()).into_iter().flatten();
        let found = { domains }.position(|(_, span)| span.contains(to));
        found.and_then(|at| u8::try_from(at).ok()).unwrap_or(NO_DOMAIN)
    }
}

/// The CPUs in words of 64.
pub(super) fn set_of(words: &[u64]) -> CpuSet {
    let mut set = CpuSet::new();
    for (at, &word) in words.iter().enumerate() {
        (0..64).filter(|bit| word >> bit & 1 != 0).for_each(|bit| {
            set.insert(CpuId::new(64 * at + bit));
        });
    }
    set
}

/// The name of a domain as the kernel has it; `domain` if it is a new one.
fn known(name: &str) -> &'static str {
    let names = ["SMT", "CLS", "CLUSTER", "MC", "DIE", "PKG", "NODE", "NUMA"];
    names.into_iter().find(|known| *known == name).unwrap_or("domain")
}

impl Report for KernelPolicy {
    fn domains(&self, cpu: CpuId, emit: &mut dyn FnMut(&'static str, &CpuSet, &SdCounts)) {
        for (name, span) in self.domains.by_cpu.get(cpu.idx()).into_iter().flatten() {
            emit(name, span, &SdCounts::default());
        }
    }

    fn check(&self, world: &World, cpu: CpuId) -> Result<(), String> {
        let mut kernel = self.kernel.borrow_mut();
        let Some(kernel) = kernel.as_mut() else { return Ok(()) };
        let library = &mut kernel.library;
        let (ours, theirs) = (i64::from(world.rq(cpu).nr_tasks()), library.nr_tasks(cpu));
        if ours != theirs {
            return Err(format!("nr_running of CPU {cpu}: {ours} in the world, {theirs} there"));
        }
        for task in (0..world.tasks().len()).map(TaskId::new) {
            let row = world.task(task);
            let Some(kernel) = library.id(task).ok().and_then(|id| library.class.task(id)) else {
                continue;
            };
            let queued = [row.on_rq, kernel.on_rq == 1];
            if row.cpu == cpu && !row.migrating && queued[0] != queued[1] {
                return Err(format!(
                    "on_rq of task {task} on CPU {cpu}: {} in the world, {} there",
                    queued[0], queued[1]
                ));
            }
            if row.cpu == cpu && row.on_rq && kernel.cpu != number(cpu) {
                return Err(format!(
                    "task {task} is on CPU {cpu} in the world, on CPU {} there",
                    kernel.cpu
                ));
            }
        }
        Ok(())
    }
}
