//! `Computing`: how many tasks of a program wait for nothing.

use simsched_core::{Op, TaskId};

use super::super::replay::waits;

/// The tasks of a program that have begun and neither wait nor have ended.
#[derive(Clone, Debug, Default)]
pub(super) struct Computing {
    /// By task.
    computes: Vec<bool>,
    nr: usize,
}

impl Computing {
    /// What `task` did last is over, and it does `op` next.
    pub(super) fn does(&mut self, task: TaskId, op: Op) {
        if self.computes.len() <= task.idx() {
            self.computes.resize(task.idx() + 1, false);
        }
        let computes = !waits(op) && op != Op::Exit;
        let before = std::mem::replace(&mut self.computes[task.idx()], computes);
        self.nr = self.nr + usize::from(computes) - usize::from(before);
    }

    /// How many these are.
    pub(super) fn nr(&self) -> usize {
        self.nr
    }
}

#[cfg(test)]
mod tests {
    use simsched_core::Nanos;

    use super::*;

    #[test]
    fn who_waits_or_has_ended_does_not_compute() {
        let (mut all, [a, b]) = (Computing::default(), [1, 4].map(TaskId));
        all.does(a, Op::Run(Nanos(1)));
        all.does(b, Op::Run(Nanos(1)));
        assert_eq!(all.nr(), 2);
        all.does(a, Op::WaitAny);
        all.does(a, Op::WaitAny);
        assert_eq!(all.nr(), 1);
        all.does(a, Op::Run(Nanos(1)));
        all.does(b, Op::Exit);
        assert_eq!(all.nr(), 1);
    }
}
