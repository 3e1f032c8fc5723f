//! Pages and sentences made of reports whose right answers are known, as the tests wrote them.

#![expect(clippy::unwrap_used, reason = "a test stops where it fails")]
#![recursion_limit = "256"]

mod bad_input;
mod commands;
mod damage;
mod explained;
mod made;
mod page;
