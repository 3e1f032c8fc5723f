//! `LlcIds`: the LLCs as small numbers without a gap.

use simsched_topology::{CpuId, CpuSet, LlcId, Topology};

/// The number of each LLC, and what can be looked up by it.
///
/// The first CPU of an LLC to come up takes the lowest number that is free, and the others of the LLC
/// take that one too. CPUs come up in the order of their ids, and none goes away here.
/// Source: `sd_llc_alloc_id()`, Linux 7.2 (spec 08 section 1).
#[derive(Clone, Debug, Default)]
pub struct LlcIds {
    /// By CPU.
    of: Vec<u16>,
    /// By number.
    spans: Vec<CpuSet>,
    /// By number: what the machine calls it.
    names: Vec<LlcId>,
}

impl LlcIds {
    /// The LLCs of a machine.
    #[must_use]
    pub fn new(topology: &Topology) -> LlcIds {
        let mut ids = LlcIds::default();
        let mut taken: Vec<Option<u16>> = vec![None; topology.nr_llcs()];
        for cpu in topology.cpus().iter() {
            let llc = topology.llc_of(cpu);
            let id = *taken[llc.idx()].get_or_insert_with(|| {
                ids.spans.push(*topology.llc_span(llc));
                ids.names.push(llc);
                u16::try_from(ids.spans.len() - 1).expect("no more LLCs than CPUs")
            });
            ids.of.push(id);
        }
        ids
    }

    /// How many LLCs there are.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// Whether there is none: before the machine is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// The LLC of `cpu`.
    ///
    /// # Panics
    /// When there is no such CPU.
    #[inline]
    #[must_use]
    pub fn of(&self, cpu: CpuId) -> u16 {
        self.of[cpu.idx()]
    }

    /// Whether two CPUs are behind one LLC. Source: `cpus_share_cache()`.
    #[inline]
    #[must_use]
    pub fn shares_cache(&self, a: CpuId, b: CpuId) -> bool {
        self.of(a) == self.of(b)
    }

    /// By LLC: its size in bytes; 0 if it is not known.
    pub(super) fn in_bytes(&self, topology: &Topology) -> Vec<u64> {
        self.names.iter().map(|&llc| topology.llc_kib(llc).unwrap_or(0) * 1024).collect()
    }

    /// What the machine calls an LLC.
    ///
    /// # Panics
    /// When there is no such LLC.
    #[inline]
    #[must_use]
    pub fn name(&self, llc: u16) -> LlcId {
        self.names[usize::from(llc)]
    }

    /// The CPUs of an LLC.
    ///
    /// # Panics
    /// When there is no such LLC.
    #[inline]
    #[must_use]
    pub fn span(&self, llc: u16) -> &CpuSet {
        &self.spans[usize::from(llc)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn llcs_are_numbered_without_a_gap_in_the_order_of_their_first_cpus() {
        for name in ["genoa", "spr-2x30"] {
            let topology = Topology::builtin(name, None).unwrap();
            let ids = LlcIds::new(&topology);
            assert_eq!(ids.len(), topology.nr_llcs());
            let firsts: Vec<CpuId> =
                (0..ids.len()).map(|llc| ids.spans[llc].first().unwrap()).collect();
            assert!(firsts.is_sorted(), "{name}: {firsts:?}");
            for cpu in topology.cpus().iter() {
                assert!(ids.span(ids.of(cpu)).contains(cpu));
                assert!(ids.shares_cache(cpu, firsts[usize::from(ids.of(cpu))]));
            }
        }
    }

    #[test]
    fn sizes_follow_the_numbers() {
        let text = "name = \"m\"\ntitle = \"m\"\ncosts = \"x86\"\n\
            core = [{ cpus = \"0\" }, { cpus = \"1\" }]\n\
            llc = [{ cpus = \"1\", kib = 32768 }, { cpus = \"0\", kib = 98304 }]\n\
            node = [{ cpus = \"0-1\" }]\ndistance = [[10]]\n\
            c2c_ns = { same_llc = 40, same_socket = 100 }\n\
            idle = [{ name = \"C1\", exit_us = 1, residency_us = 2, polling = true }]\n";
        let topology = Topology::parse(text, "m.toml", None).unwrap();
        let ids = LlcIds::new(&topology);
        assert_eq!(ids.in_bytes(&topology), [96 << 20, 32 << 20]);
        let genoa = Topology::builtin("genoa", None).unwrap();
        let all = LlcIds::new(&genoa).in_bytes(&genoa);
        assert_eq!(all, vec![32 << 20; genoa.nr_llcs()], "one size for all");
    }
}
