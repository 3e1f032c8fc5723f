//! Whole CPU selections of the kernel (`select_task_rq_fair`) on three small machines.

#![allow(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    reason = "a test fails where it stands"
)]

use serde_json::Value;
use simsched_core::testkit::{PolicyHost, WorldKit};
use simsched_core::{TaskId, WakeKind, Wakeup};
use simsched_policies::fair::{Fair, Features, Overrides, Wakee};
use simsched_topology::{CpuId, CpuSet};

use crate::common::{for_each_json, ints, vector_machine};

fn number<T: TryFrom<u64>>(value: &Value) -> T {
    T::try_from(value.as_u64().unwrap()).ok().unwrap()
}

fn kind_of(mode: &str) -> WakeKind {
    match mode {
        "ttwu" => WakeKind::Wake,
        "ttwu_sync" => WakeKind::WakeSync,
        "fork" => WakeKind::Fork,
        "exec" => WakeKind::Exec,
        _ => panic!("{mode}"),
    }
}

/// The wakee is task 0; task `1 + cpu` runs on a busy CPU.
fn runner(cpu: CpuId) -> TaskId {
    TaskId(1 + u32::from(cpu.0))
}

const WAKEE: TaskId = TaskId(0);

/// Makes world and policy what the row says.
fn set_up(host: &mut PolicyHost<Fair>, row: &Value) -> Wakeup {
    let PolicyHost { kit, policy: fair, .. } = host;
    let (waker, prev) = (CpuId(number(&row["this"])), CpuId(number(&row["prev"])));
    let kind = kind_of(row["mode"].as_str().unwrap());
    for (cpu, state) in (0..).map(CpuId).zip(row["cpu"].as_array().unwrap()) {
        set_cpu(kit, fair, cpu, &ints(state));
    }
    let flips = ints(&row["flips"]).iter().map(|&flips| flips as u32).collect::<Vec<_>>();
    let jiffies = kit.world().jiffies();
    // Somebody else than the wakee was woken last, not so long ago.
    let other = Wakee { last: None, flips: flips[0], flip_decay_ts: jiffies, ..*fair.wakee(WAKEE) };
    match kit.world().curr(waker) {
        Some(curr) => *fair.wakee_mut(curr) = other,
        None => *fair.idle_wakee_mut(waker) = other,
    }
    let recent = CpuId(number(&row["recent"]));
    *fair.wakee_mut(WAKEE) = Wakee { flips: flips[1], recent_used_cpu: recent, ..other };
    for llc in row["llc"].as_array().unwrap() {
        let [first, scan, idle_cores] = ints(llc)[..] else { panic!() };
        let llc = kit.world().topology().llc_of(CpuId::new(first as usize));
        let shared = fair.llc_shared_mut(llc);
        shared.nr_idle_scan = scan as u32;
        shared.has_idle_cores = idle_cores != 0;
    }
    set_wakee(kit, fair, prev, kind, row);
    Wakeup { wakee: WAKEE, prev, waker, kind }
}

fn set_cpu(kit: &mut WorldKit, fair: &mut Fair, cpu: CpuId, state: &[u64]) {
    let &[nr_running, h_nr, load, util, runnable, idle_stamp] = state else { panic!() };
    let busy = (nr_running > 0).then_some(runner(cpu));
    kit.run_on(cpu, busy);
    kit.set_nr_running(cpu, nr_running as u32);
    let rq = fair.cfs_rq_mut(cpu);
    (rq.avg.load_avg, rq.avg.util_avg, rq.avg.runnable_avg) = (load, util, runnable);
    (rq.h_nr_running, rq.last_h_load_update) = (h_nr as u32, 0);
    fair.idle_stats_mut(cpu).idle_stamp = idle_stamp;
    let entity = fair.entity_mut(runner(cpu));
    entity.avg.load_avg = load.checked_div(h_nr).unwrap_or(0);
    entity.cfs_rq.0 = u32::from(cpu.0);
}

fn set_wakee(kit: &mut WorldKit, fair: &mut Fair, prev: CpuId, kind: WakeKind, row: &Value) {
    let allowed: CpuSet = row["allowed"].as_str().unwrap().parse().unwrap();
    kit.set_allowed(WAKEE, Some(allowed));
    kit.task(WAKEE).cpu = prev;
    let task = ints(&row["task"]);
    let last_update_time = fair.cfs_rq(prev).avg.last_update_time;
    let entity = fair.entity_mut(WAKEE);
    (entity.avg.load_avg, entity.avg.util_avg) = (task[0], task[1]);
    entity.avg.runnable_avg = task[2];
    entity.cfs_rq.0 = u32::from(prev.0);
    entity.avg.last_update_time = match kind {
        WakeKind::Fork => 0,
        _ => last_update_time,
    };
}

fn check(name: &str) {
    check_features(name, Features::default());
}

/// Compares all rows with what a class of these features selects.
pub(crate) fn check_features(name: &str, features: Features) {
    let mut kit = WorldKit::new(vector_machine(name), 250);
    for _ in 0..=kit.world().topology().nr_cpus() {
        kit.add_task(0);
    }
    let mut host = PolicyHost::new(kit, Fair::new(features, Overrides::default()));
    let cpus = *host.kit.world().topology().cpus();
    for cpu in cpus.iter() {
        host.policy.cfs_rq_mut(cpu).avg.last_update_time = 1_000_000_000;
    }
    let file = format!("common/select_task_rq_{name}.jsonl");
    let rows = for_each_json(&file, |_, row| {
        let wakeup = set_up(&mut host, row);
        let placement = host.select_task_rq(&wakeup);
        assert_eq!(u64::from(placement.cpu.0), row["result"], "{placement:?}: {row}");
        let recent = host.policy.wakee(WAKEE).recent_used_cpu;
        assert_eq!(u64::from(recent.0), row["recent_out"], "{placement:?}: {row}");
        let hints = row["llc"].as_array().unwrap().iter().zip(ints(&row["idle_cores_out"]));
        for (llc, idle_cores) in hints {
            let shared =
                host.policy.llc_shared(host.kit.world(), CpuId::new(ints(llc)[0] as usize));
            assert_eq!(u64::from(shared.has_idle_cores), idle_cores, "{placement:?}: {row}");
        }
    });
    assert_eq!(rows, 260);
}

#[test]
fn selections_agree_with_the_kernel_without_smt() {
    check("small_2x4x1");
}

#[test]
fn selections_agree_with_the_kernel_on_two_sockets() {
    check("mini_2x4x2");
}

#[test]
fn selections_agree_with_the_kernel_on_four_nodes() {
    check("mini_2x4x2_nps2");
}
