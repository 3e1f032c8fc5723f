//! `Machine`: a machine of the lab and its kernel, and what was run there one behind the other.

use rand::distr::{Distribution, Uniform};
use simsched_core::Seed;
use simsched_topology::{CpuId, CpuSet, LlcId, Topology};

use super::counted::{Counted, counted};
use super::kernel::Kernel;
use super::replay::{Program, Replay};
use super::{Lab, name};
use crate::error::WorkloadError;

/// A machine of the lab under one of its kernels.
#[derive(Clone, Debug)]
pub(super) struct Machine {
    pub(super) nr_cpus: usize,
    /// By LLC: its CPUs.
    pub(super) llcs: Vec<CpuSet>,
    pub(super) kernel: Kernel,
}

/// These runs of hackbench on this machine under this kernel, behind all that the lab ran there before it counted any.
/// That runs at the prices of this machine, too, although the lab traced it.
/// Their tasks and marks keep the ids that [`Counted::runs`] has.
///
/// # Errors
/// When a run cannot hold them.
pub fn replay_counted(
    runs: Counted,
    topology: &Topology,
    kernel: Kernel,
    seed: Seed,
) -> Result<Replay, WorkloadError> {
    Machine::new(topology, kernel).replay(name::COUNTED, Program::Counted(runs), seed)
}

impl Machine {
    pub(super) fn new(topology: &Topology, kernel: Kernel) -> Machine {
        let llcs = (0..topology.nr_llcs()).map(|llc| *topology.llc_span(LlcId::new(llc)));
        Machine { nr_cpus: topology.nr_cpus(), llcs: llcs.collect(), kernel }
    }

    /// So many CPUs behind one LLC, under the first of the lab's kernels.
    pub(super) fn of_one_llc(nr_cpus: usize) -> Machine {
        let llcs = vec![CpuSet::first_n(nr_cpus.max(1))];
        Machine { nr_cpus, llcs, kernel: Kernel::default() }
    }

    /// A program behind all that the lab ran before the one of this name.
    pub(super) fn replay(
        &self,
        name: &str,
        program: Program,
        seed: Seed,
    ) -> Result<Replay, WorkloadError> {
        let before = |name: &String| -> Result<Program, WorkloadError> {
            if name == name::COUNTED {
                let runs = Counted::new(&counted(), self.nr_cpus, self.kernel, seed)?;
                return Ok(Program::Counted(runs));
            }
            let lab = Lab { machine: self.clone(), ..Lab::new(name, self.nr_cpus)? };
            Ok(Program::Scenario(Box::new(lab.behind_others(seed)?)))
        };
        let names = name::before(name, self.nr_cpus);
        let before = names.iter().map(before).collect::<Result<Vec<_>, _>>()?;
        let cpu = program.cpu();
        Ok(self.tested(Replay::new(program, before, self.kernel, cpu, self.nr_cpus), cpu, seed))
    }

    /// Programs one behind the other, since the boot, on a kernel with probes.
    pub(super) fn series(&self, programs: Vec<Program>, seed: Seed) -> Replay {
        let cpu = programs.first().map_or(CpuId(0), Program::cpu);
        self.tested(Replay::series(programs, cpu, self.nr_cpus), cpu, seed)
    }

    /// The same where the kernel tests its ciphers behind its boot, if it has such a test.
    fn tested(&self, replay: Replay, cpu: CpuId, seed: Seed) -> Replay {
        match self.kernel {
            Kernel::V6_1 => replay,
            Kernel::V6_12 | Kernel::V7_3 => replay.testing(self.testing_cpu(cpu, seed)),
        }
    }

    /// Any CPU but that of the shell.
    fn testing_cpu(&self, shell: CpuId, seed: Seed) -> CpuId {
        let others = Uniform::new(0, self.nr_cpus.saturating_sub(1).max(1)).expect("one or more");
        let nth = others.sample(&mut seed.stream("cryptomgr", 0));
        CpuId::new(nth + usize::from(nth >= shell.idx() && self.nr_cpus > 1))
    }
}
