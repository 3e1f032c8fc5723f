//! Whether a task may go from one LLC to another, as far as one of them is the preferred one of its
//! process. Source: `can_migrate_llc()`, cache-aware load balancing (spec 08 sections 6 and 7).

/// How busy an LLC was when the balancer last looked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LlcStats {
    /// The estimated utilization of its CPUs.
    pub util: u64,
    /// Their capacity; 0 as long as nobody has looked.
    pub capacity: u64,
}

/// Where a task would go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// To the preferred LLC of its process.
    ToPreferred,
    /// Away from there.
    Leaving,
}

/// What the LLCs have to say (`enum llc_mig`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LlcVerdict {
    /// It must not go.
    Forbid,
    /// It may go, for the sake of the LLC.
    Llc,
    /// Nothing: other rules decide.
    Unrestricted,
}

/// How full an LLC may get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LlcRule {
    /// From this utilization on an LLC counts as busy, in percent (`llc_overaggr_pct`, half as much again
    /// on machines without SMT).
    pub overaggr_pct: u64,
    /// How much more one LLC must be utilized than another one to count as more, in percent
    /// (`llc_imb_pct`).
    pub imb_pct: u64,
}

impl LlcRule {
    /// The rule of a machine. Source: `fits_llc_capacity()`.
    #[must_use]
    pub const fn new(overaggr_pct: u64, imb_pct: u64, has_smt: bool) -> LlcRule {
        let overaggr_pct = if has_smt { overaggr_pct } else { overaggr_pct * 3 / 2 };
        LlcRule { overaggr_pct, imb_pct }
    }

    /// Whether an LLC of this capacity is not busy yet; products wrap modulo 2^64. Source: `fits_llc_capacity()`.
    #[inline]
    #[must_use]
    pub const fn fits(&self, util: u64, capacity: u64) -> bool {
        util.wrapping_mul(100) < capacity.wrapping_mul(self.overaggr_pct)
    }

    /// Whether one utilization is clearly more than another; products wrap modulo 2^64. Source: `util_greater()`.
    #[inline]
    #[must_use]
    pub const fn is_greater(&self, util: u64, other: u64) -> bool {
        util.wrapping_mul(100) > other.wrapping_mul(100 + self.imb_pct)
    }

    /// What is to be said of a task of utilization `util` that would go from the LLC `src` to `dst`.
    ///
    /// ```text
    ///             both busy       unrestricted
    /// to:         dst busy, and more so than src: forbid       else llc
    /// leaving:    src not busy, or not more so than dst: forbid   else llc
    /// ```
    ///
    /// with the task where it would be. Source: `can_migrate_llc()`.
    #[must_use]
    pub fn judge(
        &self,
        src: LlcStats,
        dst: LlcStats,
        util: u64,
        direction: Direction,
    ) -> LlcVerdict {
        let (src_util, dst_util) = (src.util.saturating_sub(util), dst.util.wrapping_add(util));
        let src_fits = self.fits(src_util, src.capacity);
        let dst_fits = self.fits(dst_util, dst.capacity);
        let is_forbidden = match direction {
            _ if !dst_fits && !src_fits => return LlcVerdict::Unrestricted,
            Direction::ToPreferred => !dst_fits && self.is_greater(dst_util, src_util),
            Direction::Leaving => src_fits || !self.is_greater(src_util, dst_util),
        };
        if is_forbidden { LlcVerdict::Forbid } else { LlcVerdict::Llc }
    }
}

#[cfg(test)]
mod tests {
    use super::{Direction::*, LlcVerdict::*, *};

    const RULE: LlcRule = LlcRule::new(50, 20, true);

    /// The verdict between LLCs of 16 CPUs that are utilized by so many percent.
    fn judge(src: u64, dst: u64, direction: Direction) -> LlcVerdict {
        let stats = |pct: u64| LlcStats { util: pct * 16 * 1024 / 100, capacity: 16 * 1024 };
        RULE.judge(stats(src), stats(dst), 0, direction)
    }

    /// Both tables of the series, at 49 and 51 in place of their column and row of 50.
    #[test]
    fn tasks_go_to_their_llc_until_it_is_busy_and_leave_it_when_it_is_and_more_so() {
        let columns = [30, 40, 49, 51, 60];
        let to = [
            (30, [Llc, Llc, Llc, Forbid, Forbid]),
            (40, [Llc, Llc, Llc, Forbid, Forbid]),
            // 60 > 49 * 1.2, and 51 is not.
            (49, [Llc, Llc, Llc, Llc, Forbid]),
            (51, [Llc, Llc, Llc, Unrestricted, Unrestricted]),
            (60, [Llc, Llc, Llc, Unrestricted, Unrestricted]),
        ];
        let leaving = [
            (30, [Forbid; 5]),
            (40, [Forbid; 5]),
            (49, [Forbid; 5]),
            // 51 > 40 * 1.2, and not > 49 * 1.2.
            (51, [Llc, Llc, Forbid, Unrestricted, Unrestricted]),
            (60, [Llc, Llc, Llc, Unrestricted, Unrestricted]),
        ];
        for (table, direction) in [(to, ToPreferred), (leaving, Leaving)] {
            for (src, row) in table {
                for (dst, verdict) in columns.into_iter().zip(row) {
                    let got = judge(src, dst, direction);
                    assert_eq!(got, verdict, "{src} -> {dst}, {direction:?}");
                }
            }
        }
    }

    #[test]
    fn at_half_an_llc_is_busy_and_a_fifth_more_is_not_clearly_more() {
        assert!(RULE.fits(8191, 16384) && !RULE.fits(8192, 16384));
        assert!(RULE.is_greater(1201, 1000) && !RULE.is_greater(1200, 1000));
        // Without SMT three quarters are allowed: 12288 of 16384.
        let plain = LlcRule::new(50, 20, false);
        assert!(plain.fits(12287, 16384) && !plain.fits(12288, 16384));
    }

    #[test]
    fn llcs_that_nobody_has_looked_at_leave_all_to_other_rules() {
        let none = LlcStats::default();
        for direction in [ToPreferred, Leaving] {
            assert_eq!(RULE.judge(none, none, 100, direction), Unrestricted);
        }
    }

    /// Where a task is moved for the sake of its LLC, it may not leave at once, unless both are busy.
    #[test]
    fn who_has_come_for_the_sake_of_the_llc_does_not_leave_at_once() {
        let capacity = 16 * 1024;
        let stats = |util| LlcStats { util, capacity };
        let mut moves = 0;
        for src in (0..=capacity).step_by(256) {
            for dst in (0..=capacity).step_by(256) {
                for util in [0, 100, 1024] {
                    if RULE.judge(stats(src), stats(dst), util, ToPreferred) != Llc || src < util {
                        continue;
                    }
                    moves += 1;
                    // The task is there now, and would go back.
                    let back = RULE.judge(stats(dst + util), stats(src - util), util, Leaving);
                    let busy = !RULE.fits(dst, capacity) && !RULE.fits(src, capacity);
                    assert!(
                        back == Forbid || back == Unrestricted && busy,
                        "{src} -> {dst} of {util}: {back:?}"
                    );
                }
            }
        }
        assert!(moves > 1000);
    }
}
