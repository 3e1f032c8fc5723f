//! `Request`: what an entity asks for, until when, and what it is owed.

use crate::fair::weight::{LoadWeight, calc_delta_fair};

/// The request of an entity (fields of `struct sched_entity` since 6.6).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// When it should be served, in virtual time; relative to the entity's virtual time while that is
    /// on its way from one queue to another (`rel_deadline`).
    pub deadline: u64,
    /// Off the queue: by how much virtual time it is behind its queue. While it runs: its protection
    /// (`set_protect_slice()`).
    pub vlag: i64,
    /// How long it wants to run, in ns of real time.
    pub slice: u64,
    /// Up to which virtual time it is protected while it runs (7.2 and later; see `vlag`).
    pub vprot: u64,
    /// The weight of the task among all of its CPU, whatever its groups, at full resolution (7.3; `se->h_load`).
    pub weight: u64,
}

/// `dividend / divisor` towards zero, where the divisor is a sum of weights. Source: `div_s64()`,
/// whose divisor has 32 bits.
#[inline]
pub(super) fn div_s64(dividend: i64, divisor: i64) -> i64 {
    debug_assert!(i32::try_from(divisor).is_ok(), "the kernel divides by 32 bits");
    dividend / divisor
}

/// A span of virtual time of an entity whose weight changes. Source: `rescale_entity()`, Linux 7.2.
#[inline]
fn rescaled(span: i64, [old, new]: [u64; 2]) -> i64 {
    span.wrapping_mul(old.cast_signed()) / new.cast_signed()
}

/// How far an entity may be behind or ahead of its queue, in virtual time: the time that it cannot be
/// interrupted for, twice its slice and at least a tick. Source: `entity_lag()`.
#[inline]
#[must_use]
pub fn lag_limit(slice: u64, tick: u64, load: LoadWeight) -> i64 {
    calc_delta_fair((2 * slice).max(tick), load).cast_signed()
}

/// By how much virtual time an entity at `vruntime` is behind its queue at `avruntime`, within the
/// limit. Source: `entity_lag()`.
#[inline]
#[must_use]
pub fn entity_lag(avruntime: u64, vruntime: u64, limit: i64) -> i64 {
    avruntime.wrapping_sub(vruntime).cast_signed().clamp(-limit, limit)
}

impl Request {
    /// Whether the virtual time `vruntime` has come to the deadline: then a new request of
    /// `base_slice` (of its own slice if that is `custom`) begins. Source: `update_deadline()`.
    #[inline]
    pub fn update_deadline(
        &mut self,
        vruntime: u64,
        load: LoadWeight,
        base_slice: Option<u64>,
    ) -> bool {
        self.renew(vruntime, base_slice, |slice| calc_delta_fair(slice, load))
    }

    /// [`Request::update_deadline`], where `virtual_time` tells the virtual time of a slice.
    #[inline]
    pub(super) fn renew(
        &mut self,
        vruntime: u64,
        base_slice: Option<u64>,
        virtual_time: impl FnOnce(u64) -> u64,
    ) -> bool {
        if vruntime.wrapping_sub(self.deadline).cast_signed() < 0 {
            return false;
        }
        self.slice = base_slice.unwrap_or(self.slice);
        self.deadline = vruntime.wrapping_add(virtual_time(self.slice));
        true
    }

    /// The weight of the entity changes from the first of `weights` to the second, at full resolution: its lag changes,
    /// and its deadline and its protection where these are relative. Source: `rescale_entity()`, Linux 7.2.
    pub(in crate::fair) fn rescale(&mut self, weights: [u64; 2], deadline: bool, vprot: bool) {
        self.vlag = rescaled(self.vlag, weights);
        if deadline {
            self.deadline = rescaled(self.deadline.cast_signed(), weights).cast_unsigned();
        }
        if vprot {
            self.vprot = rescaled(self.vprot.cast_signed(), weights).cast_unsigned();
        }
    }

    /// A queued entity at `vruntime` changes its weight while its queue is at `avruntime`: neither what
    /// it is owed nor what is left of its request changes in real time. Returns its new virtual time.
    ///
    /// ```text
    /// vruntime = V - lag * old / new        deadline = V + (deadline - V) * old / new
    /// ```
    ///
    /// Source: `reweight_eevdf()`.
    #[must_use]
    pub fn reweight(
        &mut self,
        avruntime: u64,
        vruntime: u64,
        limit: i64,
        [old, new]: [u64; 2],
    ) -> u64 {
        let scaled = |span: i64| div_s64(span.wrapping_mul(old.cast_signed()), new.cast_signed());
        let left = self.deadline.wrapping_sub(avruntime).cast_signed();
        self.deadline = avruntime.wrapping_add_signed(scaled(left));
        if avruntime == vruntime {
            return vruntime;
        }
        avruntime.wrapping_sub(scaled(entity_lag(avruntime, vruntime, limit)).cast_unsigned())
    }
}
