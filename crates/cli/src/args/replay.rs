//! The arguments of `simsched replay`.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};

use super::{Text, seed, setting};

/// The arguments of `simsched replay`.
#[derive(Args, Debug)]
#[command(
    after_help = "Example:\n  perf sched record -- sleep 1\n  perf script --ns > trace.txt\n  \
                        simsched replay trace.txt --topo t8"
)]
pub(crate) struct ReplayArgs {
    /// Text of `perf script`, of `trace-cmd report` or of /sys/kernel/tracing/trace; or a perf.data or
    /// trace.dat, if perf or trace-cmd is installed to read it
    #[arg(value_name = "TRACE", value_parser = Text::ANY, value_hint = ValueHint::FilePath)]
    pub(crate) trace: String,

    /// The machine: a TOML file or a built-in name (see `simsched topo list`), and its mode
    #[arg(long, value_name = "MACHINE[@MODE]")]
    #[arg(value_parser = Text::MACHINE, hide_possible_values = true)]
    pub(crate) topo: String,

    /// The policy: a base, its kernel version, features and settings (see `simsched policies`), or
    /// kernel:FILE, the scheduler of a kernel tree (see `simsched kernel build`)
    #[arg(long, value_name = "BASE[@VERSION][+FEATURE|+KEY=VALUE]...", default_value = "cfs")]
    #[arg(value_parser = Text::POLICY, hide_possible_values = true)]
    pub(crate) policy: String,

    /// A setting of the policy or of the kernel; may be given several times. With hardware=free each
    /// thread computes as long as in the recording, to the nanosecond
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = setting)]
    pub(crate) settings: Vec<(String, String)>,

    /// The seed of all random numbers
    #[arg(long, value_name = "N", default_value_t = 1)]
    #[arg(value_parser = seed, allow_hyphen_values = true)]
    pub(crate) seed: u64,

    /// How long sleeps last that no thread ended
    #[arg(long, value_enum, default_value_t = TimersArg::Absolute)]
    pub(crate) timers: TimersArg,

    /// Where threads may run
    #[arg(long, value_enum, default_value_t = AffinityArg::Inferred)]
    pub(crate) affinity: AffinityArg,

    /// The machine on which the recording was made, as `--topo` takes it, or `unknown`; by default this one, if
    /// it has as many CPUs: what busy siblings and slower clocks took there is taken out of its times
    #[arg(long, value_name = "MACHINE")]
    pub(crate) recorded_on: Option<String>,

    /// The text of the recording, unpacked, has at most so many bytes (by default 2G); K, M and G are 2^10,
    /// 2^20 and 2^30
    #[arg(long, value_name = "SIZE")]
    pub(crate) max_input: Option<String>,

    /// How many threads the table shows, those with most CPU time in the recording first
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) top: usize,

    /// Write the result as JSON to this file; `-` prints it in place of the text
    #[arg(long, value_name = "FILE|-")]
    pub(crate) json: Option<PathBuf>,

    /// Print neither progress nor notes on what was given and changes nothing
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// How long sleeps last that no thread ended.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TimersArg {
    /// Until the instant at which they ended in the recording
    Absolute,
    /// As long as in the recording
    Relative,
}

/// Where threads may run.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AffinityArg {
    /// As `known`, and where a thread was kept as far as what it did tells
    Inferred,
    /// Everywhere, but threads of the kernel that belong to one CPU by their names
    Known,
    /// Each where it ran in the recording
    Seen,
}

impl ReplayArgs {
    /// The command line of the same workload.
    pub(crate) fn workload(&self) -> Vec<String> {
        let timers = match self.timers {
            TimersArg::Absolute => "--timers=absolute",
            TimersArg::Relative => "--timers=relative",
        };
        let affinity = match self.affinity {
            AffinityArg::Inferred => "--affinity=inferred",
            AffinityArg::Known => "--affinity=known",
            AffinityArg::Seen => "--affinity=seen",
        };
        let size = self.max_input.as_ref().map(|size| format!("--max-input={size}"));
        let words = [simsched_workloads::replay::NAME, &self.trace, timers, affinity];
        let machine = self.recorded_on.as_ref().map(|name| format!("--recorded-on={name}"));
        words.into_iter().map(str::to_owned).chain(machine).chain(size).collect()
    }
}
