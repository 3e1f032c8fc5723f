//! `Players`: the threads of a recording at work.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use simsched_core::{FutexId, Nanos, Notes, Op, Outcome, Setup, SimTime, TaskId, Workload};

use super::{Act, DONE, END, End, Shared};

/// When each task came to its end, for whoever counts what it did before: filled in by a run.
#[derive(Clone, Debug)]
pub struct Ends(Arc<[AtomicU64]>);

impl Ends {
    /// None of so many tasks is at its end.
    #[must_use]
    pub fn new(tasks: usize) -> Ends {
        Ends((0..tasks).map(|_| AtomicU64::new(u64::MAX)).collect())
    }

    /// When this task came to its end, in ns; [`u64::MAX`] before.
    #[must_use]
    pub fn of(&self, task: usize) -> u64 {
        self.0.get(task).map_or(0, |at| at.load(Ordering::Relaxed))
    }
}

/// The threads of a recording, each at its place in its acts.
#[derive(Clone, Debug)]
pub struct Players {
    lowered: Shared,
    /// By task.
    rows: Vec<Row>,
    /// How many have not come to the end of the recording.
    left: usize,
    /// By wakeup: who has made it, if it has come.
    come: Vec<Option<Caller>>,
    counts: Counts,
    ends: Option<Ends>,
}

/// How far a task is.
#[derive(Clone, Copy, Debug)]
struct Row {
    /// Its next act.
    at: u32,
    then: Then,
    /// The wakeup for which it waits.
    waits: Option<u32>,
    /// How long an idle CPU takes to the next switch to it, in ns; 0 if that is not known.
    dispatch: u32,
    /// How long it goes on to run when it has begun its next wait, in ns; 0 if that is not known.
    leave: u32,
    /// How long before the end of that time its wait was over in the recording, in ns; 0 if it was later.
    early: u32,
    /// Whether its next wakeup of another one is synchronous.
    sync: bool,
}

/// What of an act is left to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Then {
    /// Nothing: the next act comes.
    #[default]
    Next,
    /// It has waited, and was woken.
    Awake,
    /// The word says that this one is woken: now it is.
    Wake(TaskId),
    /// It is awake at the end of the recording, and has said so.
    Done,
    /// It has said that all are at the end,
    Last,
    /// and the word says so.
    Release,
    /// All are at the end.
    Exit,
}

/// Who has made a wakeup.
#[derive(Clone, Copy, Debug)]
struct Caller {
    task: TaskId,
    sync: bool,
}

/// What did not go as in the recording.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    /// Waits whose wakeup had come before they began.
    passed: u64,
    /// Timers that had expired before they were set.
    late: u64,
}

impl Players {
    /// All at their begin.
    #[must_use]
    pub fn new(lowered: Shared, ends: Option<Ends>) -> Players {
        let row = |player: &super::Player| Row {
            at: player.first,
            then: Then::Next,
            waits: None,
            dispatch: player.dispatch,
            leave: 0,
            early: 0,
            sync: false,
        };
        let rows: Vec<Row> = lowered.players.iter().map(row).collect();
        let come = vec![None; lowered.wakeups as usize];
        Players { left: rows.len(), rows, come, lowered, counts: Counts::default(), ends }
    }

    /// The word of `task`: 1 from a wakeup for which it waits until it is awake.
    fn word(task: TaskId) -> FutexId {
        FutexId(task.0)
    }

    /// The word on which all wait for the end.
    fn last_word(&self) -> FutexId {
        FutexId::new(self.rows.len())
    }

    fn act(&mut self, task: TaskId, now: SimTime, act: Act) -> Op {
        match act {
            Act::Run(ns) => Op::Run(Nanos(ns)),
            Act::RunUntil(at) => Op::Run(SimTime(at).since(now)),
            // They stand before a sleep.
            Act::Dispatch(_) | Act::Leave(_) | Act::Early(_) => Op::Run(Nanos::ZERO),
            Act::Wait(wakeup) => {
                if let Some(Caller { task: from, sync }) = self.come[wakeup as usize] {
                    // Who slept in the recording sleeps here, too, and is woken from where its waker is.
                    self.counts.passed += 1;
                    let Row { leave, early, .. } = self.rows[task.idx()];
                    let after = Nanos(u64::from(leave - early.min(leave)));
                    return Op::AwaitCall { from, after, sync };
                }
                let row = &mut self.rows[task.idx()];
                (row.then, row.waits) = (Then::Awake, Some(wakeup));
                Op::FutexWait { futex: Players::word(task), value: 0 }
            }
            Act::Sleep(ns) => Op::Sleep(Nanos(ns)),
            Act::SleepUntil(at) => {
                self.counts.late += u64::from(SimTime(at) <= now && now > SimTime::ZERO);
                Op::SleepUntil(SimTime(at))
            }
            Act::Wake(wakee, wakeup) | Act::WakeSync(wakee, wakeup) => {
                let sync = matches!(act, Act::WakeSync(..));
                self.rows[task.idx()].sync = sync;
                self.come[wakeup as usize] = Some(Caller { task, sync });
                if self.rows[wakee.idx()].waits != Some(wakeup) {
                    return Op::Run(Nanos::ZERO);
                }
                self.rows[task.idx()].then = Then::Wake(wakee);
                Op::FutexSet { futex: Players::word(wakee), value: 1 }
            }
            Act::Spawn(child) => Op::Spawn(child),
            Act::Keep(task, mask) => Op::SetAffinity { task, mask },
            Act::Nice(nice) => Op::SetNice(nice),
        }
    }

    /// The end of the recording, as far as this one is in it.
    fn end(&mut self, task: TaskId, now: SimTime) -> Op {
        if let Some(Ends(ends)) = &self.ends {
            ends[task.idx()].fetch_min(now.get(), Ordering::Relaxed);
        }
        let ends = self.lowered.players[task.idx()].ends;
        let row = &mut self.rows[task.idx()];
        if row.then == Then::Next && ends == End::Awake {
            row.then = Then::Done;
            return Op::Mark(DONE);
        }
        self.left -= 1;
        if self.left == 0 {
            row.then = Then::Last;
            return Op::Mark(END);
        }
        if ends == End::Exited {
            return Op::Exit;
        }
        row.then = Then::Exit;
        Op::FutexWait { futex: self.last_word(), value: 0 }
    }
}

impl Workload for Players {
    fn setup(&self) -> Setup {
        self.lowered.setup.clone()
    }

    fn next_op(&mut self, task: TaskId, now: SimTime, _: Outcome) -> Op {
        let row = &mut self.rows[task.idx()];
        match row.then {
            Then::Next => {}
            Then::Awake => {
                (row.then, row.waits) = (Then::Next, None);
                return Op::FutexSet { futex: Players::word(task), value: 0 };
            }
            Then::Wake(wakee) => {
                row.then = Then::Next;
                let (futex, sync) = (Players::word(wakee), row.sync);
                return Op::FutexWake { futex, count: 1, sync };
            }
            Then::Done => return self.end(task, now),
            Then::Last => {
                row.then = Then::Release;
                return Op::FutexSet { futex: self.last_word(), value: 1 };
            }
            Then::Release => {
                row.then = Then::Exit;
                return Op::FutexWake { futex: self.last_word(), count: u32::MAX, sync: false };
            }
            Then::Exit => return Op::Exit,
        }
        // It was called for before it had left, so it has not.
        if row.leave > 0 {
            return Op::Run(Nanos(std::mem::take(&mut row.leave).into()));
        }
        if row.at == self.lowered.players[task.idx()].end {
            return self.end(task, now);
        }
        let mut act = self.lowered.acts[row.at as usize];
        row.at += 1;
        (row.leave, row.early) = (0, 0);
        while let Act::Dispatch(ns) | Act::Leave(ns) | Act::Early(ns) = act {
            let time = match act {
                Act::Leave(_) => &mut row.leave,
                Act::Early(_) => &mut row.early,
                _ => &mut row.dispatch,
            };
            *time = ns;
            act = self.lowered.acts[row.at as usize];
            row.at += 1;
        }
        self.act(task, now, act)
    }

    fn dispatch(&self, task: TaskId) -> Option<Nanos> {
        let ns = self.rows[task.idx()].dispatch;
        (ns > 0).then_some(Nanos(ns.into()))
    }

    fn leave(&mut self, task: TaskId) -> Option<Nanos> {
        let ns = std::mem::take(&mut self.rows[task.idx()].leave);
        (ns > 0).then_some(Nanos(ns.into()))
    }

    fn notes(&self) -> Notes {
        let Counts { passed, late } = self.counts;
        let values = vec![("waits_passed", passed), ("timers_late", late)];
        Notes { values, ..Notes::default() }
    }
}
