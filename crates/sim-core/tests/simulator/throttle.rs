//! Tasks that a policy throttles: when they stop, when they go on, and that each is counted once.

use simsched_core::observe::Invariants;
use simsched_core::testkit::Script;
use simsched_core::{
    Attached, Balancer, Cost, Cx, Dequeue, Dequeued, Enqueue, FifoQueues, Look, Nanos, Observer,
    Op, Placement, Policy, Reason, Report, SimTime, Simulator, Status, TaskId, TimerId, Tracepoint,
    Wakeup, When, World,
};
use simsched_topology::CpuId;

use super::rig::{Log, config, objects, steady};

const HORIZON: SimTime = SimTime(20_000_000_000);

/// What happens to a task when it returns to user mode for the first time since it was queued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// A timer is armed for 1 ms behind the end of `schedule()`, in which its CPU no longer is.
    Timer,
    /// It is throttled, too, and switched out, until that timer.
    Throttled,
    /// The same without the timer.
    ThrottledForEver,
    /// It is throttled where it is and stays current; the timer is armed.
    ThrottledRunning,
}

/// First in, first out, on the CPU where a task was; the first task meets its fate.
struct Throttler {
    queues: FifoQueues,
    fate: Fate,
    fired: Option<SimTime>,
}

impl Balancer for Throttler {}
impl Report for Throttler {}

impl Policy for Throttler {
    fn attach(&mut self, world: &World) -> Attached {
        self.queues = FifoQueues::new(world);
        Attached { reasons: &["prev"], timers: 1, ..Attached::default() }
    }

    fn select_task_rq(&mut self, _: Cx<'_>, wakeup: &Wakeup) -> Placement {
        Placement::at(wakeup.prev, Reason(0))
    }

    fn enqueue(&mut self, mut cx: Cx<'_>, cpu: CpuId, task: TaskId, _: Enqueue) {
        self.queues.push(cpu, task);
        if self.fired.is_none() {
            cx.add_task_work(task);
        }
    }

    fn dequeue(&mut self, _: Cx<'_>, cpu: CpuId, task: TaskId, _: Dequeue) -> Dequeued {
        self.queues.remove(cpu, task)
    }

    fn pick_next(&mut self, _: Cx<'_>, cpu: CpuId, _: Option<TaskId>) -> Option<TaskId> {
        self.queues.next(cpu)
    }

    fn put_prev_task(&mut self, _: Cx<'_>, cpu: CpuId, prev: TaskId) {
        self.queues.put(cpu, prev);
    }

    fn task_work(&mut self, mut cx: Cx<'_>, cpu: CpuId, task: TaskId) -> Look {
        if self.fate != Fate::Timer {
            cx.throttle(task);
        }
        if matches!(self.fate, Fate::Throttled | Fate::ThrottledForEver) {
            self.queues.remove(cpu, task);
            cx.resched(cpu);
        }
        if self.fate != Fate::ThrottledForEver {
            cx.arm(TimerId(0), cpu, When::AfterSchedule(Nanos::from_millis(1)));
        }
        Look::default()
    }

    fn timer(&mut self, mut cx: Cx<'_>, cpu: CpuId, _: TimerId) {
        self.fired = Some(cx.world.now());
        match self.fate {
            Fate::Throttled => self.queues.push(cpu, TaskId(0)),
            Fate::ThrottledRunning => {}
            Fate::Timer | Fate::ThrottledForEver => return,
        }
        cx.unthrottle(TaskId(0));
        cx.resched(cpu);
    }
}

/// One task that does this on CPU 2.
fn run<O: Observer>(fate: Fate, ops: &[Op], observer: O) -> Simulator<Throttler, Script, O> {
    let mut script = Script::new(objects());
    script.task(CpuId(2), ops);
    let policy = Box::new(Throttler { queues: FifoQueues::default(), fate, fired: None });
    let mut run = Simulator::new(steady("t16"), policy, script, observer, config()).unwrap();
    run.set_paranoid();
    run
}

/// A lone task is throttled before its first instruction in user mode, and goes on when it is unthrottled: nothing
/// else happens on its CPU that could make a lost timer good.
#[test]
fn a_task_that_is_throttled_at_its_return_to_user_mode_waits_for_the_timer() {
    let mut run = run(Fate::Throttled, &[Op::Run(Nanos(300_000))], Log::default());
    assert_eq!(run.run_until(HORIZON).unwrap(), Status::Finished);
    let fired = run.policy().fired.unwrap();
    assert!((1_000_000..1_050_000).contains(&fired.0), "unthrottled at {fired}");
    assert_eq!(run.observer().charged(2, Cost::User), 300_000, "ns in user mode");
    assert!(run.world().now().0 > fired.0 + 300_000);
    let left = |point: &Tracepoint| {
        matches!(point, Tracepoint::Switch { prev: Some(TaskId(0)), preempted: true, .. })
    };
    assert_eq!(run.observer().count(left), 1, "it was runnable when it was switched out");
}

/// A timer that is armed where the CPU is in no `schedule()` counts from there: the task runs on for 20 ms, and
/// there is no other `schedule()` that could make a lost timer good.
#[test]
fn a_timer_that_is_armed_behind_schedule_counts_from_there() {
    let mut run = run(Fate::Timer, &[Op::Run(Nanos(20_000_000))], ());
    assert_eq!(run.run_until(HORIZON).unwrap(), Status::Finished);
    let fired = run.policy().fired.unwrap();
    assert!((1_000_000..1_050_000).contains(&fired.0), "fired at {fired}");
}

/// A task that nobody unthrottles is a deadlock, which says who throttles it.
#[test]
fn a_task_that_is_throttled_for_ever_is_found() {
    let mut run = run(Fate::ThrottledForEver, &[Op::Run(Nanos(300_000))], ());
    let said = run.run_until(HORIZON).unwrap_err().to_string();
    assert!(said.contains("the policy, which throttles it"), "{said}");
}

/// A throttled task that runs on is not counted, and so not subtracted when it sleeps, or is unthrottled when it
/// is back, as a task that sleeps is no longer throttled.
#[test]
fn a_task_that_sleeps_while_it_is_throttled_is_not_subtracted_twice() {
    let ops = [300_000, 300_000, 3_000_000].map(|ns| Op::Run(Nanos(ns)));
    let ops = [ops[0], Op::Sleep(Nanos(200_000)), ops[1], Op::Sleep(Nanos(200_000)), ops[2]];
    let mut run = run(Fate::ThrottledRunning, &ops, Invariants::new(16, 1));
    assert_eq!(run.run_until(HORIZON).unwrap(), Status::Finished);
    assert!(run.policy().fired.is_some());
    let (world, _, _, mut rules) = run.into_parts();
    rules.finish(&world).unwrap();
}
