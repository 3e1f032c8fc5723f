//! `Seed`, `Stream`: one random stream for each entity.

use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

/// The generator of all random numbers: named, so that its values never change with a library.
pub type Stream = Xoshiro256PlusPlus;

/// The seed of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seed(pub u64);

impl Seed {
    /// The stream of entity `id` in `domain`.
    ///
    /// Streams of different domains or ids are independent: adding a task disturbs no other.
    /// The state comes from SplitMix64 over a mix of seed, domain and id (Steele, Lea and Flood,
    /// "Fast splittable pseudorandom number generators", 2014).
    #[must_use]
    pub fn stream(self, domain: &str, id: u64) -> Stream {
        let mut key = mix(self.0 ^ 0x9e37_79b9_7f4a_7c15);
        for byte in domain.bytes() {
            key = mix(key ^ u64::from(byte));
        }
        Stream::seed_from_u64(mix(key ^ id))
    }
}

/// The finalizer of SplitMix64.
fn mix(x: u64) -> u64 {
    let x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::Rng;

    #[test]
    fn streams_of_two_ids_differ() {
        let a = Seed(1).stream("jitter", 0).next_u64();
        assert_ne!(a, Seed(1).stream("jitter", 1).next_u64());
        assert_ne!(a, Seed(1).stream("other", 0).next_u64());
        assert_ne!(a, Seed(2).stream("jitter", 0).next_u64());
        assert_eq!(a, Seed(1).stream("jitter", 0).next_u64());
    }

    /// The first outputs of SplitMix64 for the seed 0, as published with the algorithm.
    #[test]
    fn the_mixer_is_splitmix64() {
        assert_eq!(mix(0), 0xe220_a839_7b1d_cdaf);
        assert_eq!(mix(0x9e37_79b9_7f4a_7c15), 0x6e78_9e6a_a1b9_65f4);
    }

    /// xoshiro256++ from the state 1, 2, 3, 4, worked out from its definition:
    /// rotl(1 + 4, 23) + 1, and so on.
    #[test]
    fn the_generator_is_xoshiro256_plus_plus() {
        let mut bytes = [0; 32];
        for (k, word) in [1u64, 2, 3, 4].into_iter().enumerate() {
            bytes[8 * k..8 * k + 8].copy_from_slice(&word.to_le_bytes());
        }
        let mut stream = Stream::from_seed(bytes);
        assert_eq!(stream.next_u64(), (5u64 << 23) + 1);
    }
}
