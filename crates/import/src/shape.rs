//! `Shape`: a machine in the numbers of a machine file, or the sentence why it is none.

use std::collections::BTreeMap;

use simsched_topology::{Arch, CpuId, CpuSet, MAX_CPUS};

use crate::caches::{Caches, Sizes};
use crate::error::{ImportError, whole};
use crate::found::{Found, Processor};
use crate::nodes::{distances, nodes};
use crate::set::{self, Set};
use crate::{Request, cpuinfo};

type Result<T> = std::result::Result<T, ImportError>;

/// A machine: parts as sets of CPUs that are numbered without a gap.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    /// What the source is.
    pub(crate) kind: String,
    pub(crate) arch: Arch,
    /// The source's number of each CPU, rising.
    pub(crate) os_cpus: Vec<u32>,
    pub(crate) packages: Vec<CpuSet>,
    pub(crate) cores: Vec<CpuSet>,
    /// What hardware shares; Linux cuts them at a node.
    pub(crate) llcs: Vec<CpuSet>,
    /// The size in KiB of each of them, if they differ.
    pub(crate) llc_kib: Vec<Option<u64>>,
    /// The level of the last-level cache; 1 stands for none at all.
    pub(crate) llc_level: u32,
    pub(crate) clusters: Vec<CpuSet>,
    /// The source's number and the CPUs of each node that has some, rising.
    pub(crate) nodes: Vec<(u32, CpuSet)>,
    /// Whether the source tells of nodes at all.
    pub(crate) has_nodes: bool,
    /// Row by row, if the source tells distances.
    pub(crate) distances: Option<Vec<u32>>,
    /// The size in KiB by level, of caches of data.
    pub(crate) kib: BTreeMap<u32, u64>,
    /// The size of the instruction cache in KiB.
    pub(crate) l1i_kib: Option<u64>,
    pub(crate) processor: Processor,
    pub(crate) notes: Vec<String>,
}

impl Shape {
    /// Draws the conclusions from what a source says.
    pub(crate) fn of(mut found: Found, request: &Request<'_>) -> Result<Shape> {
        let file = request.file;
        cpuinfo::complete(&mut found.processor);
        let numbers = Numbers::new(&found, file)?;
        one_kind(&found, file)?;
        let mut notes = std::mem::take(&mut found.notes);
        let arch = architecture(&found.processor, file, &mut notes)?;
        hidden(&found, &mut notes);
        clocks(&found.processor, &mut notes);
        let cores = numbers.parts(&found.cores, "core", file, &mut notes)?;
        let packages = numbers.parts(&found.packages, "package", file, &mut notes)?;
        let caches = Caches { found: &found, numbers: &numbers, file };
        let (llc_level, llcs) = caches.last_level(request.llc, &cores, &packages, &mut notes)?;
        let sizes = Sizes::of(&caches, llc_level, &llcs)?;
        differing(&llcs, &sizes.llcs, &numbers, &mut notes);
        let clusters = caches.clusters(arch, llc_level, &cores, &llcs)?;
        let (nodes, bare) = nodes(&found, &numbers, file)?;
        if !bare.is_empty() {
            let bare = set::written(&bare);
            notes.push(format!(
                "nodes without CPUs are left out ({bare}): no sched domain knows them"
            ));
        }
        let shape = Shape {
            distances: distances(&found, &nodes, file)?,
            kind: found.kind,
            arch,
            os_cpus: numbers.os_cpus.clone(),
            packages,
            cores,
            llcs,
            llc_kib: sizes.llcs,
            llc_level,
            clusters,
            has_nodes: found.nodes.is_some(),
            nodes,
            kib: sizes.data,
            l1i_kib: sizes.instructions,
            processor: found.processor,
            notes,
        };
        shape.nests(&numbers, file)?;
        Ok(shape)
    }

    /// Whether the last-level caches span several nodes.
    pub(crate) fn cuts_llc(&self) -> bool {
        let spans = |llc: &CpuSet| self.nodes.iter().filter(|(_, n)| n.intersects(llc)).count() > 1;
        self.llcs.iter().any(spans)
    }

    /// Every core lies in one LLC and node, every LLC in one package.
    fn nests(&self, numbers: &Numbers, file: &str) -> Result<()> {
        let nodes: Vec<CpuSet> = self.nodes.iter().map(|(_, cpus)| *cpus).collect();
        for (inner, name, outer, outers) in [
            (&self.cores, "core", &self.llcs, "last-level caches"),
            (&self.cores, "core", &self.packages, "packages"),
            (&self.cores, "core", &nodes, "NUMA nodes"),
            (&self.llcs, "last-level cache", &self.packages, "packages"),
        ] {
            for part in inner {
                let holders = outer.iter().filter(|o| o.intersects(part)).count();
                if holders > 1 {
                    let cpus = numbers.written(part);
                    return Err(whole(
                        file,
                        format!(
                            "the {name} of CPUs {cpus} lies in {holders} {outers}, which is no machine"
                        ),
                    ));
                }
            }
        }
        if self.cuts_llc() && self.arch == Arch::Power {
            let what = "a last-level cache spans several nodes, which Linux does not cut on Power";
            return Err(whole(file, what));
        }
        Ok(())
    }
}

/// From the source's numbers to those without a gap.
pub(crate) struct Numbers {
    pub(crate) os_cpus: Vec<u32>,
}

impl Numbers {
    fn new(found: &Found, file: &str) -> Result<Numbers> {
        let os_cpus: Vec<u32> = found.cpus.iter().copied().collect();
        if os_cpus.len() > MAX_CPUS {
            let what = format!("found {} CPUs, expected at most {MAX_CPUS}", os_cpus.len());
            return Err(whole(file, what));
        }
        Ok(Numbers { os_cpus })
    }

    /// The CPUs of a set that run.
    pub(crate) fn set(&self, cpus: &Set) -> CpuSet {
        let own = |cpu: &u32| self.os_cpus.binary_search(cpu).ok().map(CpuId::new);
        cpus.iter().filter_map(own).collect()
    }

    pub(crate) fn all(&self) -> CpuSet {
        CpuSet::first_n(self.os_cpus.len())
    }

    pub(crate) fn written(&self, cpus: &CpuSet) -> String {
        set::written(cpus.iter().map(|cpu| &self.os_cpus[cpu.idx()]))
    }

    /// The distinct parts by their first CPU, each CPU in one of them.
    pub(crate) fn distinct(&self, parts: &[Set], name: &str, file: &str) -> Result<Vec<CpuSet>> {
        let mut by_first: BTreeMap<usize, CpuSet> = BTreeMap::new();
        let mut seen = CpuSet::new();
        for part in parts {
            let part = self.set(part);
            let Some(first) = part.first() else { continue };
            if by_first.get(&first.idx()) == Some(&part) {
                continue;
            }
            if let Some(cpu) = part.and(&seen).first() {
                let cpu = self.os_cpus[cpu.idx()];
                return Err(whole(file, format!("CPU {cpu} is in two {name}s, expected one")));
            }
            seen.union_with(&part);
            by_first.insert(first.idx(), part);
        }
        Ok(by_first.into_values().collect())
    }

    /// Cores or packages: where the source has none at all, each CPU is a core, and all are one package.
    fn parts(
        &self,
        parts: &[Set],
        name: &str,
        file: &str,
        notes: &mut Vec<String>,
    ) -> Result<Vec<CpuSet>> {
        let found = self.distinct(parts, name, file)?;
        if found.is_empty() {
            let is_core = name == "core";
            notes.push(format!(
                "the source tells no {name}s: {} is taken for one",
                if is_core { "each CPU" } else { "the whole machine" }
            ));
            let each = || self.all().iter().map(|cpu| [cpu].into_iter().collect()).collect();
            return Ok(if is_core { each() } else { vec![self.all()] });
        }
        self.covered(&found, name, file)?;
        Ok(found)
    }

    pub(crate) fn covered(&self, parts: &[CpuSet], name: &str, file: &str) -> Result<()> {
        let held = parts.iter().fold(CpuSet::new(), |all, part| all.or(part));
        let missing = self.all().minus(&held);
        if missing.is_empty() {
            return Ok(());
        }
        let cpus = self.written(&missing);
        Err(whole(file, format!("CPUs {cpus} are in no {name}, expected each CPU in one")))
    }
}

fn one_kind(found: &Found, file: &str) -> Result<()> {
    let mut kinds: BTreeMap<&str, Set> = BTreeMap::new();
    for (name, cpus) in &found.kinds {
        let cpus: Set = cpus.intersection(&found.cpus).copied().collect();
        if !cpus.is_empty() {
            kinds.entry(name).or_default().extend(cpus);
        }
    }
    if let Some(books) = kinds.get("book of s390") {
        let cpus = set::written(books);
        return Err(whole(
            file,
            format!("CPUs {cpus} are a book of s390, a level that is not simulated"),
        ));
    }
    if kinds.len() < 2 {
        return Ok(());
    }
    let told = kinds.iter().map(|(name, cpus)| format!("{name}: CPUs {}", set::written(cpus)));
    let told = told.collect::<Vec<_>>().join("; ");
    Err(whole(file, format!("cores of different kinds are not simulated ({told})")))
}

fn architecture(processor: &Processor, file: &str, notes: &mut Vec<String>) -> Result<Arch> {
    let Some(name) = processor.architecture.as_deref() else {
        notes.push("the source names no architecture: the levels of x86 are taken".to_owned());
        return Ok(Arch::X86);
    };
    match name {
        "x86_64" | "amd64" | "i386" | "i486" | "i586" | "i686" | "x86" | "k1om" => Ok(Arch::X86),
        // Rust calls them powerpc, `uname -m` ppc.
        "ppc64" | "ppc64le" | "ppc" | "powerpc64" | "powerpc" => Ok(Arch::Power),
        "aarch64" | "arm64" | "arm" | "armv7l" | "armv8l" | "riscv64" => Ok(Arch::Generic),
        other => Err(whole(
            file,
            format!(
                "the architecture is {other}, whose sched domains are not simulated; expected x86_64, \
             ppc64le, aarch64 or riscv64"
            ),
        )),
    }
}

fn differing(llcs: &[CpuSet], kib: &[Option<u64>], numbers: &Numbers, notes: &mut Vec<String>) {
    let told = llcs
        .iter()
        .zip(kib)
        .filter_map(|(llc, kib)| Some(format!("CPUs {}: {} KiB", numbers.written(llc), (*kib)?)));
    let told = told.collect::<Vec<_>>().join("; ");
    if !told.is_empty() {
        notes.push(format!("last-level caches differ in size ({told})"));
    }
}

fn hidden(found: &Found, notes: &mut Vec<String>) {
    if !found.hidden.is_empty() {
        let cpus = set::written(&found.hidden);
        notes.push(format!("CPUs {cpus} are offline or hidden from the source, and left out"));
    }
}

fn clocks(processor: &Processor, notes: &mut Vec<String>) {
    if let Some((least, most)) = processor.max_mhz.filter(|(least, most)| least != most) {
        notes.push(format!(
            "CPUs differ in their highest clock ({least} to {most} MHz), and are simulated alike"
        ));
    }
}
