//! `DomainTable`: the counters of the sched domains of a run, summed up over the CPUs.

use serde_json::{Map, Value, json};
use simsched_core::{Policy, SdCounts};
use simsched_topology::CpuId;

use crate::report::Counts;

/// The domains of a machine by their place from the bottom.
#[derive(Clone, Debug, Default)]
pub(crate) struct DomainTable {
    /// Their names; of two that are called the same the second is `NUMA.2`.
    pub(crate) names: Vec<String>,
    sums: Vec<SdCounts>,
}

/// What the CPU was doing, in the order of the counters.
const KINDS: [&str; 3] = ["idle", "busy", "newly_idle"];

impl DomainTable {
    /// The domains of all CPUs under `policy`.
    pub(crate) fn of(policy: &(impl Policy + ?Sized), nr_cpus: usize) -> DomainTable {
        let mut table = DomainTable::default();
        for cpu in (0..nr_cpus).map(CpuId::new) {
            let mut at = 0;
            policy.domains(cpu, &mut |name, _, counts| {
                if at == table.names.len() {
                    table.push(name);
                }
                table.sums[at] += *counts;
                at += 1;
            });
        }
        table
    }

    fn push(&mut self, name: &str) {
        let base = |known: &&String| known.split('.').next() == Some(name);
        let before = self.names.iter().filter(base).count();
        let name = if before == 0 { name.to_owned() } else { format!("{name}.{}", before + 1) };
        self.names.push(name);
        self.sums.push(SdCounts::default());
    }

    /// The counters by domain, bottom-up, under the names of `/proc/schedstat`.
    pub(crate) fn to_json(&self) -> Counts {
        let each = self.names.iter().zip(&self.sums);
        each.map(|(name, sums)| (name.clone(), counters(sums))).collect()
    }
}

fn counters(sums: &SdCounts) -> Value {
    let by_kind = |counts: [u64; 3]| -> Map<String, Value> {
        KINDS.iter().zip(counts).map(|(kind, count)| ((*kind).to_owned(), count.into())).collect()
    };
    let imbalance = [0, 1, 2].map(|kind| sums.lb_imbalance.iter().map(|of| of[kind]).sum());
    json!({
        "lb_count": by_kind(sums.lb_count),
        "lb_balanced": by_kind(sums.lb_balanced),
        "lb_failed": by_kind(sums.lb_failed),
        "lb_imbalance": by_kind(imbalance),
        "lb_gained": by_kind(sums.lb_gained),
        "lb_hot_gained": by_kind(sums.lb_hot_gained),
        "lb_nobusyq": by_kind(sums.lb_nobusyq),
        "lb_nobusyg": by_kind(sums.lb_nobusyg),
        "alb_count": sums.alb_count,
        "alb_failed": sums.alb_failed,
        "alb_pushed": sums.alb_pushed,
        "ttwu_wake_remote": sums.ttwu_wake_remote,
        "ttwu_move_affine": sums.ttwu_move_affine,
        "ttwu_move_balance": sums.ttwu_move_balance,
    })
}
