//! `simsched kernel`: the scheduler of a kernel tree as a library.

use std::path::PathBuf;
use std::thread;

use simsched_kernel::build::{Stage, shim_version};
use simsched_kernel::{Build, KernelError, build, check};

use crate::args::{BuildArgs, KernelArgs, KernelCommand};
use crate::failure::Failure;
use crate::output::{self, units};
use crate::progress::Progress;

/// Does what `simsched kernel` is asked for.
pub(crate) fn kernel(args: &KernelArgs) -> Result<(), Failure> {
    match &args.command {
        KernelCommand::Build(args) => build_library(args),
        KernelCommand::Check(args) => {
            check(&args.library).map_err(Failure::input)?;
            output::print(
                "16 tasks that compute are four in each of four LLCs, in two copies alike\n",
            )
        }
    }
}

fn build_library(args: &BuildArgs) -> Result<(), Failure> {
    let cpus = thread::available_parallelism().map_or(1, usize::from);
    let what = Build {
        tree: args.tree.clone(),
        output: args.output.clone(),
        cache: args.cache.clone().map_or_else(cache, Ok)?,
        compiler: args.cc.clone(),
        jobs: args.jobs.map_or(cpus, usize::from),
        tester: std::env::current_exe().ok(),
    };
    let mut progress = Progress::start(args.quiet);
    let built = build(&what, &mut |stage| progress.stage(words(stage)));
    progress.clear();
    let built = built.map_err(|error| {
        if let KernelError::Step { said, .. } = &error {
            output::as_it_is(said);
        }
        Failure::input(error)
    })?;
    output::as_it_is(&built.said);
    output::print(&format!(
        "library     {}, {} bytes\nrelease     {}\nsources     {}\nstubs       {} functions of the kernel that \
         nobody has\nshim        {}\n",
        args.output.display(),
        units::count(built.bytes),
        built.release,
        built.sources,
        built.stubs,
        shim_version(),
    ))
}

fn words(stage: Stage) -> &'static str {
    match stage {
        Stage::Prepare => "preparing the tree, once, some 20 s",
        Stage::Compile => "compiling the scheduler, some 10 s",
        Stage::Try => "trying the library",
    }
}

/// `simsched/kernel` where the user keeps what can be made again.
#[expect(clippy::disallowed_methods, reason = "where files are kept; no result depends on it")]
fn cache() -> Result<PathBuf, Failure> {
    let folder = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = folder("XDG_CACHE_HOME").or_else(|| Some(folder("HOME")?.join(".cache")));
    let what = "--cache: found neither XDG_CACHE_HOME nor HOME, expected the folder to keep object files in";
    Ok(cache.ok_or_else(|| Failure::Input(what.to_owned()))?.join("simsched/kernel"))
}
