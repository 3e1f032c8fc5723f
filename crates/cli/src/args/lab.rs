//! The arguments of `simsched lab`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::{Text, seed, setting};

/// The arguments of `simsched lab`.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  simsched lab kernel-lab/6.1-t8 kernel-lab/6.1-t16\n\n\
                        The exit code is 1 when a class of a folder falls below its bar.")]
pub(crate) struct LabArgs {
    /// Folders of the kernel lab, named KERNEL-MACHINE such as 6.1-t16
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath, required = true)]
    pub(crate) folders: Vec<PathBuf>,

    /// Only this scenario, or all that begin so; may be given several times
    #[arg(long, value_name = "SCENARIO", value_parser = Text::ANY)]
    pub(crate) only: Vec<String>,

    /// The seed of all random numbers
    #[arg(long, value_name = "N", default_value_t = 1)]
    #[arg(value_parser = seed, allow_hyphen_values = true)]
    pub(crate) seed: u64,

    /// How many runs of each scenario are judged together, with this seed and those after it: by their
    /// mean where the kernel's own runs differ, else by their median. Fewer are quicker, and a verdict is
    /// then as much about their scatter
    #[arg(long, value_name = "N", default_value_t = 10)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=100))]
    pub(crate) seeds: u64,

    /// How many percent of each class must be met
    #[arg(long, value_name = "CLASS=PERCENT,...", default_value = Bars::DEFAULT)]
    #[arg(value_parser = Bars::parse)]
    pub(crate) bar: Bars,

    /// The policy in place of the one that stands for the kernel
    #[arg(long, value_name = "BASE[@VERSION][+FEATURE|+KEY=VALUE]...")]
    #[arg(value_parser = Text::POLICY, hide_possible_values = true)]
    pub(crate) policy: Option<String>,

    /// A setting of the policy or of the kernel; may be given several times
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = setting)]
    pub(crate) settings: Vec<(String, String)>,

    /// Judge another run of the kernel, recorded under this label, in place of the simulator's
    #[arg(long, value_name = "LABEL")]
    pub(crate) recorded: Option<String>,

    /// Show for each scenario with a miss how often tasks outside it came between while the kernel
    /// ran it, and the first line of its trace that shows one
    #[arg(long)]
    pub(crate) outside: bool,

    /// Write the events of the one scenario that is run, as the kernel's tracer shows its own
    #[arg(long, value_name = "FILE")]
    pub(crate) dump: Option<PathBuf>,

    /// Write the result as JSON to this file; `-` prints it in place of the text
    #[arg(long, value_name = "FILE|-")]
    pub(crate) json: Option<PathBuf>,

    /// Print no progress
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// How many percent of each class of metrics must be met.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Bars {
    pub(crate) exact: f64,
    pub(crate) tight: f64,
    pub(crate) loose: f64,
    pub(crate) ratio: f64,
    pub(crate) points: f64,
    pub(crate) counted: f64,
}

impl Bars {
    const DEFAULT: &str = "exact=97,tight=88,loose=72,ratio=80,points=100,counted=100";

    /// Those that are not named have no bar.
    fn parse(text: &str) -> Result<Bars, String> {
        let expected = "expected percentages of classes, such as exact=97,tight=88,loose=72";
        let mut bars =
            Bars { exact: 0.0, tight: 0.0, loose: 0.0, ratio: 0.0, points: 0.0, counted: 0.0 };
        for part in text.split(',') {
            let (class, percent) = part.split_once('=').ok_or(expected)?;
            let percent = percent.parse().ok().filter(|percent| (0.0..=100.0).contains(percent));
            let percent = percent.ok_or(expected)?;
            match class {
                "exact" => bars.exact = percent,
                "tight" => bars.tight = percent,
                "loose" => bars.loose = percent,
                "ratio" => bars.ratio = percent,
                "points" => bars.points = percent,
                "counted" => bars.counted = percent,
                _ => return Err(expected.to_owned()),
            }
        }
        Ok(bars)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_percentages_by_class() {
        let bars =
            Bars { exact: 99.5, tight: 0.0, loose: 72.0, ratio: 0.0, points: 7.0, counted: 0.0 };
        assert_eq!(Bars::parse("loose=72,exact=99.5,points=7"), Ok(bars));
        for bad in ["", "exact", "exact=101", "exact=-1", "noisy=5", "exact=97;tight=3"] {
            assert!(Bars::parse(bad).is_err(), "{bad}");
        }
    }
}
