//! The scheduler of a Linux kernel tree, compiled on the user's machine into a library that a simulation asks in
//! place of a policy written in Rust.
//!
//! [`build()`] compiles the unmodified files of `kernel/sched` of a tree, with a shim around them that stands for the
//! rest of the kernel. No text of a kernel is part of this crate: the folder `shim/` is the project's own, under
//! MIT. A library that was built contains the kernel's code, so it is under GPL-2.0; whoever hands it on must follow
//! that.

pub mod build;
mod error;
mod host;
mod library;
mod policy;
pub mod shadow;
mod smoke;
mod sys;

pub use self::build::{Build, Built, build, check};
pub use self::error::KernelError;
pub use self::library::KernelSettings;
pub use self::policy::{KernelPolicy, KernelSpec, KernelTask, entry};
pub use self::sys::Stub;
