//! `lockstep`: runs two runs side by side and finds the first tracepoint that differs.

use std::fmt;

use crate::observer::{Observer, Tracepoint};
use crate::time::SimTime;
use crate::world::World;

/// A tracepoint and its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// When.
    pub at: SimTime,
    /// What.
    pub what: Tracepoint,
}

/// Whether a tracepoint is a step of a run: all are but charges, which say how time was cut and
/// not what happened, what a policy thinks (preferences, their scans and utilization), and requests to reschedule, of
/// which the switches are what comes.
#[inline]
pub(super) fn is_step(tracepoint: &Tracepoint) -> bool {
    !matches!(
        tracepoint,
        Tracepoint::Charge { .. }
            | Tracepoint::Preferred { .. }
            | Tracepoint::CacheWork { .. }
            | Tracepoint::UtilAvg { .. }
            | Tracepoint::SetNeedResched { .. }
    )
}

/// Keeps the steps of a run until they are taken.
#[derive(Clone, Debug, Default)]
pub struct Recorder {
    steps: Vec<Step>,
}

impl Recorder {
    /// Appends all steps since the last call to `out`.
    pub fn drain_into(&mut self, out: &mut Vec<Step>) {
        out.append(&mut self.steps);
    }
}

impl Observer for Recorder {
    fn on(&mut self, world: &World, what: Tracepoint) {
        if is_step(&what) {
            self.steps.push(Step { at: world.now(), what });
        }
    }
}

/// The first place where two runs differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Divergence {
    /// How many steps were equal before.
    pub equal: u64,
    /// What the first run did next; `None` if it had ended.
    pub first: Option<Step>,
    /// What the second run did next; `None` if it had ended.
    pub second: Option<Step>,
}

impl fmt::Display for Divergence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let side = |step: Option<Step>| match step {
            Some(Step { at, what }) => format!("{what:?} at {at}"),
            None => "the end".to_owned(),
        };
        let (first, second) = (side(self.first), side(self.second));
        write!(f, "after {} equal steps: {first}, but {second}", self.equal)
    }
}

/// Runs two runs side by side and returns the first step that differs, or `None` if they are equal.
///
/// Each run is a function that goes on a little and appends the steps that it made; one that
/// appends nothing has ended. Only what one run is ahead of the other is kept.
pub fn lockstep(
    first: &mut dyn FnMut(&mut Vec<Step>),
    second: &mut dyn FnMut(&mut Vec<Step>),
) -> Option<Divergence> {
    let (mut a, mut b) = (Vec::new(), Vec::new());
    let mut equal = 0;
    loop {
        refill(&mut a, first);
        refill(&mut b, second);
        let both = a.len().min(b.len());
        let same = a.iter().zip(&b).take_while(|(x, y)| x == y).count();
        equal += same as u64;
        if same < both || a.is_empty() != b.is_empty() {
            let (first, second) = (a.get(same).copied(), b.get(same).copied());
            return Some(Divergence { equal, first, second });
        }
        if both == 0 {
            return None;
        }
        a.drain(..both);
        b.drain(..both);
    }
}

fn refill(steps: &mut Vec<Step>, run: &mut dyn FnMut(&mut Vec<Step>)) {
    if steps.is_empty() {
        run(steps);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::TaskId;

    fn step(at: u64, task: u32) -> Step {
        Step { at: SimTime(at), what: Tracepoint::Exit { task: TaskId(task) } }
    }

    /// Gives out `steps` in portions of `portion`, and then nothing.
    fn run(steps: &[Step], portion: usize) -> impl FnMut(&mut Vec<Step>) {
        let mut left = steps.iter().copied();
        move |out| out.extend(left.by_ref().take(portion))
    }

    fn check(a: &[Step], b: &[Step], want: Option<Divergence>) {
        for (x, y) in [(1, 1), (2, 3), (3, 1), (9, 9)] {
            assert_eq!(lockstep(&mut run(a, x), &mut run(b, y)), want, "portions of {x} and {y}");
        }
    }

    #[test]
    fn equal_runs_do_not_diverge() {
        let steps: Vec<Step> = (0..7).map(|k| step(k, 0)).collect();
        check(&steps, &steps, None);
        check(&[], &[], None);
    }

    #[test]
    fn the_first_difference_is_found_with_its_time() {
        let a: Vec<Step> = (0..7).map(|k| step(10 * k, 0)).collect();
        let mut b = a.clone();
        b[4] = step(40, 1);
        b[6] = step(61, 0);
        let want = Divergence { equal: 4, first: Some(step(40, 0)), second: Some(step(40, 1)) };
        check(&a, &b, Some(want));
        let text = want.to_string();
        assert!(
            text.starts_with("after 4 equal steps: Exit { task: TaskId(0) } at 40 ns"),
            "{text}"
        );
    }

    #[test]
    fn a_run_that_ends_early_diverges_at_its_end() {
        let a: Vec<Step> = (0..7).map(|k| step(k, 0)).collect();
        check(&a, &a[..5], Some(Divergence { equal: 5, first: Some(a[5]), second: None }));
        check(&a[..0], &a, Some(Divergence { equal: 0, first: None, second: Some(a[0]) }));
    }
}
