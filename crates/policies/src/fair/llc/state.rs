//! The rows of cache-aware load balancing: of a process, a task, a queue and a CPU.

use std::cell::Cell;

use simsched_topology::{CpuId, Domains, Topology};

use super::LlcIds;
use crate::fair::entity::Entity;

/// What is known of a process (`struct sched_cache_group`).
#[derive(Clone, Debug, Default)]
pub(in crate::fair) struct Proc {
    /// The CPU behind whose LLC it should run. Whoever looks and finds that it should have none takes
    /// it away.
    pub(super) cpu: Cell<Option<CpuId>>,
    /// The epoch of the last request for a scan.
    pub(super) epoch: u64,
    /// The jiffy before which there is no other scan (merged).
    pub(super) next_scan: u64,
    /// How many of its threads run at once, on average.
    pub(super) nr_running_avg: u64,
    /// Its resident memory, in bytes.
    pub(super) resident: u64,
    /// What the NUMA hinting faults of its threads count, in pages of 4096 bytes (`footprint`).
    pub(super) footprint: u64,
}

/// What is known of a task.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::fair) struct TaskLlc {
    /// The LLC that its process preferred when it was last accounted (`p->preferred_llc`).
    pub(super) pref: Option<u16>,
    /// It was queued on its preferred LLC (`p->pref_llc_queued`).
    pub(super) pref_llc_queued: bool,
    /// A scan waits for its return to user mode (`p->cache_work`).
    pub(super) has_work: bool,
}

/// How many queued tasks of a CPU have a preferred LLC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RqLlc {
    /// Any, delayed tasks included (`rq->nr_llc_running`).
    pub nr_llc_running: u32,
    /// That of this CPU (`rq->nr_pref_llc_running`); since Linux 7.2 without delayed tasks.
    pub nr_pref_llc_running: u32,
}

/// What of a CPU's scheduling domains matters.
#[derive(Clone, Copy, Debug)]
pub(super) struct CpuLlc {
    /// It has a scheduling domain.
    pub(super) has_domain: bool,
    /// CPUs of its LLC domain, 1 without such (`sd_llc_size`).
    pub(super) llc_size: u32,
    /// The size of its LLC in bytes; 0 if it is not known (`sd->llc_bytes`). Of a cache that is cut at a NUMA
    /// node it is the part of the domain, in version 4 the whole.
    pub(super) llc_bytes: u64,
}

impl CpuLlc {
    /// Those of all CPUs, of the merged form or of version 4.
    pub(super) fn all(
        topology: &Topology,
        domains: &Domains,
        ids: &LlcIds,
        is_merged: bool,
    ) -> Vec<CpuLlc> {
        let bytes = ids.in_bytes(topology);
        let of = |cpu| CpuLlc {
            has_domain: !domains.of(cpu).is_empty(),
            llc_size: domains.llc_size(cpu),
            llc_bytes: match (bytes[usize::from(ids.of(cpu))], is_merged) {
                (bytes, true) => effective_llc_bytes(topology, domains, cpu, bytes),
                (bytes, false) => bytes,
            },
        };
        topology.cpus().iter().map(of).collect()
    }
}

/// The part that the LLC domain of `cpu` has of a cache of so many bytes; 0 without such a domain.
/// Source: `get_effective_llc_bytes()`, `alloc_sd_llc()`.
fn effective_llc_bytes(topology: &Topology, domains: &Domains, cpu: CpuId, bytes: u64) -> u64 {
    let Some(sd) = domains.sd_llc(cpu) else { return 0 };
    bytes * u64::from(sd.weight) / u64::from(topology.llc_sharers(topology.llc_of(cpu)))
}

/// Whether a task that is charged is counted on its queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::fair) enum OnRq {
    /// It is not queued, or its load has not been attached yet.
    No,
    /// It sleeps and is queued still (`p->se.sched_delayed`).
    Delayed,
    /// It is runnable.
    Runnable,
}

impl OnRq {
    /// That of a task. Source: `task_running_on_cpu()`.
    #[inline]
    pub(in crate::fair) fn of(task: &Entity) -> OnRq {
        match task {
            Entity { on_rq: false, .. } => OnRq::No,
            _ if task.avg.last_update_time == 0 => OnRq::No,
            Entity { sched_delayed: true, .. } => OnRq::Delayed,
            _ => OnRq::Runnable,
        }
    }
}

/// What happened, for `policy_metrics`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub(super) scans: u64,
    pub(super) scans_stopped: u64,
    pub(super) preferred: u64,
    pub(super) pinned: u64,
    pub(super) runtime: u64,
    pub(super) runtime_preferred: u64,
    pub(super) runtime_free: u64,
}

#[cfg(test)]
mod tests {
    use simsched_topology::{Kernel, NumaImbalance};

    use super::*;

    /// 112.5 MiB are shared by 60 cores, of which a quarter is one node.
    #[test]
    fn a_cache_that_is_cut_at_nodes_counts_in_parts() {
        let bytes = |mode, is_merged| {
            let topology = Topology::builtin("spr-2x60", Some(mode)).unwrap();
            let domains = Domains::build(&topology, Kernel::V6_12, NumaImbalance::default());
            let all = CpuLlc::all(&topology, &domains, &LlcIds::new(&topology), is_merged);
            assert!(all.iter().all(|cpu| cpu.has_domain && cpu.llc_bytes == all[0].llc_bytes));
            all[0].llc_bytes
        };
        assert_eq!((bytes("snc-off", true), bytes("snc4", true)), (115_200 << 10, 28_800 << 10));
        assert_eq!(bytes("snc4", false), 115_200 << 10);
    }
}
