//! A tree of `/sys/devices/system`, as Linux shows it to user space.
//!
//! Source: `Documentation/ABI/stable/sysfs-devices-system-cpu`, `Documentation/ABI/stable/sysfs-devices-node`
//! and `Documentation/admin-guide/cputopology.rst` of Linux. Old kernels write masks only, new ones lists too.

use std::collections::{BTreeMap, BTreeSet};

use crate::cpuinfo;
use crate::error::{ImportError, at, quoted, whole};
use crate::found::{Cache, Distances, Found, Node};
use crate::maker;
use crate::set::{self, Set};
use crate::tree::Tree;

type Result<T> = std::result::Result<T, ImportError>;

/// Reads a tree.
pub(crate) fn read(tree: &Tree, file: &str) -> Result<Found> {
    let reader = Reader { tree, file };
    let mut found = Found { kind: "sysfs".to_owned(), ..Found::default() };
    found.processor = cpuinfo::read(tree.get("cpuinfo").unwrap_or(""));
    for (key, value) in
        tree.get("hwloc-nofile-info").unwrap_or("").lines().filter_map(cpuinfo::pair)
    {
        if key == "Architecture" {
            found.processor.architecture = Some(value.to_owned());
        }
    }
    maker::alias(tree.get("cpu/modalias").unwrap_or(""), &mut found.processor);
    maker::look(tree, &mut found.processor, &mut found.notes);
    if found.processor.architecture.is_none() {
        found.processor.architecture = tree.architecture().map(str::to_owned);
    }
    reader.cpus(&mut found)?;
    reader.topology(&mut found)?;
    reader.caches(&mut found)?;
    reader.kinds(&mut found)?;
    reader.nodes(&mut found)?;
    Ok(found)
}

/// What is done where Linux would have written the same twice.
const MASKS_COUNT: &str = "masks are taken, as hwloc does";

struct Reader<'t> {
    tree: &'t Tree,
    file: &'t str,
}

impl Reader<'_> {
    /// A set that stands as a mask or as a list; `None` if there is no such file.
    fn set(&self, list: &str, mask: &str) -> Result<Option<Set>> {
        for (path, read, expected) in
            [(mask, set::mask as fn(&str) -> Option<Set>, set::MASK), (list, set::list, set::LIST)]
        {
            if let Some(text) = self.tree.get(path) {
                let wrong =
                    || at(self.file, path, format!("found {}, expected {expected}", quoted(text)));
                return read(text).map(Some).ok_or_else(wrong);
            }
        }
        Ok(None)
    }

    /// The CPUs that share something, as mask or list. Linux writes both from one set. Where a tree was
    /// changed by hand and they differ in CPUs that run, the mask counts, as it does for hwloc.
    fn shared(&self, path: &str, list: &str, found: &mut Found) -> Result<Option<Set>> {
        let (mask, listed) = (self.set("", path)?, self.set(list, "")?);
        if let (Some(mask), Some(listed)) = (&mask, &listed)
            && mask.symmetric_difference(listed).any(|cpu| found.cpus.contains(cpu))
            && !found.notes.iter().any(|note| note.ends_with(MASKS_COUNT))
        {
            let [mask, listed] = [mask, listed].map(set::written);
            found.notes.push(format!(
                "the mask {path} holds CPUs {mask}, but the list beside it {listed}: {MASKS_COUNT}"
            ));
        }
        Ok(mask.or(listed))
    }

    fn number(&self, path: &str) -> Result<Option<u64>> {
        let Some(text) = self.tree.get(path) else { return Ok(None) };
        let wrong = || at(self.file, path, format!("found {}, expected a number", quoted(text)));
        text.parse().map(Some).map_err(|_| wrong())
    }

    /// The CPUs that run: those that are online and have a topology.
    fn cpus(&self, found: &mut Found) -> Result<()> {
        let folders = self.tree.numbered("cpu/", "cpu");
        let has_topology = |cpu: &&u32| {
            let within = format!("cpu/cpu{cpu}/topology/");
            self.tree.has_below(&within)
        };
        let described: Set = folders.iter().filter(has_topology).copied().collect();
        let mut online = self.set("cpu/online", "")?.unwrap_or_else(|| described.clone());
        for cpu in &folders {
            if self.tree.get(&format!("cpu/cpu{cpu}/online")) == Some("0") {
                online.remove(cpu);
            }
        }
        if online.is_empty() {
            let what = "found no CPU that is online, expected cpu/online or cpu/cpuN/topology";
            return Err(whole(self.file, what));
        }
        let missing: Set = online.difference(&described).copied().collect();
        if described.is_empty() {
            return Err(whole(
                self.file,
                "found no cpu/cpuN/topology of any CPU, expected one of each",
            ));
        }
        if !missing.is_empty() {
            let what = format!(
                "CPUs {} are online, but the tree has no cpu/cpuN/topology of them",
                set::written(&missing)
            );
            return Err(at(self.file, "cpu/online", what));
        }
        let present = self.set("cpu/present", "")?.unwrap_or(folders);
        found.hidden = present.difference(&online).copied().collect();
        found.cpus = online;
        Ok(())
    }

    fn topology(&self, found: &mut Found) -> Result<()> {
        let mut by_id: BTreeMap<u64, Set> = BTreeMap::new();
        let cpus = found.cpus.clone();
        for cpu in &cpus {
            let within = format!("cpu/cpu{cpu}/topology");
            let first = |names: &[&str], found: &mut Found| -> Result<Option<Set>> {
                for name in names {
                    let path = format!("{within}/{name}");
                    if let Some(set) = self.shared(&path, &format!("{path}_list"), found)? {
                        return Ok(Some(set));
                    }
                }
                Ok(None)
            };
            let core = first(&["core_cpus", "thread_siblings"], found)?;
            let Some(core) = core else {
                let what =
                    "found neither core_cpus nor thread_siblings, expected the CPUs of its core";
                return Err(at(self.file, within, what));
            };
            found.cores.push(self.own(core, *cpu, &within)?);
            if let Some(package) = first(&["package_cpus", "core_siblings"], found)? {
                found.packages.push(self.own(package, *cpu, &within)?);
            } else if let Some(id) =
                self.number(&format!("{within}/physical_package_id")).unwrap_or(None)
            {
                by_id.entry(id).or_default().insert(*cpu);
            }
            if let Some(cluster) = first(&["cluster_cpus"], found)? {
                found.clusters.push(cluster);
            }
            if let Some(book) = first(&["book_siblings"], found)?
                && book.len() < cpus.len()
            {
                found.kinds.push(("book of s390".to_owned(), book));
            }
        }
        found.packages.extend(by_id.into_values());
        Ok(())
    }

    /// The CPUs that share something with a CPU hold that CPU.
    fn own(&self, cpus: Set, cpu: u32, within: &str) -> Result<Set> {
        if cpus.contains(&cpu) {
            return Ok(cpus);
        }
        let what = format!("the siblings of CPU {cpu} are {}, without itself", set::written(&cpus));
        Err(at(self.file, within, what))
    }

    fn caches(&self, found: &mut Found) -> Result<()> {
        let mut seen = BTreeSet::new();
        for cpu in found.cpus.clone() {
            let within = format!("cpu/cpu{cpu}/cache/");
            for index in self.tree.numbered(&within, "index") {
                let path = format!("{within}index{index}");
                let level = self.number(&format!("{path}/level"))?;
                let shared = |name: &str| format!("{path}/shared_cpu_{name}");
                let cpus = self.shared(&shared("map"), &shared("list"), found)?;
                let (Some(level), Some(cpus)) = (level, cpus) else { continue };
                let level = u32::try_from(level).ok().filter(|level| (1..=5).contains(level));
                let Some(level) = level else {
                    return Err(at(
                        self.file,
                        format!("{path}/level"),
                        "expected a level from 1 to 5",
                    ));
                };
                let is_instruction = self.tree.get(&format!("{path}/type")) == Some("Instruction");
                let line = self.number(&format!("{path}/coherency_line_size")).unwrap_or(None);
                let line = line.filter(|&bytes| bytes.is_power_of_two() && bytes <= 1024);
                found.processor.line_bytes = found.processor.line_bytes.or(line);
                if seen.insert((level, is_instruction, cpus.clone())) {
                    let kib = self.tree.get(&format!("{path}/size")).and_then(kib);
                    found.caches.push(Cache { level, is_instruction, kib, cpus });
                }
            }
        }
        Ok(())
    }

    /// Cores of different kinds: what x86 says of its hybrids, and capacities of arm64.
    fn kinds(&self, found: &mut Found) -> Result<()> {
        for (kind, name) in [("cpu_atom", "Atom"), ("cpu_core", "Core")] {
            let path = format!("{kind}/cpus");
            if let Some(cpus) = self.set(&path, "")?.filter(|cpus| !cpus.is_empty()) {
                found.kinds.push((name.to_owned(), cpus));
            }
        }
        let mut capacities: BTreeMap<u64, Set> = BTreeMap::new();
        let mut clocks = Vec::new();
        for &cpu in &found.cpus {
            if let Some(capacity) = self.number(&format!("cpu/cpu{cpu}/cpu_capacity"))? {
                capacities.entry(capacity).or_default().insert(cpu);
            }
            clocks.extend(
                self.number(&format!("cpu/cpu{cpu}/cpufreq/cpuinfo_max_freq")).unwrap_or(None),
            );
        }
        let name = |capacity: u64| format!("capacity {capacity}");
        found.kinds.extend(capacities.into_iter().map(|(capacity, cpus)| (name(capacity), cpus)));
        let mhz = |khz: &u64| khz / 1000;
        let ends = clocks.iter().min().map(mhz).zip(clocks.iter().max().map(mhz));
        found.processor.max_mhz = ends.filter(|&(least, most)| least >= 100 && most <= 20_000);
        Ok(())
    }

    fn nodes(&self, found: &mut Found) -> Result<()> {
        let numbers = self.tree.numbered("node/", "node");
        let mut nodes = Vec::new();
        for &number in &numbers {
            let within = format!("node/node{number}");
            let cpus = self.set(&format!("{within}/cpulist"), &format!("{within}/cpumap"))?;
            nodes.push(Node { number, cpus: cpus.unwrap_or_default(), is_special: false });
        }
        found.distances = self.distances(&numbers)?;
        found.nodes = (!nodes.is_empty()).then_some(nodes);
        Ok(())
    }

    /// The table of distances; `None` if a node has no row.
    fn distances(&self, numbers: &Set) -> Result<Option<Distances>> {
        let online = self.set("node/online", "")?.unwrap_or_default();
        let possible = self.set("node/possible", "")?.unwrap_or_default();
        let mut values = Vec::new();
        for &number in numbers {
            let path = format!("node/node{number}/distance");
            let Some(text) = self.tree.get(&path) else { return Ok(None) };
            let row: Option<Vec<u64>> =
                text.split_whitespace().map(|word| word.parse().ok()).collect();
            let Some(row) = row else {
                let what = format!("found {}, expected the distances to all nodes", quoted(text));
                return Err(at(self.file, path, what));
            };
            // A column for each node that is online; some kernels count those that may come.
            let columns =
                [numbers, &online, &possible].into_iter().find(|set| set.len() == row.len());
            let Some(columns) = columns else {
                let what = format!("found {} distances for {} nodes", row.len(), numbers.len());
                return Err(at(self.file, path, what));
            };
            let own = columns.iter().zip(&row).filter(|(node, _)| numbers.contains(node));
            values.extend(own.map(|(_, distance)| *distance));
        }
        let is_whole = !numbers.is_empty() && values.len() == numbers.len() * numbers.len();
        Ok(is_whole.then(|| Distances { nodes: numbers.iter().copied().collect(), values }))
    }
}

/// `1024K` or `32M`, in KiB.
fn kib(text: &str) -> Option<u64> {
    let (number, unit) =
        text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
    let number: u64 = number.parse().ok().filter(|&number| number < 1 << 40)?;
    match unit {
        "K" => Some(number),
        "M" => Some(number * 1024),
        _ => None,
    }
    .filter(|&kib| kib > 0)
}
