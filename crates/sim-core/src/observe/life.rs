//! `Life`: which tracepoints of a task may follow which.

use crate::names::{Cause, Reason};

/// Where a task stands, as its tracepoints tell it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// Not started.
    New,
    /// Started, and not yet on a runqueue.
    Forked,
    /// On a runqueue, waiting.
    Queued,
    /// The current task of a CPU.
    Current,
    /// Asleep.
    Asleep,
    /// Ended.
    Dead,
}

/// The state machine of one task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Life {
    /// Where it stands.
    pub(super) place: Place,
    /// A wakeup has begun and is not over.
    waking: bool,
    /// It has ended and is still current.
    exiting: bool,
}

/// The part of a tracepoint that concerns one task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    Fork,
    Waking,
    Wakeup(Reason),
    SwitchIn,
    SwitchOut { runnable: bool },
    Migrate(Cause),
    Executes,
    Exit,
}

impl Life {
    /// A task before it starts.
    pub(super) const NEW: Life = Life { place: Place::New, waking: false, exiting: false };

    /// A task of the machine, which is older than the run.
    pub(super) const ASLEEP: Life = Life { place: Place::Asleep, waking: false, exiting: false };

    /// The life after `event`; `None` if it may not happen now.
    pub(super) fn after(self, event: Event) -> Option<Life> {
        match event {
            Event::Fork => self.step(self.place == Place::New, Place::Forked),
            Event::Waking => self.waking(),
            Event::Wakeup(reason) => self.wakeup(reason),
            Event::SwitchIn => self.step(self.place == Place::Queued, Place::Current),
            Event::SwitchOut { runnable } => self.switch_out(runnable),
            Event::Migrate(cause) => self.step(self.may_migrate(cause), self.place),
            Event::Executes => self.step(self.place == Place::Current, Place::Current),
            Event::Exit => self.exit(),
        }
    }

    fn step(self, legal: bool, place: Place) -> Option<Life> {
        legal.then_some(Life { place, ..self })
    }

    /// Whoever is awake may still be called: it may be about to sleep.
    fn waking(self) -> Option<Life> {
        let known = matches!(self.place, Place::Asleep | Place::Queued | Place::Current);
        (known && !self.waking && !self.exiting).then_some(Life { waking: true, ..self })
    }

    /// A sleeper or a new task is queued; a task that is still queued stays where it is. A sleeper
    /// may be still queued too: its dequeue was delayed.
    fn wakeup(self, reason: Reason) -> Option<Life> {
        let stays = matches!(self.place, Place::Queued | Place::Current);
        let place = if stays { self.place } else { Place::Queued };
        let legal = match self.place {
            Place::Forked => !self.waking,
            Place::Asleep => self.waking,
            Place::Queued | Place::Current => self.waking && reason == Reason::STILL_QUEUED,
            Place::New | Place::Dead => false,
        };
        legal.then_some(Life { place, waking: false, ..self })
    }

    fn switch_out(self, runnable: bool) -> Option<Life> {
        let place = match (runnable, self.exiting) {
            (true, _) => Place::Queued,
            (false, true) => Place::Dead,
            (false, false) => Place::Asleep,
        };
        self.step(self.place == Place::Current, place)
    }

    /// Who wakes or starts is moved off the runqueues, who is balanced is moved between them, and
    /// nobody is moved while it runs.
    fn may_migrate(self, cause: Cause) -> bool {
        match cause {
            Cause::Wakeup => self.place == Place::Asleep && self.waking,
            Cause::Fork => self.place == Place::Forked,
            Cause::Exec
            | Cause::Periodic
            | Cause::NewIdle
            | Cause::Nohz
            | Cause::Active
            | Cause::Affinity => self.place == Place::Queued,
        }
    }

    fn exit(self) -> Option<Life> {
        let legal = self.place == Place::Current && !self.exiting && !self.waking;
        legal.then_some(Life { exiting: true, ..self })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SELECTED: Reason = Reason(0);

    fn check(events: &[Event], last: Option<Place>) {
        let mut life = Some(Life::NEW);
        for event in events {
            life = life.expect("only the last event may be illegal").after(*event);
        }
        assert_eq!(life.map(|life| life.place), last, "after {events:?}");
    }

    #[test]
    fn a_task_is_forked_runs_sleeps_wakes_and_ends() {
        use Event::{Executes, Exit, Fork, SwitchIn, SwitchOut, Wakeup, Waking};
        let out = SwitchOut { runnable: false };
        let born = [Fork, Wakeup(SELECTED), SwitchIn, Executes];
        check(&born, Some(Place::Current));
        let slept = [&born[..], &[out, Waking, Wakeup(SELECTED), SwitchIn]].concat();
        check(&slept, Some(Place::Current));
        check(&[&slept[..], &[Exit, out]].concat(), Some(Place::Dead));
        check(&[&slept[..], &[Exit, out, Waking]].concat(), None);
    }

    #[test]
    fn a_sleeper_does_not_run_before_it_is_woken() {
        use Event::{Fork, SwitchIn, SwitchOut, Wakeup};
        let out = SwitchOut { runnable: false };
        check(&[Fork, SwitchIn], None);
        check(&[Fork, Wakeup(SELECTED), SwitchIn, out, SwitchIn], None);
        check(&[Fork, Wakeup(SELECTED), SwitchIn, out, Wakeup(SELECTED)], None);
    }

    #[test]
    fn who_is_still_queued_is_not_queued_again() {
        use Event::{Fork, SwitchIn, Wakeup, Waking};
        let current = [Fork, Wakeup(SELECTED), SwitchIn, Waking];
        check(&[&current[..], &[Wakeup(SELECTED)]].concat(), None);
        let still = [&current[..], &[Wakeup(Reason::STILL_QUEUED)]].concat();
        check(&still, Some(Place::Current));
    }

    #[test]
    fn nobody_is_moved_while_it_runs() {
        use Event::{Fork, Migrate, SwitchIn, SwitchOut, Wakeup};
        let queued = [Fork, Migrate(Cause::Fork), Wakeup(SELECTED)];
        check(&[&queued[..], &[Migrate(Cause::NewIdle)]].concat(), Some(Place::Queued));
        check(&[&queued[..], &[SwitchIn, Migrate(Cause::Active)]].concat(), None);
        let preempted = [SwitchIn, SwitchOut { runnable: true }, Migrate(Cause::Active)];
        check(&[&queued[..], &preempted].concat(), Some(Place::Queued));
    }
}
