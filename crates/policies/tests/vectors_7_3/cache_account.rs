//! One accounting of runtime for a task of a process with cache-aware load balancing, against the kernel's numbers:
//! silence, exclusion, the preferred NUMA node, and the counts of the queue.

#![allow(clippy::unwrap_used, reason = "a test fails where it stands")]

use serde_json::{Value, json};
use simsched_core::TaskId;
use simsched_core::testkit::PolicyHost;
use simsched_policies::fair::{Fair, RqLlc};
use simsched_topology::CpuId;

use super::cache::{cpu, host, llc_id, set_process, signed, topology};
use crate::common::{for_each_json, ints, vectors_73};

const TASK: TaskId = TaskId(0);
const JIFFIES: u64 = 100_000;

#[test]
fn vectors_7_3_cache_account() {
    for name in ["mini_2x4x2", "ryzen_1x16x2", "small_2x4x1"] {
        vectors_73(&format!("cache_account_{name}.jsonl"), 1200, |file| {
            let mut host = host(topology(name), 2, JIFFIES);
            for_each_json(file, |_, row| {
                set(&mut host, row);
                let ns = row["x"].as_u64().unwrap();
                host.policy.account_mm_sched(cpu(&row["on"]).unwrap(), TASK, ns);
                check(&mut host, row);
            })
        });
    }
}

fn set(host: &mut PolicyHost<Fair>, row: &Value) {
    let on = cpu(&row["on"]).unwrap();
    let [queued, attached, delayed, _, pref_llc_queued] =
        [0, 1, 2, 3, 4].map(|at| row["task"][at] == 1);
    let entity = host.policy.entity_mut(TASK);
    (entity.on_rq, entity.sched_delayed) = (queued, delayed);
    entity.avg.last_update_time = u64::from(attached);
    let epoch = row["e"].as_u64().unwrap();
    let llc = host.policy.cache_aware_mut().unwrap();
    set_process(llc, row, TASK, [row["ep"].as_u64().unwrap(), 0]);
    llc.set_pref(TASK, llc_id(&row["task"][3]), pref_llc_queued);
    let mm = llc.mm(TASK);
    llc.occupancy_mut().set_cpu(on, [epoch, JIFFIES, 0]);
    llc.occupancy_mut().set_part(on, mm, [epoch, 0]);
    let counts: Vec<u32> =
        ints(&row["cnt"]).into_iter().map(|count| u32::try_from(count).unwrap()).collect();
    let rq = RqLlc { nr_llc_running: counts[0], nr_pref_llc_running: counts[1] };
    llc.set_rq(on, rq);
    for (id, &count) in (0..).zip(&counts[2..]) {
        llc.set_llc_count(on, id, count);
    }
}

fn check(host: &mut PolicyHost<Fair>, row: &Value) {
    let on = cpu(&row["on"]).unwrap();
    let llc = host.policy.cache_aware_mut().unwrap();
    let pref_cpu = signed(llc.preferred_cpu(TASK).map(|CpuId(cpu)| cpu));
    let queued = u8::from(llc.pref_llc_queued(TASK));
    assert_eq!(row["out"], json!([pref_cpu, signed(llc.pref(TASK)), queued]), "{row}");
    let RqLlc { nr_llc_running, nr_pref_llc_running } = llc.rq(on);
    let nr_llcs = u16::try_from(llc.ids().len()).unwrap();
    let counts = (0..nr_llcs).map(|id| llc.llc_count(on, id));
    let counts: Vec<u32> =
        [nr_llc_running, nr_pref_llc_running].into_iter().chain(counts).collect();
    assert_eq!(row["cnt_out"], json!(counts), "{row}");
    let runtime = row["x"].as_u64().unwrap();
    assert_eq!(llc.occupancy().part(on, llc.mm(TASK)), [row["e"].as_u64().unwrap(), runtime]);
}
