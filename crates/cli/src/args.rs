//! The command line, and nothing else.

mod grid;
mod import;
#[cfg(feature = "kernel")]
mod kernel;
mod lab;
mod new_policy;
mod pages;
mod replay;
mod results;
mod scenario;
mod schedule;
mod shell;
mod sides;
mod text;
mod values;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};
use simsched_core::Nanos;

pub(crate) use self::grid::{MergeArgs, Shard, SweepArgs};
pub(crate) use self::import::{ImportArgs, LlcArg};
#[cfg(feature = "kernel")]
pub(crate) use self::kernel::{BuildArgs, KernelArgs, KernelCommand, ShadowArgs};
pub(crate) use self::lab::{Bars, LabArgs};
pub(crate) use self::new_policy::NewPolicyArgs;
pub(crate) use self::pages::{ExplainArgs, ReportArgs, SeriesArgs};
pub(crate) use self::replay::ReplayArgs;
pub(crate) use self::results::ResultsArgs;
pub(crate) use self::scenario::FileArgs;
pub(crate) use self::schedule::{Form, ScheduleArgs};
pub(crate) use self::shell::{CompletionsArgs, ManArgs};
pub(crate) use self::sides::{CompareArgs, ValidateArgs};
use self::text::Text;
use self::values::{duration, events, precision, seed, seeds, setting};

/// A wind tunnel for the Linux fair scheduler.
///
/// simsched runs a workload on a simulated server, with the kernel's own rules for runqueues,
/// load tracking and wakeups, and tells what the scheduler did: migrations, context switches,
/// wakeup latency. The same command always gives the same numbers.
#[derive(Parser, Debug)]
#[command(name = "simsched", version, arg_required_else_help = true)]
#[command(
    after_help = "Example:\n  simsched run --topo genoa --policy cfs -- hackbench -g 2 -l 50\n\n\
                        The exit code is 0 when the run is done, 1 when what was judged falls \
                        below its bar or cannot be judged (lab, validate), is less precise than \
                        asked for (run --precision) or differs (kernel shadow, a report that was \
                        to be repeated), 2 for bad input, 3 when the simulation failed, \
                        130 after Ctrl-C."
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What to do.
#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Run a workload on a machine under a policy, and tell what happened
    ///
    /// The workload is the command that one would run on the real machine, after `--`; without one
    /// it is `hackbench --threads --pipe`. Its own output comes first, as the program prints it;
    /// then follows what the scheduler did.
    Run(Box<RunArgs>),
    /// Run a workload under several policies with the same seeds, and tell the differences
    ///
    /// The first policy is the base. All of them meet the same random numbers. For each metric
    /// follow the mean of every policy, what it gains on the base in percent with the 95 % interval
    /// of their ratio (Student's t of its logarithm, over the seeds in pairs), and a star where that leaves
    /// out zero and at least five seeds vary; then what differs inside the runs, largest first.
    Compare(CompareArgs),
    /// Hold published results against simulations of both sides
    ///
    /// A claim says: on this machine, with this workload, this policy changed this metric from this
    /// to that. Both sides are run with the same seeds, and the simulated change is held against
    /// the published one: its class (better, neutral, worse) and its size. docs/claims.md describes
    /// the files.
    Validate(ValidateArgs),
    /// Run a grid of machines, policies, workloads, settings and seeds, and write a table of results
    ///
    /// A plan is a scenario file with lists. Every cell is kept as soon as it is done: a sweep that was
    /// stopped, by whatever, goes on where it was with the same command, and comes to the same bytes.
    Sweep(SweepArgs),
    /// Put the shards of a sweep together
    Merge(MergeArgs),
    /// Make one HTML page of the results of runs
    Report(ReportArgs),
    /// Tell in a few sentences what differs between two results, and why
    Explain(ExplainArgs),
    /// List, show and check machines
    Topo(TopoArgs),
    /// List the scheduling policies, their features and settings
    Policies(PoliciesArgs),
    /// List the workloads, or show the options of one
    Workloads(WorkloadsArgs),
    /// Write a crate with a scheduling policy of your own, its test, and the command with it
    ///
    /// The crate is a program: the command with the policy beside its own, so that `run`, `compare`, `sweep`
    /// and all others take it by name. It needs cargo to be built, and nothing in the repository is changed.
    NewPolicy(NewPolicyArgs),
    /// Make a library of your own kernel's scheduler
    #[cfg(feature = "kernel")]
    Kernel(KernelArgs),
    /// Run a schedule that a kernel recorded, and hold what happens against the recording
    ///
    /// Each thread computes and sleeps as it did there, and the policy decides where and when: on the
    /// machine and under the policy of the recording, or on others. As a workload (`-- replay TRACE`)
    /// a recording can be given to `run` and `compare`, too. docs/replay.md tells what is taken from it.
    Replay(ReplayArgs),
    /// Run the scenarios of the kernel lab, and judge the results by those of a real kernel
    ///
    /// A folder holds what one kernel did on one machine. Every scenario of it is run on the
    /// simulated machine under the policy that stands for the kernel, measured as the kernel was,
    /// and judged: a metric is met when it lies in the range over the kernel's seeds, or within 5 %
    /// of their mean (classes exact and tight) or 25 % (loose). What the kernel's own seeds do not
    /// agree on is shown and not judged.
    Lab(LabArgs),
    /// Print what completes the command line in a shell
    ///
    /// Built-in machines, policies and patches are offered by their names. Others are typed: the file of a
    /// machine (bash goes on to files where no name fits), its mode, a policy with features or settings,
    /// and the workload behind `--`.
    Completions(CompletionsArgs),
    /// Print the man page, or write those of all commands
    Man(ManArgs),
}

/// The arguments of `simsched run`.
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  simsched run --topo t16 --policy cfs --seeds 3 -- hackbench -g 1 -l 20\n  \
                  simsched run scenario.toml --seed 7\n  simsched run report.json"
)]
pub(crate) struct RunArgs {
    /// The machine: a TOML file or a built-in name (see `simsched topo list`), and its mode
    #[arg(long, value_name = "MACHINE[@MODE]", required = false)]
    #[arg(required_unless_present = "scenario")]
    #[arg(value_parser = Text::MACHINE, hide_possible_values = true)]
    pub(crate) topo: String,

    #[command(flatten)]
    pub(crate) file: FileArgs,

    /// The policy: a base, its kernel version, features and settings (see `simsched policies`), or
    /// kernel:FILE, the scheduler of a kernel tree (see `simsched kernel build`)
    #[arg(long, value_name = "BASE[@VERSION][+FEATURE|+KEY=VALUE]...", default_value = "cfs")]
    #[arg(value_parser = Text::POLICY, hide_possible_values = true)]
    pub(crate) policy: String,

    /// A setting of the policy or of the kernel; may be given several times
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = setting)]
    pub(crate) settings: Vec<(String, String)>,

    /// The seed of all random numbers
    #[arg(long, value_name = "N", default_value_t = 1)]
    #[arg(value_parser = seed, allow_hyphen_values = true)]
    pub(crate) seed: u64,

    /// Run with N seeds (1 to 10000), from --seed upwards, and give mean, deviation and interval
    #[arg(long, value_name = "N", value_parser = seeds, allow_hyphen_values = true)]
    pub(crate) seeds: Option<u64>,

    /// Stop after this much simulated time, such as 10s, 500ms or 250us
    #[arg(long, value_name = "TIME", value_parser = duration, allow_hyphen_values = true)]
    pub(crate) duration: Option<Nanos>,

    /// Simulate only as much of a long job as gives its time, migrations and context switches to within
    /// this much, as 95 % intervals; extrapolate the rest, and say so
    #[arg(long, value_name = "PERCENT%", value_parser = precision, allow_hyphen_values = true)]
    #[arg(conflicts_with_all = ["duration", "llc_interval", "series"])]
    pub(crate) precision: Option<f64>,

    /// With --precision, stop after so many events (such as 500M) and tell how precise the numbers are;
    /// without a limit a job that is not stationary is simulated to its end
    #[arg(long, value_name = "EVENTS", value_parser = events, allow_hyphen_values = true)]
    #[arg(requires = "precision")]
    pub(crate) precision_limit: Option<u64>,

    /// Measure the whole run, with the start of the program; by default the numbers begin when all tasks exist
    /// and the program has started its own clock
    #[arg(long, conflicts_with = "precision")]
    pub(crate) whole: bool,

    /// Tell in which LLCs the processes were at home, in intervals of this length; 10ms if none is given
    #[arg(long, value_name = "TIME", value_parser = duration, num_args = 0..=1)]
    #[arg(default_missing_value = "10ms", require_equals = true)]
    pub(crate) llc_interval: Option<Nanos>,

    #[command(flatten)]
    pub(crate) series: SeriesArgs,

    #[command(flatten)]
    pub(crate) schedule: ScheduleArgs,

    #[command(flatten)]
    pub(crate) results: ResultsArgs,

    /// Write the result as JSON to this file; `-` prints it in place of the text
    #[arg(long, value_name = "FILE|-")]
    pub(crate) json: Option<PathBuf>,

    /// Check the whole machine at every step; slow
    #[arg(long)]
    pub(crate) paranoid: bool,

    /// Print neither progress, the speed of the simulation, nor notes on what was given and changes nothing
    #[arg(long, short)]
    pub(crate) quiet: bool,

    /// The workload's command line
    #[arg(last = true, value_name = "WORKLOAD", allow_hyphen_values = true)]
    #[arg(value_parser = Text::ANY)]
    pub(crate) workload: Vec<String>,
}

/// The arguments of `simsched topo`.
#[derive(Args, Debug)]
#[command(
    subcommand_required = true,
    arg_required_else_help = true,
    after_help = "Example:\n  simsched topo show genoa@nps4 --cpu 100"
)]
pub(crate) struct TopoArgs {
    #[command(subcommand)]
    pub(crate) command: TopoCommand,
}

/// What to do with machines.
#[derive(Subcommand, Debug)]
pub(crate) enum TopoCommand {
    /// List the machines that are built in, with their modes
    #[command(after_help = "Example:\n  simsched topo list")]
    List,
    /// Show a machine and the sched domains of one CPU
    #[command(after_help = "Example:\n  simsched topo show spr --cpu 3")]
    Show(ShowArgs),
    /// Check that a file describes a machine, in each of its modes
    #[command(after_help = "Example:\n  simsched topo check genoa.toml")]
    Check {
        /// The file
        #[arg(value_name = "FILE", value_parser = Text::ANY, value_hint = ValueHint::FilePath)]
        file: String,
    },
    /// Make a machine file from what hwloc, lscpu or /sys/devices/system tells of a machine
    Import(ImportArgs),
}

/// The arguments of `simsched topo show`.
#[derive(Args, Debug)]
pub(crate) struct ShowArgs {
    /// The machine: a TOML file or a built-in name, and its mode
    #[arg(value_name = "MACHINE[@MODE]")]
    #[arg(value_parser = Text::MACHINE, hide_possible_values = true)]
    pub(crate) topo: String,

    /// Whose sched domains
    #[arg(long, value_name = "CPU", default_value = "0", allow_hyphen_values = true)]
    pub(crate) cpu: String,

    /// The kernel that builds them
    #[arg(long, value_enum, default_value_t = KernelArg::V6_1)]
    pub(crate) kernel: KernelArg,

    /// The rule behind imb_numa_nr, as numa_imbalance=v4.1 (see `simsched policies show numa_imbalance`)
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = setting)]
    pub(crate) settings: Vec<(String, String)>,

    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// A kernel version whose sched domains are known.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KernelArg {
    /// CFS
    #[value(name = "6.1")]
    V6_1,
    /// EEVDF
    #[value(name = "6.12")]
    V6_12,
}

/// The arguments of `simsched policies`.
#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
#[command(after_help = "Example:\n  simsched policies show cfs")]
pub(crate) struct PoliciesArgs {
    #[command(subcommand)]
    pub(crate) command: Option<PoliciesCommand>,

    /// Show this policy, feature or setting, as `show` does
    #[arg(value_parser = Text::LISTED, hide_possible_values = true)]
    pub(crate) name: Option<String>,
}

/// What to tell of policies.
#[derive(Subcommand, Debug)]
pub(crate) enum PoliciesCommand {
    /// List all policies and features, one line each (the default)
    #[command(after_help = "Example:\n  simsched policies list")]
    List,
    /// Show one policy, feature or setting in full, or what an expression changes
    #[command(after_help = "Example:\n  simsched policies show wakeup_bias_prev")]
    Show {
        /// Its name, or an expression such as cfs@5.16
        #[arg(value_parser = Text::LISTED, hide_possible_values = true)]
        name: String,
    },
}

/// The arguments of `simsched workloads`.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  simsched workloads hackbench")]
pub(crate) struct WorkloadsArgs {
    /// Show the options of this one
    #[arg(value_parser = Text::WORKLOAD, hide_possible_values = true)]
    pub(crate) name: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
