//! The machines whose prices are known, and which of them is the nearest.

use simsched_topology::{Arch, Fact, Topology, builtin_names, builtin_text};

use crate::found::Processor;
use crate::shape::Shape;

/// What CPUID says of the machines that are built in: vendor, family and models.
///
/// Source: `arch/x86/include/asm/intel-family.h` of Linux for Intel, and the ranges of models of
/// `init_amd_zn` and its successors for AMD.
const MODELS: &[(&str, Maker, u32, &[u32])] = &[
    ("spr", Maker::Intel, 6, &[143, 207]),
    ("icelake", Maker::Intel, 6, &[106, 108]),
    ("cascadelake", Maker::Intel, 6, &[85]),
    ("genoa", Maker::Amd, 25, &[17, 160]),
    ("milan", Maker::Amd, 25, &[1]),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Maker {
    Intel,
    /// And Hygon, whose cores are Zen.
    Amd,
}

fn maker(processor: &Processor) -> Option<Maker> {
    let name = processor.name.as_deref().unwrap_or("");
    match processor.vendor.as_deref() {
        Some("GenuineIntel") => Some(Maker::Intel),
        Some("AuthenticAMD" | "HygonGenuine") => Some(Maker::Amd),
        // hwloc names no vendor of what it read before its version 1.11.
        None if name.contains("Intel") => Some(Maker::Intel),
        None if name.contains("AMD") => Some(Maker::Amd),
        _ => None,
    }
}

/// A machine that is built in.
#[derive(Debug)]
pub(crate) struct Known {
    pub(crate) name: &'static str,
    pub(crate) file: toml::Table,
    /// How far it is from what is imported, most important first.
    rank: [u64; 7],
}

/// The machines that are built in, the nearest first; machines of the lab are none that exist.
pub(crate) fn ranked(shape: &Shape) -> Vec<Known> {
    let mut known: Vec<Known> = builtin_names()
        .into_iter()
        .filter_map(|name| {
            let file: toml::Table = builtin_text(name)?.parse().ok()?;
            let is_lab = file.get("vendor").and_then(toml::Value::as_str) == Some("lab");
            let machine = Topology::builtin(name, None).ok().filter(|_| !is_lab)?;
            Some(Known { name, file, rank: rank(shape, name, &machine) })
        })
        .collect();
    // Stable: of equals the first in the order of the list.
    known.sort_by_key(|known| known.rank);
    known
}

fn rank(shape: &Shape, name: &str, machine: &Topology) -> [u64; 7] {
    let other_arch = (shape.arch == Arch::Power) != (machine.arch() == Arch::Power);
    let per = |parts: usize, wholes: usize| (parts / wholes.max(1)) as u64;
    let packages = shape.packages.len();
    let own = [
        per(shape.llcs.len(), packages),
        per(shape.cores.len(), shape.llcs.len()),
        shape.kib.get(&shape.llc_level).copied().unwrap_or(0),
        per(shape.os_cpus.len(), shape.cores.len()),
        packages as u64,
    ];
    // In its default mode no built-in machine cuts an LLC.
    let llcs = machine.nr_llcs();
    let theirs = [
        per(llcs, machine.nr_packages()),
        per(machine.nr_cores(), llcs),
        machine.facts().cache_kib.l3.as_ref().map_or(0, Fact::rounded),
        per(machine.nr_cpus(), machine.nr_cores()),
        machine.nr_packages() as u64,
    ];
    let mut rank = [u64::from(other_arch), generation(&shape.processor, name), 0, 0, 0, 0, 0];
    for (rank, (own, theirs)) in rank[2..].iter_mut().zip(own.into_iter().zip(theirs)) {
        *rank = own.abs_diff(theirs);
    }
    rank
}

/// How far the processors are apart: `256 * family + model`, and without end between makers.
fn generation(processor: &Processor, name: &str) -> u64 {
    let known = MODELS.iter().find(|(known, ..)| name.split('-').next() == Some(known));
    let Some(own_maker) = maker(processor) else { return 0 };
    match known {
        Some((_, maker, family, models)) if *maker == own_maker => {
            let (Some(own_family), Some(own_model)) = (processor.family, processor.model) else {
                return 0;
            };
            // Intel's families 7 to 15 (Xeon Phi, NetBurst) are older than all known models of 6.
            let is_old = |family: u32| own_maker == Maker::Intel && (7..=15).contains(&family);
            let number = |family: u32, model: u32| match is_old(family) {
                true => 0,
                false => 256 * u64::from(family) + u64::from(model),
            };
            let own = number(own_family, own_model);
            models.iter().map(|&model| own.abs_diff(number(*family, model))).min().unwrap_or(0)
        }
        _ => u64::MAX,
    }
}

/// Whether the source says that it is the very model of this machine.
pub(crate) fn is_model(known: &Known, processor: &Processor) -> bool {
    let told = maker(processor).is_some() && processor.model.is_some();
    told && known.rank[1] == 0
}

/// Whether its cores are in pairs that hwloc counts as cores and Linux as threads of one (AMD 15h).
pub(crate) fn has_modules(processor: &Processor) -> bool {
    maker(processor) == Some(Maker::Amd) && processor.family == Some(21)
}

/// Whether it is a Zen, for which Linux raises `node_reclaim_distance` to 32 (`init_amd_zn`, `init_hygon`).
pub(crate) fn is_zen(processor: &Processor) -> bool {
    maker(processor) == Some(Maker::Amd) && processor.family.is_some_and(|family| family >= 23)
}
