//! Weights and virtual time against the kernel's numbers.

#![allow(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    reason = "a test fails where it stands"
)]

use serde_json::Value;
use simsched_policies::fair::features::{FLAGS, FeatureFlag, Version};
use simsched_policies::fair::tunables::scaling_factor;
use simsched_policies::fair::weight::{
    IDLEPRIO, LoadWeight, NICE_0_LOAD, SCHED_PRIO_TO_WEIGHT, SCHED_PRIO_TO_WMULT, calc_delta,
    calc_delta_fair, scale_load_down,
};
use simsched_policies::fair::{Features, Overrides, Tunables, wakeup_preempt_entity};

use crate::common::{for_each_row, ints, lines};

#[test]
fn calc_delta_agrees_with_the_kernel() {
    let rows = for_each_row("common/calc_delta.csv", |row| {
        let load = LoadWeight { weight: row.get("lw_weight"), inv_weight: row.get("lw_inv_in") };
        let result = calc_delta(row.get("delta"), row.get("weight"), load);
        row.expect("result", result);
        row.expect("lw_inv_out", load.inverse());
    });
    assert_eq!(rows, 2500);
}

#[test]
fn calc_delta_fair_agrees_with_the_kernel() {
    let rows = for_each_row("common/calc_delta_fair.csv", |row| {
        let load = LoadWeight { weight: row.get("weight"), inv_weight: row.get("inv_in") };
        row.expect("result", calc_delta_fair(row.get("delta"), load));
    });
    assert_eq!(rows, 2500);
}

#[test]
fn wakeup_preempt_entity_agrees_with_the_kernel() {
    let rows = for_each_row("6.1/wakeup_preempt_entity.csv", |row| {
        let load = LoadWeight { weight: row.get("se_weight"), inv_weight: row.get("se_inv_in") };
        row.expect("gran", calc_delta_fair(4_000_000, load));
        let (curr, se) = (row.get("curr_vruntime"), row.get("se_vruntime"));
        let result = wakeup_preempt_entity(curr, se, load, 4_000_000);
        row.expect("result", result);
    });
    assert_eq!(rows, 1500);
}

#[test]
fn tables_and_defaults_are_those_of_the_kernel() {
    let text: Vec<String> = lines("6.1/sched_prio_tables.json").collect();
    let file: Value = serde_json::from_str(&text.concat()).unwrap();
    assert_eq!(ints(&file["sched_prio_to_weight"]), SCHED_PRIO_TO_WEIGHT);
    let wmult: Vec<u64> = SCHED_PRIO_TO_WMULT.map(u64::from).to_vec();
    assert_eq!(ints(&file["sched_prio_to_wmult"]), wmult);
    assert_eq!(file["WEIGHT_IDLEPRIO"], IDLEPRIO.0);
    assert_eq!(file["WMULT_IDLEPRIO"], IDLEPRIO.1);
    assert_eq!(file["ROOT_TASK_GROUP_LOAD"], NICE_0_LOAD);
    for example in file["scale_load_down_examples"].as_array().unwrap() {
        let example = ints(example);
        assert_eq!(scale_load_down(example[0]), example[1]);
    }
    for pair in file["tunable_scaling_by_online_cpus"].as_array().unwrap() {
        let pair = ints(pair);
        assert_eq!(scaling_factor(usize::try_from(pair[0]).unwrap()), pair[1]);
    }
    let defaults = &file["defaults_8cpus"];
    let tunables = Tunables::new(8, &Overrides::default());
    assert_eq!(defaults["sched_latency_ns"], tunables.latency_ns);
    assert_eq!(defaults["sched_min_granularity_ns"], tunables.min_granularity_ns);
    assert_eq!(defaults["sched_idle_min_granularity_ns"], tunables.idle_min_granularity_ns);
    assert_eq!(defaults["sched_wakeup_granularity_ns"], tunables.wakeup_granularity_ns);
    assert_eq!(defaults["sched_migration_cost_ns"], tunables.migration_cost_ns);
    assert_eq!(defaults["sched_nr_latency"], tunables.nr_latency());
    // What is chosen when a kernel is built is no switch of the scheduler.
    let is_switch = |flag: &&FeatureFlag| !flag.key.starts_with("CONFIG_");
    let features = Features::default();
    for flag in FLAGS.iter().filter(is_switch).filter(|flag| flag.is_of(features.version)) {
        assert_eq!(file["features"][flag.key], flag.get(&features), "{}", flag.key);
    }
    let text: Vec<String> = lines("6.12/sched_prio_tables.json").collect();
    let file: Value = serde_json::from_str(&text.concat()).unwrap();
    assert_eq!(ints(&file["sched_prio_to_weight"]), SCHED_PRIO_TO_WEIGHT);
    let defaults = &file["defaults_8cpus"];
    assert_eq!(defaults["sched_base_slice_ns"], tunables.base_slice_ns);
    assert_eq!(defaults["normalized"][0], tunables.normalized_base_slice_ns);
    assert_eq!(defaults["sched_migration_cost_ns"], tunables.migration_cost_ns);
    let features = Features::of(Version::V6_12);
    for flag in FLAGS.iter().filter(is_switch).filter(|flag| flag.is_of(features.version)) {
        // One that came later is off.
        let known = file["features"][flag.key].as_bool().unwrap_or(false);
        assert_eq!(known, flag.get(&features), "{}", flag.key);
    }
}
