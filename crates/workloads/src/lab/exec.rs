//! `life-exec`: a process of several threads executes a new program, which creates as many again.
//!
//! All times were read from the three recordings of 7.3.4 (`n2x8`, `s2x8`, `s2d2`, seed 1), from sched_switch to
//! sched_process_exit, sched_process_exec or sched_process_fork, less the prices of what the simulated tasks do in
//! between.

use simsched_core::{FutexId, Nanos, SemId};

use super::costs::{PIECE, SLACK, birth, table, us};
use super::life::{FORKED, FORKS, behind, hogs, joins};
use super::memory::{Code, Memory};
use super::script::{FIRST, Script};
use crate::builder::ProgramId;
use crate::dist::Dist;
use crate::program::When;

/// From the end of the sleep to `sched_exec()`, beyond the call itself: the marker `exec` is written behind 27, 44 and
/// 45 us, and the stopper is woken 67, 79 and 81 behind that.
fn to_exec() -> Dist {
    table([(91, 1), (120, 1), (123, 1)])
}

/// From the arrival on the CPU that `sched_exec()` has chosen to the instant at which the other threads know that they
/// are killed: the first of them is at its sched_process_exit after 15 us, and after 19 and 20 where the stopper has
/// taken the task once more, with 9 us of its exit in that (12 ends, all within 3 us on each machine).
fn to_kill() -> Dist {
    table([(3, 1), (8, 2)])
}

/// How long a thread computes at most before it sees that it is killed: an interrupt would say so at once.
const NOTICE: Dist = us(1);

/// From the end of the last other thread to the first creation in the new image, which loads the program and gives back
/// the old address space before: 232, 235 and 230 us to sched_process_exec, and 334, 337 and 375 from there to
/// sched_process_fork, less 59 for the sched_switch and what the creation takes itself.
fn to_create() -> Dist {
    table([(507, 1), (513, 1), (546, 1)])
}

pub(super) fn write(script: &mut Script) {
    let kernel = script.kernel;
    let (spaces, killed) = (script.b.sems(2), script.b.futexes(1));
    let procs = [0; 2].map(|_| script.b.process("lab"));
    let [old, new] = [0, 1].map(|nth| Memory { lock: SemId(spaces.0 + nth), kernel });
    let execs = When::after(script.zero, Nanos(FORKS.get() + SLACK.get()));
    let main = script.b.program("main", |p| {
        p.run(birth(kernel));
        p.repeat(FORKED, |p, nth| old.creates(p, behind(FIRST).plus(nth)));
        p.sleep_until(execs);
        p.run(to_exec());
        p.exec();
        p.run(to_kill());
        p.futex_set(killed, 1);
        joins(p, FIRST, FORKED);
        p.exec_mmap(procs[1]);
        p.run(to_create());
        let first = behind(FIRST).offset(FORKED);
        p.repeat(FORKED, |p, nth| new.creates(p, first.plus(nth)));
        p.repeat(FORKED, |p, nth| p.join(first.plus(nth)));
    });
    script.b.thread("p0main", procs[0], main, [0, 0]);
    let victim = victim(script, old, killed);
    for nth in 0..FORKED {
        script.b.thread(&format!("p0t{nth:02}"), procs[0], victim, [0, 0]);
    }
    hogs(script, new, (procs[1], 1), FORKED);
}

/// A thread that computes until it is killed (`SIGKILL` of `de_thread()`): it looks for that only from the instant on
/// from which it can come.
fn victim(script: &mut Script, space: Memory, killed: FutexId) -> ProgramId {
    let from = When::after(script.zero, FORKS);
    script.b.program("victim", |p| {
        space.begins(p, Code::Known);
        p.run_until(from, PIECE);
        p.forever(|p| {
            p.run(NOTICE);
            p.leave_unless(killed, 0);
        });
    })
}
