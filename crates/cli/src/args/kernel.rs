//! The arguments of `simsched kernel`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};
use simsched_core::Nanos;

use super::{Text, duration, seed, setting};

/// The arguments of `simsched kernel`.
#[derive(Args, Debug)]
pub(crate) struct KernelArgs {
    #[command(subcommand)]
    pub(crate) command: KernelCommand,
}

/// What to do with the scheduler of a kernel.
#[derive(Subcommand, Debug)]
pub(crate) enum KernelCommand {
    /// Compile the scheduler of a kernel tree into a library
    ///
    /// The files of kernel/sched are compiled as they are, with a shim around them that stands for the rest of the
    /// kernel. The first build of a tree configures it and makes its headers, in a folder of the cache and not in
    /// the tree; later ones compile what has changed. What the machine lacks is said before anything is begun. The
    /// library contains the kernel's code: it is under GPL-2.0.
    Build(BuildArgs),
    /// Try a library: whether it spreads tasks as a fair scheduler does
    ///
    /// 16 tasks compute on 16 CPUs behind four LLCs: four must be in each, and the kernel's code must not say WARN or
    /// BUG. `build` does this to each new library.
    Check(CheckArgs),
    /// Run a workload under the fair class, and ask a library the same at each call
    ///
    /// The run is that of `--policy`, event by event. The kernel's own functions are asked the same questions in the same
    /// state beside it: which task runs next, on which CPU a wakee is queued, whether it preempts, what a tick does; and
    /// runtime, virtual time, load and utilization of tasks and runqueues are compared. What differs is counted, and the
    /// first difference of each kind shown with the question and the state of both. The exit code is 1 when anything
    /// differs, or when the comparison ends before the run does.
    Shadow(ShadowArgs),
}

/// The arguments of `simsched kernel shadow`.
#[derive(Args, Debug)]
#[command(
    after_help = "Example:\n  simsched kernel shadow --topo genoa --policy cfs@6.1 --library 61.so -- hackbench -g 4 -T -p -l 20"
)]
pub(crate) struct ShadowArgs {
    /// The machine: a TOML file or a built-in name (see `simsched topo list`), and its mode
    #[arg(long, value_name = "MACHINE[@MODE]")]
    #[arg(value_parser = Text::MACHINE, hide_possible_values = true)]
    pub(crate) topo: String,

    /// The fair class that answers: cfs@6.1, eevdf@6.12, eevdf@7.2 or eevdf@7.3, with features and settings
    #[arg(long, value_name = "BASE[@VERSION][+FEATURE|+KEY=VALUE]...", default_value = "cfs")]
    #[arg(value_parser = Text::POLICY, hide_possible_values = true)]
    pub(crate) policy: String,

    /// The library that is asked beside it
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) library: PathBuf,

    /// A setting of the policy or of the kernel; may be given several times
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = setting)]
    pub(crate) settings: Vec<(String, String)>,

    /// The seed of all random numbers
    #[arg(long, value_name = "N", default_value_t = 1)]
    #[arg(value_parser = seed, allow_hyphen_values = true)]
    pub(crate) seed: u64,

    /// Stop after this much simulated time, such as 10s, 500ms or 250us
    #[arg(long, value_name = "TIME", value_parser = duration, allow_hyphen_values = true)]
    pub(crate) duration: Option<Nanos>,

    /// Print no progress
    #[arg(long, short)]
    pub(crate) quiet: bool,

    /// The workload's command line
    #[arg(last = true, required = true, value_name = "WORKLOAD", allow_hyphen_values = true)]
    #[arg(value_parser = Text::ANY)]
    pub(crate) workload: Vec<String>,
}

/// The arguments of `simsched kernel check`.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  simsched kernel check mine.so")]
pub(crate) struct CheckArgs {
    /// The library
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) library: PathBuf,
}

/// The arguments of `simsched kernel build`.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  simsched kernel build ~/linux -o mine.so")]
pub(crate) struct BuildArgs {
    /// The folder of the kernel's sources, in which nothing has been built
    #[arg(value_name = "TREE", value_hint = ValueHint::DirPath)]
    pub(crate) tree: PathBuf,

    /// The library to write
    #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) output: PathBuf,

    /// The compiler
    #[arg(long, value_name = "PROGRAM", default_value = "gcc")]
    pub(crate) cc: OsString,

    /// Where prepared trees and object files are kept; if not given, `simsched/kernel` in `$XDG_CACHE_HOME`, or
    /// in `~/.cache`
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) cache: Option<PathBuf>,

    /// How many compilers run at once; if not given, one for each CPU
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) jobs: Option<u16>,

    /// Tell no progress
    #[arg(long, short)]
    pub(crate) quiet: bool,
}
