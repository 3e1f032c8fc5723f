//! A workload whose ops take a microsecond each, for machines that know no time.

use simsched_core::{Op, Outcome, Setup, SimTime, TaskId, Workload};

/// Tells the workload a time of its own; who sleeps until an instant yields until it has come.
pub(crate) struct Clocked<W> {
    workload: W,
    now: u64,
    sleeps: Vec<Option<SimTime>>,
}

impl<W: Workload> Clocked<W> {
    pub(crate) fn new(workload: W) -> Clocked<W> {
        let sleeps = vec![None; workload.setup().tasks.len()];
        Clocked { workload, now: 0, sleeps }
    }
}

impl<W: Workload> Workload for Clocked<W> {
    fn setup(&self) -> Setup {
        self.workload.setup()
    }

    fn next_op(&mut self, task: TaskId, _: SimTime, last: Outcome) -> Op {
        self.now += 1_000;
        let now = SimTime(self.now);
        if self.sleeps[task.idx()].is_some_and(|until| now < until) {
            return Op::Yield;
        }
        self.sleeps[task.idx()] = None;
        match self.workload.next_op(task, now, last) {
            Op::SleepUntil(until) => {
                self.sleeps[task.idx()] = Some(until);
                Op::Yield
            }
            op => op,
        }
    }
}
