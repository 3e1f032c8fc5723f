//! What NUMA balancing has to do with cache-aware load balancing (Linux 7.2). It is not simulated: whether
//! it is on, which node a task prefers and how large its faults make a process are inputs.

use simsched_core::TaskId;
use simsched_topology::{CpuId, CpuSet, NodeId, Topology};

use super::CacheAware;

/// NUMA balancing, as far as it is asked.
#[derive(Clone, Debug)]
pub(super) struct LlcNuma {
    /// It is on (`sched_numa_balancing`).
    pub(super) is_on: bool,
    /// By CPU.
    node_of: Vec<NodeId>,
    /// By node.
    spans: Vec<CpuSet>,
    /// By task (`p->numa_preferred_nid`).
    preferred: Vec<Option<NodeId>>,
}

impl LlcNuma {
    /// NUMA balancing of a machine with so many tasks, which is off.
    pub(super) fn new(topology: &Topology, nr_tasks: usize) -> LlcNuma {
        let nodes = (0..topology.nr_nodes()).map(NodeId::new);
        LlcNuma {
            is_on: false,
            node_of: topology.cpus().iter().map(|cpu| topology.node_of(cpu)).collect(),
            spans: nodes.map(|node| *topology.node_span(node)).collect(),
            preferred: vec![None; nr_tasks],
        }
    }

    /// The preferred node of `task`, where there is NUMA balancing.
    #[inline]
    fn preferred(&self, task: TaskId) -> Option<NodeId> {
        if self.is_on { self.preferred[task.idx()] } else { None }
    }

    /// Whether `task` prefers another node than that of `cpu`, which its process prefers.
    /// Source: `get_pref_llc()`.
    #[inline]
    pub(super) fn conflicts(&self, task: TaskId, cpu: CpuId) -> bool {
        self.preferred(task).is_some_and(|node| node != self.node_of[cpu.idx()])
    }

    /// The CPUs that a scan by `task` on `cpu` begins with, where the process prefers that of `pref_cpu`: the
    /// preferred node of the task, that of `pref_cpu` and that of `cpu`; `None` is all CPUs.
    /// Source: `get_scan_cpumasks()`.
    pub(super) fn scan_cpus(
        &self,
        task: TaskId,
        pref_cpu: Option<CpuId>,
        cpu: CpuId,
    ) -> Option<CpuSet> {
        let mut cpus = self.spans[self.preferred(task)?.idx()];
        for node in [pref_cpu, Some(cpu)].into_iter().flatten().map(|cpu| self.node_of[cpu.idx()]) {
            cpus = cpus.or(&self.spans[node.idx()]);
        }
        Some(cpus)
    }
}

impl CacheAware {
    /// NUMA balancing is switched on or off.
    pub fn set_numa_balancing(&mut self, is_on: bool) {
        self.numa.is_on = is_on;
    }

    /// `task` prefers this node from now on, or none. Source: `sched_setnuma()`.
    ///
    /// # Panics
    /// When there is no such task.
    pub fn set_numa_preferred(&mut self, task: TaskId, node: Option<NodeId>) {
        self.numa.preferred[task.idx()] = node;
    }

    /// The NUMA hinting faults of all threads of the process of `task` count so many pages of 4096 bytes.
    pub fn set_footprint(&mut self, task: TaskId, pages: u64) {
        if let Some(mm) = self.processes.mm(task) {
            self.procs[mm.idx()].footprint = pages;
        }
    }
}
