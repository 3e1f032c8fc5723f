//! The arguments of the commands that read results.

use std::path::PathBuf;

use clap::Args;
use simsched_core::Nanos;

use super::values::duration;

/// What a run keeps for a page.
#[derive(Args, Debug)]
pub(crate) struct SeriesArgs {
    /// Keep for --json how busy each CPU is over time, in intervals of this length; 10us if none is
    /// given. A long run has longer ones, by a power of two: there are 128 at most
    #[arg(long, value_name = "INTERVAL", value_parser = duration, num_args = 0..=1)]
    #[arg(default_missing_value = "10us", require_equals = true)]
    pub(crate) series: Option<Nanos>,
}

/// The arguments of `simsched report`.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  simsched report page.html cfs.json bias.json\n\n\
                        The files come from commands such as\n  \
                        simsched run --topo genoa --policy cfs --seeds 3 --series --json cfs.json -- \
                        hackbench -g 4 -l 50")]
pub(crate) struct ReportArgs {
    /// The page; `-` prints it
    #[arg(value_name = "OUT.html|-")]
    pub(crate) page: PathBuf,

    /// Results of `run --json` and `compare --json`; the first is what the others are compared with
    #[arg(value_name = "RUN.json", required = true)]
    pub(crate) files: Vec<PathBuf>,
}

/// The arguments of `simsched explain`.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  simsched explain cfs.json bias.json")]
pub(crate) struct ExplainArgs {
    /// The base
    #[arg(value_name = "A.json")]
    pub(crate) base: PathBuf,

    /// What is held against it
    #[arg(value_name = "B.json")]
    pub(crate) other: PathBuf,

    /// Compare even if the machines or the workloads differ
    #[arg(long)]
    pub(crate) anyway: bool,
}
