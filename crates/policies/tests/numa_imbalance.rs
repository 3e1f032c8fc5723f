//! How many tasks may be too many on a NUMA node, by the rule of each kernel and draft: for a fork,
//! and for a balance.

use crate::common::for_each_row;
use simsched_policies::fair::features::{BalanceImbalance, ForkImbalance, Imbalance, Surplus};
use simsched_topology::NumaImbalance;

#[test]
fn since_6_0_half_of_what_adjust_numa_imbalance_leaves_is_moved() {
    let mut held = 0;
    for_each_row("common/adjust_numa_imbalance.csv", |row| {
        let [dst_running, imb_numa_nr] = ["dst_running", "imb_numa_nr"].map(|key| row.get(key));
        // The local group is asked with one task more than it has.
        let (Some(local_running), Ok(imbalance)) =
            (u32::checked_sub(dst_running, 1), row.get::<i64>("imbalance_long").try_into())
        else {
            return;
        };
        let surplus = Surplus {
            imbalance: i32::into(imbalance),
            local_running,
            busiest_running: 0,
            span_weight: 0,
            imb_numa_nr,
        };
        let moved = BalanceImbalance::V6_0.tasks_to_move(surplus);
        assert_eq!(moved, row.get::<i64>("result_long") >> 1, "{row:?}");
        held += 1;
    });
    assert!(held > 300, "{held} rows have a local group");
}

/// Two nodes of 16 CPUs, of which `imb_numa_nr` may differ by 4.
#[track_caller]
fn check(rule: BalanceImbalance, [local, busiest]: [u32; 2], moved: i64) {
    let surplus = Surplus {
        imbalance: i64::from(busiest) - i64::from(local),
        local_running: local,
        busiest_running: busiest,
        span_weight: 32,
        imb_numa_nr: 4,
    };
    assert_eq!(rule.tasks_to_move(surplus), moved, "{rule:?}");
}

#[test]
fn before_5_18_few_tasks_in_the_busiest_node_let_a_pair_stay() {
    use BalanceImbalance::{V3, V4, V5_16};
    // A quarter of 32 CPUs is 8: with 5 tasks there, 2 may stay, and not 3.
    check(V5_16, [0, 5], 0);
    check(V5_16, [0, 6], 3);
    check(V5_16, [4, 8], 2);
    // Four of them is the limit of the drafts: one compares with <, the other with <=.
    for (rule, moved) in [(V3, 2), (V4, 0)] {
        check(rule, [0, 3], 0);
        check(rule, [0, 4], moved);
        check(rule, [1, 5], 2);
    }
}

#[test]
fn since_5_18_few_tasks_in_the_local_node_let_a_pair_stay() {
    use BalanceImbalance::{V5_18, V6_0};
    // With the newcomer there are at most 4 here: half of the difference may be 2 in 5.18, ...
    check(V5_18, [3, 8], 0);
    check(V5_18, [3, 9], 3);
    check(V5_18, [4, 8], 2);
    // ... and the whole of it since 6.0.
    check(V6_0, [3, 5], 0);
    check(V6_0, [3, 6], 1);
    check(V6_0, [3, 8], 2);
    check(V6_0, [4, 6], 1);
}

/// The least number of tasks in a node of 16 CPUs at which a child leaves it, where `imb_numa_nr`
/// is 4 and the other node is idle.
fn first_to_leave(rule: NumaImbalance) -> u32 {
    let stays = |local_running: u32| {
        ForkImbalance::from(rule).allows(Imbalance {
            local_running,
            idle_difference: 2,
            span_weight: 32,
            local_allowed: 16,
            imb_numa_nr: 4,
        })
    };
    (0..).find(|&running| !stays(running)).unwrap()
}

/// The least number of tasks in the busiest of two nodes from which a balance takes half of two.
fn first_to_pull(rule: NumaImbalance) -> u32 {
    let moved = |busiest_running: u32| {
        BalanceImbalance::from(rule).tasks_to_move(Surplus {
            imbalance: 2,
            local_running: busiest_running - 2,
            busiest_running,
            span_weight: 32,
            imb_numa_nr: 4,
        })
    };
    (2..).find(|&running| moved(running) > 0).unwrap()
}

#[test]
fn the_drafts_differ_in_what_they_compare() {
    use NumaImbalance::{Merged, V3, V4, V4_1, V4_1Fix, V4_2, V5_16, V5_18};
    for (rule, leaves, pulls) in [
        // A quarter of 32 CPUs.
        (V5_16, 8, 8),
        // Less than 4 tasks.
        (V3, 4, 4),
        // Up to 4 tasks, of which the child is none.
        (V4, 5, 5),
        (V4_1, 5, 5),
        // The child is one of 4; balancing is not touched.
        (V4_1Fix, 4, 5),
        // The numbers of v4.1, less than 4 tasks.
        (V4_2, 4, 4),
        // Up to 4 tasks with the one that is to come, here: the busiest has two more.
        (V5_18, 4, 6),
        (Merged, 4, 6),
    ] {
        assert_eq!((first_to_leave(rule), first_to_pull(rule)), (leaves, pulls), "{rule:?}");
    }
}
