//! Whole decisions of the load balancer, up to the queue that gives tasks, on three small machines.

use serde_json::{Value, json};
use simsched_core::testkit::{PolicyHost, WorldKit};
use simsched_policies::fair::{
    BalanceKit, CpuIdleType, Fair, Features, MigrationType, Overrides, Version,
};
use simsched_topology::CpuId;

use crate::balance_moves::idle_type;
use crate::common::{for_each_json, ints, vector_machine};

/// Makes world and policy what the row says: `[nr_running, h_nr_running, load, util, runnable]` of
/// each CPU.
pub(crate) fn set_up(host: &mut PolicyHost<Fair>, row: &Value) {
    let PolicyHost { kit, policy: fair, .. } = host;
    for (cpu, state) in (0..).map(CpuId).zip(row["cpu"].as_array().unwrap()) {
        let [nr_running, h_nr_running, load, util, runnable] = ints(state)[..] else { panic!() };
        let [nr_running, h_nr_running] =
            [nr_running, h_nr_running].map(|nr| nr.try_into().unwrap());
        let curr = (nr_running > 0).then_some(simsched_core::TaskId(u32::from(cpu.0)));
        kit.run_on(cpu, curr);
        kit.set_nr_running(cpu, nr_running);
        let rq = fair.cfs_rq_mut(cpu);
        (rq.avg.load_avg, rq.avg.util_avg, rq.avg.runnable_avg) = (load, util, runnable);
        rq.h_nr_running = h_nr_running;
    }
}

/// The decision in one domain, in the words of the file.
pub(crate) fn decide(
    balancer: &mut BalanceKit<'_>,
    dst: CpuId,
    sd: usize,
    idle: CpuIdleType,
) -> Value {
    let mut env = balancer.env(dst, sd, idle);
    let domain = &balancer.fair.domains().of(dst)[sd];
    let mut decision = json!({
        "sd": domain.name,
        "w": domain.weight,
        "swb": u8::from(balancer.should_we_balance(&env)),
        "busiest": null,
    });
    if let Some(busiest) = balancer.find_busiest_group(&mut env) {
        let src = balancer.find_busiest_queue(&env, busiest);
        decision["busiest"] = json!(balancer.fair.domains().group(busiest).span.to_string());
        decision["imb"] = json!(env.imbalance);
        decision["type"] = json!(match env.migration_type {
            MigrationType::Load => "load",
            MigrationType::Util => "util",
            MigrationType::Task => "task",
            MigrationType::Misfit => "misfit",
            MigrationType::LlcTask => "llc_task",
        });
        decision["src"] = json!(src.map_or(-1, |src| i32::from(src.0)));
    }
    decision
}

fn check(name: &str) -> usize {
    check_version(name, "6.1", Version::V6_1).min(check_version(name, "6.12", Version::V6_12))
}

/// Compares all rows and returns how many decisions found a busiest group.
pub(crate) fn check_version(name: &str, of: &str, version: Version) -> usize {
    let mut kit = WorldKit::new(vector_machine(name), 250);
    for _ in 0..kit.world().topology().nr_cpus() {
        kit.add_task(0);
    }
    let mut host = PolicyHost::new(kit, Fair::new(Features::of(version), Overrides::default()));
    let mut found = 0;
    let rows = for_each_json(&format!("{of}/find_busiest_{name}.jsonl"), |_, row| {
        set_up(&mut host, row);
        let dst = CpuId(row["dst"].as_u64().unwrap().try_into().unwrap());
        let idle = idle_type(&row["idle"]);
        let mut balancer = BalanceKit { fair: &mut host.policy, world: host.kit.world() };
        let nr_domains = balancer.fair.domains().of(dst).len();
        let decisions = (0..nr_domains).map(|sd| decide(&mut balancer, dst, sd, idle));
        let decisions = Value::Array(decisions.collect());
        assert_eq!(decisions, row["res"], "{row}");
        let is_found = |decision: &&Value| !decision["busiest"].is_null();
        found += row["res"].as_array().unwrap().iter().filter(is_found).count();
    });
    assert_eq!(rows, 250);
    found
}

#[test]
fn decisions_agree_with_the_kernel_without_smt() {
    assert!(check("small_2x4x1") > 100);
}

#[test]
fn decisions_agree_with_the_kernel_on_two_sockets() {
    assert!(check("mini_2x4x2") > 100);
}

#[test]
fn decisions_agree_with_the_kernel_on_four_nodes() {
    assert!(check("mini_2x4x2_nps2") > 100);
}
