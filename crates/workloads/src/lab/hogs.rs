//! `hogs` and `share`: tasks that compute until a common deadline, free, from a herd on one CPU, or
//! pinned there.

use simsched_core::Nanos;

use super::RELEASE;
use super::costs::{self, AFFINITY, PIECE, REPORT, SLACK, birth};
use super::script::{FIRST, SELF, Script, fork_all, wait_each};
use crate::builder::ProgramId;
use crate::dist::Dist;
use crate::error::WorkloadError;
use crate::program::{Operand, Programs, When};

/// How long the parent sleeps before it lets a herd go.
const HERDED: Nanos = Nanos::from_millis(100);

/// Where the hogs are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// Wherever the kernel puts them.
    Free,
    /// On CPU 0 until they are let go.
    Herd,
    /// On CPU 0.
    Pinned,
}

/// The hogs: all compute until `length` after the start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Hogs {
    /// The nice value of each.
    pub(super) nice: Vec<i8>,
    pub(super) place: Place,
    pub(super) length: Nanos,
}

impl Hogs {
    pub(super) fn count(&self) -> u32 {
        u32::try_from(self.nice.len()).expect("a name has set a limit")
    }

    pub(super) fn build(&self, mut script: Script) -> Result<Programs, WorkloadError> {
        let kernel = script.kernel;
        let count = self.count();
        if self.place == Place::Herd {
            let release = script.b.mark("release");
            debug_assert!(release == RELEASE, "the mark has the id that it promises");
        }
        let [cpu0, all] = script.masks;
        script.parent(|p| {
            if self.place != Place::Free {
                p.set_affinity(SELF, cpu0);
            }
            fork_all(p, kernel, (count, self.place != Place::Free), |_| {});
            if self.place == Place::Herd {
                p.sleep(Dist::Constant(Nanos(HERDED.get() + SLACK.get())));
                p.run(costs::RELEASE);
                p.mark(RELEASE);
                p.repeat(count, |p, nth| {
                    p.set_affinity(Operand::from(FIRST).plus(nth), all);
                    p.run(AFFINITY);
                });
            }
            wait_each(p, count);
        });
        let mut programs: Vec<(i8, ProgramId)> = Vec::new();
        for (nth, &nice) in self.nice.iter().enumerate() {
            let known = programs.iter().find(|(known, _)| *known == nice).map(|(_, id)| *id);
            let id = known.unwrap_or_else(|| {
                let id = program(&mut script, self.length, nice);
                programs.push((nice, id));
                id
            });
            let name = format!("hog{nth:02}");
            match self.place {
                Place::Free => script.child(&name, id, [0, 0]),
                Place::Herd | Place::Pinned => script.pinned(&name, id, [0, 0]),
            };
        }
        script.build()
    }
}

/// A hog: it computes until `length` after the start, whatever CPU time it gets.
pub(super) fn program(script: &mut Script, length: Nanos, nice: i8) -> ProgramId {
    let deadline = When::after(script.zero, length);
    let kernel = script.kernel;
    script.b.program("hog", |p| {
        p.run(birth(kernel));
        if nice != 0 {
            p.nice(nice);
        }
        p.run_until(deadline, PIECE);
        p.run(REPORT);
    })
}
