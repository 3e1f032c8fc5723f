//! `th`, `pr`, `mix` and `sl`: processes of several threads that compute until a common deadline, or run
//! for a while and sleep until the next instant of a grid, free or restricted to LLCs at first.

use std::fmt;

use simsched_core::{MarkId, MaskId, Nanos, SemId, TaskId};
use simsched_topology::CpuSet;

use super::costs::{Birth, PIECE, REPORT_MESSENGER, before_fork, birth, birth_timer, work};
use super::memory::{Code, Memory, heap_pieces};
use super::places::{Place, Places, RELEASE_TIMER, pins, releases};
use super::script::{FIRST, Script, wait_any};
use super::{RELEASE, timers};
use crate::builder::{Body, ProgramId};
use crate::error::WorkloadError;
use crate::program::{Operand, Programs, When};

/// When the first turn of the first thread begins, behind the start.
const FIRST_TURN: Nanos = Nanos::from_millis(20);
/// How far the first turns of two threads are apart.
const STAGGER: Nanos = Nanos::from_micros(137);

/// The processes. All are forked back to back by the parent; the first thread of each creates the
/// others back to back, then works as they do, and joins them at the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Procs {
    pub(super) procs: Vec<Proc>,
    /// What each thread does; none if it computes without a pause.
    pub(super) turns: Option<Turns>,
    /// The deadline, behind the start.
    pub(super) length: Nanos,
}

/// One of the processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Proc {
    /// How many threads it has, with its first.
    pub(super) threads: u32,
    /// Where they restrict themselves.
    pub(super) place: Place,
}

/// Turns of a thread: turn `k` of thread `i` of its process begins at 20 ms + `i` * 137 us + `k` *
/// (`run` + `sleep`) behind the start, as long as that is before the deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Turns {
    /// What a turn computes.
    pub(super) run: Nanos,
    /// The rest of a period.
    pub(super) sleep: Nanos,
}

impl Turns {
    fn period(self) -> Nanos {
        Nanos(self.run.get() + self.sleep.get())
    }
}

/// A thread of a process that is being written.
#[derive(Clone, Copy, Debug)]
struct Thread {
    /// The first task of its process.
    main: u32,
    /// Its number within the process.
    i: u32,
    /// How many threads the process has.
    threads: u32,
    /// Where it restricts itself, and whether the first thread does so before it creates the others.
    mask: Option<MaskId>,
    is_inherited: bool,
}

impl Procs {
    pub(super) fn count(&self) -> u32 {
        self.procs.iter().map(|proc| proc.threads).sum()
    }

    /// Whether the parent lets threads go.
    fn has_release(&self) -> bool {
        self.procs.iter().any(|proc| proc.place.is_released())
    }

    /// `run`, behind a timer. [`RELEASE`] has the id that it has elsewhere.
    pub(super) fn run_mark(&self) -> MarkId {
        if self.has_release() { MarkId(RELEASE.0 + 1) } else { timers::RUN }
    }

    /// The processes, each with its first task.
    fn mains(&self) -> impl Iterator<Item = (u32, Proc)> + '_ {
        let mut next = FIRST.0;
        self.procs.iter().map(move |proc| {
            let main = next;
            next += proc.threads;
            (main, *proc)
        })
    }

    pub(super) fn build(
        &self,
        mut script: Script,
        llcs: &[CpuSet],
    ) -> Result<Programs, WorkloadError> {
        if self.has_release() {
            let release = script.b.mark("release");
            debug_assert!(release == RELEASE, "the mark has the id that it promises");
        }
        if self.turns.is_some() {
            let run = script.b.mark("run");
            debug_assert!(run == self.run_mark(), "the mark has the id that it promises");
        }
        let processes = u32::try_from(self.procs.len()).expect("a name has set a limit");
        let spaces = script.b.sems(processes);
        let places = Places::declare(&mut script, llcs, self.procs.iter().map(|proc| proc.place));
        self.parent(&mut script, processes);
        for (nth, (main, Proc { threads, place })) in (0..processes).zip(self.mains()) {
            let space = Memory { lock: SemId(spaces.0 + nth), kernel: script.kernel };
            let proc = script.b.process("lab");
            for i in 0..threads {
                let (mask, is_inherited) = (places.of(place, i), place.is_inherited());
                let thread = Thread { main, i, threads, mask, is_inherited };
                let program = self.program(&mut script, space, thread);
                let task = script.b.thread(&format!("p{nth}t{i:02}"), proc, program, [0, 0]);
                if let Some(mask) = mask.filter(|_| is_inherited && i > 0) {
                    script.b.allow(task, mask);
                }
            }
        }
        script.build()
    }

    /// Forks all, lets go who may go, and waits for all ends.
    fn parent(&self, script: &mut Script, processes: u32) {
        let (kernel, [_, all]) = (script.kernel, script.masks);
        let release = When::after(script.zero, RELEASE_TIMER);
        script.parent(|p| {
            for (nth, (main, _)) in self.mains().enumerate() {
                p.run(before_fork(Birth { kernel, is_second: nth == 1 }));
                p.spawn(TaskId(main));
            }
            if self.has_release() {
                let released = self.mains().filter(|(_, proc)| proc.place.is_released());
                let threads = released
                    .map(|(main, Proc { threads, .. })| (Operand::from(TaskId(main)), threads));
                releases(p, (release, all), threads);
            }
            wait_any(p, processes);
        });
    }

    fn program(&self, script: &mut Script, space: Memory, thread: Thread) -> ProgramId {
        let Thread { main, i, threads, mask, is_inherited } = thread;
        let zero = script.zero;
        let kernel = script.kernel;
        let others = threads - 1;
        let own = Operand::from(TaskId(main + i));
        let first = Operand::from(TaskId(main + 1));
        script.b.program("thr", |p| {
            if i == 0 {
                p.run(if self.turns.is_some() { birth_timer(kernel) } else { birth(kernel) });
                if let Some(mask) = mask.filter(|_| is_inherited) {
                    p.set_affinity(own, mask);
                }
                if others > 0 {
                    p.repeat(others, |p, nth| space.creates(p, first.plus(nth)));
                }
            } else {
                let is_fresh = i == 1 && self.turns.is_some();
                space.begins(p, if is_fresh { Code::Fresh } else { Code::Known });
            }
            if let Some(mask) = mask {
                pins(p, own, mask);
            }
            if self.turns.is_some() && i > 0 {
                space.gets_heap(p, heap_pieces(i - 1));
            }
            match self.turns {
                None => p.run_until(When::after(zero, self.length), PIECE),
                Some(turns) => self.takes_turns(p, turns, When::after(zero, self.begin(i)), i),
            }
            p.run(REPORT_MESSENGER);
            if i == 0 && others > 0 {
                p.repeat(others, |p, nth| p.join(first.plus(nth)));
            }
        })
    }

    fn takes_turns(&self, p: &mut Body<'_>, turns: Turns, grid: When, i: u32) {
        let period = turns.period();
        let count = self.nr_turns(turns, i);
        if count > 0 {
            p.repeat(count, |p, turn| {
                p.sleep_until(grid.plus_turns(turn, period));
                p.mark(self.run_mark());
                work(p, turns.run);
            });
        }
    }

    fn begin(&self, i: u32) -> Nanos {
        Nanos(FIRST_TURN.get() + u64::from(i) * STAGGER.get())
    }

    fn nr_turns(&self, turns: Turns, i: u32) -> u32 {
        let Nanos(left) = self.length.saturating_sub(self.begin(i));
        u32::try_from(left.div_ceil(turns.period().get())).unwrap_or(u32::MAX)
    }

    /// How long behind the start this turn of a task is due; `None` for a task without such a turn.
    pub(super) fn due(&self, task: TaskId, turn: u64) -> Option<Nanos> {
        let turns = self.turns?;
        let own = self.mains().find(|(main, proc)| (*main..main + proc.threads).contains(&task.0));
        let (main, _) = own?;
        let i = task.0 - main;
        let due = Nanos(self.begin(i).get() + turn * turns.period().get());
        (turn < u64::from(self.nr_turns(turns, i))).then_some(due)
    }
}

/// What they do, in a line.
impl fmt::Display for Procs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "processes: {}, threads: [", self.procs.len())?;
        for (nth, Proc { threads, place }) in self.procs.iter().enumerate() {
            let comma = if nth == 0 { "" } else { ", " };
            write!(f, "{comma}{threads}{}", place.text())?;
        }
        f.write_str("], ")?;
        if let Some(Turns { run, sleep }) = self.turns {
            let us = |span: Nanos| span.get() / 1_000;
            write!(f, "{} us of work, {} us of sleep, ", us(run), us(sleep))?;
        }
        write!(f, "for {} ms", self.length.get() / 1_000_000)
    }
}
