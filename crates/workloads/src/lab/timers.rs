//! `periodic` and `hogper`: tasks that run for a while and sleep until the next instant of a grid,
//! alone or against hogs.

use simsched_core::{MarkId, Nanos, TaskId};

use super::costs::{REPORT, birth_timer, work};
use super::hogs;
use super::script::{FIRST, SELF, Script, fork_all, wait_any};
use crate::builder::ProgramId;
use crate::error::WorkloadError;
use crate::program::{Programs, When};

/// `run`: behind a timer.
pub(super) const RUN: MarkId = MarkId(2);

/// The tasks and their grid. Turn `k` of task `i` begins at `first + i * stagger + k * period` behind
/// the start, as long as that is before `length`; a turn that is late begins at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Timers {
    /// Hogs that are forked before the others.
    pub(super) hogs: u32,
    /// Tasks with timers.
    pub(super) tasks: u32,
    /// The nice value of the hogs, and of the tasks with timers.
    pub(super) nice: [i8; 2],
    /// All stay on CPU 0.
    pub(super) pinned: bool,
    /// What a turn computes.
    pub(super) run: Nanos,
    pub(super) period: Nanos,
    pub(super) first: Nanos,
    pub(super) stagger: Nanos,
    pub(super) length: Nanos,
}

impl Timers {
    pub(super) fn build(&self, mut script: Script) -> Result<Programs, WorkloadError> {
        let kernel = script.kernel;
        let children = self.hogs + self.tasks;
        let run = script.b.mark("run");
        debug_assert!(run == RUN, "the mark has the id that it promises");
        let [cpu0, _] = script.masks;
        script.parent(|p| {
            if self.pinned {
                p.set_affinity(SELF, cpu0);
            }
            fork_all(p, kernel, (children, self.pinned), |_| {});
            wait_any(p, children);
        });
        let hog = hogs::program(&mut script, self.length, self.nice[0]);
        for nth in 0..self.hogs {
            self.declare(&mut script, &format!("hog{nth:02}"), hog, 0);
        }
        // Later ones of a staggered grid may have a turn less.
        let mut program: Option<(u32, ProgramId)> = None;
        for nth in 0..self.tasks {
            let turns = self.turns(nth);
            let known = program.filter(|(known, _)| *known == turns);
            let (_, id) = *program.insert(match known {
                Some(known) => known,
                None => (turns, self.periodic(&mut script, turns)),
            });
            self.declare(&mut script, &format!("per{nth:02}"), id, nth);
        }
        script.build()
    }

    fn declare(&self, script: &mut Script, name: &str, program: ProgramId, nth: u32) {
        if self.pinned {
            script.pinned(name, program, [nth, 0]);
        } else {
            script.child(name, program, [nth, 0]);
        }
    }

    fn periodic(&self, script: &mut Script, turns: u32) -> ProgramId {
        let grid = When::after(script.zero, self.first).plus_arg(0, self.stagger);
        let kernel = script.kernel;
        script.b.program("per", |p| {
            p.run(birth_timer(kernel));
            if self.nice[1] != 0 {
                p.nice(self.nice[1]);
            }
            p.repeat(turns, |p, turn| {
                p.sleep_until(grid.plus_turns(turn, self.period));
                p.mark(RUN);
                work(p, self.run);
            });
            p.run(REPORT);
        })
    }

    /// How many turns task `nth` has.
    fn turns(&self, nth: u32) -> u32 {
        let Nanos(left) = self.length.saturating_sub(self.begin(nth));
        u32::try_from(left.div_ceil(self.period.get())).unwrap_or(u32::MAX)
    }

    fn begin(&self, nth: u32) -> Nanos {
        Nanos(self.first.get() + u64::from(nth) * self.stagger.get())
    }

    pub(super) fn due(&self, task: TaskId, turn: u64) -> Option<Nanos> {
        let nth = task.0.checked_sub(FIRST.0 + self.hogs)?;
        let is_one = nth < self.tasks && turn < u64::from(self.turns(nth));
        is_one.then(|| Nanos(self.begin(nth).get() + turn * self.period.get()))
    }
}
