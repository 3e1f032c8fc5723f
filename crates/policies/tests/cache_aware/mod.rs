//! Cache-aware load balancing: the invariants at the end of spec 08, on a machine in slow motion and in
//! whole runs. Its tables and numbers are in `src/fair/llc`.

mod exec;
mod gather;
mod preference;
mod runs;

use simsched_core::TaskId;
use simsched_policies::catalog::FairSpec;
use simsched_policies::fair::CacheAwareVersion;
use simsched_policies::fair::{CacheAware, Features, Version};
use simsched_topology::{CpuId, CpuSet, Topology};

use crate::common::driver::Driver;
use crate::common::machine;
use crate::common::patched;

const MS: u64 = 1_000_000;

/// The domain of both LLCs of [`two_llcs`].
const PKG: usize = 2;

/// A package with two LLCs of 8 cores: CPUs 0 to 7 and 16 to 23 are one, 8 to 15 and 24 to 31 the
/// other.
fn two_llcs() -> Topology {
    machine([1, 2, 8, 2], "", "nodes_per_socket = 1")
}

fn features(version: CacheAwareVersion) -> FairSpec {
    let mut class = patched(Features::of(Version::V7_0), &["cache_aware"]);
    assert!(class.patches.assign("cache_aware_version", version.name()).unwrap());
    class
}

/// [`two_llcs`] with so many threads of one process that have not started.
fn driver(nr_tasks: usize) -> Driver {
    Driver::new(two_llcs(), features(CacheAwareVersion::Merged), &vec![0; nr_tasks])
}

fn llc(driver: &Driver) -> &CacheAware {
    driver.host.policy.cache_aware().unwrap()
}

/// Starts a thread that may run on one CPU only.
fn pin(driver: &mut Driver, task: u32, cpu: u16) {
    driver.host.kit.set_allowed(TaskId(task), Some(CpuSet::single(CpuId(cpu))));
    driver.start(TaskId(task), CpuId(cpu));
}

/// The LLC of the CPU that the process of task 0 prefers.
fn preferred(driver: &Driver) -> Option<u16> {
    llc(driver).preferred_cpu(TaskId(0)).map(|cpu| llc(driver).ids().of(cpu))
}

/// Where the tasks are, by LLC.
fn places(driver: &Driver, nr_tasks: u32) -> Vec<u16> {
    let cpu = |task| driver.host.kit.world().task(TaskId(task)).cpu;
    (0..nr_tasks).map(|task| llc(driver).ids().of(cpu(task))).collect()
}
