//! The shape of a machine as its file gives it: by rule (`[cores]`) or by lists (`[[core]]`, `[[llc]]`).

use crate::cpuset::{CpuSet, MAX_CPUS};
use crate::error::TopologyError;
use crate::ids::CpuId;

use super::reader::{Item, Table};

type Result<T> = std::result::Result<T, TopologyError>;

/// CPUs that belong together, and where the file says so.
#[derive(Clone, Debug)]
pub(crate) struct Part<'a> {
    pub(crate) cpus: CpuSet,
    pub(crate) item: Item<'a>,
}

/// The parts of a machine, apart from its NUMA nodes.
#[derive(Clone, Debug)]
pub(crate) struct Layout<'a> {
    pub(crate) packages: Vec<Part<'a>>,
    /// What hardware shares: not yet cut at a node.
    pub(crate) llcs: Vec<Part<'a>>,
    /// The size in KiB of each of them that has one of its own.
    pub(crate) llc_kib: Vec<Option<u64>>,
    pub(crate) cores: Vec<Part<'a>>,
    /// L2 clusters of several cores; empty when each core has its own L2.
    pub(crate) clusters: Vec<Part<'a>>,
    /// Power: the groups that firmware describes; empty when it does not.
    pub(crate) coregroups: Vec<Part<'a>>,
}

/// The keys of the tables that list CPUs.
pub(crate) const LISTS: &[&str] = &["core", "llc", "package", "cluster", "coregroup"];

const RULE_KEYS: &[&str] = &[
    "sockets",
    "llcs_per_socket",
    "cores_per_llc",
    "threads_per_core",
    "numbering",
    "cores_per_cluster",
    "cores_per_coregroup",
];

/// How firmware numbers the CPUs of a regular machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Numbering {
    /// First threads of all cores, then their siblings.
    SmtSplit,
    /// The threads of a core next to each other.
    Linear,
    /// As `SmtSplit`, but consecutive numbers go round the sockets.
    SocketRoundRobin,
    /// Power: two small cores interleave their threads; even numbers one, odd ones the other.
    SmallCores,
}

const NUMBERINGS: &[(&str, Numbering)] = &[
    ("smt_split", Numbering::SmtSplit),
    ("linear", Numbering::Linear),
    ("socket_round_robin", Numbering::SocketRoundRobin),
    ("small_cores", Numbering::SmallCores),
];

/// Reads the shape; the table of the mode may override how LLCs are packed into sockets.
pub(crate) fn read<'a>(root: &Table<'a>, mode: Option<&Table<'a>>) -> Result<Layout<'a>> {
    if let Some(core) = root.get("core").filter(Item::is_table) {
        return Err(core.wrong("[[core]] lists, one for each core; did you mean [cores]?"));
    }
    let listed = LISTS.iter().find_map(|key| root.get(key));
    match (root.get("cores"), listed) {
        (Some(item), None) => regular(&item, mode),
        (None, Some(_)) => listed_parts(root),
        (Some(_), Some(list)) => {
            Err(list.contradicts("a machine is given by [cores] or by lists of CPUs, not by both"))
        }
        (None, None) => {
            Err(root.missing("cores", "a table [cores], or [[core]] and [[llc]] lists"))
        }
    }
}

/// The counts of a regular machine.
struct Rule {
    sockets: usize,
    llcs: usize,
    cores: usize,
    threads: usize,
    numbering: Numbering,
}

impl Rule {
    fn read(table: &Table<'_>, mode: Option<&Table<'_>>) -> Result<Self> {
        let count = |key: &str| {
            let overriding = mode.and_then(|m| m.get(key));
            overriding.map_or_else(|| table.need(key, "a count"), Ok)?.whole(1..=MAX_CPUS)
        };
        let numbering = table.need("numbering", "how CPUs are numbered, such as \"smt_split\"")?;
        let rule = Self {
            sockets: count("sockets")?,
            llcs: count("llcs_per_socket")?,
            cores: count("cores_per_llc")?,
            threads: count("threads_per_core")?,
            numbering: numbering.name_of(NUMBERINGS)?,
        };
        let cpus = rule.sockets * rule.llcs * rule.cores * rule.threads;
        if cpus > MAX_CPUS {
            let item = table.need("sockets", "a count")?;
            return Err(
                item.contradicts(format!("the machine has {cpus} CPUs, more than {MAX_CPUS}"))
            );
        }
        if rule.numbering == Numbering::SmallCores && !rule.nr_cores().is_multiple_of(2) {
            return Err(numbering.contradicts("small cores come in pairs, but their number is odd"));
        }
        Ok(rule)
    }

    const fn nr_cores(&self) -> usize {
        self.sockets * self.llcs * self.cores
    }

    /// The CPUs of core number `core`, counted socket by socket and LLC by LLC.
    fn core(&self, core: usize) -> CpuSet {
        (0..self.threads).map(|thread| CpuId::new(self.cpu(core, thread))).collect()
    }

    const fn cpu(&self, core: usize, thread: usize) -> usize {
        let per_socket = self.llcs * self.cores;
        match self.numbering {
            Numbering::SmtSplit => core + thread * self.nr_cores(),
            Numbering::Linear => core * self.threads + thread,
            Numbering::SocketRoundRobin => {
                let (socket, within) = (core / per_socket, core % per_socket);
                within * self.sockets + socket + thread * self.nr_cores()
            }
            Numbering::SmallCores => core / 2 * 2 * self.threads + thread * 2 + core % 2,
        }
    }

    /// The machine in groups of `cores` consecutive cores.
    fn groups<'a>(&self, cores: usize, item: &Item<'a>) -> Vec<Part<'a>> {
        let cpus = |g: usize| {
            (g * cores..(g + 1) * cores)
                .flat_map(|c| self.core(c).iter().collect::<Vec<_>>())
                .collect()
        };
        (0..self.nr_cores() / cores).map(|g| Part { cpus: cpus(g), item: item.clone() }).collect()
    }
}

fn regular<'a>(item: &Item<'a>, mode: Option<&Table<'a>>) -> Result<Layout<'a>> {
    let table = item.table()?;
    table.only(RULE_KEYS)?;
    let rule = Rule::read(&table, mode)?;
    let groups_of = |key: &str, within: usize| {
        let Some(size) = mode.and_then(|m| m.get(key)).or_else(|| table.get(key)) else {
            return Ok(Vec::new());
        };
        let cores = size.whole(1..=MAX_CPUS)?;
        if !within.is_multiple_of(cores) {
            return Err(size.contradicts(format!("{cores} cores do not divide {within}")));
        }
        Ok(rule.groups(cores, &size))
    };
    Ok(Layout {
        packages: rule.groups(rule.llcs * rule.cores, item),
        llcs: rule.groups(rule.cores, item),
        llc_kib: Vec::new(),
        cores: rule.groups(1, item),
        clusters: groups_of("cores_per_cluster", rule.cores)?,
        coregroups: groups_of("cores_per_coregroup", rule.llcs * rule.cores)?,
    })
}

fn listed_parts<'a>(root: &Table<'a>) -> Result<Layout<'a>> {
    let cores = listed_cores(root)?;
    let (llcs, llc_kib) = listed_llcs(root)?;
    if llcs.is_empty() {
        return Err(root.missing("llc", "[[llc]] lists, one for each last-level cache"));
    }
    let mut packages = parts(root, "package")?;
    if packages.is_empty() {
        packages = vec![Part { cpus: all(&cores), item: cores[0].item.clone() }];
    }
    let (clusters, coregroups) = (parts(root, "cluster")?, parts(root, "coregroup")?);
    Ok(Layout { packages, llcs, llc_kib, cores, clusters, coregroups })
}

fn listed_cores<'a>(root: &Table<'a>) -> Result<Vec<Part<'a>>> {
    let mut cores = Vec::new();
    for table in root.tables("core")? {
        table.only(&["cpus", "capacity"])?;
        let item = table.need("cpus", "a list of CPUs")?;
        cores.push(Part { cpus: item.cpus()?, item });
        if let Some(item) = table.get("capacity")
            && item.whole(1..=1024)? != 1024
        {
            return Err(item.contradicts(
                "cores of different capacity are not simulated: every core has 1024",
            ));
        }
    }
    if cores.is_empty() {
        return Err(root.missing("core", "[[core]] lists, one for each core"));
    }
    Ok(cores)
}

/// No last-level cache has 64 GiB.
const MOST_KIB: usize = 1 << 26;

fn listed_llcs<'a>(root: &Table<'a>) -> Result<(Vec<Part<'a>>, Vec<Option<u64>>)> {
    let (mut llcs, mut sizes) = (Vec::new(), Vec::new());
    for table in root.tables("llc")? {
        table.only(&["cpus", "kib"])?;
        let item = table.need("cpus", "a list of CPUs")?;
        llcs.push(Part { cpus: item.cpus()?, item });
        let kib = table.get("kib").map(|item| item.whole(1..=MOST_KIB)).transpose()?;
        sizes.push(kib.map(|kib| kib as u64));
    }
    Ok((llcs, sizes))
}

fn parts<'a>(root: &Table<'a>, key: &str) -> Result<Vec<Part<'a>>> {
    let mut parts = Vec::new();
    for table in root.tables(key)? {
        table.only(&["cpus"])?;
        let item = table.need("cpus", "a list of CPUs")?;
        parts.push(Part { cpus: item.cpus()?, item });
    }
    Ok(parts)
}

/// All CPUs of some parts.
pub(crate) fn all(parts: &[Part<'_>]) -> CpuSet {
    parts.iter().fold(CpuSet::new(), |all, part| all.or(&part.cpus))
}
