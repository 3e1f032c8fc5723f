//! The file that a workload reads, such as the tasks of rt-app.

use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use simsched_workloads::catalog as workloads;

use crate::failure::Failure;
use crate::output::inputs;

/// The text of the file that this command line names, if its program reads one; `-` is the standard
/// input.
///
/// # Errors
/// When the command line is wrong, or the file cannot be read.
pub(crate) fn of_workload(argv: &[String]) -> Result<Option<Arc<str>>, Failure> {
    let Some(name) = workloads::file(argv).map_err(Failure::input)? else { return Ok(None) };
    if name != "-" {
        inputs::reads(Path::new(name))?;
    }
    let text = if name == "-" {
        let mut text = String::new();
        io::stdin().read_to_string(&mut text).map(|_| text)
    } else {
        std::fs::read_to_string(name)
    };
    text.map(|text| Some(text.into())).map_err(|error| Failure::file(Path::new(name), &error))
}
