//! The arguments of the commands that run two sides.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use simsched_core::Nanos;

use crate::cut::{CHEAP, Slice};

use super::{Text, duration, seed, seeds, setting};

/// The arguments of `simsched compare`.
#[derive(Args, Debug)]
#[command(
    after_help = "Example:\n  simsched compare --topo t8 --policy cfs --policy wakeup_bias_prev --seeds 3 -- hackbench -g 1 -f 4 -l 20"
)]
pub(crate) struct CompareArgs {
    /// The machine: a TOML file or a built-in name (see `simsched topo list`), and its mode
    #[arg(long, value_name = "MACHINE[@MODE]")]
    #[arg(value_parser = Text::MACHINE, hide_possible_values = true)]
    pub(crate) topo: String,

    /// A policy, at least two of them; the first is the base
    #[arg(long = "policy", value_name = "BASE[@VERSION][+FEATURE|+KEY=VALUE]...", required = true)]
    #[arg(value_parser = Text::POLICY, hide_possible_values = true)]
    pub(crate) policies: Vec<String>,

    /// A setting of the policies or of the kernel; may be given several times. A policy that does not
    /// know it goes without it
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = setting)]
    pub(crate) settings: Vec<(String, String)>,

    /// The first seed
    #[arg(long, value_name = "N", default_value_t = 1)]
    #[arg(value_parser = seed, allow_hyphen_values = true)]
    pub(crate) seed: u64,

    /// How many seeds each policy runs with (1 to 10000)
    #[arg(long, value_name = "N", default_value_t = 3)]
    #[arg(value_parser = seeds, allow_hyphen_values = true)]
    pub(crate) seeds: u64,

    /// Measure so much simulated time of each run once it is stationary, in place of the whole run
    #[arg(long, value_name = "TIME", value_parser = duration, allow_hyphen_values = true)]
    pub(crate) span: Option<Nanos>,

    /// How long a run warms up before that at least, counted from the last new task. It goes on, up to
    /// twice as long, until operations, migrations and context switches are steady
    #[arg(long, value_name = "TIME", default_value = "200ms", value_parser = duration)]
    #[arg(allow_hyphen_values = true)]
    pub(crate) warmup: Nanos,

    /// Stop each run after this much simulated time, such as 10s, 500ms or 250us
    #[arg(long, value_name = "TIME", value_parser = duration, allow_hyphen_values = true)]
    pub(crate) duration: Option<Nanos>,

    /// Write what the program prints under each policy, with each seed, into a folder of results of
    /// mmtests, for `compare-mmtests.pl -d DIR -b BENCHMARK -n POLICY,POLICY` (docs/mmtests.md)
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, conflicts_with = "span")]
    pub(crate) mmtests: Option<PathBuf>,

    /// At each low and high end of the machine's physical parameters too, and list those that make
    /// the change of a metric better, neutral or worse in place of what it is
    #[arg(long)]
    pub(crate) sweep_hw: bool,

    /// Write the result as JSON to this file; `-` prints it in place of the text
    #[arg(long, value_name = "FILE|-")]
    pub(crate) json: Option<PathBuf>,

    /// Print no progress
    #[arg(long, short)]
    pub(crate) quiet: bool,

    /// The workload's command line
    #[arg(last = true, value_name = "WORKLOAD", allow_hyphen_values = true)]
    #[arg(value_parser = Text::ANY)]
    pub(crate) workload: Vec<String>,
}

/// The arguments of `simsched validate`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  simsched validate claims/ --resume done.json\n  \
                        simsched validate claims/ --only S2 --seeds 1\n\n\
                        All claims of the repository take some ten minutes on two quiet cores.\n\
                        The exit code is 1 when a claim could not be judged, 2 when a file could \
                        not be read.")]
pub(crate) struct ValidateArgs {
    /// Files of claims, or folders of them
    #[arg(value_name = "PATH", required = true)]
    pub(crate) paths: Vec<PathBuf>,

    /// Only this claim, or all whose id begins so; may be given several times
    #[arg(long, value_name = "ID", value_parser = Text::ANY)]
    pub(crate) only: Vec<String>,

    /// The first seed
    #[arg(long, value_name = "N", default_value_t = 1)]
    #[arg(value_parser = seed, allow_hyphen_values = true)]
    pub(crate) seed: u64,

    /// How many seeds each side runs with (1 to 10000)
    #[arg(long, value_name = "N", default_value_t = 3)]
    #[arg(value_parser = seeds, allow_hyphen_values = true)]
    pub(crate) seeds: u64,

    /// How much simulated time of a run is measured once it is stationary; `whole` runs are measured
    /// from start to end. If not given: 100ms (50ms of a run of over 25 million events a simulated
    /// second, unless its machine is waited for or --warmup or --thorough is given), or as much as a
    /// program needs that counts itself (schbench: its interval of 10 s; stream: all; verilator:
    /// after 1 s)
    #[arg(long, value_name = "TIME|whole", value_parser = Span::parse)]
    #[arg(allow_hyphen_values = true)]
    pub(crate) span: Option<Span>,

    /// How long a run warms up before that at least, counted from the last new task. It goes on, up to
    /// twice as long, until operations, migrations and context switches are steady. If not given:
    /// 200ms, or 100 to 150ms of a run that is measured for 50ms
    #[arg(long, value_name = "TIME", value_parser = duration)]
    #[arg(allow_hyphen_values = true)]
    pub(crate) warmup: Option<Nanos>,

    /// Let each machine settle, whatever that takes: a run warms up for five balancing intervals of the
    /// widest sched domain. If not given, it does so where 50 million events suffice
    #[arg(long, conflicts_with = "span")]
    pub(crate) thorough: bool,

    /// At each low and high end of the machines' physical parameters too; a claim whose class depends
    /// on one is undecided
    #[arg(long)]
    pub(crate) sweep_hw: bool,

    /// Write the result as JSON to this file; `-` prints it in place of the text
    #[arg(long, value_name = "FILE|-")]
    pub(crate) json: Option<PathBuf>,

    /// Keep finished measurements in this file, and take from it what is known: a validation that was
    /// stopped goes on where it was, to the same result. What a changed claim, machine or program asks
    /// for is measured anew
    #[arg(long, value_name = "FILE")]
    pub(crate) resume: Option<PathBuf>,

    /// Write the result as a page in Markdown to this file; `-` prints it in place of the text
    #[arg(long, value_name = "FILE|-")]
    pub(crate) page: Option<PathBuf>,

    /// Print no progress
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

impl ValidateArgs {
    /// How much of a run is measured, unless a program needs more; none is the whole run.
    pub(crate) fn slice(&self) -> Option<Slice> {
        let slice = self.span.unwrap_or(Span::USUAL).slice(self.warmup.unwrap_or(WARMUP));
        let (may_grow, patience) =
            (self.span.is_none(), if self.thorough { u64::MAX } else { CHEAP });
        let may_halve = may_grow && self.warmup.is_none() && !self.thorough;
        slice.map(|slice| Slice { may_grow, patience, may_halve, ..slice })
    }
}

/// The least warm-up if none is given.
const WARMUP: Nanos = Nanos::from_millis(200);

/// How much of a run is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span(pub(crate) Option<Nanos>);

impl Span {
    /// If none was given.
    const USUAL: Span = Span(Some(Nanos::from_millis(100)));

    /// With this warm-up; none for whole runs.
    pub(crate) fn slice(self, warmup: Nanos) -> Option<Slice> {
        self.0.map(|span| Slice {
            span,
            warmup,
            may_grow: false,
            patience: CHEAP,
            may_halve: false,
        })
    }

    fn parse(text: &str) -> Result<Span, String> {
        if text == "whole" {
            return Ok(Span(None));
        }
        duration(text).map(|span| Span(Some(span))).map_err(|error| error + ", or whole")
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::args::{Cli, Command};
    use crate::cut::CHEAP_ON_ONE_NODE;

    #[test]
    fn the_book_tells_what_validate_does_without_options() {
        let book = include_str!("../../../../docs/claims.md");
        let cli = Cli::try_parse_from(["simsched", "validate", "claims"]).unwrap();
        let Command::Validate(args) = cli.command else { panic!("another command") };
        let ms = |time: Nanos| time.get() / 1_000_000;
        let span = Span::USUAL.0.map(ms).unwrap();
        for row in [
            format!("| seeds of each side | {}, from {} |", args.seeds, args.seed),
            format!("| least warm-up, simulated | {} ms |", ms(WARMUP)),
            format!("| up to {} million events |", CHEAP / 1_000_000),
            format!("| up to {} million events |", CHEAP_ON_ONE_NODE / 1_000_000),
            format!("| measured after that, simulated | {span} ms |"),
        ] {
            assert!(book.contains(&row), "docs/claims.md: {row}");
        }
    }
}
