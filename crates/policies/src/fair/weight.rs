//! Weights of nice values, and the kernel's division by multiplication.

/// A nice-0 task at full resolution. Source: `NICE_0_LOAD`.
pub const NICE_0_LOAD: u64 = 1 << 20;

/// Bits that group arithmetic carries below a weight. Source: `SCHED_FIXEDPOINT_SHIFT`.
const SCHED_FIXEDPOINT_SHIFT: u32 = 10;

/// What a `SCHED_IDLE` task weighs, scaled down, and its reciprocal. Source: `WEIGHT_IDLEPRIO`,
/// `WMULT_IDLEPRIO`.
pub const IDLEPRIO: (u64, u32) = (3, 1_431_655_765);

/// Weights by nice value, from -20 to 19: a step is about 10 % of CPU time.
/// Source: `sched_prio_to_weight`, kernel/sched/core.c.
pub const SCHED_PRIO_TO_WEIGHT: [u64; 40] = [
    88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916, 9548, 7620, 6100, 4904,
    3906, 3121, 2501, 1991, 1586, 1277, 1024, 820, 655, 526, 423, 335, 272, 215, 172, 137, 110, 87,
    70, 56, 45, 36, 29, 23, 18, 15,
];

/// `2^32 / weight` by nice value; not always what a division gives, see [`LoadWeight::inverse`].
/// Source: `sched_prio_to_wmult`, kernel/sched/core.c.
pub const SCHED_PRIO_TO_WMULT: [u32; 40] = [
    48_388,
    59_856,
    76_040,
    92_818,
    118_348,
    147_320,
    184_698,
    229_616,
    287_308,
    360_437,
    449_829,
    563_644,
    704_093,
    875_809,
    1_099_582,
    1_376_151,
    1_717_300,
    2_157_191,
    2_708_050,
    3_363_326,
    4_194_304,
    5_237_765,
    6_557_202,
    8_165_337,
    10_153_587,
    12_820_798,
    15_790_321,
    19_976_592,
    24_970_740,
    31_350_126,
    39_045_157,
    49_367_440,
    61_356_676,
    76_695_844,
    95_443_717,
    119_304_647,
    148_102_320,
    186_737_708,
    238_609_294,
    286_331_153,
];

/// A weight at full resolution and its reciprocal (`struct load_weight`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LoadWeight {
    /// The weight, 1024 times that of the tables.
    pub weight: u64,
    /// `2^32 / weight` scaled down; 0 is not yet computed.
    pub inv_weight: u32,
}

impl LoadWeight {
    /// A weight whose reciprocal is to be computed when it is needed.
    #[must_use]
    pub const fn new(weight: u64) -> LoadWeight {
        LoadWeight { weight, inv_weight: 0 }
    }

    /// The weight of a task of this nice value, -20..=19, with the reciprocal of the table.
    ///
    /// # Panics
    /// When `nice` is out of range.
    #[must_use]
    pub fn of_nice(nice: i8) -> LoadWeight {
        let idx = usize::try_from(i16::from(nice) + 20).expect("nice is at least -20");
        LoadWeight {
            weight: SCHED_PRIO_TO_WEIGHT[idx] << SCHED_FIXEDPOINT_SHIFT,
            inv_weight: SCHED_PRIO_TO_WMULT[idx],
        }
    }

    /// The weight of a `SCHED_IDLE` task.
    #[must_use]
    pub const fn of_idle_policy() -> LoadWeight {
        LoadWeight { weight: IDLEPRIO.0 << SCHED_FIXEDPOINT_SHIFT, inv_weight: IDLEPRIO.1 }
    }

    /// Source: `update_load_add()`.
    #[inline]
    pub fn add(&mut self, weight: u64) {
        *self = LoadWeight::new(self.weight.wrapping_add(weight));
    }

    /// Source: `update_load_sub()`.
    #[inline]
    pub fn sub(&mut self, weight: u64) {
        *self = LoadWeight::new(self.weight.wrapping_sub(weight));
    }

    /// The cached reciprocal, or the quotient if there is none. Source: `__update_inv_weight()`,
    /// which also stores it: the same reciprocal comes out of the same weight again.
    #[inline]
    #[must_use]
    pub fn inverse(self) -> u32 {
        if self.inv_weight != 0 {
            return self.inv_weight;
        }
        match u32::try_from(scale_load_down(self.weight)) {
            Ok(0) => u32::MAX,
            Ok(u32::MAX) | Err(_) => 1,
            Ok(weight) => u32::MAX / weight,
        }
    }
}

/// A weight without its extra bits, but never below 2 unless it is 0. Source: `scale_load_down()`.
#[inline]
#[must_use]
pub const fn scale_load_down(weight: u64) -> u64 {
    let down = weight >> SCHED_FIXEDPOINT_SHIFT;
    if weight != 0 && down < 2 { 2 } else { down }
}

/// `delta * weight / load`, truncating at every step as the kernel does.
///
/// ```text
/// fact   = weight * (2^32 / load), cut to 32 bits by dropping low ones
/// result = delta * fact >> (32 - bits dropped)
/// ```
///
/// Source: `__calc_delta()`, kernel/sched/fair.c.
#[inline]
#[must_use]
pub fn calc_delta(delta: u64, weight: u64, load: LoadWeight) -> u64 {
    let mut shift = 32;
    let fact = to_32_bits(scale_load_down(weight), &mut shift);
    let fact = to_32_bits(fact * u64::from(load.inverse()), &mut shift);
    mul_u64_u32_shr(delta, fact, shift)
}

/// Drops low bits of `fact` until it fits, and as many from `shift`.
#[inline]
fn to_32_bits(fact: u64, shift: &mut i32) -> u64 {
    let high = (fact >> 32) as u32;
    let bits = u32::BITS - high.leading_zeros();
    *shift -= bits.cast_signed();
    fact >> bits
}

/// The product of 64 and 32 bits, shifted right. Source: `mul_u64_u32_shr()`.
#[expect(clippy::cast_possible_truncation, reason = "the kernel's u64 result")]
#[inline]
fn mul_u64_u32_shr(a: u64, mul: u64, shift: i32) -> u64 {
    ((u128::from(a) * u128::from(mul)) >> (shift & 63)) as u64
}

/// `delta * weight / load` of unsigned 64 bits: the product wraps, and the quotient is truncated.
/// Source: `__calc_delta()`, Linux 7.2.
///
/// # Panics
/// When `load` is 0.
#[inline]
#[must_use]
pub const fn calc_delta_exact(delta: u64, weight: u64, load: u64) -> u64 {
    delta.wrapping_mul(weight) / load
}

/// Real time as virtual time of an entity of this weight, at full resolution: the same for nice 0.
/// Source: `calc_delta_fair()`, Linux 7.2.
#[inline]
#[must_use]
pub const fn calc_delta_fair_exact(delta: u64, weight: u64) -> u64 {
    if weight == NICE_0_LOAD { delta } else { calc_delta_exact(delta, NICE_0_LOAD, weight) }
}

/// What is left of the weight of a task, or of a group in which it is, one level up: `weight` is what it has there, the
/// entity's is `own`, and that of all of its queue `queue` (`None` at the root). At least 2.
/// Source: `__calc_prop_weight()`, Linux 7.3.
#[inline]
#[must_use]
pub fn calc_prop_weight(weight: u64, own: u64, queue: Option<u64>) -> u64 {
    (weight.wrapping_mul(own) / queue.unwrap_or(NICE_0_LOAD)).max(2)
}

/// Real time as virtual time of an entity of this weight: the same for nice 0.
/// Source: `calc_delta_fair()`.
#[inline]
#[must_use]
pub fn calc_delta_fair(delta: u64, load: LoadWeight) -> u64 {
    if load.weight == NICE_0_LOAD { delta } else { calc_delta(delta, NICE_0_LOAD, load) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nice_0_task_lives_in_real_time() {
        assert_eq!(calc_delta_fair(12_345, LoadWeight::of_nice(0)), 12_345);
    }

    #[test]
    fn a_computed_reciprocal_of_nice_0_is_one_less_than_that_of_the_table() {
        assert_eq!(LoadWeight::new(NICE_0_LOAD).inverse(), 4_194_303);
        assert_eq!(LoadWeight::of_nice(0).inverse(), 4_194_304);
    }

    #[test]
    fn a_small_weight_counts_as_two() {
        assert_eq!([0, 1, 2047, 2048, 3072].map(scale_load_down), [0, 2, 2, 2, 3]);
    }
}
