//! The command `simsched` as a library: parse, dispatch, print errors, choose the exit code.
//!
//! Programs that run simulations use the crate `simsched`, which re-exports `library`; this one is what
//! stands behind the binary.

mod args;
mod bounded;
mod chosen;
mod compare;
mod counters;
mod cut;
mod domains;
mod even;
mod extensive;
mod extent;
mod failure;
#[doc(hidden)]
pub mod fuzzing;
mod grid;
mod identity;
mod input;
mod inside;
mod interrupt;
#[cfg(feature = "kernel")]
mod kernel;
mod kthreads;
mod lab;
pub mod library;
mod list;
mod llc;
mod meter;
mod mmtests;
mod new_policy;
mod number;
mod output;
mod pages;
mod parallel;
mod precision;
mod program;
mod progress;
mod record;
mod replay;
mod report;
mod run;
mod scenario;
mod scenario_file;
mod schedstat;
mod sealed;
mod sensitivity;
mod settings;
mod shell;
mod sides;
mod start;
mod states;
mod summary;
mod sweep;
mod toml_file;
mod topo;
mod trend;
mod validate;

use std::process::ExitCode;

use clap::error::ErrorKind;

use args::Command;
use failure::{Failure, INTERRUPTED};
use scenario_file::Refused;
use simsched_pages::{paired, student};
use simsched_policies::Registry;

/// Runs the command with the arguments of this process, and returns its exit code.
#[must_use]
pub fn main() -> ExitCode {
    main_with(&registry())
}

/// The policies that the command knows: those of this repository, and the scheduler of a kernel in a file.
fn registry() -> Registry {
    let builtin = Registry::builtin();
    #[cfg(feature = "kernel")]
    let builtin = builtin.with(simsched_kernel::entry()).expect("a name of its own");
    builtin
}

/// Runs the command with the arguments of this process and the policies of `registry`, and returns its exit
/// code. `lab`, which compares with recordings of kernels, and the completions of shells know the policies of
/// this repository only.
#[must_use]
pub fn main_with(registry: &Registry) -> ExitCode {
    interrupt::survive_the_limit_of_files();
    match scenario_file::parse(&std::env::args_os().collect::<Vec<_>>()) {
        Ok(cli) => exit(dispatch(&cli.command, registry)),
        Err(Refused::Clap(error)) => exit(explain(&error)),
        Err(Refused::Said(failure)) => exit(Err(failure)),
    }
}

fn dispatch(command: &Command, registry: &Registry) -> Result<(), Failure> {
    match command {
        Command::Run(args) => sweep::run(args, registry),
        Command::Compare(args) => compare::compare(args, registry),
        Command::Validate(args) => validate::validate(args, registry),
        Command::Sweep(args) => grid::sweep(args, registry),
        Command::Merge(args) => grid::merge(args),
        Command::Report(args) => pages::report(args),
        Command::Explain(args) => pages::explain(args),
        Command::Topo(args) => topo::topo(&args.command),
        Command::Policies(args) => list::policies(args, registry),
        Command::Lab(args) => lab::lab(args, registry),
        Command::Completions(args) => shell::completions(args),
        Command::Man(args) => shell::man(args),
        Command::Replay(args) => replay::replay(args, registry),
        Command::Workloads(args) => list::workloads(args.name.as_deref()),
        Command::NewPolicy(args) => new_policy::new_policy(args),
        #[cfg(feature = "kernel")]
        Command::Kernel(args) => kernel::kernel(args, registry),
    }
}

/// Help and version are no errors; everything else is one sentence.
fn explain(error: &clap::Error) -> Result<(), Failure> {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            output::print(&error.render().to_string())
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            eprint!("{}", error.render());
            Err(Failure::Told)
        }
        _ => Err(Failure::Input(failure::of_arguments(error))),
    }
}

fn exit(result: Result<(), Failure>) -> ExitCode {
    match result {
        Ok(()) if interrupt::is_asked() => ExitCode::from(INTERRUPTED),
        Ok(()) => ExitCode::SUCCESS,
        // What was judged of a part of the runs is no judgement.
        Err(Failure::Below) if interrupt::is_asked() => ExitCode::from(INTERRUPTED),
        Err(failure) => {
            if failure.is_to_be_told() {
                output::say(&failure.to_string());
            }
            ExitCode::from(failure.code())
        }
    }
}
