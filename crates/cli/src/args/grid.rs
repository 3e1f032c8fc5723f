//! The arguments of `simsched sweep` and `simsched merge`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

/// The arguments of `simsched sweep`.
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  simsched sweep plan.toml --dry-run\n  simsched sweep plan.toml -o out\n  \
                        simsched sweep plan.toml -o out-$N --shard $N/8\n\n\
                        The exit code is 3 when cells have failed (the others are done), 1 when cells are \
                        less precise than asked for, 130 after Ctrl-C; the same command then goes on."
)]
pub(crate) struct SweepArgs {
    /// The plan: a scenario file with a table `grid` of lists (docs/sweep.md)
    #[arg(value_name = "PLAN.toml")]
    pub(crate) plan: PathBuf,

    /// The folder for the results and for what is done of them
    #[arg(long, short, value_name = "DIR", value_hint = ValueHint::DirPath, required_unless_present = "dry_run")]
    pub(crate) output: Option<PathBuf>,

    /// Run only the I-th of N parts of about the same size, from 1; `simsched merge` puts them together
    #[arg(long, value_name = "I/N", value_parser = Shard::parse)]
    pub(crate) shard: Option<Shard>,

    /// List the cells and run none
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Write results.parquet, too; only where simsched is built with the feature `parquet`
    #[arg(long)]
    pub(crate) parquet: bool,

    /// Print no progress
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// The arguments of `simsched merge`.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  simsched merge out-1 out-2 out-3 -o out")]
pub(crate) struct MergeArgs {
    /// The folders of the parts, in any order
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath, required = true)]
    pub(crate) folders: Vec<PathBuf>,

    /// The folder for the whole
    #[arg(long, short, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) output: PathBuf,

    /// Write results.parquet, too; only where simsched is built with the feature `parquet`
    #[arg(long)]
    pub(crate) parquet: bool,
}

/// One of several parts of a sweep or a validation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shard {
    /// From 0.
    pub(crate) index: usize,
    pub(crate) of: usize,
}

impl Shard {
    pub(super) fn parse(text: &str) -> Result<Shard, String> {
        let numbers =
            text.split_once('/').and_then(|(i, n)| Some((i.parse().ok()?, n.parse().ok()?)));
        match numbers {
            Some((i, of)) if (1..=of).contains(&i) && of <= 10_000 => {
                Ok(Shard { index: i - 1, of })
            }
            _ => Err("expected I/N with I in 1..=N and N in 1..=10000, such as 2/8".to_owned()),
        }
    }
}

impl std::fmt::Display for Shard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.index + 1, self.of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shard_is_one_of_so_many() {
        assert_eq!(Shard::parse("2/8"), Ok(Shard { index: 1, of: 8 }));
        assert_eq!(Shard::parse("1/1").map(|shard| shard.to_string()), Ok("1/1".to_owned()));
        for bad in ["", "2", "0/8", "9/8", "a/b", "1/0", "-1/3", "1/99999999999999999999"] {
            assert!(Shard::parse(bad).is_err(), "{bad}");
        }
    }
}
