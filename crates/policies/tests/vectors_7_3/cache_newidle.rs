//! Newly idle balances with cache-aware scheduling, from the task that blocks to the one that is picked: 7.3 against the
//! kernel's numbers.

#![allow(clippy::unwrap_used, reason = "a test fails where it stands")]

use serde_json::{Value, json};
use simsched_core::{Dequeue, Dequeued, TaskId};
use simsched_policies::fair::CpuIdleType::NewlyIdle;
use simsched_topology::CpuId;

use super::cache_scene::Scene;
use crate::balance_moves::number;
use crate::common::driver::Driver;
use crate::common::{for_each_json, ints, vectors_73};

fn nr_domains(driver: &Driver, cpu: CpuId) -> usize {
    driver.host.policy.domains().of(cpu).len()
}

/// What is set from outside: `[name, span, max_newidle_lb_cost, jiffies since its last change, calls, success, ratio, ns
/// since newidle_stamp, nr_balance_failed]` of each domain, and what is known of the CPU.
fn set_up(driver: &mut Driver, dst: CpuId, call: &Value) {
    let world = driver.host.kit.world();
    let (now, jiffies) = (world.sched_clock(), world.jiffies());
    let fair = &mut driver.host.policy;
    for (at, given) in call["sd"].as_array().unwrap().iter().enumerate() {
        let sd = fair.sd_state_mut(dst, at);
        sd.max_newidle_lb_cost = number(&given[2]);
        sd.last_decay_max_lb_cost = jiffies - number::<u64>(&given[3]);
        sd.newidle_call = number(&given[4]);
        sd.newidle_success = number(&given[5]);
        sd.newidle_ratio = number(&given[6]);
        sd.newidle_stamp = now - number::<u64>(&given[7]);
        sd.nr_balance_failed = number(&given[8]);
    }
    fair.idle_stats_mut(dst).avg_idle = number(&call["avg_idle"]);
    fair.rq_balance_mut(dst).max_idle_balance_cost = number(&call["max_cost"]);
    fair.set_overloaded(call["overloaded"] != 0);
    fair.set_draws(ints(&call["dice"]).into_iter().map(|draw| draw.try_into().unwrap()));
}

/// The domains afterwards, in the words of the file.
fn domains(driver: &mut Driver, dst: CpuId) -> Value {
    let world = driver.host.kit.world();
    let (now, jiffies) = (world.sched_clock(), world.jiffies());
    let all = (0..nr_domains(driver, dst)).map(|at| {
        let (name, weight) = {
            let sd = &driver.host.policy.domains().of(dst)[at];
            (sd.name, sd.weight)
        };
        let sd = driver.host.policy.sd_state_mut(dst, at);
        json!([
            name,
            weight,
            sd.max_newidle_lb_cost,
            jiffies - sd.last_decay_max_lb_cost,
            sd.newidle_call,
            sd.newidle_success,
            sd.newidle_ratio,
            now - sd.newidle_stamp,
            sd.nr_balance_failed,
        ])
    });
    Value::Array(all.collect())
}

/// How many passes of newly idle balances `cpu` has begun.
fn nr_passes(driver: &mut Driver, cpu: CpuId) -> usize {
    let nr_domains = nr_domains(driver, cpu);
    let count = |at| driver.host.policy.sd_state_mut(cpu, at).counts.lb_count[NewlyIdle as usize];
    let nr_passes: u64 = (0..nr_domains).map(count).sum();
    usize::try_from(nr_passes).unwrap()
}

/// The walk over the domains; each pass takes the time of the row, which is nothing to the stamps of the domains. Returns
/// how often the clock was read.
fn walk(scene: &mut Scene, dst: CpuId, costs: &[u64]) -> usize {
    if !scene.driver.host.newidle_balance(dst) {
        return 0;
    }
    let nr_domains = nr_domains(&scene.driver, dst);
    let before = nr_passes(&mut scene.driver, dst);
    let mut costs = costs.iter().enumerate();
    scene.steps(dst, |driver| {
        // A pass may read all CPUs again.
        if costs.len() == 0 || nr_passes(driver, dst) - before <= costs.clone().next().unwrap().0 {
            return;
        }
        let cost = *costs.next().unwrap().1;
        let clock = driver.host.kit.world().sched_clock() + cost;
        driver.host.kit.set_sched_clock(clock);
        for at in 0..nr_domains {
            driver.host.policy.sd_state_mut(dst, at).newidle_stamp += cost;
        }
    });
    1 + nr_passes(&mut scene.driver, dst) - before
}

/// One call, in the words of the file.
fn balance(scene: &mut Scene, call: &Value) -> Value {
    let (dst, task) = (CpuId(number(&call["dst"])), TaskId(number(&call["task"])));
    set_up(&mut scene.driver, dst, call);
    let before = scene.places();
    let host = &mut scene.driver.host;
    assert_eq!(host.kit.world().curr(dst), Some(task));
    assert_eq!(host.dequeue(dst, task, Dequeue::Sleep), Dequeued::Left);
    host.kit.task(task).on_rq = false;
    host.kit.set_nr_running(dst, 0);
    assert_eq!(host.pick_next(dst, Some(task)), None);
    let clocks = walk(scene, dst, &ints(&call["cost"]));
    let host = &mut scene.driver.host;
    let next = host.pick_next(dst, Some(task));
    if next.is_none() {
        host.put_prev_task(dst, task);
    }
    host.kit.run_on(dst, next);
    let mut result = json!({
        "clocks": clocks,
        "pick": next.map_or(json!(-1), |task| json!(task.0)),
        "to": scene.gone(&before),
        "sd_out": domains(&mut scene.driver, dst),
    });
    scene.pick_all();
    let fair = &mut scene.driver.host.policy;
    result["max_cost_out"] = json!(fair.rq_balance_mut(dst).max_idle_balance_cost);
    result["idle_stamp_set"] = json!(u8::from(fair.idle_stats(dst).idle_stamp != 0));
    result["overloaded_out"] = json!(u8::from(fair.is_overloaded()));
    result["curr"] = scene.curr();
    result["rec"] = scene.recorded();
    result["pcpu"] = scene.homes();
    for given in ["dst", "task", "avg_idle", "max_cost", "overloaded", "dice", "cost", "sd"] {
        result[given] = call[given].clone();
    }
    result
}

/// Compares all rows of a machine, and returns how many there are.
fn check(name: &str, file: &str) -> usize {
    for_each_json(file, |_, row| {
        let mut scene = Scene::new(name, row);
        for (at, call) in row["call"].as_array().unwrap().iter().enumerate() {
            assert_eq!(&balance(&mut scene, call), call, "call {at} of {row}");
        }
    })
}

#[test]
fn vectors_7_3_cache_newidle() {
    let rows =
        [("small_2x4x1", 5), ("mini_2x4x2", 23), ("mini_2x4x2_nps2", 12), ("ryzen_1x16x2", 24)];
    for (name, rows) in rows {
        let file = format!("cache_newidle_{name}.jsonl");
        vectors_73(&file, rows, |file| check(name, file));
    }
}
