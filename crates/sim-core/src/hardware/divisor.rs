//! `Divisor`: a division by a number that is known long before, as a multiplication.

/// A number to divide by.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Divisor {
    by: u64,
    /// 2^64 / `by`, rounded up.
    inverse: u64,
    /// Dividends below this are divided by a multiplication.
    exact: u64,
}

impl Divisor {
    /// `by`, at least 1.
    pub(crate) const fn new(by: u32) -> Divisor {
        match by as u64 {
            0 | 1 => Divisor { by: 1, inverse: 0, exact: 0 },
            by => Divisor { by, inverse: u64::MAX / by + 1, exact: u64::MAX / by },
        }
    }

    /// `dividend / by`, rounded down.
    ///
    /// The inverse is too large by less than 1, so the product of a dividend below 2^64 / by is too
    /// large by less than 1 / by: not enough to reach the next whole number.
    #[inline]
    pub(crate) fn divide(self, dividend: u64) -> u64 {
        if dividend >= self.exact {
            return dividend / self.by;
        }
        ((u128::from(dividend) * u128::from(self.inverse)) >> 64) as u64
    }

    /// `dividend / by`, rounded up.
    #[inline]
    pub(crate) fn divide_up(self, dividend: u64) -> u64 {
        self.divide(dividend + (self.by - 1))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_multiplication_divides_exactly(by in 1u32.., whole in any::<u64>(), bits in 1u32..64) {
            let dividend = whole >> bits;
            let divisor = Divisor::new(by);
            // Multiples and their neighbours are where a wrong inverse shows.
            let multiple = dividend / u64::from(by) * u64::from(by);
            for dividend in [dividend, multiple, multiple.saturating_sub(1)] {
                prop_assert_eq!(divisor.divide(dividend), dividend / u64::from(by));
                prop_assert_eq!(divisor.divide_up(dividend), dividend.div_ceil(u64::from(by)));
            }
        }
    }
}
