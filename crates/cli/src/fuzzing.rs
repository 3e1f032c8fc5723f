//! What fuzz targets call: readers of files that have no public item of their own.

use std::path::Path;

use simsched_trace::history::History;
use simsched_trace::reader::Trace;
use simsched_workloads::replay::Recording;

use crate::failure::of_arguments;
use crate::grid;
use crate::replay;
use crate::scenario_file::{self, Refused};

/// Why a file was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Something in the file, in a sentence that begins with its name.
    File(String),
    /// Several options of it together, in the sentence that the command line has for them.
    Options(String),
}

/// Reads a scenario file, as `simsched run FILE` does.
///
/// # Errors
/// In one sentence.
pub fn scenario(file: &Path) -> Result<(), Refusal> {
    match scenario_file::parse(&["simsched".into(), "run".into(), file.into()]) {
        Ok(_) => Ok(()),
        Err(Refused::Clap(error)) => Err(Refusal::Options(of_arguments(&error))),
        Err(Refused::Said(failure)) => Err(Refusal::File(failure.to_string())),
    }
}

/// Reads the plan of a sweep and makes the arguments of its first cell.
///
/// # Errors
/// In one sentence that begins with the file.
///
/// # Panics
/// When a plan has no cell: none is read without one.
pub fn plan(file: &Path) -> Result<(), String> {
    let cells = grid::cells(file).map_err(|failure| failure.to_string())?;
    let cell = cells.first().expect("a plan has a cell");
    let arguments = scenario_file::arguments(&file.display().to_string(), cell);
    arguments.map(drop).map_err(|failure| failure.to_string())
}

/// The threads of a trace as those of a workload.
#[must_use]
pub fn recording(trace: &Trace, history: &History) -> Recording {
    replay::recording(trace, history)
}
