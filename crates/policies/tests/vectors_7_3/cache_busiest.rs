//! Whole decisions of the load balancer with cache-aware scheduling, up to the queue that gives tasks: 7.3 against the
//! kernel's numbers.

#![allow(clippy::unwrap_used, reason = "a test fails where it stands")]

use serde_json::{Value, json};
use simsched_core::testkit::{PolicyHost, WorldKit};
use simsched_policies::fair::{BalanceKit, CacheAware, CpuIdleType, LlcStats};
use simsched_topology::CpuId;

use super::cache_task::class;
use crate::balance_decisions::{decide, set_up};
use crate::balance_moves::{idle_type, number};
use crate::common::{for_each_json, ints, vector_machine, vectors_73};

/// How many tasks of each CPU prefer each LLC, and what was recorded of the LLCs: `[first CPU, utilization, capacity]`.
fn set_llcs(llc: &mut CacheAware, row: &Value) {
    for (cpu, want) in (0..).map(CpuId).zip(row["want"].as_array().unwrap()) {
        for (at, count) in (0..).zip(ints(want)) {
            llc.set_llc_count(cpu, at, count.try_into().unwrap());
        }
    }
    for (at, state) in (0..).zip(row["llc"].as_array().unwrap()) {
        let [first, util, capacity] = ints(state)[..] else { panic!("{state}") };
        assert_eq!(llc.ids().span(at).first(), Some(CpuId(first.try_into().unwrap())));
        llc.set_stats(at, LlcStats { util, capacity });
    }
}

/// What is recorded of each LLC, in the words of the files.
pub(super) fn recorded(llc: &CacheAware) -> Value {
    let stats = (0..llc.ids().len()).map(|at| llc.stats(at.try_into().unwrap()));
    Value::Array(stats.map(|stats| json!([stats.util, stats.capacity])).collect())
}

/// The decision in one domain, in which so many balances have failed.
fn decide_after(
    balancer: &mut BalanceKit<'_>,
    dst: CpuId,
    (sd, expected): (usize, &Value),
    idle: CpuIdleType,
) -> Value {
    balancer.fair.sd_state_mut(dst, sd).nr_balance_failed = number(&expected["failed"]);
    let mut decision = decide(balancer, dst, sd, idle);
    decision["failed"] = expected["failed"].clone();
    decision["tries"] = json!(balancer.fair.domains().of(dst)[sd].cache_nice_tries);
    decision["llc_after"] = recorded(balancer.fair.cache_aware().unwrap());
    decision
}

/// Compares all rows of a machine, and returns how many there are.
fn check(name: &str, file: &str) -> usize {
    let mut kit = WorldKit::new(vector_machine(name), 250);
    for _ in 0..kit.world().topology().nr_cpus() {
        kit.add_task(0);
    }
    let mut host = PolicyHost::new(kit, class().fair_class());
    for_each_json(file, |_, row| {
        set_up(&mut host, row);
        set_llcs(host.policy.cache_aware_mut().unwrap(), row);
        let dst = CpuId(number(&row["dst"]));
        let idle = idle_type(&row["idle"]);
        let expected = row["res"].as_array().unwrap();
        assert_eq!(expected.len(), host.policy.domains().of(dst).len());
        let mut balancer = BalanceKit { fair: &mut host.policy, world: host.kit.world() };
        for at in expected.iter().enumerate() {
            assert_eq!(&decide_after(&mut balancer, dst, at, idle), at.1, "{row}");
        }
    })
}

#[test]
fn vectors_7_3_cache_find_busiest() {
    let rows = [
        ("small_2x4x1", 400),
        ("mini_2x4x2", 200),
        ("mini_2x4x2_nps2", 200),
        ("ryzen_1x16x2", 200),
    ];
    for (name, rows) in rows {
        let file = format!("cache_find_busiest_{name}.jsonl");
        vectors_73(&file, rows, |file| check(name, file));
    }
}
