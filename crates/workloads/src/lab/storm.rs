//! `forkstorm`: one parent forks children that work for a while and end.

use simsched_core::Nanos;

use super::costs::{REPORT, birth, work};
use super::script::{Script, fork_all, wait_any};
use crate::error::WorkloadError;
use crate::program::Programs;

/// What a child does.
const WORK: Nanos = Nanos::from_millis(5);

/// How many children, and what the parent does in between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Storm {
    pub(super) children: u32,
    /// The parent's work behind each fork.
    pub(super) gap: Nanos,
}

impl Storm {
    pub(super) fn build(&self, mut script: Script) -> Result<Programs, WorkloadError> {
        let kernel = script.kernel;
        let Storm { children, gap } = *self;
        script.parent(|p| {
            fork_all(p, kernel, (children, false), |p| {
                if gap > Nanos::ZERO {
                    work(p, gap);
                }
            });
            wait_any(p, children);
        });
        let child = script.b.program("fk", |p| {
            p.run(birth(kernel));
            work(p, WORK);
            p.run(REPORT);
        });
        for nth in 0..children {
            script.child(&format!("fk{nth:03}"), child, [0, 0]);
        }
        script.build()
    }
}
