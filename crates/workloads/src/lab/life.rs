//! `life`: processes whose threads come and go: some end early, more are born late, or a process of
//! many threads forks another or executes a new program.

use std::fmt;

use simsched_core::{Nanos, SemId, TaskId};

use super::costs::{
    Birth, PIECE, REAP, REPORT_MESSENGER, SLACK, before_fork, before_fork_of_threads, birth, us,
};
use super::exec;
use super::memory::{Code, Memory};
use super::script::{FIRST, Script, wait_any};
use crate::builder::{Body, ProgramId};
use crate::error::WorkloadError;
use crate::program::{Operand, Programs, When};

/// What happens to the threads, all of which compute without a pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Life {
    /// Of 5 threads, the first among them, two end at 600 ms and two at 1000; the first ends at 1600.
    Exit,
    /// The first thread waits; it creates two others at once, and two more every 250 ms until there are
    /// 12, which all end at 2000.
    Grow,
    /// The first thread creates 4 others and waits; at 800 ms it forks a child, which does the same.
    /// All 8 end at 2000.
    Fork,
    /// The first thread creates 4 others and waits; at 800 ms it executes a new program, with which they end, and
    /// creates 4 again, which end at 2000.
    Exec,
}

/// The number of threads of [`Life::Grow`] that are born later than the others.
const LATER: u32 = 10;
/// The time between two such births of two threads.
const GROWS: Nanos = Nanos::from_millis(250);
/// When [`Life::Fork`] forks, and [`Life::Exec`] executes a new program, behind the start.
pub(super) const FORKS: Nanos = Nanos::from_millis(800);
/// How many threads each process of [`Life::Fork`] and [`Life::Exec`] has beside its first.
pub(super) const FORKED: u32 = 4;

/// From the end of the sleep to the call of `fork`, beyond what the parent of all has there: the marker
/// `fork` is written 27 us behind the sched_switch (`life-fork`, 7.3.4 on `n2x8`, seed 1).
const FORK_MARKER: u64 = 27;

impl Life {
    pub(super) const ALL: [(&'static str, Life); 4] =
        [("exit", Life::Exit), ("grow", Life::Grow), ("fork", Life::Fork), ("exec", Life::Exec)];

    pub(super) fn count(self) -> u32 {
        match self {
            Life::Exit => 5,
            Life::Grow => 1 + 2 + LATER,
            Life::Fork => 2 * (1 + FORKED),
            Life::Exec => 1 + 2 * FORKED,
        }
    }

    /// Whether a task measures itself: a first thread that only waits does not.
    pub(super) fn reports(self, task: TaskId) -> bool {
        match self {
            Life::Exit => true,
            Life::Grow | Life::Exec => task != FIRST,
            Life::Fork => task != FIRST && task != Life::child(),
        }
    }

    /// The first thread of the forked child.
    fn child() -> TaskId {
        TaskId(FIRST.0 + 1 + FORKED)
    }

    pub(super) fn build(self, mut script: Script) -> Result<Programs, WorkloadError> {
        let kernel = script.kernel;
        script.parent(|p| {
            p.run(before_fork(Birth { kernel, is_second: false }));
            p.spawn(FIRST);
            wait_any(p, 1);
        });
        match self {
            Life::Exit => exit(&mut script),
            Life::Grow => grow(&mut script),
            Life::Fork => fork(&mut script),
            Life::Exec => exec::write(&mut script),
        }
        script.build()
    }
}

fn ms(ms: u64) -> Nanos {
    Nanos::from_millis(ms)
}

/// The threads behind a task.
pub(super) fn behind(TaskId(main): TaskId) -> Operand {
    Operand::from(TaskId(main + 1))
}

fn exit(script: &mut Script) {
    let kernel = script.kernel;
    let space = Memory { lock: script.b.sems(1), kernel };
    let (zero, others) = (script.zero, Life::Exit.count() - 1);
    let main = script.b.program("main", |p| {
        p.run(birth(kernel));
        p.repeat(others, |p, nth| space.creates(p, behind(FIRST).plus(nth)));
        p.run_until(When::after(zero, ms(1_600)), PIECE);
        p.run(REPORT_MESSENGER);
        joins(p, FIRST, others);
    });
    let proc = script.b.process("lab");
    script.b.thread("p0t00", proc, main, [0, 0]);
    let [early, late] = [600, 1_000].map(|end| hog(script, space, ms(end)));
    for (nth, program) in [early, early, late, late].into_iter().enumerate() {
        script.b.thread(&format!("p0t{:02}", nth + 1), proc, program, [0, 0]);
    }
}

fn grow(script: &mut Script) {
    let kernel = script.kernel;
    let space = Memory { lock: script.b.sems(1), kernel };
    let zero = script.zero;
    let first = behind(FIRST);
    let two = |p: &mut Body<'_>, from: u32| {
        p.repeat(2, |p, nth| space.creates(p, first.offset(from).plus(nth)));
    };
    let main = script.b.program("main", |p| {
        p.run(birth(kernel));
        two(p, 0);
        for nth in 1..=LATER / 2 {
            let late = Nanos(GROWS.get() * u64::from(nth) + SLACK.get());
            p.sleep_until(When::after(zero, late));
            two(p, 2 * nth);
        }
        joins(p, FIRST, 2 + LATER);
    });
    let proc = script.b.process("lab");
    script.b.thread("p0main", proc, main, [0, 0]);
    hogs(script, space, (proc, 0), 2 + LATER);
}

fn fork(script: &mut Script) {
    let kernel = script.kernel;
    let spaces = script.b.sems(2);
    let (zero, child) = (script.zero, Life::child());
    let forks = When::after(zero, Nanos(FORKS.get() + SLACK.get()));
    for (nth, main) in [FIRST, child].into_iter().enumerate() {
        let is_child = nth == 1;
        let space = Memory { lock: SemId(spaces.0 + u32::from(is_child)), kernel };
        let program = script.b.program("main", |p| {
            p.run(birth(kernel));
            p.repeat(FORKED, |p, nth| {
                let thread = behind(main).plus(nth);
                if is_child { space.creates_again(p, thread) } else { space.creates(p, thread) }
            });
            if !is_child {
                p.sleep_until(forks);
                p.run(us(FORK_MARKER));
                p.run(before_fork_of_threads());
                p.spawn(child);
            }
            joins(p, main, FORKED);
            if !is_child {
                p.join(child);
                p.run(REAP);
            }
        });
        let proc = script.b.process("lab");
        script.b.thread(&format!("p{nth}main"), proc, program, [0, 0]);
        hogs(script, space, (proc, nth), FORKED);
    }
}

/// Declares so many hogs of a process, which end at 2000 ms.
pub(super) fn hogs(
    script: &mut Script,
    space: Memory,
    (proc, process): (simsched_core::ProcId, usize),
    count: u32,
) {
    let program = hog(script, space, ms(2_000));
    for nth in 0..count {
        script.b.thread(&format!("p{process}t{nth:02}"), proc, program, [0, 0]);
    }
}

/// A thread that computes until so long behind the start.
fn hog(script: &mut Script, space: Memory, end: Nanos) -> ProgramId {
    let end = When::after(script.zero, end);
    script.b.program("hog", |p| {
        space.begins(p, Code::Known);
        p.run_until(end, PIECE);
        p.run(REPORT_MESSENGER);
    })
}

pub(super) fn joins(p: &mut Body<'_>, main: TaskId, count: u32) {
    p.repeat(count, |p, nth| p.join(behind(main).plus(nth)));
}

/// What happens, in a line.
impl fmt::Display for Life {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Life::Exit => "5 threads, of which 2 end at 600 ms, 2 at 1000, and the first at 1600",
            Life::Grow => "2 threads at once and 2 more every 250 ms, up to 12, until 2000 ms",
            Life::Fork => "4 threads, and from 800 ms on 4 of a forked process, until 2000 ms",
            Life::Exec => {
                "4 threads until 800 ms, and then 4 of a new image of the process, until 2000"
            }
        })
    }
}
