//! The arguments of `simsched kernel`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

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
