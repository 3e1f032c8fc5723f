//! `exponential` and `normal`: draws of these distributions that are equal on every platform.
//!
//! The density is covered by 256 layers of one area, the lowest with the tail; a point of a random layer is
//! accepted if it lies below the density (Marsaglia and Tsang, "The Ziggurat Method for Generating Random
//! Variables", 2000; Doornik, "An Improved Ziggurat Method to Generate Normal Random Samples", 2005). Layers,
//! and which bits of a random number are used for what, are those of `rand_distr` 0.6, whose draws these are:
//! a test holds them against it. The library takes logarithms and powers from the platform, where the last bit
//! differs; `libm` computes them alike everywhere.

use std::sync::LazyLock;

use rand::Rng;

/// Layers.
const LAYERS: usize = 256;

/// The layers of a density that falls from 1 at 0.
struct Layers {
    /// Where the layers end to the right, from the lowest; the lowest as if it had no tail.
    ends: [f64; LAYERS + 1],
    /// The density there.
    heights: [f64; LAYERS + 1],
}

impl Layers {
    /// Of a `density` with its inverse, where the tail begins at `tail` and the lowest layer would end at `lowest`
    /// if it had none.
    fn new(
        density: impl Fn(f64) -> f64,
        inverse: impl Fn(f64) -> f64,
        [lowest, tail]: [f64; 2],
    ) -> Layers {
        let area = lowest * density(tail);
        let mut ends = [0.0; LAYERS + 1];
        (ends[0], ends[1]) = (lowest, tail);
        for layer in 2..LAYERS {
            let below = ends[layer - 1];
            ends[layer] = inverse(area / below + density(below));
        }
        Layers { ends, heights: ends.map(density) }
    }

    /// Whether a point of this layer at `x` is below the density, whatever its height.
    fn accepts(&self, layer: usize, x: f64) -> bool {
        x < self.ends[layer + 1]
    }

    /// A random height in this layer.
    fn height(&self, layer: usize, rng: &mut impl Rng) -> f64 {
        let (low, high) = (self.heights[layer], self.heights[layer + 1]);
        high + (low - high) * unit(rng)
    }
}

/// The layer that the lowest bits of a random number name.
fn layer_of(bits: u64) -> usize {
    usize::from(bits.to_le_bytes()[0])
}

/// A number of 0 to 1 without 1, in steps of 2^-53.
fn unit(rng: &mut impl Rng) -> f64 {
    float(rng.next_u64() >> 11) / float(1 << 53)
}

/// A number between 0 and 1, both left out, of the 52 highest bits.
fn open(bits: u64) -> f64 {
    float(bits >> 12) / float(1 << 52) + f64::EPSILON / 2.0
}

#[expect(clippy::cast_precision_loss, reason = "at most 2^53")]
fn float(number: u64) -> f64 {
    number as f64
}

/// A draw of the exponential distribution with the mean 1.
pub(crate) fn exponential(rng: &mut impl Rng) -> f64 {
    const TAIL: f64 = 7.697_117_470_131_05;
    static LAYERS: LazyLock<Layers> =
        LazyLock::new(|| Layers::new(|x| libm::exp(-x), |y| -libm::log(y), [TAIL + 1.0, TAIL]));
    loop {
        let bits = rng.next_u64();
        let layer = layer_of(bits);
        let x = open(bits) * LAYERS.ends[layer];
        if LAYERS.accepts(layer, x) {
            return x;
        }
        if layer == 0 {
            return TAIL - libm::log(unit(rng));
        }
        if LAYERS.height(layer, rng) < libm::exp(-x) {
            return x;
        }
    }
}

/// A draw of the normal distribution with the mean 0 and the deviation 1.
pub(crate) fn normal(rng: &mut impl Rng) -> f64 {
    const TAIL: f64 = 3.654_152_885_361_009;
    const LOWEST: f64 = 3.910_757_959_537_09;
    fn density(x: f64) -> f64 {
        libm::exp(-x * x / 2.0)
    }
    static LAYERS: LazyLock<Layers> =
        LazyLock::new(|| Layers::new(density, |y| (-2.0 * libm::log(y)).sqrt(), [LOWEST, TAIL]));
    loop {
        let bits = rng.next_u64();
        let layer = layer_of(bits);
        let side = float(bits >> 12) / float(1 << 51) - 1.0;
        let x = side * LAYERS.ends[layer];
        if LAYERS.accepts(layer, x.abs()) {
            return x;
        }
        if layer == 0 {
            let beyond = TAIL + tail_of_normal(TAIL, rng);
            return if side < 0.0 { -beyond } else { beyond };
        }
        if LAYERS.height(layer, rng) < density(x) {
            return x;
        }
    }
}

/// How far a draw beyond `tail` is beyond it (Marsaglia, "Generating a Variable from the Tail of the Normal
/// Distribution", 1964).
fn tail_of_normal(tail: f64, rng: &mut impl Rng) -> f64 {
    loop {
        let beyond = -libm::log(open(rng.next_u64())) / tail;
        let height = -libm::log(open(rng.next_u64()));
        if 2.0 * height >= beyond * beyond {
            return beyond;
        }
    }
}

#[cfg(test)]
mod tests {
    use rand_distr::{Distribution, Exp1, StandardNormal};
    use simsched_core::Seed;

    use super::*;

    /// Ten million draws of `rand_distr` take the same random numbers and differ in their last digits only.
    #[test]
    fn draws_are_those_of_rand_distr() {
        let (mut ours, mut theirs) = (Seed(1).stream("test", 0), Seed(1).stream("test", 0));
        let mut most = [0.0_f64; 2];
        for _ in 0..5_000_000 {
            let pairs: [(f64, f64); 2] = [
                (exponential(&mut ours), Exp1.sample(&mut theirs)),
                (normal(&mut ours), StandardNormal.sample(&mut theirs)),
            ];
            for ((found, want), most) in pairs.into_iter().zip(&mut most) {
                assert!((found - want).abs() <= 1e-12 * want.abs(), "{found} is not {want}");
                *most = most.max(want.abs());
            }
        }
        assert!(ours == theirs);
        // Both tails were drawn from.
        assert!(most[0] > 7.7 && most[1] > 3.66, "{most:?}");
    }

    /// The highest layer ends at the density's 1, which says that the constants fit.
    #[test]
    fn the_layers_have_one_area() {
        let density = |x: f64| libm::exp(-x);
        let layers =
            Layers::new(density, |y| -libm::log(y), [8.697_117_470_131_05, 7.697_117_470_131_05]);
        let area = layers.ends[0] * layers.heights[1];
        for layer in 1..LAYERS {
            let of_layer = layers.ends[layer] * (layers.heights[layer + 1] - layers.heights[layer]);
            assert!((of_layer / area - 1.0).abs() < 1e-9, "layer {layer}: {of_layer} of {area}");
        }
    }
}
