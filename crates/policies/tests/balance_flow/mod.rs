//! The flow of the load balancer: who balances when, what a failure leads to, and how it all ends.

mod attempt;
mod counters;
mod domains;
mod newidle;
mod nohz;
mod random;

use simsched_core::{Report, TaskId};
use simsched_policies::fair::Features;
use simsched_topology::{CpuId, CpuSet, Topology};

use crate::common::driver::Driver;
use crate::common::machine;

const MS: u64 = 1_000_000;

/// The domain of the CPUs of one LLC, on [`two_sockets`].
const MC: usize = 0;
/// The domain of the whole machine.
const NUMA: usize = 1;

/// Two sockets of so many CPUs without siblings; the upper domain holds both and spreads tasks.
fn two_sockets(cores: usize) -> Topology {
    machine([2, 1, cores, 1], "", "nodes_per_socket = 1\ncross_socket = 20")
}

/// A machine with so many tasks that have not started.
fn driver(topology: Topology, nr_tasks: usize) -> Driver {
    Driver::new(topology, Features::default(), &vec![0; nr_tasks])
}

/// Starts a task that may run on these CPUs only.
fn start_pinned(driver: &mut Driver, task: u32, cpu: u16, allowed: &[u16]) {
    let allowed: CpuSet = allowed.iter().copied().map(CpuId).collect();
    driver.host.kit.set_allowed(TaskId(task), Some(allowed));
    driver.start(TaskId(task), CpuId(cpu));
}

/// All tasks may run everywhere.
fn unpin(driver: &mut Driver, nr_tasks: u32) {
    for task in (0..nr_tasks).map(TaskId) {
        driver.host.kit.set_allowed(task, None);
    }
}

/// A queue with so many hogs that have all run and of which the running one has just begun.
fn herd(driver: &mut Driver, cpu: u16, nr_tasks: u32) {
    for task in 0..nr_tasks {
        start_pinned(driver, task, cpu, &[cpu]);
    }
    driver.pass(400 * MS, |_| {});
    unpin(driver, nr_tasks);
}

/// How many tasks were pulled in all domains.
fn gained(driver: &Driver) -> u64 {
    let mut gained = 0;
    for cpu in driver.host.kit.world().topology().cpus().iter() {
        Report::domains(&*driver.host.policy, cpu, &mut |_, _, counts| {
            gained += counts.lb_gained.iter().sum::<u64>();
        });
    }
    gained
}
