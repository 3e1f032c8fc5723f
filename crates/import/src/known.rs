//! The machines whose prices are known, and which of them is the nearest.

use simsched_topology::{Arch, Fact, Topology, builtin_names, builtin_text};

use crate::found::Processor;
use crate::maker::{self, Maker};
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

/// What CPUID says of a machine that is built in, if it has CPUID.
fn model(name: &str) -> Option<&'static (&'static str, Maker, u32, &'static [u32])> {
    MODELS.iter().find(|(known, ..)| name.split('-').next() == Some(known))
}

/// A machine that is built in.
#[derive(Debug)]
pub(crate) struct Known {
    pub(crate) name: &'static str,
    pub(crate) file: toml::Table,
    /// Whether it was asked for, and is not the nearest by itself.
    pub(crate) is_asked: bool,
    /// How far it is from what is imported, most important first.
    rank: [u64; 7],
}

/// The file of a machine that is built in; machines of the lab are none that exist.
fn file(name: &str) -> Option<toml::Table> {
    let file: toml::Table = builtin_text(name)?.parse().ok()?;
    let is_lab = file.get("vendor").and_then(toml::Value::as_str) == Some("lab");
    (!is_lab).then_some(file)
}

/// The names of the machines whose prices are known.
#[must_use]
pub fn priced() -> Vec<&'static str> {
    builtin_names().into_iter().filter(|name| file(name).is_some()).collect()
}

/// The machines that are built in: the one that is asked for, then the nearest first.
pub(crate) fn ranked(shape: &Shape, asked: Option<&str>) -> Vec<Known> {
    let mut known: Vec<Known> = builtin_names()
        .into_iter()
        .filter_map(|name| {
            let file = file(name)?;
            let machine = Topology::builtin(name, None).ok()?;
            let is_asked = asked == Some(name);
            Some(Known { name, file, is_asked, rank: rank(shape, name, &machine) })
        })
        .collect();
    // Stable: of equals the first in the order of the list.
    known.sort_by_key(|known| (!known.is_asked, known.rank));
    known
}

/// What decided whose prices these are, where no maker did.
pub(crate) fn chosen(nearest: &Known, shape: &Shape) -> Option<String> {
    let processor = &shape.processor;
    let is_told = maker::of(processor).is_some() || shape.arch == Arch::Power;
    if is_told || nearest.is_asked {
        return None;
    }
    let name = nearest.name;
    let of = model(name).map_or_else(String::new, |(_, of, ..)| format!(" ({})", of.name()));
    let prices = format!("prices are from {name}{of}, the nearest in shape");
    let why = match (shape.arch, processor.vendor.as_deref()) {
        (Arch::X86, None) => "the source does not tell who made the CPUs".to_owned(),
        (Arch::X86, Some(vendor)) => format!("no machine of {} is known", plain(vendor)),
        _ => "no machine of this architecture is known".to_owned(),
    };
    let is_open = shape.arch == Arch::X86 && processor.vendor.is_none();
    let more = match shape.kind.as_str() {
        "sysfs" if is_open => {
            "a copy of /proc/cpuinfo beside the tree, as cpuinfo, tells the maker, and "
        }
        "lscpu" if is_open => "the output of lscpu -B in front of the table tells the maker, and ",
        _ => "",
    };
    Some(format!("{why}: {prices}; {more}--prices MACHINE takes those of another"))
}

/// A name without what would break the line of a comment.
fn plain(name: &str) -> String {
    name.chars().filter(|c| !c.is_control()).collect()
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
    let known = model(name);
    let Some(own_maker) = maker::of(processor) else { return 0 };
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
    let told = maker::of(processor).is_some() && processor.model.is_some();
    told && known.rank[1] == 0
}

/// Whether its cores are in pairs that hwloc counts as cores and Linux as threads of one (AMD 15h).
pub(crate) fn has_modules(processor: &Processor) -> bool {
    maker::of(processor) == Some(Maker::Amd) && processor.family == Some(21)
}

/// Whether it is a Zen, for which Linux raises `node_reclaim_distance` to 32 (`init_amd_zn`, `init_hygon`).
pub(crate) fn is_zen(processor: &Processor) -> bool {
    maker::of(processor) == Some(Maker::Amd)
        && processor.family.map_or(processor.sign.is_some(), |family| family >= 23)
}
