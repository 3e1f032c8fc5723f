//! What the clients of tbench ask for: kinds of exchanges, how often, and how large they are.
//!
//! The numbers were counted in `client.txt`, the load file that dbench 4.0 ships (458,342 exchanges
//! that move 2,488,062,937 bytes of files), and sized by the formulas of its `sockio.c`: 39 bytes are
//! the head of any message, names take two bytes for each character. Reads and writes are counted
//! by size where one size is frequent, and by their mean where none is; all others are the mean of
//! their kind. The file is played from its beginning to its end and again, the same by all clients;
//! here the kinds follow each other evenly.

/// A request and its reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// How often it is in the load file.
    pub weight: u32,
    /// Bytes of the request.
    pub request: u32,
    /// Bytes of the reply.
    pub reply: u32,
    /// Bytes of a file that one of them carries: what the throughput counts.
    pub data: u32,
}

const fn read(weight: u32, data: u32) -> Exchange {
    Exchange { weight, request: 59, reply: 59 + data, data }
}

const fn write(weight: u32, data: u32) -> Exchange {
    Exchange { weight, request: 59 + data, reply: 55, data }
}

const fn other(weight: u32, request: u32, reply: u32) -> Exchange {
    Exchange { weight, request, reply, data: 0 }
}

/// All kinds.
pub const EXCHANGES: [Exchange; 23] = [
    // ReadX
    read(83_172, 4096),
    read(16_641, 61_440),
    read(4_644, 2048),
    read(4_644, 8192),
    read(1_937, 16_384),
    read(10_194, 487), // below 2 KiB, the mean
    read(2_967, 8338), // above, the mean
    // WriteX
    write(12_658, 65_536),
    write(9_942, 4096),
    write(7_424, 1),
    write(1_677, 2048),
    write(1_164, 8192),
    write(1_550, 443),       // below 2 KiB, the mean
    write(5_087, 25_955),    // above, the mean
    other(79_230, 153, 87),  // NTCreateX
    other(71_814, 135, 71),  // QUERY_PATH_INFORMATION
    other(58_200, 47, 39),   // Close
    other(27_765, 114, 517), // FIND_FIRST
    other(16_000, 123, 39),  // Unlink
    other(25_753, 59, 71),   // QUERY_FS_INFORMATION, QUERY_FILE_INFORMATION
    other(6_454, 71, 47),    // SET_FILE_INFORMATION
    other(5_553, 41, 39),    // Flush
    other(3_355, 210, 39),   // Rename
];

/// So many exchanges have each kind once at least, and carry as much as the load file's, on the mean.
const LENGTH: usize = 252;

/// The kinds of a cycle of exchanges in their order: each as often as its weight says, spread evenly.
/// In each step all kinds gain their weight, and the one that has most is next and loses the sum.
pub(super) fn cycle() -> Vec<usize> {
    let sum: i64 = EXCHANGES.iter().map(|kind| i64::from(kind.weight)).sum();
    let mut credits = [0; EXCHANGES.len()];
    let step = |_| {
        for (credit, kind) in credits.iter_mut().zip(EXCHANGES) {
            *credit += i64::from(kind.weight);
        }
        let best = (0..credits.len()).rev().max_by_key(|kind| credits[*kind]);
        let next = best.expect("there are kinds");
        credits[next] -= sum;
        next
    };
    (0..LENGTH).map(step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2,488,062,937 bytes in 458,342 exchanges are 5,428 each. (The file's two pairs of a lock and
    /// its end, 516 lines, and a directory that is made are left out.)
    #[test]
    fn the_kinds_move_what_the_load_file_moves() {
        let count: u64 = EXCHANGES.iter().map(|kind| u64::from(kind.weight)).sum();
        assert_eq!(count, 458_342 - 517);
        let bytes: u64 = EXCHANGES.iter().map(|k| u64::from(k.weight) * u64::from(k.data)).sum();
        assert!(bytes.abs_diff(2_488_062_937) < 100_000, "{bytes}");
    }

    #[test]
    fn a_cycle_has_each_kind_as_often_as_the_load_file() {
        let cycle = cycle();
        let sum: u32 = EXCHANGES.iter().map(|kind| kind.weight).sum();
        for (kind, exchange) in EXCHANGES.iter().enumerate() {
            let found = cycle.iter().filter(|next| **next == kind).count() as f64;
            let wanted = f64::from(exchange.weight) * cycle.len() as f64 / f64::from(sum);
            assert!(
                found > 0.0 && (found - wanted).abs() <= 1.0,
                "{exchange:?}: {found} of {wanted}"
            );
        }
        let data: u64 = cycle.iter().map(|kind| u64::from(EXCHANGES[*kind].data)).sum();
        let mean = data as f64 / cycle.len() as f64;
        assert!((mean / 5428.4 - 1.0).abs() < 0.01, "{mean} bytes each");
    }
}
