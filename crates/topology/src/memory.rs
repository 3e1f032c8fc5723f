//! `MemoryCaps`: how much data the parts of a machine move to and from memory.

use crate::fact::Fact;
use crate::machine::Topology;

/// A weight of one: a byte that is a byte.
pub const WEIGHT_ONE: u64 = 1 << 16;

/// What limits the traffic between cores and memory, in kB/s: 10^3 bytes in a second, or bytes in a
/// millisecond.
///
/// All numbers come from `[bandwidth_gbs]` and `[latency_ns]` of the machine's file. A weight tells how
/// much of a cap a byte takes, in units of [`WEIGHT_ONE`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryCaps {
    /// What one core asks for: bytes that it loads and stores (`single_core_read`).
    pub core: u64,
    /// What one core fetches and writes back together (`single_core_rmw`). Without that, what it
    /// writes back is no limit: on Granite Rapids a core that reads and writes back moves twice what
    /// one that reads does (`GNR-GENOA`).
    pub core_both: Option<u64>,
    /// What all cores behind one LLC fetch, where that is a limit (`per_llc_read`).
    pub llc_read: Option<u64>,
    /// What they write back: `per_llc_write_ratio` of that, and not less than one of them was seen to
    /// write (half of `single_core_rmw`).
    pub llc_write: Option<u64>,
    /// The memory controllers of a package, when they read only: `read_per_socket`, or
    /// `triad_per_socket` if only that is known.
    pub package: u64,
    /// A byte written, in bytes read: with `r` for reading only and `t` for two reads and a write,
    /// `3 r / t - 2`. One where only `t` is known.
    pub write_weight: u64,
    /// From one package to another, each way (`cross_socket_read`); `None` in a machine of one package.
    pub link: Option<u64>,
    /// A byte of another package's memory, in bytes of the own one, to the core that waits for it:
    /// `single_core_read` / `single_core_read_remote`. Without the latter by the latencies: the lines
    /// that a core has under way are as many, and each takes longer (one core of Granite Rapids reads
    /// 9 of 15.8 GB/s from the other socket at twice the latency, `GNR-GENOA`).
    pub remote_weight: u64,
    /// The latency of local memory that nobody else uses, in picoseconds; 0 if it is not known.
    pub latency_ps: u64,
}

/// A number that a machine's file lacks, and that somebody needs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "machine '{machine}' has no `bandwidth_gbs.{key}`: expected {expected}, in 10^9 bytes a second"
)]
pub struct MissingBandwidth {
    /// The name of the machine.
    pub machine: String,
    /// The key.
    pub key: &'static str,
    /// What it means, and who has it from where.
    pub expected: &'static str,
}

const CORE: &str = "what one core reads (genoa.toml: 38.4, from GNR-GENOA)";
const PACKAGE: &str = "what all cores of a socket read (spr.toml: 246, from MLC-SPR)";
const LINK: &str = "what all cores of a socket read from the other one's memory (icelake.toml: 55.7, from MLC-ICX)";

impl Topology {
    /// What limits the traffic between cores and memory.
    ///
    /// # Errors
    /// When the machine's file lacks one of the three numbers for which nothing else can stand, or has
    /// a zero there.
    pub fn memory_caps(&self) -> Result<MemoryCaps, MissingBandwidth> {
        let facts = &self.facts.bandwidth_gbs;
        let need = |fact: Option<&Fact>, key, expected| {
            let missing = || MissingBandwidth { machine: self.name.clone(), key, expected };
            fact.and_then(kb_per_second).ok_or_else(missing)
        };
        let core = need(facts.single_core_read.as_ref(), "single_core_read", CORE)?;
        let (read, triad) = (facts.read_per_socket.as_ref(), facts.triad_per_socket.as_ref());
        let package = need(read.or(triad), "read_per_socket", PACKAGE)?;
        let link = match self.nr_packages() {
            1 => None,
            _ => Some(need(facts.cross_socket_read.as_ref(), "cross_socket_read", LINK)?),
        };
        let llc_read = facts.per_llc_read.as_ref().and_then(kb_per_second);
        let core_both = facts.single_core_rmw.as_ref().and_then(kb_per_second);
        let ratio = facts.per_llc_write_ratio.as_ref();
        let llc_write = |(read, ratio): (u64, &Fact)| {
            (read * ratio.milli / 1000).max(core_both.unwrap_or(0) / 2)
        };
        Ok(MemoryCaps {
            core,
            core_both,
            llc_read,
            llc_write: llc_read.zip(ratio).map(llc_write),
            package,
            write_weight: write_weight(read, triad),
            link,
            remote_weight: self.remote_weight(core),
            latency_ps: self.facts.latency_ns.dram_local.as_ref().map_or(0, |fact| fact.milli),
        })
    }

    fn remote_weight(&self, core: u64) -> u64 {
        let facts = &self.facts;
        let remote = facts.bandwidth_gbs.single_core_read_remote.as_ref().and_then(kb_per_second);
        let (near, far) = (&facts.latency_ns.dram_local, &facts.latency_ns.dram_remote);
        let weight = match (remote, near, far) {
            (Some(remote), ..) => WEIGHT_ONE * core / remote,
            (None, Some(near), Some(far)) if near.milli > 0 => WEIGHT_ONE * far.milli / near.milli,
            _ => WEIGHT_ONE,
        };
        weight.max(WEIGHT_ONE)
    }
}

/// GB/s in thousandths are MB/s.
fn kb_per_second(fact: &Fact) -> Option<u64> {
    (fact.milli > 0).then_some(fact.milli * 1000)
}

fn write_weight(read: Option<&Fact>, triad: Option<&Fact>) -> u64 {
    match (read, triad) {
        (Some(read), Some(triad)) if triad.milli > 0 => {
            let three = WEIGHT_ONE * 3 * read.milli / triad.milli;
            three.saturating_sub(2 * WEIGHT_ONE).max(WEIGHT_ONE)
        }
        _ => WEIGHT_ONE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caps(machine: &str) -> MemoryCaps {
        Topology::resolve(machine).unwrap().memory_caps().unwrap()
    }

    /// Section 8 of the hardware facts: reads to writes of 3:1, 2:1 and 1:1 give 430, 421 and 401 of
    /// the 491.9 GB/s that reads alone give on Sapphire Rapids. The weight comes from the 2:1 of
    /// another row.
    #[test]
    fn the_weight_of_a_write_predicts_other_mixtures() {
        let weight = caps("spr").write_weight;
        for (reads, writes, measured) in [(3, 1, 430_000), (2, 1, 421_000), (1, 1, 401_000)] {
            let load = reads * WEIGHT_ONE + writes * weight;
            let found = 491_900 * (reads + writes) * WEIGHT_ONE / load;
            assert!(found.abs_diff(measured) < measured / 33, "{reads}:{writes}: {found}");
        }
    }

    #[test]
    fn remote_memory_weighs_as_it_was_measured_or_as_its_latency() {
        assert_eq!(caps("genoa").remote_weight, WEIGHT_ONE * 384 / 300);
        assert_eq!(caps("spr").remote_weight, WEIGHT_ONE * 188 / 109);
    }

    #[test]
    fn every_real_machine_has_what_memory_needs() {
        for name in crate::builtin_names() {
            let machine = Topology::resolve(name).unwrap();
            let lab = crate::builtin_text(name).unwrap().contains("vendor = \"lab\"");
            assert_eq!(machine.memory_caps().is_err(), lab, "{name}");
        }
    }

    #[test]
    fn a_missing_number_is_named_with_who_has_it() {
        let error = Topology::resolve("t16").unwrap().memory_caps().unwrap_err();
        assert_eq!(
            error.to_string(),
            "machine 't16' has no `bandwidth_gbs.single_core_read`: expected what one core reads \
             (genoa.toml: 38.4, from GNR-GENOA), in 10^9 bytes a second"
        );
    }
}
