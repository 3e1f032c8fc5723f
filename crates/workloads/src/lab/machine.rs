//! `Machine`: a machine of the lab and its kernel, and what was run there one behind the other.

use simsched_core::Seed;
use simsched_topology::{CpuId, CpuSet, LlcId, Topology};

use super::ciphers::Ends;
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
        let replay = Replay::new(program, before, self.kernel, cpu, self.nr_cpus);
        Ok(self.tested(replay, Ends::of_traces(self.kernel), cpu, seed))
    }

    /// Programs one behind the other, since the boot, on a kernel with probes.
    pub(super) fn series(&self, programs: Vec<Program>, seed: Seed) -> Replay {
        let cpu = programs.first().map_or(CpuId(0), Program::cpu);
        let replay = Replay::series(programs, cpu, self.nr_cpus);
        self.tested(replay, Ends::of_probes(self.kernel), cpu, seed)
    }

    /// Those programs with the kernel's tests of ciphers that end then, if it has such tests; `shell` is the CPU of
    /// the shell, on which none runs.
    fn tested(&self, replay: Replay, ends: Option<&Ends>, shell: CpuId, seed: Seed) -> Replay {
        match ends {
            Some(ends) => replay.testing(ends.tests(self.nr_cpus, shell, seed)),
            None => replay,
        }
    }
}
