//! Weights, exact division, and what is set at the start: 7.3 against the kernel's numbers.

#![allow(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    reason = "a test fails where it stands"
)]

use serde_json::Value;
use simsched_policies::fair::features::{FLAGS, FeatureFlag, Version};
use simsched_policies::fair::tunables::scaling_factor;
use simsched_policies::fair::weight::{
    IDLEPRIO, NICE_0_LOAD, SCHED_PRIO_TO_WEIGHT, SCHED_PRIO_TO_WMULT, calc_delta_exact,
    calc_delta_fair_exact, calc_prop_weight, scale_load_down,
};
use simsched_policies::fair::{Features, Overrides, Tunables};

use crate::common::{for_each_row, ints, lines, vectors_73};

#[test]
fn vectors_7_3_calc_delta() {
    vectors_73("calc_delta.csv", 2500, |file| {
        for_each_row(file, |row| {
            let [delta, weight, load] =
                ["delta", "weight", "lw_weight"].map(|column| row.get(column));
            row.expect("result", calc_delta_exact(delta, weight, load));
        })
    });
}

#[test]
fn vectors_7_3_calc_delta_fair() {
    vectors_73("calc_delta_fair.csv", 2500, |file| {
        for_each_row(file, |row| {
            row.expect("result", calc_delta_fair_exact(row.get("delta"), row.get("weight")));
        })
    });
}

/// Level by level from the task up; the last one is the root, whose own weight does not count.
#[test]
fn vectors_7_3_calc_prop_weight() {
    vectors_73("calc_prop_weight.csv", 1500, |file| {
        for_each_row(file, |row| {
            let depth: usize = row.get("depth");
            let mut weight = NICE_0_LOAD;
            for level in 1..=depth {
                let queue = (level < depth).then(|| row.get(&format!("q_w{level}")));
                weight = calc_prop_weight(weight, row.get(&format!("se_w{level}")), queue);
                let column = if level < 3 { &format!("after{level}") } else { "result" };
                row.expect(column, weight);
            }
            row.expect("result", weight);
        })
    });
}

#[test]
fn vectors_7_3_sched_prio_tables() {
    vectors_73("sched_prio_tables.json", 1, |file| {
        let text: Vec<String> = lines(file).collect();
        check_tables(&serde_json::from_str(&text.concat()).unwrap());
        1
    });
}

fn check_tables(file: &Value) {
    assert_eq!(ints(&file["sched_prio_to_weight"]), SCHED_PRIO_TO_WEIGHT);
    assert_eq!(ints(&file["sched_prio_to_wmult"]), SCHED_PRIO_TO_WMULT.map(u64::from));
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
    assert_eq!(defaults["tunable_scaling_factor"], scaling_factor(8));
    assert_eq!(defaults["sched_base_slice_ns"], tunables.base_slice_ns);
    assert_eq!(defaults["normalized"][0], tunables.normalized_base_slice_ns);
    assert_eq!(defaults["sched_migration_cost_ns"], tunables.migration_cost_ns);
    // What is chosen when a kernel is built is no switch of the scheduler.
    let is_switch = |flag: &&FeatureFlag| !flag.key.starts_with("CONFIG_");
    let features = Features::of(Version::V7_3);
    for flag in FLAGS.iter().filter(is_switch).filter(|flag| flag.is_of(features.version)) {
        assert_eq!(file["features"][flag.key], flag.get(&features), "{}", flag.key);
    }
    assert_eq!(file["features"]["HRTICK"], features.hrtick);
}
