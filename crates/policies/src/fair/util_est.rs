//! Estimated utilization: what a task needed when it last ran, and a moving average of that.

use simsched_core::pelt::UTIL_AVG_UNCHANGED;

use super::entity::UtilEst;

/// Differences below 1 % of a CPU are noise. Source: `UTIL_EST_MARGIN`, `SCHED_CAPACITY_SCALE / 100`.
const UTIL_EST_MARGIN: u32 = 1024 / 100;

/// A sample counts for a quarter. Source: `UTIL_EST_WEIGHT_SHIFT`.
const UTIL_EST_WEIGHT_SHIFT: u32 = 2;

/// Whether a difference is noise. Source: `within_margin()`.
#[inline]
fn within_margin(difference: u32) -> bool {
    difference.wrapping_add(UTIL_EST_MARGIN - 1) < 2 * UTIL_EST_MARGIN - 1
}

impl UtilEst {
    /// Takes a sample when a task goes to sleep with this `util_avg`, on a CPU of this capacity.
    ///
    /// `fastup` lets the average follow a rise at once (feature `UTIL_EST_FASTUP`).
    ///
    /// ```text
    /// ewma = (3 ewma + util) / 4
    /// ```
    ///
    /// Source: `util_est_update()` of 6.1.
    #[inline]
    pub fn update(&mut self, util: u32, capacity: u32, fastup: bool) {
        if self.enqueued & UTIL_AVG_UNCHANGED != 0 {
            return;
        }
        let sampled = UtilEst { enqueued: util | UTIL_AVG_UNCHANGED, ewma: self.ewma };
        if fastup && self.ewma < util {
            *self = UtilEst { ewma: util, ..sampled };
            return;
        }
        let above_ewma = util.wrapping_sub(self.ewma);
        if within_margin(above_ewma) {
            if !within_margin(self.enqueued.wrapping_sub(util)) {
                *self = sampled;
            }
            return;
        }
        // The CPU may have been too small for the task to show what it needs.
        if util > capacity {
            return;
        }
        let ewma = (self.ewma << UTIL_EST_WEIGHT_SHIFT).wrapping_add(above_ewma);
        *self = UtilEst { ewma: ewma >> UTIL_EST_WEIGHT_SHIFT, ..sampled };
    }

    /// The same since 6.8, where the estimate is one number, `ewma` here, and `enqueued` only its flag:
    /// a task that was `runnable` for longer than it ran had to wait, so that what it ran says nothing.
    /// Source: `util_est_update()` of 6.12.
    #[inline]
    pub fn update_single(&mut self, util: u32, runnable: u64, capacity: u32) {
        if self.enqueued & UTIL_AVG_UNCHANGED != 0 {
            return;
        }
        let sampled = UtilEst { enqueued: UTIL_AVG_UNCHANGED, ewma: self.ewma };
        if self.ewma <= util {
            *self = UtilEst { ewma: util, ..sampled };
            return;
        }
        let below_ewma = self.ewma - util;
        if below_ewma < UTIL_EST_MARGIN {
            *self = sampled;
            return;
        }
        if util > capacity {
            return;
        }
        if u64::from(util + UTIL_EST_MARGIN) < runnable {
            *self = sampled;
            return;
        }
        let ewma = (self.ewma << UTIL_EST_WEIGHT_SHIFT).wrapping_sub(below_ewma);
        *self = UtilEst { ewma: ewma >> UTIL_EST_WEIGHT_SHIFT, ..sampled };
    }
}
