//! What 7.3 remembers of newly idle balances, and which idle CPU balances for the others, against the kernel's numbers.

#![allow(clippy::unwrap_used, reason = "a test fails where it stands")]

use simsched_core::TaskId;
use simsched_core::testkit::{PolicyHost, WorldKit};
use simsched_policies::fair::{BalanceKit, Fair, Features, NewidleRule, Overrides, Version};
use simsched_topology::{CpuId, CpuSet};

use crate::common::driver::TICK;
use crate::common::{Row, for_each_row, vector_machine, vectors_73};

/// A machine of the vectors with a task for each CPU.
fn host(name: &str) -> PolicyHost<Fair> {
    let mut kit = WorldKit::new(vector_machine(name), 250);
    for _ in 0..kit.world().topology().nr_cpus() {
        kit.add_task(0);
    }
    PolicyHost::new(kit, Fair::new(Features::of(Version::V7_3), Overrides::default()))
}

/// The jiffies of the rows are this many ahead of ours, which count from clock 0.
const AHEAD: u64 = 10_000;

/// The last rows are near the end of the clock. The clock of a row may be anywhere in its jiffy.
#[test]
fn vectors_7_3_update_newidle_stats() {
    let PolicyHost { mut kit, mut policy, .. } = host("small_2x4x1");
    vectors_73("newidle_stats.csv", 895, |file| {
        for_each_row(file, |row| {
            let sd = policy.sd_state_mut(CpuId(0), 0);
            sd.newidle_call = row.get("call_in");
            sd.newidle_success = row.get("success_in");
            sd.newidle_ratio = row.get("ratio_in");
            sd.newidle_stamp = row.get("stamp_in");
            sd.max_newidle_lb_cost = row.get("max_cost_in");
            sd.last_decay_max_lb_cost = row.get::<u64>("decay_in") - AHEAD;
            let rule = NewidleRule::Timed { now: row.get("sched_clock"), rate: true };
            let (cost, success) = (row.get("cost"), row.get("success"));
            kit.set_clock((row.get::<u64>("jiffies") - AHEAD) * TICK);
            let decays = match row.get("op") {
                0 => {
                    sd.update_newidle_stats(success, rule);
                    false
                }
                1 => sd.update_newidle_cost(kit.world(), cost, success, rule),
                op => panic!("{op}"),
            };
            row.expect("ret", u8::from(decays));
            row.expect("call", sd.newidle_call);
            row.expect("success_out", sd.newidle_success);
            row.expect("ratio", sd.newidle_ratio);
            row.expect("stamp", sd.newidle_stamp);
            row.expect("max_cost", sd.max_newidle_lb_cost);
            row.expect("last_decay", sd.last_decay_max_lb_cost + AHEAD);
        })
    });
}

/// The CPUs whose bits are set.
fn cpus(row: &Row<'_>, column: &str) -> CpuSet {
    let mask: u64 = row.get(column);
    (0..64).filter(|cpu| mask >> cpu & 1 != 0).map(CpuId).collect()
}

#[test]
fn vectors_7_3_find_new_ilb() {
    for name in ["small_2x4x1", "mini_2x4x2"] {
        let PolicyHost { mut kit, policy: mut fair, .. } = host(name);
        vectors_73(&format!("find_new_ilb_{name}.csv"), 600, |file| {
            for_each_row(file, |row| {
                *fair.nohz_mask_mut() = cpus(row, "nohz_mask");
                let busy = cpus(row, "busy_mask");
                for cpu in kit.world().topology_arc().cpus().iter() {
                    let is_busy = busy.contains(cpu);
                    kit.set_nr_running(cpu, 0);
                    kit.run_on(cpu, is_busy.then_some(TaskId(u32::from(cpu.0))));
                }
                let balancer = BalanceKit { fair: &mut fair, world: kit.world() };
                let ilb = balancer.find_new_ilb().map_or(-1, |cpu| i32::from(cpu.0));
                row.expect("result", ilb);
            })
        });
    }
}
