//! The arguments of `simsched run` that say what is run by a file.

use std::path::PathBuf;

use clap::Args;

use crate::scenario_file::Origin;

/// Where a scenario comes from and goes to.
#[derive(Args, Debug, Default)]
pub(crate) struct FileArgs {
    /// A file that says what is to be run: a scenario in TOML, whose keys are the names of these options
    /// (docs/scenarios.md), or the JSON report of a run, which is repeated. Options win over the file
    #[arg(value_name = "SCENARIO.toml|REPORT.json")]
    pub(crate) scenario: Option<PathBuf>,

    /// Write what this command line says as a scenario file, and run nothing; `-` prints it
    #[arg(long, value_name = "FILE|-")]
    pub(crate) save_scenario: Option<PathBuf>,

    /// What the file said.
    #[arg(skip)]
    pub(crate) origin: Option<Box<Origin>>,

    /// What `--save-scenario` writes.
    #[arg(skip)]
    pub(crate) saved: String,
}
