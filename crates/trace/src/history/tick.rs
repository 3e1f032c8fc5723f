//! When the ticks of a recorded machine came: what a slice's end tells.

use crate::event::{PrevState, ThreadIx, What};
use crate::reader::Trace;

use super::is_player;

/// Behind a tick the switch comes within so much, ns: the handler, its softirq and `schedule()`. On the
/// machines of the kernel lab it was 1 to 6 us.
const NEAR: u64 = 20_000;

/// A thread that was called for within so much before the switch to it has preempted by its wakeup,
/// and not at a tick, ns.
pub(super) const WOKEN: u64 = 100_000;

/// So many ends of slices tell.
const ENOUGH: usize = 3;

/// The time of a tick, in ns from the first event, where ticks come each `period` ns: that near
/// which most of the switches are that took a CPU from one thread for another one, if at least half of
/// them are.
pub(super) fn find(trace: &Trace, period: u64) -> Option<u64> {
    let begin = trace.told.first()?.event.time;
    let mut woken = vec![0_u64; trace.threads.all.len()];
    let mut phases = Vec::new();
    for told in &trace.told {
        let time = told.event.time;
        match told.event.what {
            What::Waking { wakee, .. }
            | What::Wakeup { wakee, .. }
            | What::WakeupNew { wakee, .. } => {
                woken[wakee.0 as usize] = time;
            }
            What::Switch { prev, prev_state: PrevState::Running { .. }, next } => {
                let both = |ix: ThreadIx| is_player(&trace.threads, ix);
                let waited = time.saturating_sub(woken[next.0 as usize]) > WOKEN;
                if both(prev) && both(next) && waited {
                    phases.push((time - begin) % period.max(1));
                }
            }
            _ => {}
        }
    }
    phases.sort_unstable();
    let near = |from: u64| {
        let is_near = |phase: &&u64| (**phase + period - from) % period <= NEAR;
        phases.iter().filter(is_near).count()
    };
    // The earliest of those that have most of the others behind them.
    let best =
        phases.iter().copied().max_by_key(|phase| (near(*phase), std::cmp::Reverse(*phase)))?;
    let count = near(best);
    (count >= ENOUGH && 2 * count >= phases.len()).then_some(best)
}
