//! The schedule of a run, told to writers of other programs' formats: who ran where and when.
//!
//! [`Outputs`] are the files that were asked for; [`Recorder`] watches the run and tells them.

mod order;
mod outputs;
mod recorder;
mod threads;
mod utils;

pub(crate) use outputs::Outputs;
pub(crate) use recorder::Recorder;
