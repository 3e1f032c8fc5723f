//! The arguments of the commands that run two sides.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use simsched_core::Nanos;

use crate::cut::Slice;
use crate::extent::Extent;

use super::{Shard, Text, duration, seed, seeds, setting};

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

    /// A policy, at least two of them; the first is the base; kernel:FILE is the scheduler of a kernel
    /// tree (see `simsched kernel build`)
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

    /// How many seeds each policy runs with (1 to 10000); no change is sure with fewer than five
    #[arg(long, value_name = "N", default_value_t = 3)]
    #[arg(value_parser = seeds, allow_hyphen_values = true)]
    pub(crate) seeds: u64,

    /// Measure so much simulated time of each run once it is stationary, in place of the whole run
    #[arg(long, value_name = "TIME", value_parser = duration, allow_hyphen_values = true)]
    pub(crate) span: Option<Nanos>,

    /// Measure the whole run, with the start of the program; by default the numbers begin when all tasks exist
    /// and the program has started its own clock
    #[arg(long, conflicts_with = "span")]
    pub(crate) whole: bool,

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

    /// Print neither progress nor notes on what was given and changes nothing
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
                        A run is simulated for ten seconds, as most real ones took longer: all claims \
                        of the repository take two hours on two quiet cores, and with --quick ten \
                        minutes.\n\
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

    /// Simulate so much of each run at most, counted from the last new task. What is measured begins after
    /// five balancing intervals of the widest sched domain (a millisecond for each of its CPUs). A run
    /// that took no longer on the real machine, or ends before, is measured as a whole
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = duration)]
    #[arg(allow_hyphen_values = true)]
    pub(crate) limit: Nanos,

    /// Measure 100 ms of each run after 200 ms, or what a program needs that counts itself, and say beside
    /// each claim that it is quick
    #[arg(long, conflicts_with_all = ["limit", "span"])]
    pub(crate) quick: bool,

    /// Measure so much simulated time of each run once it is stationary; `whole` runs are measured from
    /// start to end
    #[arg(long, value_name = "TIME|whole", value_parser = Span::parse)]
    #[arg(allow_hyphen_values = true, conflicts_with = "limit")]
    pub(crate) span: Option<Span>,

    /// How long a run warms up before what is measured at least, counted from the last new task. It goes
    /// on, up to twice as long, until operations, migrations and context switches are steady
    #[arg(long, value_name = "TIME", default_value = "200ms", value_parser = duration)]
    #[arg(allow_hyphen_values = true)]
    pub(crate) warmup: Nanos,

    /// At each low and high end of the machines' physical parameters too; a claim whose class depends
    /// on one is undecided
    #[arg(long)]
    pub(crate) sweep_hw: bool,

    /// Write the result as JSON to this file; `-` prints it in place of the text
    #[arg(long, value_name = "FILE|-")]
    pub(crate) json: Option<PathBuf>,

    /// Keep finished measurements in this file, and take from it what is known: a validation that was
    /// stopped goes on where it was, to the same result. What a changed claim, machine or program asks
    /// for is measured anew. More such files, as of the shards, are read only
    #[arg(long, value_name = "FILE")]
    pub(crate) resume: Vec<PathBuf>,

    /// Only the I-th of N parts of the claims, from 1; claims of one machine and workload stay together
    #[arg(long, value_name = "I/N", value_parser = Shard::parse)]
    pub(crate) shard: Option<Shard>,

    /// Write the result as a page in Markdown to this file; `-` prints it in place of the text
    #[arg(long, value_name = "FILE|-")]
    pub(crate) page: Option<PathBuf>,

    /// Print no progress
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

impl CompareArgs {
    /// How much of a run is simulated and measured.
    pub(crate) fn extent(&self) -> Extent {
        match self.span {
            Some(span) => Extent::Part(Slice { span, warmup: self.warmup }),
            None if self.whole => Extent::Whole,
            None => Extent::SinceStart,
        }
    }
}

impl ValidateArgs {
    /// How much of a run is simulated and measured.
    pub(crate) fn extent(&self) -> Extent {
        let warmup = self.warmup;
        match self.span {
            Some(Span(None)) => Extent::Whole,
            Some(Span(Some(span))) => Extent::Part(Slice { span, warmup }),
            None if self.quick => Extent::Quick(Slice { span: QUICK, warmup }),
            None => Extent::Long { limit: self.limit, warmup },
        }
    }
}

/// What `--quick` measures of a run.
const QUICK: Nanos = Nanos::from_millis(100);

/// How much of a run is measured; none is all of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span(pub(crate) Option<Nanos>);

impl Span {
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
    use crate::extent::LIMIT;

    #[test]
    fn the_book_tells_what_validate_does_without_options() {
        let book = include_str!("../../../../docs/claims.md");
        let cli = Cli::try_parse_from(["simsched", "validate", "claims"]).unwrap();
        let Command::Validate(args) = cli.command else { panic!("another command") };
        let ms = |time: Nanos| time.get() / 1_000_000;
        assert_eq!(args.limit, LIMIT);
        for row in [
            format!("| seeds of each side | {}, from {} |", args.seeds, args.seed),
            format!("| simulated at most, from the last new task | {} s |", ms(args.limit) / 1_000),
            format!("| least warm-up, simulated | {} ms |", ms(args.warmup)),
            format!("| measured with `--quick` | {} ms |", ms(QUICK)),
        ] {
            assert!(book.contains(&row), "docs/claims.md: {row}");
        }
    }
}
