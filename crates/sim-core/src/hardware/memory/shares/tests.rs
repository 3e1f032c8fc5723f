//! The invariants of max-min fairness, on random resources and flows.

use proptest::prelude::*;

use super::*;

fn filled(caps: &[u64], uses: &[Vec<Use>], active: &[u32]) -> (Shares, Vec<u64>) {
    let mut flows: Vec<Flow> =
        uses.iter().map(|uses| Flow { uses: uses.clone(), rate: 0 }).collect();
    let mut shares = Shares::new(caps.to_vec(), flows.len());
    shares.fill(&mut flows, active);
    (shares, flows.iter().map(|flow| flow.rate).collect())
}

fn all(uses: &[Vec<Use>]) -> Vec<u32> {
    (0..u32::try_from(uses.len()).unwrap()).collect()
}

/// What the flows take of `resource`, in kB/s times the weight of one.
fn taken(uses: &[Vec<Use>], rates: &[u64], resource: u32) -> u64 {
    let of = |uses: &Vec<Use>| uses.iter().find(|used| used.resource == resource).copied();
    uses.iter().zip(rates).filter_map(|(uses, rate)| of(uses).map(|used| used.weight * rate)).sum()
}

fn one(resource: u32) -> Use {
    Use { resource, weight: WEIGHT_ONE }
}

/// Two through a narrow place of 4 and a wide one of 20, one through the wide one alone: 2, 2, 16.
#[test]
fn who_is_held_back_elsewhere_leaves_its_share_to_the_others() {
    let uses = vec![vec![one(0), one(1)], vec![one(0), one(1)], vec![one(1)]];
    let (shares, rates) = filled(&[4, 20], &uses, &all(&uses));
    assert_eq!(rates, [2, 2, 16]);
    assert_eq!((shares.used_1024(0), shares.used_1024(1)), (1024, 1024));
}

/// One of two pays double: both get 10 of 30.
#[test]
fn equal_rates_are_not_equal_shares_of_a_cap() {
    let uses = vec![vec![one(0)], vec![Use { resource: 0, weight: 2 * WEIGHT_ONE }]];
    assert_eq!(filled(&[30], &uses, &all(&uses)).1, [10, 10]);
}

#[test]
fn a_rate_is_never_nothing() {
    let uses: Vec<Vec<Use>> = (0..5).map(|_| vec![one(0)]).collect();
    assert_eq!(filled(&[3], &uses, &all(&uses)).1, [1; 5]);
}

fn scenes() -> impl Strategy<Value = (Vec<u64>, Vec<Vec<Use>>)> {
    let caps = prop::collection::vec(1_000_u64..500_000_000, 1..8);
    caps.prop_flat_map(|caps| {
        let nr = u32::try_from(caps.len()).unwrap();
        let weights = prop::collection::btree_map(0..nr, 1_u64..4 * WEIGHT_ONE, 1..=caps.len());
        let uses = weights.prop_map(|weights| {
            weights.into_iter().map(|(resource, weight)| Use { resource, weight }).collect()
        });
        (Just(caps), prop::collection::vec(uses, 1..20))
    })
}

proptest! {
    #[test]
    fn no_cap_is_exceeded((caps, uses) in scenes()) {
        let (shares, rates) = filled(&caps, &uses, &all(&uses));
        for (resource, cap) in (0..).zip(&caps) {
            let taken = taken(&uses, &rates, resource);
            // A rate is at least 1, whatever is left.
            let least = if rates.contains(&1) { 20 * 4 * WEIGHT_ONE } else { 0 };
            prop_assert!(taken <= cap * WEIGHT_ONE + least);
            if least == 0 {
                prop_assert_eq!(shares.left[resource as usize], cap * WEIGHT_ONE - taken);
            }
        }
    }

    /// Each flow uses a resource that has no kB/s left for all of its flows, and in which none has a
    /// higher rate.
    #[test]
    fn none_can_gain_without_one_losing_that_has_no_more((caps, uses) in scenes()) {
        let (_, rates) = filled(&caps, &uses, &all(&uses));
        for (flow, rate) in uses.iter().zip(&rates) {
            let bound = |used: &Use| {
                let shares = |other: &&(&Vec<Use>, &u64)| {
                    other.0.iter().any(|it| it.resource == used.resource)
                };
                let pairs: Vec<_> = uses.iter().zip(&rates).collect();
                let highest = pairs.iter().filter(shares).all(|(_, other)| *other <= rate);
                let load: u64 = taken(&uses, &vec![1; uses.len()], used.resource);
                let left = caps[used.resource as usize] * WEIGHT_ONE;
                highest && taken(&uses, &rates, used.resource) + load > left
            };
            prop_assert!(flow.iter().any(bound), "{flow:?} at {rate}");
        }
    }

    #[test]
    fn the_order_of_arrival_changes_nothing(
        ((caps, uses), order) in scenes().prop_flat_map(|scene| {
            let rows: Vec<u32> = all(&scene.1);
            (Just(scene), Just(rows).prop_shuffle())
        })
    ) {
        prop_assert_eq!(filled(&caps, &uses, &order).1, filled(&caps, &uses, &all(&uses)).1);
    }
}
