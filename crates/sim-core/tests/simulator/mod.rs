//! The simulator under the simplest policy: what happens, when, and who pays for it.

mod actions;
mod background;
mod balance;
mod calls;
mod contracts;
mod exec;
mod exit;
mod functions;
mod idle;
mod memory;
mod parts;
mod pause;
mod rearm;
mod rig;
mod sem;
mod skip;
mod stopper;
mod throttle;
mod time;
mod timers;
mod wakeups;
