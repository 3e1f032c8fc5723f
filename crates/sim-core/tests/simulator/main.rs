//! The simulator under the simplest policy: what happens, when, and who pays for it.

#![expect(clippy::unwrap_used, reason = "a test stops where it fails")]

mod background;
mod balance;
mod contracts;
mod memory;
mod rig;
mod sem;
mod stopper;
mod time;
mod wakeups;
