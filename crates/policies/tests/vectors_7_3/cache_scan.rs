//! The search for the LLC that a process occupies most, against the kernel's numbers.

#![allow(clippy::unwrap_used, reason = "a test fails where it stands")]

use serde_json::{Value, json};
use simsched_core::TaskId;
use simsched_core::testkit::PolicyHost;
use simsched_policies::fair::{CacheAware, Fair};
use simsched_topology::{CpuId, Topology};

use super::cache::{cpu, host, set_process, signed, topology};
use crate::common::{for_each_json, ints, vectors_73};

/// The data of two machines here are evenly spread subsets of the kernel's: each third row, and each sixth.
#[test]
fn vectors_7_3_cache_scan() {
    for (name, rows) in [("mini_2x4x2", 134), ("ryzen_1x16x2", 67), ("small_2x4x1", 400)] {
        vectors_73(&format!("cache_scan_{name}.jsonl"), rows, |file| {
            let topology = topology(name);
            for_each_json(file, |_, row| check(&topology, row))
        });
    }
}

/// One thread of the process for each CPU.
fn check(topology: &Topology, row: &Value) {
    let cpus: Vec<Vec<u64>> = row["cpu"].as_array().unwrap().iter().map(ints).collect();
    let mut host = host(topology.clone(), cpus.len(), row["j"].as_u64().unwrap());
    let on = cpu(&row["on"]).unwrap();
    set(&mut host, row, &cpus);
    let task = TaskId::new(on.idx());
    let llc = host.policy.cache_aware_mut().unwrap();
    let before = epochs(llc, cpus.len());
    llc.task_cache_work(host.kit.world(), on, task);
    let [_, next_scan, nr_running_avg] = llc.process(task);
    let pref_cpu = signed(llc.preferred_cpu(task).map(|CpuId(cpu)| cpu));
    assert_eq!(row["out"], json!([pref_cpu, next_scan, nr_running_avg]), "{row}");
    let after = epochs(llc, cpus.len());
    let did: Vec<usize> = (0..cpus.len()).filter(|&cpu| before[cpu] != after[cpu]).collect();
    match &row["did"] {
        Value::Null => assert!(did.is_empty(), "{did:?}: {row}"),
        expected => assert_eq!(*expected, json!(did), "{row}"),
    }
}

fn set(host: &mut PolicyHost<Fair>, row: &Value, cpus: &[Vec<u64>]) {
    let scanning = TaskId::new(cpu(&row["on"]).unwrap().idx());
    for (at, numbers) in cpus.iter().enumerate() {
        let (cpu, task) = (CpuId::new(at), TaskId::new(at));
        host.kit.run_on(cpu, (numbers[5] != 0).then_some(task));
        host.kit.task(task).exiting = numbers[5] == 2;
        let llc = host.policy.cache_aware_mut().unwrap();
        let mm = llc.mm(task);
        llc.occupancy_mut().set_cpu(cpu, [numbers[0], numbers[1], numbers[2]]);
        llc.occupancy_mut().set_part(cpu, mm, [numbers[3], numbers[4]]);
    }
    let next_scan = row["scan"].as_u64().unwrap();
    set_process(host.policy.cache_aware_mut().unwrap(), row, scanning, [0, next_scan]);
}

/// By CPU: its epoch, the jiffy after which the next one begins, and the epoch of the process there.
fn epochs(llc: &CacheAware, nr_cpus: usize) -> Vec<[u64; 3]> {
    let mm = llc.mm(TaskId(0));
    let of = |cpu| {
        let [epoch, next, _] = llc.occupancy().cpu(cpu);
        [epoch, next, llc.occupancy().part(cpu, mm)[0]]
    };
    (0..nr_cpus).map(CpuId::new).map(of).collect()
}
