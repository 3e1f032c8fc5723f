//! May a task be moved, and must the running one go, with cache-aware scheduling: 7.3 against the kernel's numbers.

#![allow(clippy::unwrap_used, reason = "a test fails where it stands")]

use serde_json::{Value, json};
use simsched_core::TaskId;
use simsched_core::testkit::{PolicyHost, WorldKit};
use simsched_policies::catalog::FairSpec;
use simsched_policies::fair::{
    BalanceKit, Fair, Features, LbEnv, LlcStats, LlcVerdict, MigrationType, RqLlc, Version,
};
use simsched_topology::CpuId;

use crate::balance_moves::{idle_type, number};
use crate::common::patched;
use crate::common::{for_each_json, ints, vector_machine, vectors_73};

/// The task of the rows, and what runs on the source.
const TASK: TaskId = TaskId(0);
const CURR: TaskId = TaskId(1);

/// The class of 7.3 with cache-aware scheduling.
pub(super) fn class() -> FairSpec {
    patched(Features::of(Version::V7_3), &["cache_aware"])
}

fn host(name: &str) -> PolicyHost<Fair> {
    let mut kit = WorldKit::new(vector_machine(name), 250);
    kit.add_task(0);
    kit.add_task(0);
    let mut host = PolicyHost::new(kit, class().fair_class());
    host.kit.set_clock(1_000_000_000);
    host
}

fn cpu(row: &Value, key: &str) -> CpuId {
    CpuId(number(&row[key]))
}

/// A CPU or an LLC; -1 is none.
pub(super) fn some<T: TryFrom<u64>>(value: &Value) -> Option<T> {
    value.as_u64().map(|value| T::try_from(value).ok().unwrap())
}

/// What a row says of the process, the task, the LLCs and the domain.
fn set_up(host: &mut PolicyHost<Fair>, row: &Value) -> LbEnv {
    let (src, dst) = (cpu(row, "src"), cpu(row, "dst"));
    let PolicyHost { kit, policy: fair, .. } = host;
    let entity = fair.entity_mut(TASK);
    entity.avg.util_avg = number(&row["util"]);
    entity.exec_start = kit.world().rq(src).clock_task - number::<u64>(&row["ran"]);
    kit.task(TASK).cpu = src;
    let llc = fair.cache_aware_mut().unwrap();
    let [src_llc, dst_llc] = [src, dst].map(|cpu| llc.ids().of(cpu));
    let [src_util, src_capacity, dst_util, dst_capacity] = ints(&row["stats"])[..] else {
        panic!("{row}")
    };
    llc.set_stats(src_llc, LlcStats { util: src_util, capacity: src_capacity });
    llc.set_stats(dst_llc, LlcStats { util: dst_util, capacity: dst_capacity });
    llc.set_aggr_tolerance(number(&row["tol"]));
    llc.set_numa_balancing(row["numab"] != 0);
    llc.set_llc_bytes(number(&row["bytes"]));
    llc.set_pref(TASK, some(&row["pref"]), false);
    set_process(fair, row);

    let domains = fair.domains().of(dst);
    let is_it = |sd: &simsched_topology::SchedDomain| {
        sd.name == row["sd"] && u64::from(sd.weight) == number::<u64>(&row["w"])
    };
    let sd = domains.iter().position(is_it).unwrap();
    assert_eq!(json!(domains[sd].cache_nice_tries), row["tries"], "{row}");
    fair.sd_state_mut(dst, sd).nr_balance_failed = number(&row["failed"]);
    let mut env = LbEnv::new(fair.domains(), dst, sd, idle_type(&row["idle"]));
    env.src_cpu = src;
    env.flags.active_lb = row["active"] != 0;
    env.flags.active_lb_llc = row["active"] == 2;
    env.migration_type = match row["type"].as_str().unwrap() {
        // The stopper does not know the type.
        _ if env.flags.active_lb => MigrationType::Load,
        "load" => MigrationType::Load,
        "util" => MigrationType::Util,
        "task" => MigrationType::Task,
        "misfit" => MigrationType::Misfit,
        "llc_task" => MigrationType::LlcTask,
        other => panic!("{other}"),
    };
    env
}

/// A task without a cache group is one of a process that prefers no LLC.
fn set_process(fair: &mut Fair, row: &Value) {
    let llc = fair.cache_aware_mut().unwrap();
    match row["proc"].as_array() {
        None => {
            llc.set_process(TASK, None, [0; 3]);
            llc.set_nr_threads(TASK, 1);
        }
        Some(of) => {
            llc.set_process(TASK, some(&of[0]).map(CpuId), [0, 0, number(&of[2])]);
            llc.set_nr_threads(TASK, number(&of[1]));
            llc.set_footprint(TASK, number(&of[3]));
        }
    }
}

/// May the task be moved; each question is asked with the process as it was before.
fn check_task(fair: &mut Fair, kit: &WorldKit, env: &mut LbEnv, row: &Value) {
    let balancer = BalanceKit { fair, world: kit.world() };
    let policy = match balancer.can_migrate_llc_task(env, TASK) {
        LlcVerdict::Forbid => "forbid",
        LlcVerdict::Llc => "llc",
        LlcVerdict::Unrestricted => "unrestricted",
    };
    assert_eq!(row["policy"], policy, "{row}");
    let home = balancer.fair.cache_aware().unwrap().preferred_cpu(TASK);
    assert_eq!(json!(home.map_or(-1, |cpu| i32::from(cpu.0))), row["proc_cpu_after"], "{row}");
    assert_eq!(row["wrong"], u8::from(balancer.has_wrong_llc(env, TASK)), "{row}");
    set_process(balancer.fair, row);
    assert_eq!(row["degrades"], u8::from(balancer.migrate_degrades_llc(env, TASK)), "{row}");
    set_process(balancer.fair, row);
    assert_eq!(row["can"], u8::from(balancer.can_migrate_task(env, TASK)), "{row}");
    assert_eq!(row["pinned"], u8::from(env.flags.llc_pinned), "{row}");
}

/// Must the running task of the source go, which has such a queue.
fn check_active(host: &mut PolicyHost<Fair>, env: &LbEnv, row: &Value) {
    let PolicyHost { kit, policy: fair, .. } = host;
    let (src, dst) = (env.src_cpu, env.dst_cpu);
    let [nr_running, runnable, nr_llc, nr_pref, util] = ints(&row["rq"])[..] else { panic!() };
    let [nr_running, runnable, nr_llc_running, nr_pref_llc_running] =
        [nr_running, runnable, nr_llc, nr_pref].map(|nr| u32::try_from(nr).unwrap());
    kit.run_on(src, Some(CURR));
    kit.set_nr_running(src, nr_running);
    fair.cfs_rq_mut(src).h_nr_running = runnable;
    fair.cache_aware_mut().unwrap().set_rq(src, RqLlc { nr_llc_running, nr_pref_llc_running });
    fair.entity_mut(CURR).avg.util_avg = util;
    for (cpu, capacity) in [src, dst].into_iter().zip(ints(&row["cap"])) {
        fair.rq_balance_mut(cpu).cpu_capacity = capacity;
    }
    let balancer = BalanceKit { fair, world: kit.world() };
    assert_eq!(row["alb_break"], u8::from(balancer.alb_break_llc(env)), "{row}");
    assert_eq!(row["need_active"], u8::from(balancer.need_active_balance(env)), "{row}");
    let asks_for_llc = env.migration_type == MigrationType::LlcTask;
    assert_eq!(row["llc_stop"], u8::from(asks_for_llc), "{row}");
    fair.cfs_rq_mut(src).h_nr_running = 0;
    kit.run_on(src, None);
    kit.set_nr_running(src, 0);
}

#[test]
fn vectors_7_3_cache_task() {
    for name in ["small_2x4x1", "mini_2x4x2", "ryzen_1x16x2"] {
        let mut host = host(name);
        vectors_73(&format!("cache_task_{name}.jsonl"), 1500, |file| {
            for_each_json(file, |_, row| {
                let mut env = set_up(&mut host, row);
                check_task(&mut host.policy, &host.kit, &mut env, row);
                check_active(&mut host, &env, row);
            })
        });
    }
}
