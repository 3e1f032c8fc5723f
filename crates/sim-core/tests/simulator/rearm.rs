//! A timer that is armed anew at the end of each `schedule()`: where that is near to what it is armed for already, it
//! stays as it is.

use std::sync::Arc;

use simsched_core::testkit::Script;
use simsched_core::{
    Attached, Balancer, Cx, Dequeue, Dequeued, Enqueue, FifoQueues, Nanos, Op, Placement, Policy,
    Reason, Report, SimTime, Simulator, Status, TaskId, TimerId, Tracepoint, Wakeup, When, World,
};
use simsched_topology::{CpuId, OsCosts, Topology};

use super::rig::{Log, config, objects, steady};

/// First in, first out; its timer is armed at each pick.
struct Rearms {
    queues: FifoQueues,
    whens: Vec<When>,
    /// How often it asks for each.
    times: usize,
    fired: Option<SimTime>,
}

impl Balancer for Rearms {}
impl Report for Rearms {}

impl Policy for Rearms {
    fn attach(&mut self, world: &World) -> Attached {
        self.queues = FifoQueues::new(world);
        Attached { reasons: &["prev"], timers: 1, ..Attached::default() }
    }

    fn select_task_rq(&mut self, _: Cx<'_>, wakeup: &Wakeup) -> Placement {
        Placement::at(wakeup.prev, Reason(0))
    }

    fn enqueue(&mut self, _: Cx<'_>, cpu: CpuId, task: TaskId, _: Enqueue) {
        self.queues.push(cpu, task);
    }

    fn dequeue(&mut self, _: Cx<'_>, cpu: CpuId, task: TaskId, _: Dequeue) -> Dequeued {
        self.queues.remove(cpu, task)
    }

    fn pick_next(&mut self, mut cx: Cx<'_>, cpu: CpuId, _: Option<TaskId>) -> Option<TaskId> {
        let next = self.queues.next(cpu)?;
        if !self.whens.is_empty() {
            let when = self.whens.remove(0);
            (0..self.times).for_each(|_| cx.arm(TimerId(0), cpu, when));
        }
        Some(next)
    }

    fn put_prev_task(&mut self, _: Cx<'_>, cpu: CpuId, prev: TaskId) {
        self.queues.put(cpu, prev);
    }

    fn timer(&mut self, cx: Cx<'_>, _: CpuId, _: TimerId) {
        self.fired = Some(cx.world.now());
    }
}

/// Two tasks, of which the first lets the other run after 50 us: when each begins, and when the timer expires.
fn run(whens: &[When]) -> (u64, u64, u64) {
    let (began, expires, _) = run_at(&steady("t16"), whens, 1);
    (began[0], began[1], expires)
}

/// As [`run`] on this machine, where the policy asks so often for each: when the tasks begin, when the timer expires, and
/// when the run ends.
fn run_at(machine: &Topology, whens: &[When], times: usize) -> ([u64; 2], u64, u64) {
    let mut script = Script::new(objects());
    script.task(CpuId(2), &[Op::Run(Nanos(50_000)), Op::Yield, Op::Run(Nanos(50_000))]);
    script.task(CpuId(2), &[Op::Run(Nanos(2_000_000))]);
    let policy = Box::new(Rearms {
        queues: FifoQueues::default(),
        whens: whens.to_vec(),
        times,
        fired: None,
    });
    let mut run =
        Simulator::new(Arc::new(machine.clone()), policy, script, Log::default(), config())
            .unwrap();
    run.set_paranoid();
    assert_eq!(run.run_until(SimTime(20_000_000_000)).unwrap(), Status::Finished);
    let began = |which: u32| {
        let found = run.observer().0.iter().find(|(_, point)| {
            matches!(point, Tracepoint::Running { task, .. } if *task == TaskId(which))
        });
        found.unwrap().0.0
    };
    ([began(0), began(1)], run.policy().fired.unwrap().0, run.elapsed().0)
}

/// A timer that is armed in `schedule()` makes its end later, and counts from there; where it stays as it is, nothing is
/// paid. What of an interrupt is behind the timer's function makes the function earlier, and the interrupt as long.
#[test]
fn what_a_timer_costs_is_paid_where_the_kernel_pays_it() {
    let machine = steady("t16");
    let priced = |change: fn(&mut OsCosts)| {
        let mut costs = *machine.costs();
        change(&mut costs);
        Topology::clone(&machine).with_costs(costs)
    };
    let first = When::AfterSchedule(Nanos(400_000));
    let ([one, two], expires, ends) = run_at(&machine, &[first], 1);
    let deferred = priced(|costs| costs.hrtimer_start_deferred += 700);
    let later = ([one + 700, two + 700], expires + 700, ends + 700);
    assert_eq!(run_at(&deferred, &[first], 1), later);
    assert_eq!(run_at(&deferred, &[first], 2), later, "armed once");
    let near = When::AfterSchedule(Nanos(400_000 - (two - one)));
    assert_eq!(run_at(&deferred, &[first, near], 1), later);
    let far = When::AfterSchedule(Nanos(400_000));
    assert_eq!(run_at(&deferred, &[first, far], 1).0, [one + 700, two + 1_400]);
    let behind = priced(|costs| costs.hrtimer_rearm += 300);
    assert_eq!(run_at(&behind, &[first], 1), ([one, two], expires - 300, ends));
}

/// Linux compares the two instants where `schedule()` ends, and where a CPU starts its timer because another one has asked
/// for that, and takes 5 us and less for the same.
#[test]
fn a_timer_stays_where_it_is_armed_for_nearly_the_same_instant() {
    let delay = 400_000;
    let first = When::AfterSchedule(Nanos(delay));
    let (one, two, expires) = run(&[first]);
    let left = delay - (two - one);
    let after_schedule = |by: i64| When::AfterSchedule(Nanos(left.checked_add_signed(by).unwrap()));
    // What it takes from the expiry to the call of the policy.
    let handler = run(&[When::At(SimTime(delay))]).2 - delay;
    let at = |by: i64| SimTime((expires - handler).checked_add_signed(by).unwrap());
    let with = |when: When| run(&[first, when]).2;
    for near in [-5_000, -4_999, 0, 4_999, 5_000] {
        assert_eq!(with(after_schedule(near)), expires, "{near} ns later");
        assert_eq!(with(When::Near(at(near))), expires, "{near} ns later");
        let exactly = expires.checked_add_signed(near).unwrap();
        assert_eq!(with(When::At(at(near))), exactly, "{near} ns later");
    }
    for far in [-200_000, -5_001, 5_001, 200_000] {
        let later = expires.checked_add_signed(far).unwrap();
        assert_eq!(with(after_schedule(far)), later, "{far} ns later");
        assert_eq!(with(When::Near(at(far))), later, "{far} ns later");
    }
}
