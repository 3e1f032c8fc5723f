//! Kernel objects alone: whom each op wakes, who sleeps, and in what order.
//!
//! The rules and the numbers are those of the kernel's `fs/pipe.c`, `net/unix/af_unix.c`, `net/ipv4/` and
//! `kernel/futex/`, worked out by hand in each test.

mod inet;
mod model;
mod pipe;
mod poll;
mod rig;
mod socket;
mod user;
