//! Descriptions of real machines, read into machine files.
//!
//! What hwloc, `lscpu` and `/sys/devices/system` tell of a machine are its facts: CPUs, cores, caches,
//! nodes, distances. What things cost there none of them tells; prices are taken from the nearest machine
//! that is known ([nearness](self#nearness)), and each is marked so.
//!
//! ```
//! use simsched_import::{Request, Source, import};
//!
//! let text = "# CPU,Core,Socket,Node,,L1d,L1i,L2,L3\n0,0,0,0,,0,0,0,0\n1,1,0,0,,1,1,1,0\n";
//! let request = Request { file: "cpus.txt", name: "small", llc: None, prices: None };
//! let machine = import(Source::Text(text), &request)?;
//! assert_eq!((machine.counts.cpus, machine.counts.llcs), (2, 1));
//! assert!(machine.toml.contains("name = \"small\""));
//! # Ok::<(), simsched_import::ImportError>(())
//! ```
//!
//! # What is exact
//!
//! A source is imported when the simulator can build the sched domains that Linux builds on the machine,
//! and refused with one sentence when it cannot: cores of different kinds, distances that are not
//! symmetric. What is left out because it changes nothing of that (a cache
//! behind the last level, nodes without CPUs) is told in [`Imported::notes`].
//!
//! The CPUs of a machine file have no gaps. Where the source's numbers have some, CPUs get the next number
//! in the same order, so every walk of the kernel over a mask meets them in the same order; the key
//! `os_cpus` of the file keeps the source's numbers.
//!
//! # Nearness
//!
//! The nearest known machine is the one of the same architecture and vendor whose
//! `256 * family + model` is the nearest; of several the one whose shape is: LLCs in a package, cores
//! behind an LLC, KiB of an LLC, threads of a core, packages. A source without vendor, family and model
//! is compared by shape only, and a note says so; [`Request::prices`] names another machine.

mod caches;
mod cpuinfo;
mod error;
mod found;
mod hwloc;
mod known;
mod lscpu;
mod maker;
mod nodes;
mod prices;
mod set;
mod shape;
mod sysfs;
mod totals;
mod tree;
mod write;

pub use error::ImportError;
pub use known::priced;
pub use tree::Tree;

/// What is imported.
#[derive(Clone, Copy, Debug)]
pub enum Source<'a> {
    /// The XML of hwloc (`lstopo --of xml`), or what `lscpu` prints; which of them, the content tells.
    Text(&'a str),
    /// The files of a `/sys/devices/system`.
    Tree(&'a Tree),
}

/// How it is imported.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The name of the source in messages.
    pub file: &'a str,
    /// The name of the machine.
    pub name: &'a str,
    /// Which CPUs share the last-level cache, if the source tells no cache at all.
    pub llc: Option<Llc>,
    /// The machine whose prices are taken, one of [`priced`], in place of the nearest.
    pub prices: Option<&'a str>,
}

/// Who shares a last-level cache of which the source tells nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Llc {
    /// The CPUs of a core: what Linux takes on x86 when it finds no cache.
    Core,
    /// The CPUs of a package: what Linux takes on arm64.
    Package,
}

/// A machine as a machine file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imported {
    /// The text of the file.
    pub toml: String,
    /// What was left out or assumed, one sentence each; they stand in the file, too.
    pub notes: Vec<String>,
    /// The known machine whose prices it has.
    pub nearest: String,
    /// How many parts the source has.
    pub counts: Counts,
}

/// The parts of a machine as the source tells them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    /// CPUs that run.
    pub cpus: usize,
    /// Cores.
    pub cores: usize,
    /// Packages.
    pub packages: usize,
    /// Last-level caches of the hardware; Linux cuts one that spans several nodes.
    pub llcs: usize,
    /// Their size in KiB, if the source tells one for all.
    pub llc_kib: Option<u64>,
    /// NUMA nodes with CPUs.
    pub nodes: usize,
}

/// Reads a description of a machine.
///
/// # Errors
///
/// When it is none of the known kinds, is damaged, or describes what the simulator cannot express: one
/// sentence with the line or path, what was found and what was expected.
pub fn import(source: Source<'_>, request: &Request<'_>) -> Result<Imported, ImportError> {
    let file = request.file;
    let found = match source {
        Source::Tree(tree) => sysfs::read(tree, file)?,
        Source::Text(text) => match kind(text) {
            // Windows programs begin a text with a mark of its bytes' order.
            _ if text.starts_with('\u{feff}') => {
                return import(Source::Text(text.trim_start_matches('\u{feff}')), request);
            }
            Kind::Xml => hwloc::read(text, file)?,
            Kind::Json => lscpu::read_json(text, file)?,
            Kind::Table => lscpu::read_table(text, file)?,
            Kind::Summary => totals::read_text(text, file)?,
            Kind::Unknown => return Err(error::whole(file, KINDS)),
        },
    };
    let shape = shape::Shape::of(found, request)?;
    write::machine(&shape, request)
}

const KINDS: &str = "found neither the XML of hwloc nor the output of `lscpu -p`, `lscpu -e` or \
                     `lscpu -J -e`; expected one of them, or a tree or tarball of /sys/devices/system";

enum Kind {
    Xml,
    Json,
    Table,
    Summary,
    Unknown,
}

fn kind(text: &str) -> Kind {
    let text = text.trim_start();
    if text.starts_with('<') {
        Kind::Xml
    } else if text.starts_with('{') {
        Kind::Json
    } else if lscpu::has_table(text) {
        Kind::Table
    } else if text.starts_with("Architecture:") {
        Kind::Summary
    } else {
        Kind::Unknown
    }
}
