//! What earlier placements of a scenario leave behind, which a row does not show: which CPU a task
//! used recently, and who woke whom.

use std::collections::BTreeMap;

use simsched_core::TaskId;
use simsched_policies::fair::Wakee;
use simsched_topology::CpuSet;

use crate::decisions::hidden::Answer;
use crate::decisions::row::Row;

/// A task whose past is known as far as the scenario goes.
#[derive(Clone, Debug)]
pub(crate) struct Task {
    pub(crate) comm: String,
    /// What `recent_used_cpu` may be.
    pub(crate) recent: CpuSet,
    /// Whom it woke; `None` if it is older than the scenario.
    pub(crate) wakee: Option<Wakee>,
}

/// What is known of the past of one scenario.
#[derive(Clone, Debug)]
pub(crate) struct History {
    all: CpuSet,
    tasks: BTreeMap<u64, Task>,
}

const HZ: u64 = 250;

impl History {
    pub(crate) fn new(all: CpuSet) -> History {
        History { all, tasks: BTreeMap::new() }
    }

    pub(crate) fn task(&mut self, pid: u64) -> &mut Task {
        let recent = self.all;
        self.tasks.entry(pid).or_insert(Task { comm: String::new(), recent, wakee: None })
    }

    /// What the row shows before the decision.
    pub(crate) fn before(&mut self, row: &Row) {
        let task = self.task(row.pid);
        task.comm.clone_from(&row.comm);
        if row.is_fork {
            task.recent = [row.prev].into_iter().collect();
            // The child starts with the counts of its parent.
            let parent = self.task(row.waker_pid).wakee;
            self.task(row.pid).wakee = parent.or(Some(Wakee::new(row.prev)));
        }
    }

    /// The waker has woken the task: what `record_wakee()` does to its counts.
    pub(crate) fn record_wakee(&mut self, row: &Row) {
        if row.is_fork || row.waker_pid == 0 {
            return;
        }
        let jiffies = row.time_us * HZ / 1_000_000;
        if let Some(wakee) = &mut self.task(row.waker_pid).wakee {
            wakee.record_wakee(jiffies, HZ, TaskId(u32::try_from(row.pid).unwrap()));
        }
    }

    /// The counts of a task, if they are known.
    pub(crate) fn flips(&mut self, pid: u64) -> Option<u32> {
        if pid == 0 { None } else { self.task(pid).wakee.map(|wakee| wakee.flips) }
    }

    /// What the CPU that was chosen tells of `recent_used_cpu`.
    pub(crate) fn after(&mut self, row: &Row, answers: &[Answer]) {
        if row.is_fork {
            return;
        }
        let right = answers.iter().filter(|answer| answer.cpu == row.chosen);
        let recent: CpuSet = right.map(|answer| answer.recent).collect();
        self.task(row.pid).recent =
            if recent.is_empty() { [row.prev].into_iter().collect() } else { recent };
    }
}
