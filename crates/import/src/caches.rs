//! Which caches a machine has, who shares them, and which one Linux takes for the last.

use std::collections::BTreeMap;

use simsched_topology::{Arch, CpuSet};

use crate::Llc;
use crate::error::{ImportError, whole};
use crate::found::{Cache, Found};
use crate::set::{self, Set};
use crate::shape::Numbers;

type Result<T> = std::result::Result<T, ImportError>;

/// Sizes in KiB, one for all caches of a kind; of last-level caches that differ, the smallest.
pub(crate) struct Sizes {
    pub(crate) data: BTreeMap<u32, u64>,
    pub(crate) instructions: Option<u64>,
    /// By last-level cache, if they differ.
    pub(crate) llcs: Vec<Option<u64>>,
}

impl Sizes {
    pub(crate) fn of(caches: &Caches<'_>, llc_level: u32, llcs: &[CpuSet]) -> Result<Sizes> {
        let Caches { found, numbers, file } = *caches;
        let mut known: BTreeMap<(bool, u32), &Cache> = BTreeMap::new();
        let mut own = vec![None; llcs.len()];
        for cache in found.caches.iter().filter(|cache| !cache.cpus.is_disjoint(&found.cpus)) {
            let Some(kib) = cache.kib else { continue };
            let other = known.entry((cache.is_instruction, cache.level)).or_insert(cache);
            if llc_level > 1 && cache.level == llc_level && !cache.is_instruction {
                let cpus = numbers.set(&cache.cpus);
                if let Some(llc) = llcs.iter().position(|llc| *llc == cpus) {
                    own[llc] = Some(kib);
                }
                if other.kib > Some(kib) {
                    *other = cache;
                }
            } else if other.kib != Some(kib) {
                let [a, b] =
                    [*other, cache].map(|c| set::written(c.cpus.intersection(&found.cpus)));
                return Err(whole(
                    file,
                    format!(
                        "caches of level {} differ in size (CPUs {a}: {} KiB, CPUs {b}: {kib} KiB), \
                     expected one size for all",
                        cache.level,
                        other.kib.unwrap_or(0)
                    ),
                ));
            }
        }
        let differ = own.iter().flatten().any(|kib| Some(kib) != own.iter().flatten().next());
        let llcs = if differ { own } else { Vec::new() };
        let mut sizes = Sizes { data: BTreeMap::new(), instructions: None, llcs };
        for ((is_instruction, level), cache) in known {
            match (is_instruction, cache.kib) {
                (false, Some(kib)) => drop(sizes.data.insert(level, kib)),
                (true, kib) if level == 1 => sizes.instructions = kib,
                _ => {}
            }
        }
        Ok(sizes)
    }
}

/// The caches of CPUs that several of them share.
pub(crate) struct Caches<'a> {
    pub(crate) found: &'a Found,
    pub(crate) numbers: &'a Numbers,
    pub(crate) file: &'a str,
}

impl Caches<'_> {
    /// The caches of a level that hold data.
    fn of_level(&self, level: u32) -> Result<Vec<CpuSet>> {
        let caches = self.found.caches.iter().filter(|c| c.level == level && !c.is_instruction);
        let sets: Vec<Set> = caches.map(|cache| cache.cpus.clone()).collect();
        self.numbers.distinct(&sets, &format!("level-{level} cache"), self.file)
    }

    /// The last level that Linux asks for: the third, or the second where there is no third
    /// (`cpu_llc_id` of `arch/x86/kernel/cpu/cacheinfo.c`).
    pub(crate) fn last_level(
        &self,
        asked: Option<Llc>,
        cores: &[CpuSet],
        packages: &[CpuSet],
        notes: &mut Vec<String>,
    ) -> Result<(u32, Vec<CpuSet>)> {
        if !self.of_level(4)?.is_empty() {
            notes.push(
                "a fourth-level cache is left out: Linux takes the third for the last".to_owned(),
            );
        }
        for level in [3, 2] {
            let caches = self.of_level(level)?;
            if !caches.is_empty() {
                self.numbers.covered(&caches, &format!("cache of level {level}"), self.file)?;
                return Ok((level, caches));
            }
        }
        let (parts, name) = match asked {
            Some(Llc::Core) => (cores, "core"),
            Some(Llc::Package) => (packages, "package"),
            None => {
                let what = "found no second- or third-level cache, so who shares the last one is not \
                            known; say it with --llc core (what Linux takes on x86) or --llc package (on arm64)";
                return Err(whole(self.file, what));
            }
        };
        notes.push(format!("the source tells no shared cache: --llc {name} says who shares one"));
        Ok((1, parts.to_vec()))
    }

    /// Cores that share an L2 below the last level (x86), or that firmware groups (arm64).
    pub(crate) fn clusters(
        &self,
        arch: Arch,
        llc_level: u32,
        cores: &[CpuSet],
        llcs: &[CpuSet],
    ) -> Result<Vec<CpuSet>> {
        let clusters = match arch {
            Arch::X86 if llc_level > 2 => self.of_level(2)?,
            Arch::Generic => self.numbers.distinct(&self.found.clusters, "cluster", self.file)?,
            _ => Vec::new(),
        };
        let holds_cores = |outer: &CpuSet| cores.iter().filter(|c| c.intersects(outer)).count() > 1;
        let is_below = |part: &CpuSet| llcs.iter().any(|llc| part.is_subset(llc));
        let is_level = clusters.iter().any(holds_cores) && clusters.iter().all(is_below);
        if !is_level || self.numbers.covered(&clusters, "cluster", self.file).is_err() {
            return Ok(Vec::new());
        }
        Ok(clusters)
    }
}
