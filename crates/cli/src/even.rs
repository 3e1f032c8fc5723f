//! Whether the nodes of a machine are so evenly busy that the balancer of its widest domain rests.

/// In percent: how much busier one node may be than another for that balancer to leave them alone
/// (`imbalance_pct`; `sd_init()`, 6.1).
const IMBALANCE_PCT: u64 = 117;

/// What part of all time was not idle, in millionths.
pub(crate) fn busy_share(busy_ns: u64, all_ns: u64) -> u64 {
    let share = u128::from(busy_ns) * 1_000_000 / u128::from(all_ns.max(1));
    u64::try_from(share).unwrap_or(u64::MAX)
}

/// Whether the nodes, of whose time these parts were busy, need no balancing between them. A machine of
/// one node has no widest domain of its own to wait for, and is never said to be even.
pub(crate) fn nodes_are_even(shares: &[u64]) -> bool {
    let (least, most) = (shares.iter().min(), shares.iter().max());
    shares.len() > 1
        && least.zip(most).is_some_and(|(least, most)| 100 * most <= IMBALANCE_PCT * least)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_even_up_to_the_imbalance_that_the_widest_domain_allows() {
        assert!(nodes_are_even(&[100, 117, 110]));
        assert!(!nodes_are_even(&[100, 118]));
        assert!(!nodes_are_even(&[0, 1]));
        assert!(nodes_are_even(&[0, 0]));
    }

    #[test]
    fn one_node_is_not_said_to_be_even() {
        assert!(!nodes_are_even(&[5]));
        assert!(!nodes_are_even(&[]));
    }

    /// 16 CPUs that are busy for half of the time and 8 that are, too.
    #[test]
    fn a_share_is_of_the_time_of_the_cpus_that_a_node_has() {
        assert_eq!(busy_share(8_000, 16_000), busy_share(4_000, 8_000));
        assert_eq!(busy_share(3, 4), 750_000);
        assert_eq!(busy_share(0, 0), 0);
        assert_eq!(busy_share(u64::MAX, u64::MAX), 1_000_000);
    }
}
