//! `Log`: what is seen of one program of a run, and `Part`: which ids that program has.

use std::ops::Range;

use simsched_core::{MarkId, Setup, SimTime, TaskId};
use simsched_workloads::lab::PartIds;

use super::record::{Counters, Passed};
use super::watch::Watch;
use crate::event::Event;
use crate::probes::Probes;

/// A program among those of a run, and the marks of it that mean something here.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub(super) tasks: Range<u32>,
    marks: Range<u32>,
    /// What comes behind its mark `stop` is not recorded.
    pub(super) is_cut: bool,
    pub(super) start: Option<MarkId>,
    pub(super) stop: Option<MarkId>,
    /// Its clock stops here: at its mark `timed`, or at `stop` where it has none.
    pub(super) timed: Option<MarkId>,
    pub(super) release: Option<MarkId>,
}

impl Part {
    /// The only program of a run, which is recorded up to its end.
    pub(super) fn whole(setup: &Setup) -> Part {
        let end = |len: usize| u32::try_from(len).expect("a run has a limit");
        let (tasks, marks) = (0..end(setup.tasks.len()), 0..end(setup.marks.len()));
        Part { is_cut: false, ..Part::of(setup, &PartIds { tasks, marks }) }
    }

    /// A program with these ids among others.
    pub(super) fn of(setup: &Setup, PartIds { tasks, marks }: &PartIds) -> Part {
        let own = &setup.marks[marks.start as usize..marks.end as usize];
        let find = |name| {
            let nth = own.iter().position(|mark| mark == name)?;
            Some(MarkId::new(marks.start as usize + nth))
        };
        let (start, stop) = (find("start"), find("stop"));
        let (timed, release) = (find("timed").or(stop), find("release"));
        let (tasks, marks) = (tasks.clone(), marks.clone());
        Part { tasks, marks, is_cut: true, start, stop, timed, release }
    }
}

/// What is seen of one program.
#[derive(Clone, Debug, Default)]
pub(super) struct Log {
    /// With the instants in ns.
    pub(super) events: Vec<(SimTime, Event)>,
    pub(super) watch: Watch,
    /// Under the ids that its tasks and marks have where it runs alone.
    pub(super) passed: Vec<Passed>,
    pub(super) started: SimTime,
    pub(super) stopped: SimTime,
}

impl Log {
    /// A task passes a mark; what is of no part is not kept.
    pub(super) fn pass(
        &mut self,
        part: Option<&Part>,
        task: TaskId,
        mark: MarkId,
        (at, counters): (SimTime, Counters),
    ) {
        let Some(part) = part else { return };
        if part.tasks.contains(&task.0) && part.marks.contains(&mark.0) {
            let (task, mark) =
                (TaskId(task.0 - part.tasks.start), MarkId(mark.0 - part.marks.start));
            self.passed.push(Passed { task, mark, at, counters });
        }
    }

    /// The events in the order of time, and what was watched beside them, under a policy with these names of reasons.
    pub(super) fn seen(mut self, reasons: &[&str]) -> (Vec<Event>, Probes) {
        let ended = self.events.iter().map(|(_, event)| event.us).max().unwrap_or(0);
        let probes = self.watch.finish([super::micros(self.started), ended], reasons);
        // Where CPUs take turns, they do not tell in the order of time.
        self.events.sort_by_key(|&(at, _)| at);
        (self.events.into_iter().map(|(_, event)| event).collect(), probes)
    }
}
