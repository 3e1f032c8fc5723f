//! `Row`: what is known of a thread while a history is being told.

use super::{Begin, Deed, Does, Life, Sync};
use crate::event::ThreadIx;

/// What is known of a thread while events come.
#[derive(Default)]
pub(super) struct Row {
    pub(super) life: Life,
    pub(super) state: State,
    /// How often it has got a CPU; its deeds are told apart by it.
    pub(super) run: u32,
    /// The deeds in the order in which they were told, with the place of each within its run.
    pub(super) deeds: Vec<(Place, Deed)>,
    /// The call for it that was told last, while it ran or slept.
    pub(super) called: Option<Call>,
    /// Since when it is awake and waits, if that began with a wakeup: for its latency.
    pub(super) woken: Option<u64>,
    /// How many of its sleeps threads have ended.
    pub(super) waits: u32,
    /// When it was born, if it has not run yet.
    pub(super) born: Option<u64>,
}

/// Where a deed stands: the run of the thread, and what is first, in the middle and last in it.
pub(super) type Place = (u32, u8, u64);

pub(super) const FIRST: u8 = 0;
pub(super) const MIDDLE: u8 = 1;
pub(super) const LAST: u8 = 2;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum State {
    /// No event has told.
    #[default]
    Unknown,
    /// Its parent has told of it, and it is not awake yet; the fork.
    New(Call),
    Running {
        since: u64,
        cpu: u32,
    },
    Waiting,
    /// Since when.
    Asleep(u64),
    Ended,
}

/// A call for a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Call {
    /// When.
    pub(super) time: u64,
    /// By whom, and in which of its runs; none is no thread.
    pub(super) by: Option<(ThreadIx, u32)>,
    /// Whether the caller says that it is about to sleep.
    pub(super) sync: Sync,
}

impl Row {
    pub(super) fn tell(&mut self, part: u8, time: u64, does: Does) {
        self.deeds.push(((self.run, part, time), Deed { time, does }));
    }

    pub(super) fn runs_on(&self, cpu: u32) -> bool {
        matches!(self.state, State::Running { cpu: at, .. } if at == cpu)
    }

    /// Its run ends.
    pub(super) fn leaves(&mut self, time: u64, state: State, does: Does) {
        let State::Running { since, .. } = self.state else { return };
        self.life.seen.runtime += time.saturating_sub(since);
        self.life.seen.switches += 1;
        self.state = state;
        self.tell(LAST, time, does);
    }

    pub(super) fn gets(&mut self, time: u64, cpu: u32) {
        self.run += 1;
        self.life.cpus.insert(cpu);
        self.state = State::Running { since: time, cpu };
        self.tell(FIRST, time, Does::In(cpu));
    }

    /// It has slept since before the window began.
    pub(super) fn asleep_at_begin(&mut self, begin: u64, cpu: u32) {
        self.life.begin = Begin::Asleep(cpu);
        self.state = State::Asleep(begin);
        self.tell(LAST, begin, Does::Sleep(None));
    }

    /// It has got a CPU from the idle task at `time`: how long behind what made it awake.
    pub(super) fn dispatched(&mut self, time: u64, resolution: u64) {
        let born = self.born.take();
        if let (Begin::Forked(first), Some(born)) = (&mut self.life.begin, born) {
            *first = Some(time.saturating_sub(born));
        } else if let Some(Deed { time: since, does: Does::Sleep(Some(wake)) }) = self.last_sleep()
        {
            let made =
                if wake.by.is_some() { wake.time.max(*since + resolution) } else { wake.time };
            wake.dispatch = Some(time.saturating_sub(made));
        }
    }

    /// The sleep that has begun last.
    pub(super) fn last_sleep(&mut self) -> Option<&mut Deed> {
        let deeds = self.deeds.iter_mut().rev().map(|(_, deed)| deed);
        deeds.into_iter().find(|deed| matches!(deed.does, Does::Sleep(_)))
    }
}
