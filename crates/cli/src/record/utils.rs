//! `Utils`: how utilized the policy holds CPUs to be, and so the LLCs that they are behind.

use simsched_topology::{CpuId, LlcId, Topology};

/// The numbers, as they were told last.
pub(super) struct Utils {
    /// By CPU: its `util_avg`.
    of_cpu: Vec<u64>,
    /// By LLC: the sum of those of its CPUs.
    of_llc: Vec<u64>,
    /// By LLC: the sum of their capacities.
    capacity: Vec<u64>,
    /// By LLC: in percent of its capacity.
    pct: Vec<u64>,
}

impl Utils {
    /// Of a machine on which nothing has run.
    pub(super) fn new(topology: &Topology) -> Utils {
        let nr_llcs = topology.nr_llcs();
        let capacity = |llc: usize| {
            let cpus = topology.llc_span(LlcId::new(llc)).iter();
            cpus.map(|cpu| u64::from(topology.capacity(cpu))).sum()
        };
        Utils {
            of_cpu: vec![0; topology.nr_cpus()],
            of_llc: vec![0; nr_llcs],
            capacity: (0..nr_llcs).map(capacity).collect(),
            pct: vec![0; nr_llcs],
        }
    }

    /// `cpu`, which is behind `llc`, has another `util_avg`: that of the LLC in percent, if it has changed.
    pub(super) fn change(&mut self, cpu: CpuId, llc: LlcId, util_avg: u64) -> Option<u64> {
        let was = std::mem::replace(&mut self.of_cpu[cpu.idx()], util_avg);
        let sum = &mut self.of_llc[llc.idx()];
        *sum = *sum - was + util_avg;
        let pct = *sum * 100 / self.capacity[llc.idx()].max(1);
        (std::mem::replace(&mut self.pct[llc.idx()], pct) != pct).then_some(pct)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_llc_is_as_utilized_as_its_cpus_together() {
        let topology = Topology::builtin("t16", None).unwrap();
        let llc = topology.llc_of(CpuId(5));
        let cpus: Vec<CpuId> = topology.llc_span(llc).iter().collect();
        let (first, other) = (cpus[0], cpus[1]);
        let mut utils = Utils::new(&topology);
        let percent = |sum: u64| sum * 100 / (1024 * cpus.len() as u64);
        assert_eq!(utils.change(first, llc, 1000), Some(percent(1000)));
        assert_eq!(utils.change(other, llc, 500), Some(percent(1500)));
        assert_eq!(utils.change(other, llc, 501), None, "less than a percent more");
        assert_eq!(utils.change(first, llc, 0), Some(percent(501)));
        assert_eq!(utils.change(other, llc, 0), Some(0));
        let full: Vec<_> = cpus.iter().map(|cpu| utils.change(*cpu, llc, 1024)).collect();
        assert_eq!(full.last(), Some(&Some(100)), "all of them are all there is");
    }
}
