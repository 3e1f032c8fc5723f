//! `Builder`: a history, event by event.

use std::collections::BTreeMap;

use super::row::{Call, FIRST, LAST, MIDDLE, Row, State};
use super::tick::WOKEN;
use super::{Begin, Deed, Does, End, History, Sync, Wake, is_idle, is_player};
use crate::event::{Event, PrevState, ThreadIx, Threads, What};
use crate::reader::{Context, Renice, Told, Trace};

/// A history that is being told.
pub(super) struct Builder<'a> {
    threads: &'a Threads,
    begin: u64,
    end: u64,
    resolution: u64,
    rows: Vec<Row>,
    gaps: u64,
    /// Who is current on each CPU, as far as events have told.
    on: BTreeMap<u32, ThreadIx>,
    /// How long threads that were called for waited that got a CPU from its idle task, in ns.
    dispatches: Vec<u64>,
    /// How long threads waited that took the CPU from one that could go on, in ns.
    preempts: Vec<u64>,
    /// How long before the switch away from a sleeper it was called for, of those of which that was so, in ns.
    leaves: Vec<u64>,
    latencies: Vec<u64>,
}

impl<'a> Builder<'a> {
    pub(super) fn new(trace: &'a Trace) -> Builder<'a> {
        let time = |told: &Told| told.event.time;
        Builder {
            threads: &trace.threads,
            begin: trace.told.first().map_or(0, time),
            end: trace.told.last().map_or(0, time),
            resolution: trace.resolution,
            rows: trace.threads.all.iter().map(|_| Row::default()).collect(),
            gaps: 0,
            on: BTreeMap::new(),
            dispatches: Vec::new(),
            preempts: Vec::new(),
            leaves: Vec::new(),
            latencies: Vec::new(),
        }
    }

    fn row(&mut self, ix: ThreadIx) -> &mut Row {
        &mut self.rows[ix.0 as usize]
    }

    pub(super) fn event(&mut self, told: &Told) {
        let Event { time, cpu, current, what } = told.event;
        let first = !self.on.contains_key(&cpu) && is_player(self.threads, current);
        if first && self.row(current).state == State::Unknown {
            let begin = self.begin;
            let row = self.row(current);
            row.life.begin = Begin::Running(cpu);
            row.gets(begin, cpu);
        }
        self.current(current, time, cpu);
        match what {
            What::Switch { prev, prev_state, next } => {
                self.on.insert(cpu, next);
                self.out(prev, time, cpu, prev_state);
                let from_idle = is_idle(self.threads.get(prev));
                let latency = self.gets(next, time, cpu);
                if from_idle && is_player(self.threads, next) {
                    let resolution = self.resolution;
                    self.row(next).dispatched(time, resolution);
                    self.dispatches.extend(latency);
                } else if matches!(prev_state, PrevState::Running { .. }) {
                    self.preempts.extend(latency.filter(|latency| *latency <= WOKEN));
                }
                self.row(next).born = None;
            }
            What::Waking { wakee, target_cpu, .. } => self.waking(told, wakee, target_cpu),
            What::Wakeup { wakee, target_cpu } => self.wakeup(told, wakee, target_cpu),
            What::WakeupNew { wakee, target_cpu } => self.wakeup_new(told, wakee, target_cpu),
            What::Migrate { task, .. } => self.row(task).life.seen.migrations += 1,
            What::Fork { parent, child } => {
                let by = Some((parent, self.row(parent).run));
                let row = self.row(child);
                if row.state == State::Unknown {
                    row.state = State::New(Call { time, by, sync: Sync::No });
                }
            }
            What::Exit { .. } => {}
        }
    }

    pub(super) fn renice(&mut self, renice: &Renice) {
        let row = self.row(renice.thread);
        let place = match row.state {
            State::Running { .. } => (row.run, MIDDLE, renice.time),
            _ => (row.run + 1, FIRST, renice.time),
        };
        row.deeds.push((place, Deed { time: renice.time, does: Does::Prio(renice.prio) }));
    }

    /// `current` is what `cpu` runs. Where that is another thread than the events before had said, the
    /// switch to it is missing: who was there has left by now, to sleep for all that is known.
    fn current(&mut self, current: ThreadIx, time: u64, cpu: u32) {
        if self.threads.get(current).pid < 0 {
            return;
        }
        let Some(last) = self.on.insert(cpu, current) else { return };
        if last == current {
            return;
        }
        let left = self.row(last).runs_on(cpu);
        if left {
            self.row(last).leaves(time, State::Asleep(time), Does::Sleep(None));
        }
        let came = is_player(self.threads, current) && !self.row(current).runs_on(cpu);
        if came {
            self.gets(current, time, cpu);
        }
        self.gaps += u64::from(left || came);
    }

    /// `prev` leaves its CPU.
    fn out(&mut self, prev: ThreadIx, time: u64, cpu: u32, state: PrevState) {
        if !is_player(self.threads, prev) {
            return;
        }
        if !self.row(prev).runs_on(cpu) {
            // How it came here was not told.
            self.gaps += 1;
            self.gets(prev, time, cpu);
        }
        let (state, does) = match state {
            PrevState::Running { .. } => (State::Waiting, Does::Out),
            PrevState::Zombie | PrevState::Dead => (State::Ended, Does::Exits),
            _ => (State::Asleep(time), Does::Sleep(None)),
        };
        let row = self.row(prev);
        row.leaves(time, state, does);
        if !matches!(state, State::Asleep(_)) {
            row.called = None;
        }
    }

    /// `next` gets its CPU; how long ago it was called for, if it was.
    fn gets(&mut self, next: ThreadIx, time: u64, cpu: u32) -> Option<u64> {
        if !is_player(self.threads, next) {
            return None;
        }
        match self.row(next).state {
            State::Unknown => self.row(next).life.begin = Begin::Waiting(cpu),
            State::Asleep(_) => {
                // Whoever woke it called before it slept, or is not told of.
                let call = self.row(next).called.unwrap_or(Call { time, by: None, sync: Sync::No });
                self.wakes(next, call);
            }
            State::New(fork) => self.born(next, fork),
            State::Running { since, .. } => {
                self.gaps += 1;
                let row = self.row(next);
                row.life.seen.runtime += time.saturating_sub(since);
                row.tell(LAST, time, Does::Out);
            }
            State::Ended => self.gaps += 1,
            State::Waiting => {}
        }
        let row = self.row(next);
        let latency = row.woken.take().map(|woken| time.saturating_sub(woken));
        if let Some(latency) = latency {
            let seen = &mut row.life.seen;
            seen.wakeups += 1;
            seen.latency_sum += latency;
            seen.latency_max = seen.latency_max.max(latency);
        }
        row.gets(time, cpu);
        self.latencies.extend(latency);
        latency
    }

    /// Who calls for `wakee`: the current thread, unless it is no thread that does.
    fn caller(&self, told: &Told, wakee: ThreadIx) -> Call {
        let Event { time, current, .. } = told.event;
        let is_own = told.context != Context::Interrupt && current != wakee;
        let by = (is_own && is_player(self.threads, current))
            .then(|| (current, self.rows[current.0 as usize].run));
        let is_sync = matches!(told.event.what, What::Waking { sync: true, .. });
        let sync = if is_sync { Sync::Yes } else { Sync::No };
        Call { time, by, sync }
    }

    fn waking(&mut self, told: &Told, wakee: ThreadIx, target: u32) {
        if !is_player(self.threads, wakee) {
            return;
        }
        let call = self.caller(told, wakee);
        let begin = self.begin;
        let row = self.row(wakee);
        match row.state {
            State::Unknown => {
                row.asleep_at_begin(begin, target);
                row.called = Some(call);
            }
            State::Asleep(_) | State::Running { .. } => row.called = Some(call),
            _ => {}
        }
    }

    /// The wakee is queued: so ends its sleep, whoever has called for it.
    fn wakeup(&mut self, told: &Told, wakee: ThreadIx, target: u32) {
        if !is_player(self.threads, wakee) {
            return;
        }
        let caller = self.caller(told, wakee);
        let begin = self.begin;
        if self.row(wakee).state == State::Unknown {
            self.row(wakee).asleep_at_begin(begin, target);
        }
        let row = self.row(wakee);
        match row.state {
            State::Asleep(_) => {
                let call = row.called.unwrap_or(caller);
                self.wakes(wakee, call);
            }
            // It was still awake, or only about to sleep: nothing has come of the call.
            State::Running { .. } => row.called = None,
            _ => {}
        }
    }

    fn wakeup_new(&mut self, told: &Told, wakee: ThreadIx, target: u32) {
        if !is_player(self.threads, wakee) {
            return;
        }
        let caller = self.caller(told, wakee);
        let begin = self.begin;
        match self.row(wakee).state {
            State::New(fork) => self.born(wakee, Call { time: told.event.time, ..fork }),
            State::Unknown if caller.by.is_some() => self.born(wakee, caller),
            State::Unknown => {
                self.row(wakee).asleep_at_begin(begin, target);
                self.wakes(wakee, caller);
            }
            _ => {}
        }
    }

    /// A new thread is awake.
    fn born(&mut self, child: ThreadIx, fork: Call) {
        let row = self.row(child);
        row.state = State::Waiting;
        row.life.begin = Begin::Forked(None);
        row.born = Some(fork.time);
        let Some((parent, run)) = fork.by else { return };
        let deed = Deed { time: fork.time, does: Does::Forks(child) };
        self.row(parent).deeds.push(((run, MIDDLE, fork.time), deed));
    }

    /// The sleep of `wakee` is over, by this call.
    fn wakes(&mut self, wakee: ThreadIx, call: Call) {
        let resolution = self.resolution;
        let row = self.row(wakee);
        let State::Asleep(since) = row.state else { return };
        row.state = State::Waiting;
        row.called = None;
        row.woken = Some(call.time);
        let by = call.by.map(|(by, _)| by);
        let early = since.saturating_sub(call.time);
        let is_early = early > 0 && early <= WOKEN;
        let wake = Wake { time: call.time.max(since), by, dispatch: None, early };
        if let Some(Deed { does: Does::Sleep(woken), .. }) = row.last_sleep() {
            *woken = Some(wake);
        }
        let leaves = &mut self.leaves;
        leaves.extend(is_early.then_some(early));
        let row = self.row(wakee);
        if let Some((by, run)) = call.by {
            let nth = row.waits;
            row.waits += 1;
            // Whoever calls in the same instant calls behind it.
            let time = if early > 0 { call.time } else { call.time.max(since + resolution) };
            let deed = Deed { time, does: Does::Wakes(wakee, nth, call.sync) };
            self.row(by).deeds.push(((run, MIDDLE, time), deed));
        }
    }

    pub(super) fn finish(mut self) -> History {
        let (begin, end) = (self.begin, self.end);
        for nth in 0..self.rows.len() {
            // Called for, and not yet back on a CPU.
            if let (State::Asleep(_), Some(call)) = (self.rows[nth].state, self.rows[nth].called) {
                self.wakes(ThreadIx(u32::try_from(nth).unwrap_or(u32::MAX)), call);
            }
        }
        for row in &mut self.rows {
            match row.state {
                State::Running { since, .. } => {
                    row.life.seen.runtime += end.saturating_sub(since);
                    row.tell(LAST, end, Does::Out);
                }
                State::Asleep(_) => row.life.end = End::Asleep,
                State::Ended => row.life.end = End::Exited,
                _ => {}
            }
            row.deeds.sort_by_key(|(place, _)| *place);
            row.life.deeds = row.deeds.iter().map(|(_, deed)| *deed).collect();
        }
        let lives = self.rows.into_iter().map(|row| row.life).collect();
        let dispatch = median(self.dispatches).unwrap_or(0);
        let preempt = median(self.preempts).unwrap_or(dispatch);
        // Calls come at any instant of the way out.
        let leave = 2 * median(self.leaves).unwrap_or(0);
        History {
            begin,
            end,
            lives,
            dispatch,
            preempt,
            leave,
            latencies: self.latencies,
            gaps: self.gaps,
        }
    }
}

fn median(mut all: Vec<u64>) -> Option<u64> {
    all.sort_unstable();
    all.get(all.len() / 2).copied()
}
