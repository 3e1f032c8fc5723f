//! Which tasks of a queue are moved.

use simsched_core::TaskId;
use simsched_policies::fair::{BalanceKit, CpuIdleType, Features, GroupId, LbEnv, MigrationType};
use simsched_topology::{CpuId, CpuSet};

use crate::common::driver::Driver;
use crate::common::vector_machine;

use CpuIdleType::{Idle, NewlyIdle, NotIdle};

const SRC: CpuId = CpuId(1);
const DST: CpuId = CpuId(0);

/// Tasks of nice 0 on the source, the first of them running.
pub(crate) fn queue(nr_tasks: u32, features: Features) -> Driver {
    let nices = vec![0; nr_tasks as usize];
    let mut driver = Driver::new(vector_machine("mini_2x4x2"), features, &nices);
    for task in (0..nr_tasks).map(TaskId) {
        driver.start(task, SRC);
    }
    driver
}

fn balancer(driver: &mut Driver) -> BalanceKit<'_> {
    BalanceKit { fair: &mut driver.host.policy, world: driver.host.kit.world() }
}

/// An attempt to move so many tasks in the LLC.
pub(crate) fn env(driver: &mut Driver, idle: CpuIdleType, imbalance: i64) -> LbEnv {
    let mut env = balancer(driver).env(DST, 1, idle);
    env.src_cpu = SRC;
    (env.migration_type, env.imbalance) = (MigrationType::Task, imbalance);
    env.loop_max = 32;
    env.flags.all_pinned = true;
    env
}

pub(crate) fn detach(driver: &mut Driver, env: &mut LbEnv) -> Vec<u32> {
    let detached = balancer(driver).detach_tasks(env);
    detached.into_iter().map(|task| task.0).collect()
}

/// The tasks of the source, in the order in which they are looked at.
fn cfs_tasks(driver: &Driver) -> Vec<u32> {
    driver.host.policy.cfs_tasks(SRC).into_iter().map(|task| task.0).collect()
}

#[test]
fn tasks_are_looked_at_in_the_order_in_which_they_were_queued_or_set_running() {
    let mut driver = queue(4, Features::default());
    assert_eq!(cfs_tasks(&driver), [0, 1, 2, 3]);
    // The next one is set running, without being queued anew.
    assert_eq!(driver.sleep(SRC), TaskId(0));
    let curr = driver.curr(SRC).unwrap().0;
    let mut order: Vec<u32> = (1..4).filter(|&task| task != curr).chain([curr]).collect();
    assert_eq!(cfs_tasks(&driver), order);
    // A change of weight takes a task off its queue for a moment.
    driver.renice(TaskId(order[0]), 5);
    order.rotate_left(1);
    assert_eq!(cfs_tasks(&driver), order);
}

/// Spec 06, invariants 5 and 9.
#[test]
fn waiting_tasks_are_detached_and_the_running_one_stays() {
    let mut driver = queue(4, Features::default());
    let load = driver.host.policy.cfs_rq(SRC).avg.load_avg;
    let mut env = env(&mut driver, NotIdle, 9);
    assert_eq!(detach(&mut driver, &mut env), [1, 2, 3]);
    assert_eq!((env.imbalance, env.loop_, env.flags.all_pinned), (6, 33, false));
    assert_eq!(cfs_tasks(&driver), [0]);
    let rq = driver.host.policy.cfs_rq(SRC);
    assert_eq!((rq.h_nr_running, rq.nr_running), (1, 1));
    assert_eq!(rq.avg.load_avg, load / 4);
    for task in (1..4).map(TaskId) {
        let entity = driver.entity(task);
        assert!(!entity.on_rq);
        // On its way its virtual time is relative and it is attached to no queue.
        assert_eq!(entity.avg.last_update_time, 0);
    }
    assert_eq!(driver.host.policy.sd_state_mut(DST, 1).counts.lb_gained, [0, 3, 0]);
}

#[test]
fn no_more_tasks_are_detached_than_are_to_be_moved() {
    let mut driver = queue(5, Features::default());
    let mut env = env(&mut driver, Idle, 2);
    assert_eq!(detach(&mut driver, &mut env), [1, 2]);
    // The running task was looked at first, and goes to the front.
    assert_eq!(cfs_tasks(&driver), [3, 4, 0]);
    assert_eq!((env.imbalance, env.loop_), (0, 3));
    assert_eq!(detach(&mut driver, &mut env), [] as [u32; 0]);
    assert_eq!(env.loop_, 3);
}

/// While the stopper runs nothing of this class does.
#[test]
fn a_cpu_that_idles_leaves_the_last_task_and_a_busy_one_does_not() {
    for (idle, detached) in [(NotIdle, vec![0, 1, 2]), (Idle, vec![0, 1])] {
        let mut driver = queue(3, Features::default());
        driver.host.put_prev_task(SRC, TaskId(0));
        driver.host.kit.run_on(SRC, None);
        driver.host.policy.entity_mut(TaskId(0)).exec_start = 0;
        let mut env = env(&mut driver, idle, 9);
        assert_eq!(detach(&mut driver, &mut env), detached);
    }
    // Somebody else has taken all but one: that one is not looked at.
    let mut driver = queue(1, Features::default());
    driver.host.kit.set_allowed(TaskId(0), Some(CpuSet::single(SRC)));
    let mut env = env(&mut driver, NotIdle, 9);
    assert_eq!(detach(&mut driver, &mut env), [] as [u32; 0]);
    assert!(!env.flags.all_pinned && !env.flags.some_pinned);
}

#[test]
fn a_task_that_its_cpu_is_still_switching_away_from_stays() {
    let mut driver = queue(2, Features::default());
    driver.host.kit.task(TaskId(1)).on_cpu = true;
    let mut env = env(&mut driver, NotIdle, 1);
    assert_eq!(detach(&mut driver, &mut env), [] as [u32; 0]);
    assert!(!env.flags.all_pinned);
}

/// Such a CPU is as good as idle to a wakeup.
#[test]
fn a_cpu_that_keeps_tasks_of_the_idle_policy_only_is_known_as_such() {
    let mut driver = Driver::new(vector_machine("mini_2x4x2"), Features::default(), &[0, 0, 0]);
    driver.host.policy.entity_mut(TaskId(0)).policy = simsched_core::SchedPolicy::Idle;
    driver.start(TaskId(0), SRC);
    driver.start(TaskId(1), SRC);
    // The newcomer preempts it, and sleeps for a moment.
    assert_eq!(driver.sleep(SRC), TaskId(1));
    driver.host.kit.set_nr_running(SRC, 2);
    driver.host.enqueue(SRC, TaskId(1), simsched_core::Enqueue::New);
    driver.host.kit.task(TaskId(1)).on_rq = true;
    let (wakee, kind) = (TaskId(2), simsched_core::WakeKind::Wake);
    let wakeup = simsched_core::Wakeup { wakee, prev: SRC, waker: SRC, kind };
    assert_ne!(driver.host.select_task_rq(&wakeup).cpu, SRC);
    driver.host.policy.entity_mut(TaskId(1)).exec_start = 0;
    let mut env = env(&mut driver, NotIdle, 1);
    assert_eq!(detach(&mut driver, &mut env), [1]);
    assert_eq!(driver.host.select_task_rq(&wakeup).cpu, SRC);
}

#[test]
fn a_newly_idle_cpu_takes_one_task_if_the_kernel_is_preemptible() {
    for (preemption, detached) in [(true, vec![1]), (false, vec![1, 2, 3])] {
        let features = Features { preemption, ..Features::default() };
        let mut driver = queue(5, features);
        let mut env = env(&mut driver, NewlyIdle, 3);
        assert_eq!(detach(&mut driver, &mut env), detached);
    }
}

#[test]
fn the_search_ends_after_loop_max_tasks_and_pauses_after_loop_break() {
    let mut driver = queue(9, Features::default());
    let mut env = env(&mut driver, Idle, 9);
    (env.loop_max, env.loop_break) = (6, 2);
    assert_eq!(detach(&mut driver, &mut env), [1]);
    assert_eq!((env.loop_, env.loop_break, env.flags.need_break), (3, 34, true));
    env.flags.need_break = false;
    // The third look ended in the pause.
    assert_eq!(detach(&mut driver, &mut env), [2, 3, 4]);
    assert_eq!((env.loop_, env.flags.need_break), (7, false));
}

/// Four new tasks of load 1024. The first of them stands for 1024 * 4096 / 4097 = 1023 at the root.
/// What the queue stands for is computed once per jiffy, so the next stands for 1024 * 4096 / 3073 =
/// 1364 of the 477 that are left: too much, unless two balances have failed.
#[test]
fn each_failed_balance_doubles_the_load_that_may_be_moved() {
    for (failed, detached, left) in [(0, vec![1], 477), (1, vec![1], 477), (2, vec![1, 2], -887)] {
        let mut driver = queue(4, Features::default());
        assert_eq!(driver.host.policy.cfs_rq(SRC).avg.load_avg, 4096);
        driver.host.policy.sd_state_mut(DST, 1).nr_balance_failed = failed;
        let mut env = env(&mut driver, NotIdle, 1500);
        env.migration_type = MigrationType::Load;
        assert_eq!(detach(&mut driver, &mut env), detached, "{failed}");
        assert_eq!(env.imbalance, left, "{failed}");
    }
}

#[test]
fn a_task_without_load_takes_one_of_it_away() {
    let mut driver = queue(4, Features::default());
    for task in 1..4 {
        driver.host.policy.entity_mut(TaskId(task)).avg.load_avg = 0;
    }
    let mut env = env(&mut driver, NotIdle, 2);
    env.migration_type = MigrationType::Load;
    assert_eq!(detach(&mut driver, &mut env), [1, 2]);
}

#[test]
fn utilization_is_what_a_task_uses_or_is_expected_to() {
    for (failed, detached, left) in [(0, vec![2], 100), (1, vec![1], -100)] {
        let mut driver = queue(3, Features::default());
        for (task, util_avg, ewma) in [(1, 10, 600), (2, 400, 10)] {
            let entity = driver.host.policy.entity_mut(TaskId(task));
            (entity.avg.util_avg, entity.util_est.ewma) = (util_avg, ewma);
        }
        driver.host.policy.sd_state_mut(DST, 1).nr_balance_failed = failed;
        let mut env = env(&mut driver, NotIdle, 500);
        env.migration_type = MigrationType::Util;
        assert_eq!(detach(&mut driver, &mut env), detached, "{failed}");
        assert_eq!(env.imbalance, left, "{failed}");
    }
}

/// A queue whose only waiting task ran `since` ns ago.
fn warm(since: u64, features: Features) -> Driver {
    let mut driver = queue(2, features);
    driver.host.kit.set_clock(2_000_000_000);
    let now = driver.host.kit.world().rq(SRC).clock_task;
    driver.host.policy.entity_mut(TaskId(1)).exec_start = now - since;
    driver
}

/// Spec 06, invariant 4, as far as tasks go: the LLC tries once more than a plain domain.
#[test]
fn a_warm_task_stays_until_two_balances_have_failed() {
    for (since, failed, goes, hot) in [
        (500_000, 0, true, 0),
        (499_999, 0, false, 0),
        (499_999, 1, false, 0),
        (499_999, 2, true, 1),
    ] {
        let mut driver = warm(since, Features::default());
        driver.host.policy.sd_state_mut(DST, 1).nr_balance_failed = failed;
        let mut env = env(&mut driver, NotIdle, 1);
        assert_eq!(detach(&mut driver, &mut env).len(), usize::from(goes), "{since} {failed}");
        assert!(!env.flags.all_pinned);
        let counts = driver.host.policy.sd_state_mut(DST, 1).counts;
        assert_eq!(counts.lb_hot_gained, [0, hot, 0], "{since} {failed}");
    }
}

#[test]
fn siblings_share_what_is_warm() {
    let mut driver = warm(0, Features::default());
    let mut env = env(&mut driver, NotIdle, 1);
    // CPU 9 is the other thread of the source's core.
    (env.cpu, env.dst_cpu, env.sd) = (CpuId(9), CpuId(9), 0);
    assert_eq!(detach(&mut driver, &mut env), [1]);
}

#[test]
fn a_task_of_the_idle_policy_is_never_warm() {
    let mut driver = warm(0, Features::default());
    driver.host.policy.entity_mut(TaskId(1)).policy = simsched_core::SchedPolicy::Idle;
    let mut env = env(&mut driver, NotIdle, 1);
    assert!(balancer(&mut driver).can_migrate_task(&mut env, TaskId(1)));
}

#[test]
fn a_buddy_stays_if_the_destination_has_tasks() {
    for (on, dst_runs, goes) in [(true, 1, false), (true, 0, true), (false, 1, true)] {
        let features = Features { cache_hot_buddy: on, ..Features::default() };
        let mut driver = warm(500_000, features);
        let buddy = simsched_policies::fair::EntityId::of(TaskId(1));
        driver.host.kit.set_nr_running(DST, dst_runs);
        let mut env = env(&mut driver, NotIdle, 1);
        driver.host.policy.cfs_rq_mut(SRC).next = Some(buddy);
        assert_eq!(balancer(&mut driver).can_migrate_task(&mut env, TaskId(1)), goes);
        driver.host.policy.cfs_rq_mut(SRC).next = None;
        driver.host.policy.cfs_order_mut(SRC).last = Some(buddy);
        assert_eq!(balancer(&mut driver).can_migrate_task(&mut env, TaskId(1)), goes);
    }
}

/// The stopper has put the running task, which is then looked at first.
#[test]
fn an_active_balance_takes_the_first_task_however_warm() {
    let mut driver = queue(3, Features::default());
    let mut env = env(&mut driver, Idle, 0);
    env.flags.active_lb = true;
    driver.host.put_prev_task(SRC, TaskId(0));
    driver.host.kit.run_on(SRC, None);
    driver.host.policy.entity_mut(TaskId(0)).exec_start =
        driver.host.kit.world().rq(SRC).clock_task;
    assert_eq!(balancer(&mut driver).detach_one_task(&mut env), Some(TaskId(0)));
    assert_eq!(cfs_tasks(&driver), [1, 2]);
    let counts = driver.host.policy.sd_state_mut(DST, 1).counts;
    assert_eq!((counts.lb_gained, counts.lb_hot_gained), ([1, 0, 0], [0, 0, 0]));
}

#[test]
fn what_was_detached_can_be_queued_elsewhere_as_a_whole() {
    let mut driver = queue(3, Features::default());
    let pin = |driver: &mut Driver, allowed| {
        (0..3).for_each(|task| driver.host.kit.set_allowed(TaskId(task), allowed));
    };
    // Nobody else shall move them meanwhile.
    pin(&mut driver, Some(CpuSet::single(SRC)));
    driver.pass(20_000_000, |_| ());
    pin(&mut driver, None);
    let lag = |driver: &Driver, task, cpu| {
        let vruntime = driver.entity(TaskId(task)).vruntime;
        vruntime
            .wrapping_sub(driver.host.policy.cfs_order(GroupId::ROOT, cpu).unwrap().min_vruntime)
            .cast_signed()
    };
    let waiting = cfs_tasks(&driver)[0];
    let ahead = lag(&driver, waiting, SRC);
    driver.host.policy.sd_state_mut(DST, 1).nr_balance_failed = 9;
    let mut env = env(&mut driver, Idle, 1);
    assert_eq!(detach(&mut driver, &mut env), [waiting]);
    driver.host.kit.set_nr_running(SRC, 2);
    let before = driver.entity(TaskId(waiting)).avg;
    let task = TaskId(waiting);
    driver.host.enqueue(DST, task, simsched_core::Enqueue::Moved);
    assert_eq!(lag(&driver, waiting, DST), ahead);
    let avg = driver.entity(task).avg;
    assert_eq!((avg.load_avg, avg.util_avg), (before.load_avg, before.util_avg));
    assert_eq!(driver.host.policy.cfs_rq(DST).avg.load_avg, avg.load_avg);
    assert_eq!(driver.entity(task).exec_start, 0);
    driver.host.kit.set_nr_running(DST, 1);
    driver.check(SRC);
    driver.check(DST);
}
