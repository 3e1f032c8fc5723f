//! Hand-made tracepoints, with numbers that can be worked out on paper.

use super::*;
use crate::names::NO_DOMAIN;
use crate::testkit::WorldKit;
use crate::world::BOOT_CLOCK;

const A: TaskId = TaskId(0);
const B: TaskId = TaskId(1);

/// Two sockets of 8 CPUs; a core is 2, an LLC 4 CPUs.
fn kit() -> (WorldKit, Stats) {
    let topology = Topology::builtin("t16", None).unwrap();
    let stats = Stats::new(&topology, 2, 1);
    let mut kit = WorldKit::new(topology, 250);
    for _ in 0..2 {
        let task = kit.add_task(0);
        kit.task(task).state = TaskState::Sleeping;
    }
    (kit, stats)
}

fn tell(kit: &mut WorldKit, stats: &mut Stats, at: u64, tracepoint: Tracepoint) {
    kit.set_clock(BOOT_CLOCK + at);
    stats.on(kit.world(), tracepoint);
}

fn wakeup(wakee: TaskId, cpu: u16, reason: Reason) -> Tracepoint {
    Tracepoint::Wakeup { wakee, cpu: CpuId(cpu), reason, scanned: 3 }
}

fn running(cpu: u16, task: TaskId) -> Tracepoint {
    Tracepoint::Running { cpu: CpuId(cpu), task }
}

fn switch(prev: Option<TaskId>, next: Option<TaskId>, preempted: bool) -> Tracepoint {
    Tracepoint::Switch { cpu: CpuId(0), prev, next, preempted }
}

/// Called at 100, queued at 130, executes at 190: a latency of 90 and a wait of 60.
#[test]
fn latency_starts_at_the_call_and_wait_at_the_enqueue() {
    let (mut kit, mut stats) = kit();
    tell(&mut kit, &mut stats, 100, Tracepoint::Waking { wakee: A, waker: CpuId(1), sync: false });
    tell(&mut kit, &mut stats, 130, wakeup(A, 0, Reason(4)));
    tell(&mut kit, &mut stats, 170, switch(None, Some(A), false));
    tell(&mut kit, &mut stats, 190, running(0, A));
    let (latency, wait) = (stats.wakeup_latency(), stats.runqueue_wait());
    assert_eq!((latency.count(), latency.max()), (1, Nanos(90)));
    assert_eq!((wait.count(), wait.max()), (1, Nanos(60)));
    assert_eq!((stats.wakeups(), stats.wakeups_by_reason()[4]), (1, 1));
    assert_eq!((stats.scanned(), stats.context_switches()), (3, 1));
}

/// Preempted at 200, back at 700: a wait of 500 without a wakeup.
#[test]
fn a_preempted_task_waits_from_its_preemption() {
    let (mut kit, mut stats) = kit();
    tell(&mut kit, &mut stats, 200, switch(Some(A), Some(B), true));
    tell(&mut kit, &mut stats, 600, switch(Some(B), Some(A), false));
    tell(&mut kit, &mut stats, 700, running(0, A));
    assert_eq!((stats.context_switches(), stats.preemptions()), (2, 1));
    assert_eq!((stats.runqueue_wait().count(), stats.runqueue_wait().max()), (1, Nanos(500)));
    assert_eq!(stats.wakeup_latency().count(), 0);
}

#[test]
fn a_wakee_that_is_still_current_has_no_latency() {
    let (mut kit, mut stats) = kit();
    kit.run_on(CpuId(0), Some(A));
    tell(&mut kit, &mut stats, 10, Tracepoint::Waking { wakee: A, waker: CpuId(1), sync: false });
    tell(&mut kit, &mut stats, 20, wakeup(A, 0, Reason::STILL_QUEUED));
    tell(&mut kit, &mut stats, 30, switch(Some(A), Some(B), true));
    tell(&mut kit, &mut stats, 90, running(0, A));
    assert_eq!((stats.wakeups(), stats.wakeup_latency().count()), (1, 0));
    assert_eq!(stats.runqueue_wait().max(), Nanos(60), "from the preemption at 30");
}

/// Preempted at 30 when it was about to sleep, called at 40, executes at 90.
#[test]
fn a_wakee_that_still_waits_has_waited_since_its_preemption() {
    let (mut kit, mut stats) = kit();
    tell(&mut kit, &mut stats, 30, switch(Some(A), Some(B), true));
    tell(&mut kit, &mut stats, 40, Tracepoint::Waking { wakee: A, waker: CpuId(1), sync: false });
    tell(&mut kit, &mut stats, 45, wakeup(A, 0, Reason::STILL_QUEUED));
    tell(&mut kit, &mut stats, 90, running(0, A));
    assert_eq!(stats.wakeup_latency().max(), Nanos(50));
    assert_eq!(stats.runqueue_wait().max(), Nanos(60));
}

#[test]
fn the_first_wakeup_of_a_new_task_is_counted_aside() {
    let (mut kit, mut stats) = kit();
    kit.task(B).state = TaskState::New;
    tell(&mut kit, &mut stats, 5, Tracepoint::Fork { parent: None, child: A });
    tell(&mut kit, &mut stats, 6, Tracepoint::Fork { parent: Some(A), child: B });
    tell(&mut kit, &mut stats, 6, Tracepoint::Waking { wakee: B, waker: CpuId(1), sync: false });
    tell(&mut kit, &mut stats, 9, wakeup(B, 2, Reason(1)));
    tell(&mut kit, &mut stats, 19, running(2, B));
    assert_eq!((stats.forks(), stats.wakeups(), stats.new_by_reason()[1]), (1, 0, 1));
    assert_eq!((stats.wakeup_latency().count(), stats.runqueue_wait().max()), (0, Nanos(10)));
}

#[test]
fn migrations_are_counted_by_cause_distance_and_reason() {
    let (mut kit, mut stats) = kit();
    let moves = [(1, Cause::Wakeup), (2, Cause::Wakeup), (4, Cause::Fork), (8, Cause::NewIdle)];
    for (to, cause) in moves {
        let (task, from, to, reason) = (A, CpuId(0), CpuId(to), Reason(7));
        let domain = if cause == Cause::NewIdle { 3 } else { NO_DOMAIN };
        let moved = Tracepoint::Migrate { task, from, to, cause, reason, domain };
        tell(&mut kit, &mut stats, 1, moved);
    }
    assert_eq!(stats.migrations(), 4);
    assert_eq!(*stats.migrations_by_cause(), [2, 1, 0, 0, 1, 0, 0, 0]);
    let far = |distance: Distance| stats.migrations_by_distance()[distance.idx()];
    assert_eq!((far(Distance::SameCore), far(Distance::SameLlc)), (1, 1));
    assert_eq!((far(Distance::SameNode), far(Distance::CrossSocket)), (1, 1));
    let of_cause = |cause: Cause| stats.migrations_by_reason()[cause as usize][7];
    assert_eq!([Cause::Wakeup, Cause::Fork, Cause::NewIdle].map(of_cause), [2, 1, 1]);
    let by_domain = stats.migrations_by_domain();
    assert_eq!((by_domain[3], by_domain.last()), (1, Some(&3)));
}

#[test]
fn charges_add_up_by_cpu_and_cost() {
    let (mut kit, mut stats) = kit();
    for (cpu, what, amount) in
        [(3, Cost::User, 70), (3, Cost::Idle, 20), (3, Cost::Tick, 10), (5, Cost::User, 5)]
    {
        let (cpu, amount) = (CpuId(cpu), Nanos(amount));
        tell(&mut kit, &mut stats, 100, Tracepoint::Charge { cpu, what, amount });
    }
    assert_eq!(stats.busy(CpuId(3)), Nanos(80));
    assert_eq!(stats.total_cpu_time()[Cost::User as usize], 75);
    assert_eq!(stats.total_cpu_time().iter().sum::<u64>(), 105);
}

#[test]
fn a_mark_has_a_first_and_a_last_time() {
    let (mut kit, mut stats) = kit();
    assert_eq!(stats.marks()[0].first, SimTime::NEVER);
    for at in [40, 50, 90] {
        tell(&mut kit, &mut stats, at, Tracepoint::Mark { task: A, mark: MarkId(0) });
    }
    let (first, last) = (SimTime(40), SimTime(90));
    assert_eq!(stats.marks()[0], MarkStats { count: 3, first, last });
}

/// Called at 100 and again at 120, when it is on its way already: the first call counts.
#[test]
fn a_call_that_finds_the_task_awake_does_not_count() {
    let (mut kit, mut stats) = kit();
    tell(&mut kit, &mut stats, 100, Tracepoint::Waking { wakee: A, waker: CpuId(1), sync: false });
    kit.task(A).state = TaskState::Waking;
    tell(&mut kit, &mut stats, 120, Tracepoint::Waking { wakee: A, waker: CpuId(2), sync: false });
    tell(&mut kit, &mut stats, 130, wakeup(A, 0, Reason(0)));
    kit.task(A).state = TaskState::Running;
    tell(&mut kit, &mut stats, 140, Tracepoint::Waking { wakee: A, waker: CpuId(2), sync: false });
    tell(&mut kit, &mut stats, 200, running(0, A));
    assert_eq!((stats.wakeups(), stats.wakeup_latency().max()), (1, Nanos(100)));
}

#[test]
fn a_span_is_measured_for_each_task_apart() {
    let topology = Topology::builtin("t16", None).unwrap();
    let (from, to) = (MarkId(0), MarkId(1));
    let mut stats = Stats::new(&topology, 2, 2).with_spans(&[(from, to), (to, to)]);
    let mut pass = |at, task, mark| stats.mark(SimTime(at), TaskId(task), mark);
    pass(5, 0, to);
    pass(10, 0, from);
    pass(20, 1, from);
    pass(100, 1, to);
    pass(110, 0, to);
    pass(120, 0, to);
    let [span, gap] = stats.spans() else { panic!("two spans") };
    let (lengths, shortest) = (span.lengths(), span.shortest());
    assert_eq!((lengths.count(), lengths.sum(), shortest), (2, 180, Some(Nanos(80))));
    assert_eq!((gap.lengths().max(), gap.shortest()), (Nanos(105), Some(Nanos(10))));
}
