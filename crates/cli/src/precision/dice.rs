//! Series with known expectations, for tests.

use super::series::float;

/// Numbers that look random and are not: the upper bits of a linear congruence (Knuth's MMIX).
pub(super) struct Dice(pub(super) u64);

impl Dice {
    /// 32 bits.
    pub(super) fn bits(&mut self) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 32
    }

    /// Between 0 and 1.
    pub(super) fn uniform(&mut self) -> f64 {
        float(self.bits()) / 4_294_967_296.0
    }

    /// Of mean 0 and variance 1: twelve of these (Irwin and Hall).
    pub(super) fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
    }

    /// `x[k] = phi * x[k - 1] + noise`, of mean 0 and variance 1.
    pub(super) fn autoregressive(&mut self, nr: usize, phi: f64) -> Vec<f64> {
        let mut off = self.normal();
        let mut next = || {
            off = phi * off + (1.0 - phi * phi).sqrt() * self.normal();
            off
        };
        (0..nr).map(|_| next()).collect()
    }
}
