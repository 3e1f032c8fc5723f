//! The reports of runs as one HTML page, with no link to the outside, and what differs between two of
//! them in a few sentences.
//!
//! What goes in is the JSON that the command writes (docs/json.md); what comes out is text. This crate
//! knows no simulator, so a page can be made of any report that was kept. Statistics over runs and
//! the way numbers are written are here, too, as the command tells the same numbers as a page does.

mod command;
mod document;
mod error;
mod explain;
mod html;
mod measure;
pub mod paired;
mod side;
pub mod student;
pub mod units;

pub use document::{Document, read};
pub use error::PageError;
pub use explain::{Explanation, explain};
pub use html::page;
