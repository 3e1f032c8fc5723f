//! Where the results of runs are written in the forms of others.

use std::path::{Path, PathBuf};

use clap::{Args, ValueHint};
use simsched_trace::schedstat::Version;

/// Under which these options are listed.
const HEADING: &str = "Results in the forms of others";

/// The results of one run in the forms of others.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct ResultsArgs {
    /// Write /proc/schedstat at the end of the run in this version: v15, v16 or v17, such as
    /// v15=after.txt; without a file it is printed in place of the text (docs/schedstat.md)
    #[arg(long, help_heading = HEADING, value_name = "VERSION[=FILE]", value_parser = schedstat)]
    pub(crate) schedstat: Option<Schedstat>,

    /// Write what the program prints with each seed into a folder of results of mmtests, for
    /// `compare-mmtests.pl -d DIR -b BENCHMARK -n POLICY` (docs/mmtests.md)
    #[arg(long, help_heading = HEADING, value_name = "DIR", value_hint = ValueHint::DirPath, conflicts_with = "precision")]
    pub(crate) mmtests: Option<PathBuf>,
}

/// What `--schedstat` asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Schedstat {
    pub(crate) version: Version,
    /// None is stdout.
    pub(crate) file: Option<PathBuf>,
}

impl Schedstat {
    /// Where it goes; `-` is stdout.
    pub(crate) fn path(&self) -> &Path {
        self.file.as_deref().unwrap_or(Path::new("-"))
    }
}

fn schedstat(text: &str) -> Result<Schedstat, String> {
    let (version, file) = match text.split_once('=') {
        Some((_, "")) => return Err("expected a file behind =, such as v15=after.txt".to_owned()),
        Some((version, file)) => (version, Some(file).filter(|file| *file != "-")),
        None => (text, None),
    };
    Ok(Schedstat { version: version.parse()?, file: file.map(PathBuf::from) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_of_schedstat_goes_to_a_file_or_to_stdout() {
        let file = Schedstat { version: Version::V17, file: Some(PathBuf::from("a=b")) };
        assert_eq!(schedstat("v17=a=b"), Ok(file));
        let stdout = Schedstat { version: Version::V15, file: None };
        assert_eq!(schedstat("v15"), Ok(stdout.clone()));
        assert_eq!(schedstat("v15=-"), Ok(stdout));
        assert!(schedstat("v15=").is_err());
        assert_eq!(schedstat("v14"), Err("expected v15, v16 or v17".to_owned()));
    }
}
