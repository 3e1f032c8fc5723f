//! Load that joins and leaves a fair queue: attach, detach, removed, reweight, propagate.
//!
//! Averages are added and subtracted exactly; sums follow with the divider of the queue
//! (`sum = avg * divider`), and after every subtraction a sum is raised to what its average needs
//! at least. Source: kernel/sched/fair.c, Linux 6.1.

use simsched_core::pelt::{
    PELT_MIN_DIVIDER, SCHED_CAPACITY_SHIFT, update_load_avg_blocked_se, update_load_avg_cfs_rq,
};

use super::cfs_rq::{CfsRq, Removed};
use super::entity::Entity;
use super::weight::{LoadWeight, scale_load_down};

/// Subtracts, at least to 0. Source: `sub_positive()`.
#[inline]
fn sub_positive(field: &mut u64, amount: u64) {
    *field = field.saturating_sub(amount);
}

/// Adds a signed amount, at least to 0. Source: `add_positive()`, where the sum is unsigned and
/// has wrapped if a negative amount made it larger.
#[inline]
fn add_positive(field: &mut u64, amount: i64) {
    let sum = field.wrapping_add_signed(amount);
    *field = if amount < 0 && sum > *field { 0 } else { sum };
}

/// Raises a sum to `avg * PELT_MIN_DIVIDER`. Up to 7.0 the kernel takes this maximum in 32 bits: a larger sum loses its
/// high half.
#[inline]
fn floor_of(sum: u64, avg: u64, wide: bool) -> u64 {
    let least = avg.wrapping_mul(u64::from(PELT_MIN_DIVIDER));
    if wide { sum.max(least) } else { u64::from(low32(sum).max(low32(least))) }
}

#[expect(clippy::cast_possible_truncation, reason = "the kernel's u32 arithmetic")]
#[inline]
const fn low32(val: u64) -> u32 {
    val as u32
}

impl CfsRq {
    #[inline]
    fn floor_load(&mut self) {
        self.avg.load_sum = floor_of(self.avg.load_sum, self.avg.load_avg, self.wide);
    }

    #[inline]
    fn floor_runnable(&mut self) {
        let avg = &mut self.avg;
        avg.runnable_sum = floor_of(avg.runnable_sum, avg.runnable_avg, self.wide);
    }

    #[inline]
    fn floor_util(&mut self) {
        self.avg.util_sum = low32(floor_of(u64::from(self.avg.util_sum), self.avg.util_avg, false));
    }

    /// Source: `enqueue_load_avg()`.
    #[inline]
    fn enqueue_load_avg(&mut self, se: &Entity) {
        self.avg.load_avg = self.avg.load_avg.wrapping_add(se.avg.load_avg);
        let sum = se.weight().wrapping_mul(se.avg.load_sum);
        self.avg.load_sum = self.avg.load_sum.wrapping_add(sum);
        if self.wide {
            self.floor_load();
        }
    }

    /// Source: `dequeue_load_avg()`.
    #[inline]
    fn dequeue_load_avg(&mut self, se: &Entity) {
        sub_positive(&mut self.avg.load_avg, se.avg.load_avg);
        sub_positive(&mut self.avg.load_sum, se.weight().wrapping_mul(se.avg.load_sum));
        self.floor_load();
    }

    /// Notes load for the level above. Source: `add_tg_cfs_propagate()`.
    #[inline]
    fn add_tg_cfs_propagate(&mut self, runnable_sum: i64) {
        self.propagate = true;
        self.prop_runnable_sum = self.prop_runnable_sum.wrapping_add(runnable_sum);
    }

    /// The averages of `se` join those of the queue, from the queue's time on; its sums are made
    /// anew for the queue's divider. Source: `attach_entity_load_avg()`.
    pub fn attach_entity_load_avg(&mut self, se: &mut Entity) {
        let divider = u64::from(self.avg.divider());
        se.avg.last_update_time = self.avg.last_update_time;
        se.avg.period_contrib = self.avg.period_contrib;
        se.avg.util_sum = low32(se.avg.util_avg.wrapping_mul(divider));
        se.avg.runnable_sum = se.avg.runnable_avg.wrapping_mul(divider);
        let load_sum = se.avg.load_avg.wrapping_mul(divider);
        let weight = se.weight();
        se.avg.load_sum = if weight < load_sum { load_sum / weight } else { 1 };

        self.enqueue_load_avg(se);
        self.avg.util_avg = self.avg.util_avg.wrapping_add(se.avg.util_avg);
        self.avg.util_sum = self.avg.util_sum.wrapping_add(se.avg.util_sum);
        self.avg.runnable_avg = self.avg.runnable_avg.wrapping_add(se.avg.runnable_avg);
        self.avg.runnable_sum = self.avg.runnable_sum.wrapping_add(se.avg.runnable_sum);
        self.add_tg_cfs_propagate(se.avg.load_sum.cast_signed());
    }

    /// The averages of `se` leave those of the queue. Source: `detach_entity_load_avg()`.
    pub fn detach_entity_load_avg(&mut self, se: &Entity) {
        self.dequeue_load_avg(se);
        sub_positive(&mut self.avg.util_avg, se.avg.util_avg);
        self.avg.util_sum = self.avg.util_sum.saturating_sub(se.avg.util_sum);
        self.floor_util();
        sub_positive(&mut self.avg.runnable_avg, se.avg.runnable_avg);
        sub_positive(&mut self.avg.runnable_sum, se.avg.runnable_sum);
        self.floor_runnable();
        self.add_tg_cfs_propagate(se.avg.load_sum.wrapping_neg().cast_signed());
    }

    /// Brings the queue to `now`, after what was removed has been subtracted; true when its
    /// averages have changed. Source: `update_cfs_rq_load_avg()`.
    #[inline]
    pub fn update_load_avg(&mut self, now: u64) -> bool {
        let removed = self.removed_nr > 0;
        if removed {
            self.subtract_removed();
        }
        let (weight, runnable) = (self.weight(), u64::from(self.h_nr_runnable()));
        let has_curr = self.curr.is_some();
        removed | update_load_avg_cfs_rq(now, &mut self.avg, weight, runnable, has_curr)
    }

    /// Adds the averages of a task that has left while asleep. Source: `remove_entity_load_avg()`.
    pub fn remove_entity_load_avg(&mut self, se: &Entity) {
        self.removed_nr += 1;
        self.removed.util_avg += se.avg.util_avg;
        self.removed.load_avg += se.avg.load_avg;
        self.removed.runnable_avg += se.avg.runnable_avg;
    }

    #[cold]
    fn subtract_removed(&mut self) {
        let Removed { load_avg, util_avg, runnable_avg } = std::mem::take(&mut self.removed);
        self.removed_nr = 0;
        self.take_moved();
        let divider = u64::from(self.avg.divider());

        sub_positive(&mut self.avg.load_avg, load_avg);
        sub_positive(&mut self.avg.load_sum, load_avg.wrapping_mul(divider));
        self.floor_load();

        sub_positive(&mut self.avg.util_avg, util_avg);
        let util_sum = low32(util_avg.wrapping_mul(divider));
        self.avg.util_sum = self.avg.util_sum.saturating_sub(util_sum);
        self.floor_util();

        sub_positive(&mut self.avg.runnable_avg, runnable_avg);
        let runnable_sum = runnable_avg.wrapping_mul(divider);
        sub_positive(&mut self.avg.runnable_sum, runnable_sum);
        self.floor_runnable();

        // An arithmetic shift: rounded downwards.
        let gone = runnable_sum.cast_signed().wrapping_neg() >> SCHED_CAPACITY_SHIFT;
        self.add_tg_cfs_propagate(gone);
    }

    /// The part of a change of weight that concerns load tracking: the queue's averages, and the
    /// queue's weight if `se` is queued. Source: `reweight_entity()`.
    pub fn reweight_entity(&mut self, se: &mut Entity, weight: u64) {
        if se.on_rq {
            self.load.sub(se.load.weight);
        }
        self.dequeue_load_avg(se);
        se.load = LoadWeight::new(weight);
        se.avg.load_avg = se.avg.divided(se.weight().wrapping_mul(se.avg.load_sum));
        self.enqueue_load_avg(se);
        if se.on_rq {
            self.load.add(weight);
        }
    }

    /// What changed in the group's queue `child` goes into its entity `se` and on into this queue;
    /// true when there was something. Source: `propagate_entity_load_avg()`.
    #[inline]
    pub fn propagate_entity_load_avg(&mut self, se: &mut Entity, child: &mut CfsRq) -> bool {
        if !child.propagate {
            return false;
        }
        child.propagate = false;
        self.add_tg_cfs_propagate(child.prop_runnable_sum);
        self.update_tg_cfs_util(se, child);
        self.update_tg_cfs_runnable(se, child);
        self.update_tg_cfs_load(se, child);
        true
    }

    /// Source: `update_tg_cfs_util()`.
    fn update_tg_cfs_util(&mut self, se: &mut Entity, child: &CfsRq) {
        let delta_avg = child.avg.util_avg.wrapping_sub(se.avg.util_avg).cast_signed();
        if delta_avg == 0 {
            return;
        }
        let new_sum = low32(child.avg.util_avg.wrapping_mul(u64::from(self.avg.divider())));
        let delta_sum = i64::from(new_sum) - i64::from(se.avg.util_sum);
        se.avg.util_avg = child.avg.util_avg;
        se.avg.util_sum = new_sum;

        add_positive(&mut self.avg.util_avg, delta_avg);
        let sum = i64::from(self.avg.util_sum) + delta_sum;
        self.avg.util_sum = low32(sum.max(0).cast_unsigned());
        self.floor_util();
    }

    /// Source: `update_tg_cfs_runnable()`.
    fn update_tg_cfs_runnable(&mut self, se: &mut Entity, child: &CfsRq) {
        let delta_avg = child.avg.runnable_avg.wrapping_sub(se.avg.runnable_avg).cast_signed();
        if delta_avg == 0 {
            return;
        }
        let new_sum = child.avg.runnable_avg.wrapping_mul(u64::from(self.avg.divider()));
        let delta_sum = new_sum.wrapping_sub(se.avg.runnable_sum).cast_signed();
        se.avg.runnable_avg = child.avg.runnable_avg;
        se.avg.runnable_sum = new_sum;

        add_positive(&mut self.avg.runnable_avg, delta_avg);
        add_positive(&mut self.avg.runnable_sum, delta_sum);
        self.floor_runnable();
    }

    /// Load has no direct copy, since the entity's weight differs from that of the queue's
    /// entities: what came is added, and what went leaves at most the mean of those who stay.
    /// Source: `update_tg_cfs_load()`.
    fn update_tg_cfs_load(&mut self, se: &mut Entity, child: &mut CfsRq) {
        let came = std::mem::take(&mut child.prop_runnable_sum);
        if came == 0 {
            return;
        }
        let divider = u64::from(self.avg.divider());
        let sum = if came > 0 {
            came.wrapping_add(se.avg.load_sum.cast_signed()).min(divider.cast_signed())
        } else {
            let weight = scale_load_down(child.load.weight);
            let mean = child.avg.load_sum.checked_div(weight).unwrap_or(0);
            se.avg.load_sum.min(mean).cast_signed()
        };
        // Whoever runs is runnable.
        let running_sum = i64::from(se.avg.util_sum >> SCHED_CAPACITY_SHIFT);
        let sum = sum.max(running_sum).cast_unsigned();

        let load_sum = se.weight().wrapping_mul(sum);
        let load_avg = load_sum / divider;
        let delta_avg = load_avg.wrapping_sub(se.avg.load_avg).cast_signed();
        if delta_avg == 0 {
            return;
        }
        let old_sum = se.weight().wrapping_mul(se.avg.load_sum);
        let delta_sum = load_sum.wrapping_sub(old_sum).cast_signed();
        se.avg.load_sum = sum;
        se.avg.load_avg = load_avg;
        add_positive(&mut self.avg.load_avg, delta_avg);
        add_positive(&mut self.avg.load_sum, delta_sum);
        self.floor_load();
    }
}

impl Entity {
    /// Ages a blocked entity to `now`. Source: `__update_load_avg_blocked_se()`.
    #[inline]
    pub fn update_load_avg_blocked(&mut self, now: u64) {
        let weight = self.weight();
        update_load_avg_blocked_se(now, &mut self.avg, weight);
    }

    /// The first utilization of a new task on the queue `cfs_rq`, on a CPU of this capacity: half
    /// of what is left. Source: `post_init_entity_util_avg()` of 6.1, which multiplies by the
    /// weight at full resolution, so that the cap practically always holds; since 6.12 the weight is
    /// `scaled_down`.
    pub fn post_init_entity_util_avg(&mut self, cfs_rq: &CfsRq, capacity: u64, scaled_down: bool) {
        let weight = if scaled_down { self.weight() } else { self.load.weight };
        let left = capacity.cast_signed().wrapping_sub(cfs_rq.avg.util_avg.cast_signed());
        if let Ok(cap @ 1..) = u64::try_from(left / 2) {
            self.avg.util_avg = match cfs_rq.avg.util_avg {
                0 => cap,
                util => (util.wrapping_mul(weight) / (cfs_rq.avg.load_avg + 1)).min(cap),
            };
        }
        self.avg.runnable_avg = self.avg.util_avg;
    }
}
