//! What the load balancer decides, on scenes small enough to work out by hand.

#![expect(clippy::unwrap_used, reason = "a test stops where it fails")]

#[path = "../common/mod.rs"]
mod common;

mod amounts;
mod capacity;
mod detach;
mod pinned;
mod scene;
mod speaker;
mod versions;
