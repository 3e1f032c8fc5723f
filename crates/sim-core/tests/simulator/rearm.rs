//! A timer that is armed anew at the end of each `schedule()`: where that is near to what it is armed for already, it
//! stays as it is.

use simsched_core::testkit::Script;
use simsched_core::{
    Attached, Balancer, Cx, Dequeue, Dequeued, Enqueue, FifoQueues, Nanos, Op, Placement, Policy,
    Reason, Report, SimTime, Simulator, Status, TaskId, TimerId, Tracepoint, Wakeup, When, World,
};
use simsched_topology::CpuId;

use super::rig::{Log, config, objects, steady};

/// First in, first out; its timer is armed at each pick, for so long after `schedule()`.
struct Rearms {
    queues: FifoQueues,
    delays: Vec<Nanos>,
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
        if !self.delays.is_empty() {
            cx.arm(TimerId(0), cpu, When::AfterSchedule(self.delays.remove(0)));
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
fn run(delays: &[u64]) -> (u64, u64, u64) {
    let mut script = Script::new(objects());
    script.task(CpuId(2), &[Op::Run(Nanos(50_000)), Op::Yield, Op::Run(Nanos(50_000))]);
    script.task(CpuId(2), &[Op::Run(Nanos(2_000_000))]);
    let delays = delays.iter().map(|&delay| Nanos(delay)).collect();
    let policy = Box::new(Rearms { queues: FifoQueues::default(), delays, fired: None });
    let mut run = Simulator::new(steady("t16"), policy, script, Log::default(), config()).unwrap();
    run.set_paranoid();
    assert_eq!(run.run_until(SimTime(20_000_000_000)).unwrap(), Status::Finished);
    let began = |which: u32| {
        let found = run.observer().0.iter().find(|(_, point)| {
            matches!(point, Tracepoint::Running { task, .. } if *task == TaskId(which))
        });
        found.unwrap().0.0
    };
    (began(0), began(1), run.policy().fired.unwrap().0)
}

/// Linux compares the two instants where `schedule()` ends, and takes 5 us and less for the same.
#[test]
fn a_timer_stays_where_it_is_armed_for_nearly_the_same_instant() {
    let first = 400_000;
    let (one, two, expires) = run(&[first]);
    let left = first - (two - one);
    let with = |by: i64| run(&[first, left.checked_add_signed(by).unwrap()]).2;
    for near in [-5_000, -4_999, 0, 4_999, 5_000] {
        assert_eq!(with(near), expires, "{near} ns later");
    }
    for far in [-200_000, -5_001, 5_001, 200_000] {
        assert_eq!(with(far), expires.checked_add_signed(far).unwrap(), "{far} ns later");
    }
}
