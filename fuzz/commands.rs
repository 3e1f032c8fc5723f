//! The modules of the command. It is a program and no library, so targets compile its sources as their own;
//! `use commands::cli::*` at the root of a target gives them the paths that they have in the program.

#[path = "../crates/cli/src"]
#[allow(dead_code, unused_imports)]
pub(crate) mod cli {
    pub(crate) mod args;
    pub(crate) mod compare;
    pub(crate) mod counters;
    pub(crate) mod cut;
    pub(crate) mod domains;
    pub(crate) mod even;
    pub(crate) mod extensive;
    pub(crate) mod failure;
    pub(crate) mod identity;
    pub(crate) mod input;
    pub(crate) mod inside;
    pub(crate) mod interrupt;
    pub(crate) mod lab;
    pub(crate) mod list;
    pub(crate) mod llc;
    pub(crate) mod meter;
    pub(crate) mod mmtests;
    pub(crate) mod number;
    pub(crate) mod output;
    pub(crate) mod pages;
    pub(crate) mod parallel;
    pub(crate) mod precision;
    pub(crate) mod progress;
    pub(crate) mod record;
    pub(crate) mod replay;
    pub(crate) mod report;
    pub(crate) mod run;
    pub(crate) mod scenario;
    pub(crate) mod scenario_file;
    pub(crate) mod schedstat;
    pub(crate) mod sensitivity;
    pub(crate) mod settings;
    pub(crate) mod shell;
    pub(crate) mod sides;
    pub(crate) mod states;
    pub(crate) mod summary;
    pub(crate) mod sweep;
    pub(crate) mod toml_file;
    pub(crate) mod topo;
    pub(crate) mod trend;
    pub(crate) mod validate;
    pub(crate) use simsched_pages::{paired, student};

    /// Of `sweep` only its plans.
    pub(crate) mod grid {
        mod axis;
        mod plan;

        use std::path::Path;

        use crate::failure::Failure;
        use crate::scenario_file::Written;

        /// What the cells of the plan in a file run.
        pub(crate) fn cells(plan: &Path) -> Result<Vec<Written>, Failure> {
            let plan = plan::Plan::read(plan)?;
            Ok(plan.cells.into_iter().map(|cell| cell.written).collect())
        }
    }
}

use std::io;
use std::path::PathBuf;

/// A file that holds this, for a reader that takes a name; each process has its own.
pub(crate) fn file_of(bytes: &[u8]) -> io::Result<PathBuf> {
    let file = std::env::temp_dir().join(format!("simsched-fuzz-{}", std::process::id()));
    std::fs::write(&file, bytes)?;
    Ok(file)
}
