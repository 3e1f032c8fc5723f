//! Types of groups, which of two is busier or idler, how much is to be moved between them, and whole passes: 7.3 against
//! the kernel's numbers.

use simsched_policies::fair::Version;

use crate::balance_groups::{check_busier_group, check_imbalances};
use crate::balance_moves::check_moves;
use crate::common::vectors_73;
use crate::wakeups::{check_group_types, check_idler_group};

/// With groups whose tasks prefer the LLC of the destination.
#[test]
fn vectors_7_3_group_classify() {
    vectors_73("group_classify.csv", 2200, |file| check_group_types(file, Version::V7_3));
}

#[test]
fn vectors_7_3_update_sd_pick_busiest() {
    let check = |file: &str| check_busier_group(file, Version::V7_3);
    vectors_73("pick_busiest_idlest.csv", 1200, check);
}

#[test]
fn vectors_7_3_update_pick_idlest() {
    vectors_73("pick_busiest_idlest.csv", 1200, check_idler_group);
}

#[test]
fn vectors_7_3_calculate_imbalance() {
    vectors_73("calculate_imbalance.csv", 1600, |file| check_imbalances(file, Version::V7_3));
}

/// Nobody has a group of LLCs, and no time passes.
#[test]
fn vectors_7_3_load_balance_moves() {
    vectors_73("load_balance_moves.jsonl", 120, |file| check_moves(file, Version::V7_3));
}
