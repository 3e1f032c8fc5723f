//! `Machine`: a machine of the lab and its kernel, and what was run there one behind the other.

use rand::distr::{Distribution, Uniform};
use simsched_core::Seed;
use simsched_topology::{CpuId, CpuSet, LlcId, NodeId, Topology};

use super::ciphers::{CipherTest, Ends};
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
    /// By node: its CPUs.
    pub(super) nodes: Vec<CpuSet>,
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
        let nodes = (0..topology.nr_nodes()).map(|node| *topology.node_span(NodeId::new(node)));
        let (llcs, nodes) = (llcs.collect(), nodes.collect());
        Machine { nr_cpus: topology.nr_cpus(), llcs, nodes, kernel }
    }

    /// So many CPUs behind one LLC, under the first of the lab's kernels.
    pub(super) fn of_one_llc(nr_cpus: usize) -> Machine {
        let all = vec![CpuSet::first_n(nr_cpus.max(1))];
        Machine { nr_cpus, llcs: all.clone(), nodes: all, kernel: Kernel::default() }
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
        let tests = Ends::of_traces(self.kernel)
            .map_or(Vec::new(), |ends| ends.tests(self.nr_cpus, &self.all_but(cpu), seed));
        Ok(replay.testing(tests))
    }

    /// Programs one behind the other, since the boot, on a kernel with probes.
    pub(super) fn series(&self, programs: Vec<Program>, seed: Seed) -> Replay {
        let tests = |on: &CpuSet| {
            let ends = Ends::of_probes(self.kernel);
            ends.map_or(Vec::new(), |ends| ends.tests(self.nr_cpus, on, seed))
        };
        let (cpu, tests) = match self.kernel {
            // Where the shell was under these was not recorded.
            Kernel::V6_1 | Kernel::V6_12 => {
                let cpu = programs.first().map_or(CpuId(0), Program::cpu);
                (cpu, tests(&self.all_but(cpu)))
            }
            Kernel::V7_3 => {
                let tests = tests(&self.of_tests());
                (self.shell_beside(&tests, seed), tests)
            }
        };
        Replay::series(programs, cpu, self.nr_cpus).testing(tests)
    }

    /// The CPUs on which a test of ciphers still runs when the set with probes begins. Of the last two one is born in
    /// each node, and the one that ends later behind the first LLC outside the node of the boot CPU, CPU 0, in all boots
    /// of 7.3.4 on machines of two nodes that were looked at (`s2d2`: CPU 21 in eleven; `s2x8`: CPU 29 in two).
    fn of_tests(&self) -> CpuSet {
        let boot = self.nodes.iter().copied().find(|node| node.contains(CpuId(0)));
        let other = boot.and_then(|boot| self.all().minus(&boot).first());
        let llc = other.and_then(|cpu| self.llcs.iter().copied().find(|llc| llc.contains(cpu)));
        llc.unwrap_or_else(|| self.all())
    }

    /// The CPU of the shell that runs the set with probes, by where the children of the scenarios' parents are born: beside
    /// the shell. In ten boots of 7.3.4 that is behind the LLC of the boot CPU, CPU 0, if no test of ciphers runs in the
    /// node of CPU 0: five of six boots of `s2d2` (the test is on CPU 21; the sixth is not followed) and both of `s2x8`
    /// (CPU 29). With one node, LLCs take the place of nodes:
    /// in both boots of `n2x8` the test is on CPU 0 and the shell behind the other LLC; in the one of 7.2.12, where a
    /// test is behind each, it is behind that of CPU 0. So init was executed in the idlest group of the widest domain.
    fn shell_beside(&self, tests: &[CipherTest], seed: Seed) -> CpuId {
        let boot = CpuId(0);
        let of_boot = |sets: &[CpuSet]| sets.iter().copied().find(|set| set.contains(boot));
        let groups = if self.nodes.len() > 1 { &self.nodes } else { &self.llcs };
        let is_free = |group: &&CpuSet| !tests.iter().any(|test| group.contains(test.cpu()));
        let near = match groups.iter().filter(is_free).find(|group| group.contains(boot)) {
            None => {
                groups.iter().filter(is_free).fold(CpuSet::default(), |all, group| all.or(group))
            }
            Some(_) => CpuSet::default(),
        };
        let near = match near.is_empty() {
            true => of_boot(&self.llcs).unwrap_or_else(|| self.all()),
            false => near,
        };
        let free = tests.iter().fold(near, |free, test| free.minus(&CpuSet::single(test.cpu())));
        let cpus: Vec<CpuId> = if free.is_empty() { near } else { free }.iter().collect();
        let any = Uniform::new(0, cpus.len()).expect("a machine has a CPU");
        cpus[any.sample(&mut seed.stream("shell", 0))]
    }

    /// All CPUs but this one, unless it is the only one.
    fn all_but(&self, cpu: CpuId) -> CpuSet {
        let others = self.all().minus(&CpuSet::single(cpu));
        if others.is_empty() { self.all() } else { others }
    }

    fn all(&self) -> CpuSet {
        CpuSet::first_n(self.nr_cpus.max(1))
    }
}
