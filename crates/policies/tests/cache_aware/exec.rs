//! A thread takes a new image (`exec_mmap()`).

use simsched_core::testkit::WorldKit;
use simsched_core::{ProcId, TaskId, TaskState};
use simsched_policies::fair::CacheAwareVersion;
use simsched_topology::CpuId;

use crate::cache_aware::{MS, features, llc, pin, preferred, two_llcs};
use crate::common::driver::Driver;

/// Two threads of one process run in the first LLC, and a third one waits for its birth in another process.
fn two_and_one() -> Driver {
    let mut kit = WorldKit::new(two_llcs(), 250);
    for proc in [0, 0, 1] {
        let task = kit.add_task(0);
        kit.task(task).proc = ProcId(proc);
    }
    let mut driver = Driver::of(kit, features(CacheAwareVersion::Merged));
    for (task, cpu) in [(0, 0), (1, 1)] {
        pin(&mut driver, task, cpu);
    }
    driver.pass(100 * MS, |_| {});
    driver
}

/// The other thread ends, task 0 goes to the other process.
fn exec(driver: &mut Driver) {
    driver.host.exit_mm(CpuId(1), TaskId(1));
    driver.host.kit.task(TaskId(1)).state = TaskState::Dead;
    driver.sleep(CpuId(1));
    driver.host.kit.task(TaskId(0)).proc = ProcId(1);
    driver.host.exec_mmap(CpuId(0), TaskId(0));
}

/// The new process has no preference, has run nowhere, and begins with one thread. The thread keeps its preferred LLC
/// and its place in the counts of its runqueue until it is accounted.
#[test]
fn a_new_image_has_no_preference_and_its_thread_loses_its_own_when_it_is_accounted() {
    let mut driver = two_and_one();
    assert_eq!((preferred(&driver), llc(&driver).pref(TaskId(0))), (Some(0), Some(0)));
    exec(&mut driver);
    let task = TaskId(0);
    assert_eq!((preferred(&driver), llc(&driver).pref(task)), (None, Some(0)));
    assert_eq!((llc(&driver).llc_count(CpuId(0), 0), llc(&driver).nr_running_avg(task)), (1, 0));
    let (mm, occupancy) = (llc(&driver).mm(task), llc(&driver).occupancy());
    assert!((0..32).all(|cpu| occupancy.part(CpuId(cpu), mm)[1] == 0), "it has run nowhere");
    driver.host.check(CpuId(0)).unwrap();
    driver.pass(2 * MS, |driver| driver.host.check(CpuId(0)).unwrap());
    driver.pass(2 * 4 * MS, |driver| driver.host.check(CpuId(0)).unwrap());
    assert_eq!(llc(&driver).pref(task), None);
    assert_eq!((0..32).map(|cpu| llc(&driver).llc_count(CpuId(cpu), 0)).sum::<u32>(), 0);
    assert_eq!(llc(&driver).rq(CpuId(0)).nr_llc_running, 0);
}

/// The thread that comes by the exec counts as one of the new process, although one task was declared of that.
#[test]
fn threads_of_a_new_image_gather_as_those_of_any_process() {
    let mut driver = two_and_one();
    exec(&mut driver);
    driver.pass(100 * MS, |_| {});
    assert_eq!(preferred(&driver), None, "one thread has no preference");
    pin(&mut driver, 2, 2);
    driver.pass(100 * MS, |driver| driver.host.check(CpuId(2)).unwrap());
    assert_eq!((preferred(&driver), llc(&driver).pref(TaskId(2))), (Some(0), Some(0)));
}
