//! Walks over the domains of a CPU at its balancing time, with cache-aware scheduling: 7.3 against the kernel's numbers.

#![allow(clippy::unwrap_used, reason = "a test fails where it stands")]

use serde_json::{Value, json};
use simsched_topology::CpuId;

use super::cache_scene::Scene;
use crate::balance_moves::number;
use crate::common::driver::Driver;
use crate::common::{for_each_json, vectors_73};

/// What is set from outside: `[name, span, jiffies since last_balance, interval in ms, nr_balance_failed,
/// max_newidle_lb_cost, jiffies since its last change]` of each domain.
fn set_up(driver: &mut Driver, dst: CpuId, walk: &Value) {
    let jiffies = driver.host.kit.world().jiffies();
    for (at, given) in walk["sd"].as_array().unwrap().iter().enumerate() {
        let sd = driver.host.policy.sd_state_mut(dst, at);
        sd.last_balance = jiffies - number::<u64>(&given[2]);
        sd.balance_interval = number(&given[3]);
        sd.nr_balance_failed = number(&given[4]);
        sd.max_newidle_lb_cost = number(&given[5]);
        sd.last_decay_max_lb_cost = jiffies - number::<u64>(&given[6]);
    }
    let rq = driver.host.policy.rq_balance_mut(dst);
    rq.max_idle_balance_cost = 900_000;
    rq.idle_balance = walk["idle"] != 0;
}

/// The domains afterwards, in the words of the file.
fn domains(driver: &mut Driver, dst: CpuId) -> Value {
    let jiffies = driver.host.kit.world().jiffies();
    let nr_domains = driver.host.policy.domains().of(dst).len();
    let all = (0..nr_domains).map(|at| {
        let sd = *driver.host.policy.sd_state_mut(dst, at);
        let domain = &driver.host.policy.domains().of(dst)[at];
        json!([
            domain.name,
            domain.weight,
            jiffies - sd.last_balance,
            sd.balance_interval,
            sd.nr_balance_failed,
            sd.max_newidle_lb_cost,
            jiffies - sd.last_decay_max_lb_cost,
        ])
    });
    Value::Array(all.collect())
}

/// One walk, in the words of the file. The stoppers that are asked do not come.
fn balance(scene: &mut Scene, walk: &Value) -> Value {
    let dst = CpuId(number(&walk["dst"]));
    set_up(&mut scene.driver, dst, walk);
    let before = scene.places();
    scene.driver.host.run_rebalance_domains(dst);
    let (_, stops) = scene.steps(dst, |_| {});
    for src in &stops {
        scene.driver.host.policy.rq_balance_mut(*src).active_balance = false;
    }
    let jiffies = scene.driver.host.kit.world().jiffies();
    let rq = *scene.driver.host.policy.rq_balance_mut(dst);
    let mut result = json!({
        "to": scene.gone(&before),
        "stops": stops.len(),
        "max_cost_out": rq.max_idle_balance_cost,
        "next": rq.next_balance - jiffies,
        "sd_out": domains(&mut scene.driver, dst),
    });
    scene.pick_all();
    result["curr"] = scene.curr();
    result["rec"] = scene.recorded();
    result["pcpu"] = scene.homes();
    for given in ["dst", "idle", "sd"] {
        result[given] = walk[given].clone();
    }
    result
}

/// Compares all rows of a machine, and returns how many there are.
fn check(name: &str, file: &str) -> usize {
    for_each_json(file, |_, row| {
        let mut scene = Scene::new(name, row);
        for (at, walk) in row["walk"].as_array().unwrap().iter().enumerate() {
            assert_eq!(&balance(&mut scene, walk), walk, "walk {at} of {row}");
        }
    })
}

#[test]
fn vectors_7_3_cache_domain_walk() {
    for (name, rows) in [("mini_2x4x2", 8), ("mini_2x4x2_nps2", 7), ("ryzen_1x16x2", 6)] {
        let file = format!("cache_domain_walk_{name}.jsonl");
        vectors_73(&file, rows, |file| check(name, file));
    }
}
