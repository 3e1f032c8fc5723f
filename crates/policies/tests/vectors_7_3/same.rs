//! Numbers of 6.12 that 7.3 prints as well, to the byte, where 7.3 takes other ways in the class.

use simsched_policies::fair::{Features, Version};

use crate::balance_decisions::check_version;
use crate::load_avg::{check_attach_and_detach, check_propagation, check_removed_load};
use crate::select_task_rq::check_features;

const MACHINES: [&str; 3] = ["small_2x4x1", "mini_2x4x2", "mini_2x4x2_nps2"];

#[test]
fn vectors_7_3_as_6_12_select_task_rq() {
    for name in MACHINES {
        check_features(name, Features::of(Version::V7_3));
    }
}

#[test]
fn vectors_7_3_as_6_12_find_busiest() {
    for name in MACHINES {
        assert!(check_version(name, "6.12", Version::V7_3) > 100, "{name}");
    }
}

#[test]
fn vectors_7_3_as_6_12_attach_detach_entity_load_avg() {
    check_attach_and_detach(true);
}

#[test]
fn vectors_7_3_as_6_12_update_cfs_rq_load_avg_removed() {
    check_removed_load(true);
}

#[test]
fn vectors_7_3_as_6_12_propagate_entity_load_avg() {
    check_propagation(true);
}
