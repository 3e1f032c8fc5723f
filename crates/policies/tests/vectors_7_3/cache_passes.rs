//! Whole passes over one domain, one after the other, with cache-aware scheduling, and what the stopper moves: 7.3
//! against the kernel's numbers.

#![allow(clippy::unwrap_used, reason = "a test fails where it stands")]

use serde_json::{Value, json};
use simsched_core::Moves;
use simsched_topology::CpuId;

use super::cache_scene::Scene;
use crate::balance_moves::{idle_type, number};
use crate::common::{for_each_json, vectors_73};

/// The domain of `cpu` with this name and weight.
fn domain(scene: &Scene, cpu: CpuId, pass: &Value) -> usize {
    let domains = scene.driver.host.policy.domains().of(cpu);
    let is_it = |sd: &simsched_topology::SchedDomain| {
        sd.name == pass["sd"] && json!(sd.weight) == pass["w"]
    };
    domains.iter().position(is_it).unwrap()
}

/// The stopper of `src` has been asked: what it moves. The running task gives way to it, and is picked again if it is
/// still there.
fn stop(scene: &mut Scene, src: CpuId) -> Value {
    let before = scene.places();
    let rq = *scene.driver.host.policy.rq_balance_mut(src);
    let host = &mut scene.driver.host;
    if let Some(prev) = host.kit.world().curr(src) {
        host.put_prev_task(src, prev);
        host.kit.run_on(src, None);
    }
    let mut moves = Moves::default();
    host.active_load_balance_cpu_stop(src, &mut moves);
    scene.attach(&moves);
    let stop = json!({
        "src": src.0,
        "dst": rq.push_cpu.0,
        "llc": u8::from(rq.push_llc),
        "to": scene.gone(&before),
    });
    scene.pick(src);
    scene.pick(rq.push_cpu);
    stop
}

/// One pass, in the words of the file.
fn balance(scene: &mut Scene, pass: &Value) -> Value {
    let dst = CpuId(number(&pass["dst"]));
    let sd = domain(scene, dst, pass);
    let before = scene.places();
    scene.driver.host.policy.sd_state_mut(dst, sd).nr_balance_failed = number(&pass["failed"]);
    scene.driver.host.policy.begin_load_balance(dst, sd, idle_type(&pass["idle"]));
    let (looks, stops) = scene.steps(dst, |_| {});
    let to = scene.gone(&before);
    let state = *scene.driver.host.policy.sd_state_mut(dst, sd);
    let mut result = json!({
        "moved": if looks == 0 { json!(-1) } else { json!(to.as_array().unwrap().len()) },
        "to": to,
        "failed_out": state.nr_balance_failed,
        "interval_out": state.balance_interval,
    });
    scene.pick_all();
    if let Some(&src) = stops.first() {
        result["stop"] = stop(scene, src);
    }
    result["curr"] = scene.curr();
    result["rec"] = scene.recorded();
    result["pcpu"] = scene.homes();
    for given in ["dst", "idle", "sd", "w", "failed"] {
        result[given] = pass[given].clone();
    }
    if pass.get("cnt").is_some() {
        result["cnt"] = scene.counted();
    }
    result
}

/// Compares all rows of a machine, and returns how many there are.
fn check(name: &str, file: &str) -> usize {
    let mut stops = 0;
    let rows = for_each_json(file, |_, row| {
        let mut scene = Scene::new(name, row);
        for (at, pass) in row["pass"].as_array().unwrap().iter().enumerate() {
            assert_eq!(&balance(&mut scene, pass), pass, "pass {at} of {row}");
            stops += usize::from(pass.get("stop").is_some());
        }
    });
    assert!(stops > 20, "{stops}");
    rows
}

#[test]
fn vectors_7_3_cache_balance_passes() {
    let rows =
        [("small_2x4x1", 72), ("mini_2x4x2", 114), ("mini_2x4x2_nps2", 61), ("ryzen_1x16x2", 75)];
    for (name, rows) in rows {
        let file = format!("cache_balance_passes_{name}.jsonl");
        vectors_73(&file, rows, |file| check(name, file));
    }
}
