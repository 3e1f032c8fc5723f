//! The file that a workload reads, such as the tasks of rt-app.

use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use simsched_workloads::catalog as workloads;

use crate::bounded;
use crate::failure::Failure;
use crate::output::inputs;

/// The text of the file that this command line names, if its program reads one; `-` is the standard
/// input.
///
/// # Errors
/// When the command line is wrong, or the file cannot be read.
pub(crate) fn of_workload(argv: &[String]) -> Result<Option<Arc<str>>, Failure> {
    let Some(name) = workloads::file(argv).map_err(Failure::input)? else { return Ok(None) };
    if name == "-" {
        return stdin().map(Some);
    }
    inputs::reads(Path::new(name))?;
    bounded::text(Path::new(name), bounded::MADE).map(|text| Some(Arc::from(text)))
}

/// All of the standard input, which is there once and has the same text for all who ask.
fn stdin() -> Result<Arc<str>, Failure> {
    static READ: Mutex<Option<Arc<str>>> = Mutex::new(None);
    let mut read = READ.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(text) = &*read {
        return Ok(Arc::clone(text));
    }
    let bytes = bounded::bytes(io::stdin(), Path::new("-"), bounded::MADE)?;
    let text = Arc::<str>::from(bounded::utf8(bytes, Path::new("-"))?);
    *read = Some(Arc::clone(&text));
    Ok(text)
}
