//! The arguments of `simsched topo import`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::Text;

/// The arguments of `simsched topo import`.
///
/// CPUs, cores, caches, nodes and distances are the source's. Prices are those of the nearest machine
/// that is known, and each is marked so; docs/import.md tells what is exact and what is refused.
#[derive(Args, Debug)]
#[command(
    after_help = "Example:\n  lstopo --of xml server.xml\n  simsched topo import server.xml -o server.toml\n  \
                  simsched run --topo server.toml -- hackbench -g 1 -l 20\n\n\
                  Also: `(lscpu -B; lscpu -p) > server.txt`, or the tarball of hwloc-gather-topology."
)]
pub(crate) struct ImportArgs {
    /// hwloc's XML, the output of lscpu, or a folder or tarball of /sys/devices/system; `-` reads text
    #[arg(value_name = "SOURCE", required_unless_present = "live", conflicts_with = "live")]
    pub(crate) source: Option<PathBuf>,

    /// Read /sys/devices/system of this machine
    #[arg(long)]
    pub(crate) live: bool,

    /// Write the machine file here; without it, it is printed
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// The name of the machine; by default the name of the source, or of FILE
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,

    /// Who shares a last-level cache, if the source tells of no cache
    #[arg(long, value_enum)]
    pub(crate) llc: Option<LlcArg>,

    /// Take prices from this built-in machine, not from the nearest
    #[arg(long, value_name = "MACHINE")]
    #[arg(value_parser = Text::PRICED, hide_possible_values = true)]
    pub(crate) prices: Option<String>,
}

/// Who shares a last-level cache of which nothing is told.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LlcArg {
    /// The CPUs of a core, as Linux takes it on x86
    Core,
    /// The CPUs of a package, as Linux takes it on arm64
    Package,
}
