//! `CpuSet` behaves like a `BTreeSet` of CPU numbers.

use std::collections::BTreeSet;

use proptest::prelude::*;
use simsched_topology::{CpuId, CpuSet, MAX_CPUS};

type Model = BTreeSet<u16>;

fn cpu() -> impl Strategy<Value = u16> {
    // Half of the draws lie near the edges of words, where mistakes live.
    prop_oneof![0..1024u16, (0..16u16, 0..3u16).prop_map(|(w, d)| (w * 64 + 1023 + d) % 1024)]
}

fn model() -> impl Strategy<Value = Model> {
    prop_oneof![
        proptest::collection::btree_set(cpu(), 0..40),
        (cpu(), 0..20u16).prop_map(|(c, n)| (c..(c + n).min(1024)).collect()),
        proptest::collection::btree_set(0..1024u16, 300..600),
    ]
}

fn set(model: &Model) -> CpuSet {
    model.iter().map(|&c| CpuId(c)).collect()
}

fn list(set: &CpuSet) -> Vec<u16> {
    set.iter().map(|c| c.0).collect()
}

fn wrapped(model: &Model, start: u16) -> Vec<u16> {
    model.range(start..).chain(model.range(..start)).copied().collect()
}

/// Everything that can be asked of one set.
fn check(found: &CpuSet, model: &Model) {
    assert_eq!(list(found), model.iter().copied().collect::<Vec<_>>());
    assert_eq!(found.len(), model.len());
    assert_eq!(found.is_empty(), model.is_empty());
    assert_eq!(found.first().map(|c| c.0), model.first().copied());
    assert_eq!(found.last().map(|c| c.0), model.last().copied());
    assert_eq!(*found, set(model), "equality is by content, whatever the history");
    assert_eq!(found.to_string().parse::<CpuSet>().as_ref(), Ok(found));
}

proptest! {
    #[test]
    fn a_set_of_cpus_is_a_btree_set(ops in proptest::collection::vec((any::<bool>(), cpu()), 0..60)) {
        let (mut found, mut model) = (CpuSet::new(), Model::new());
        for (insert, c) in ops {
            if insert {
                prop_assert_eq!(found.insert(CpuId(c)), model.insert(c));
            } else {
                prop_assert_eq!(found.remove(CpuId(c)), model.remove(&c));
            }
            prop_assert_eq!(found.contains(CpuId(c)), model.contains(&c));
            check(&found, &model);
        }
    }

    #[test]
    fn set_algebra_is_that_of_a_btree_set(a in model(), b in model()) {
        let (x, y) = (set(&a), set(&b));
        check(&x.and(&y), &(&a & &b));
        check(&x.or(&y), &(&a | &b));
        check(&x.minus(&y), &(&a - &b));
        prop_assert_eq!(x.intersects(&y), !a.is_disjoint(&b));
        prop_assert_eq!(x.is_subset(&y), a.is_subset(&b));
        prop_assert_eq!(x == y, a == b);

        let mut z = x;
        z.union_with(&y);
        check(&z, &(&a | &b));
        z = x;
        z.intersect_with(&y);
        check(&z, &(&a & &b));
        z = x;
        z.subtract(&y);
        check(&z, &(&a - &b));
        prop_assert!(x.and(&y).is_subset(&x));
        prop_assert_eq!(x.and_len(&y), (&a & &b).len());
    }

    #[test]
    fn walks_are_those_of_a_btree_set(a in model(), b in model(), start in cpu(), to in cpu()) {
        let (x, y) = (set(&a), set(&b));
        let order = wrapped(&a, start);
        prop_assert_eq!(x.next_from(CpuId(start)).map(|c| c.0), a.range(start..).next().copied());
        prop_assert_eq!(x.next_wrap(CpuId(start)).map(|c| c.0), order.first().copied());
        prop_assert_eq!(x.iter_wrap(CpuId(start)).map(|c| c.0).collect::<Vec<_>>(), order.clone());
        prop_assert_eq!(x.iter_wrap(CpuId(start)).len(), order.len());
        let both = order.iter().find(|c| b.contains(c)).copied();
        prop_assert_eq!(x.and_next_wrap(&y, CpuId(start)).map(|c| c.0), both);

        // The walk from `start` to `to` steps over every CPU between them, member or not.
        let steps = (u32::from(to) + 1024 - u32::from(start)) % 1024;
        let visited = (0..=steps).filter(|d| a.contains(&(((u32::from(start) + d) % 1024) as u16)));
        prop_assert_eq!(x.rank_wrap(CpuId(start), CpuId(to)), visited.count());
    }

    #[test]
    fn the_first_n_are_those_below_n(n in 0..=MAX_CPUS) {
        check(&CpuSet::first_n(n), &(0..1024).take(n).collect());
    }
}
