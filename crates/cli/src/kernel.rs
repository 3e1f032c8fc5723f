//! `simsched kernel`: the scheduler of a kernel tree as a library.

use std::path::PathBuf;
use std::sync::Arc;
use std::thread;

use simsched_core::SimTime;
use simsched_kernel::build::{Stage, shim_version};
use simsched_kernel::shadow::ShadowSpec;
use simsched_kernel::{Build, KernelError, build, check};
use simsched_policies::Registry;

use crate::args::{BuildArgs, KernelArgs, KernelCommand, ShadowArgs};
use crate::chosen::ChosenPolicy;
use crate::extent::Extent;
use crate::failure::Failure;
use crate::interrupt;
use crate::output::{self, units};
use crate::progress::Progress;
use crate::scenario::{Scenario, Side};
use crate::settings;
use crate::topo;

/// Does what `simsched kernel` is asked for.
pub(crate) fn kernel(args: &KernelArgs, registry: &Registry) -> Result<(), Failure> {
    match &args.command {
        KernelCommand::Build(args) => build_library(args),
        KernelCommand::Check(args) => {
            check(&args.library).map_err(Failure::input)?;
            output::print(
                "16 tasks that compute are four in each of four LLCs, in two copies alike\n",
            )
        }
        KernelCommand::Shadow(args) => shadow(args, registry),
    }
}

/// Runs a workload with a library beside the policy, and prints what differs.
fn shadow(args: &ShadowArgs, registry: &Registry) -> Result<(), Failure> {
    let (topology, file) = topo::load(&args.topo)?;
    let parsed =
        registry.parse(&args.policy, &[]).map_err(|error| settings::refused(registry, error))?;
    let Some(fair) = parsed.fair() else {
        let text = format!(
            "--policy: found {}, expected cfs@6.1, eevdf@6.12, eevdf@7.2, eevdf@7.3 or cache_aware",
            parsed.name()
        );
        return Err(Failure::Input(text));
    };
    let spec = ShadowSpec::new(fair, &args.library).map_err(Failure::input)?;
    let side = Side {
        policy: ChosenPolicy::Own(Arc::new(spec.clone())),
        duration: args.duration,
        extent: Extent::Whole,
        ..Side::named(
            &Arc::new(topology),
            file.unwrap_or("built-in"),
            &args.policy,
            &args.settings,
            &args.workload,
        )
    };
    let scenario = Scenario::of_side(side, args.seed, registry)?;
    interrupt::listen();
    let mut progress = Progress::start(args.quiet);
    let outcome = scenario.measure(args.seed, Some(&mut progress));
    progress.clear();
    if !outcome?.counts() {
        return Err(Failure::Interrupted);
    }
    let seen = spec.comparisons().pop().unwrap_or_default();
    if let (Some((SimTime::ZERO, why)), None) = (&seen.ended, seen.first()) {
        return Err(Failure::Input(format!("{}: {why}", args.library.display())));
    }
    let kernel = scenario.kernel().unwrap_or_default();
    if !args.quiet && !seen.release.starts_with(&format!("{kernel}.")) {
        let release = &seen.release;
        output::say(&format!("note: the library is of {release}, and the policy of {kernel}"));
    }
    let named = scenario.named(args.seed)?;
    output::print(&format!(
        "library     {}, {}\nmachine     {}\npolicy      {}\nworkload    {}\nseed        {}\n\n{seen}",
        args.library.display(),
        seen.release,
        args.topo,
        named.policy_full,
        named.workload,
        args.seed,
    ))?;
    if seen.is_clean() { Ok(()) } else { Err(Failure::Below) }
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
        "library        {}, {} bytes\nrelease        {}\nsources        {}\nconfiguration  {}\nshim           {}\n\
         stubs          {} functions of the kernel that nobody has\n",
        args.output.display(),
        units::count(built.bytes),
        built.release,
        built.sources,
        built.configuration,
        shim_version(),
        built.stubs,
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
