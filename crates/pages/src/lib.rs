//! The reports of runs as one HTML page, with no link to the outside.
//!
//! What goes in is the JSON that the command writes (docs/json.md); what comes out is text. This crate
//! knows no simulator, so a page can be made of any report that was kept.
