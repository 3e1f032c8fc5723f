//! A task that is older than the run: it sleeps, and what it was born with has decayed.

use simsched_core::Enqueue;
use simsched_core::testkit::{PolicyHost, WorldKit};
use simsched_policies::fair::{Fair, Features, GroupId, Overrides};
use simsched_topology::{CpuId, Topology};

/// The load of CPU 3 once a task has been queued there.
fn load(old: bool) -> u64 {
    let topology = Topology::builtin("t16", None).expect("a machine that is built in");
    let mut kit = WorldKit::new(topology, 250);
    let task = kit.add_task(0);
    let mut host = PolicyHost::new(kit, Fair::new(Features::default(), Overrides::default()));
    let cpu = CpuId(3);
    host.kit.task(task).cpu = cpu;
    if old {
        host.task_asleep(cpu, task);
        host.enqueue(cpu, task, Enqueue::Wakeup { migrated: false });
    } else {
        host.task_fork(cpu, None, task);
        host.enqueue(cpu, task, Enqueue::New);
    }
    host.policy.group_cfs_rq(GroupId::ROOT, cpu).avg.load_avg
}

#[test]
fn a_task_that_has_slept_for_long_brings_no_load_and_a_new_one_its_weight() {
    assert_eq!(load(true), 0);
    assert_eq!(load(false), 1024);
}
