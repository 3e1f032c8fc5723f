//! `decay`: the exponential function in integers, for caches that others fill.

/// 2^(-i/32) in 65536ths, i from 0 to 32: `65536 / 2^(i/32)`, rounded.
const HALVING: [u32; 33] = [
    65536, 64132, 62757, 61413, 60097, 58809, 57549, 56316, 55109, 53928, 52773, 51642, 50535,
    49452, 48393, 47356, 46341, 45348, 44376, 43425, 42495, 41584, 40693, 39821, 38968, 38133,
    37316, 36516, 35734, 34968, 34219, 33486, 32768,
];

/// log2(e) in 65536ths.
const LOG2_E: u64 = 94_548;

/// `scale * exp(-part / whole)`, to about a thousandth of `scale`. A `whole` of 0 forgets everything.
#[must_use]
pub(crate) fn decay(scale: u32, part: u64, whole: u64) -> u32 {
    if part == 0 {
        return scale;
    }
    if whole == 0 || part / whole > 20 {
        return 0;
    }
    // The exponent of two, in 65536ths of a halving; at most 21 * 1.45.
    let halvings = part.saturating_mul(LOG2_E) / whole;
    let (whole, fraction) = (halvings >> 16, halvings & 0xffff);
    let (row, rest) = ((fraction >> 11) as usize, fraction & 0x7ff);
    let (left, right) = (u64::from(HALVING[row]), u64::from(HALVING[row + 1]));
    let factor = left - (((left - right) * rest) >> 11);
    let value = ((u64::from(scale) * factor) >> 16) >> whole;
    u32::try_from(value).unwrap_or(scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// exp(-1), exp(-0.1), exp(-3) and exp(-0.693147) times a million.
    #[test]
    fn the_decay_is_the_exponential_function() {
        for (part, whole, want) in
            [(1, 1, 367_879), (1, 10, 904_837), (3, 1, 49_787), (693_147, 1_000_000, 500_000)]
        {
            let found = decay(1_000_000, part, whole);
            assert!(found.abs_diff(want) < 1000, "{part}/{whole}: {found} for {want}");
        }
    }

    #[test]
    fn nothing_decays_nothing_and_much_decays_all() {
        assert_eq!(decay(1024, 0, 0), 1024);
        assert_eq!(decay(1024, 100, 1), 0);
        assert_eq!(decay(1024, 1, 0), 0);
    }
}
