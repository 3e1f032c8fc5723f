//! Putting domains together: levels, rings, allowances, degeneration, shortcuts.

use crate::ids::CpuId;
use crate::machine::Topology;

use super::degenerate::{LocalFlags, degenerate};
use super::flags::SdFlags;
use super::fresh::{Fresh, tree_of};
use super::groups::{Groups, NumaOwner, Ring, Tree, numa_owners};
use super::imbalance::{self, NumaImbalance};
use super::levels::{Level, levels};
use super::numa::NumaTopologyType;
use super::{Domains, Kernel, SchedDomain, Shortcuts};

/// The busy factor, and the imbalance in percent of SMT domains and of all others (5.10 and later).
const BUSY_FACTOR: u32 = 16;
const IMBALANCE_PCT_SMT: u32 = 110;
const IMBALANCE_PCT: u32 = 117;

pub(super) fn build(topology: &Topology, kernel: Kernel, rule: NumaImbalance) -> Domains {
    let levels = levels(topology, kernel);
    let cpus = || topology.cpus().iter();
    let top = cpus().map(|cpu| top_level(topology, &levels, cpu)).collect();
    let tree = Tree { levels: &levels, top };
    let mut groups = Groups::default();
    let rings = ordinary_rings(topology, &tree, &mut groups);
    let nr_nodes = u32::try_from(topology.nr_nodes()).expect("at most 1024 nodes");

    let mut domains = Domains {
        kernel,
        numa_imbalance: rule,
        numa_topology_type: NumaTopologyType::of(topology),
        domains: Vec::new(),
        starts: vec![0],
        groups: Vec::new(),
        rings: Vec::new(),
        nr_capacities: 0,
        shortcuts: Vec::new(),
    };
    let mut llcs = vec![None; topology.nr_llcs()];
    let mut nr_llcs = 0..;
    for cpu in cpus() {
        let mut attached =
            attach(topology, &tree, &mut groups, &rings, cpu, (kernel, rule, nr_nodes));
        let mut attached: Vec<SchedDomain> =
            attached.drain(..).map(|fresh| finish(&levels[fresh.level], &fresh, cpu)).collect();
        let mut of_cpu = shortcuts(&attached, cpu);
        if kernel == Kernel::V7_3 {
            for (at, sd) in (0..).zip(&mut attached) {
                sd.has_shared = of_cpu.sd_llc == Some(at);
            }
            let llc = &mut llcs[topology.llc_of(cpu).idx()];
            of_cpu.llc_id = *llc.get_or_insert_with(|| nr_llcs.next().expect("without end"));
        }
        domains.shortcuts.push(of_cpu);
        domains.domains.extend(attached);
        domains.starts.push(domains.domains.len());
    }
    domains.nr_capacities = groups.nr_capacities();
    domains.groups = groups.groups;
    domains.rings = groups.rings;
    domains
}

/// The first level that spans the machine: no CPU has a domain above it.
fn top_level(topology: &Topology, levels: &[Level], cpu: CpuId) -> usize {
    let spans_all = |level: &Level| level.span_of(cpu) == topology.cpus();
    levels.iter().position(spans_all).unwrap_or(levels.len() - 1)
}

/// By level below NUMA, and by CPU: its ring.
fn ordinary_rings(topology: &Topology, tree: &Tree<'_>, groups: &mut Groups) -> Vec<Vec<Ring>> {
    let highest = tree.top.iter().copied().max().unwrap_or(0);
    let ordinary = (0..=highest).take_while(|&at| !tree.levels[at].is_numa());
    ordinary.map(|at| groups.rings_of_level(topology, tree.levels, at)).collect()
}

/// The domains of a CPU that survive, with their rings.
fn attach(
    topology: &Topology,
    tree: &Tree<'_>,
    groups: &mut Groups,
    rings: &[Vec<Ring>],
    cpu: CpuId,
    (kernel, rule, nr_nodes): (Kernel, NumaImbalance, u32),
) -> Vec<Fresh> {
    let mut fresh = tree_of(tree, cpu);
    let mut owners: Vec<Vec<NumaOwner>> = vec![Vec::new(); tree.levels.len()];
    for sd in &mut fresh {
        match rings.get(sd.level) {
            Some(rings) => sd.ring = rings[cpu.idx()],
            None => {
                owners[sd.level] = numa_owners(tree, cpu, sd.level);
                sd.ring.len = owners[sd.level].len();
            }
        }
    }
    imbalance::store(&mut fresh, rule, nr_nodes);
    let same = |a: usize, b: usize| tree.levels[a].span_of(cpu) == tree.levels[b].span_of(cpu);
    let changes = degenerate(&mut fresh, kernel, same);
    for sd in &mut fresh {
        let local = changes.iter().rev().find(|change| change.level == sd.level);
        if tree.levels[sd.level].is_numa() {
            sd.ring = numa_ring(topology, tree, groups, &owners[sd.level], local);
        } else if let Some(LocalFlags { flags, .. }) = local {
            let group = groups.rings[sd.ring.start];
            groups.groups[group.idx()].flags = *flags;
        }
    }
    fresh
}

/// The ring of a NUMA domain; only the CPU's own group takes part in changes of flags.
fn numa_ring(
    topology: &Topology,
    tree: &Tree<'_>,
    groups: &mut Groups,
    owners: &[NumaOwner],
    local: Option<&LocalFlags>,
) -> Ring {
    let mut ring = Vec::with_capacity(owners.len());
    for (n, owner) in owners.iter().enumerate() {
        let owned = tree.levels[owner.level - 1].flags(owner.span_idx);
        let flags = local.filter(|_| n == 0).map_or(owned, |change| change.flags);
        ring.push(groups.numa_group(topology, tree, *owner, flags));
    }
    groups.numa_ring(ring)
}

/// The domain with the attributes of its level.
fn finish(level: &Level, fresh: &Fresh, cpu: CpuId) -> SchedDomain {
    let smt = fresh.flags.contains(SdFlags::SHARE_CPUCAPACITY);
    let has_shared = fresh.flags.contains(SdFlags::SHARE_LLC);
    let cache_nice_tries = match (smt, level.is_numa()) {
        (true, _) => 0,
        (false, true) => 2,
        (false, false) => 1,
    };
    SchedDomain {
        span: *level.span_of(cpu),
        weight: fresh.weight,
        flags: fresh.flags,
        name: level.name,
        level: u8::try_from(fresh.level).expect("few levels"),
        distance: level.distance,
        min_interval: fresh.weight,
        max_interval: 2 * fresh.weight,
        busy_factor: BUSY_FACTOR,
        imbalance_pct: if smt { IMBALANCE_PCT_SMT } else { IMBALANCE_PCT },
        cache_nice_tries,
        imb_numa_nr: fresh.imb_numa_nr,
        has_shared,
        ring_start: u32::try_from(fresh.ring.start).expect("few rings"),
        nr_groups: u16::try_from(fresh.ring.len).expect("at most 1024 groups"),
    }
}

fn shortcuts(domains: &[SchedDomain], cpu: CpuId) -> Shortcuts {
    let at = |idx: usize| u8::try_from(idx).expect("few levels");
    let sd_llc = domains.iter().rposition(|sd| sd.flags.contains(SdFlags::SHARE_LLC));
    let first = sd_llc.and_then(|idx| domains[idx].span.first()).unwrap_or(cpu);
    let cluster = domains.iter().find(|sd| sd.flags.contains(SdFlags::CLUSTER));
    Shortcuts {
        sd_llc: sd_llc.map(at),
        sd_numa: domains.iter().position(|sd| sd.flags.contains(SdFlags::NUMA)).map(at),
        llc_size: sd_llc.map_or(1, |idx| domains[idx].weight),
        llc_id: u32::from(first.0),
        share_id: cluster.and_then(|sd| sd.span.first()).unwrap_or(first),
    }
}
