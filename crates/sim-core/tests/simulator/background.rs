//! Tasks that belong to the machine: they are there before the run, and it does not wait for them.

use simsched_core::testkit::{RoundRobin, Script};
use simsched_core::{
    Cost, Nanos, Op, RousedBy, SimError, SimTime, Simulator, Start, Status, TaskId, Tracepoint,
};
use simsched_topology::{CpuId, CpuSet};

use super::rig::{Log, WAIT, config, objects, simulate, topology};

const MS: u64 = 1_000_000;
/// Long behind the end of all runs here.
const LATE: Op = Op::SleepUntil(SimTime(9_000 * MS));

fn run(ms: u64) -> Op {
    Op::Run(Nanos(ms * MS))
}

/// A task of the machine that sleeps on `cpu`, where it has to stay, until `ms`.
fn background(script: &mut Script, cpu: u16, ms: u64, deferrable: bool, ops: &[Op]) -> TaskId {
    let task = script.spawned(ops);
    let (cpu, until) = (CpuId(cpu), SimTime(ms * MS));
    let spec = script.spec(task);
    spec.allowed = Some(CpuSet::single(cpu));
    spec.start = Start::Background { cpu, until, deferrable };
    task
}

fn woken(log: &Log, task: TaskId) -> SimTime {
    log.find(|t| matches!(t, Tracepoint::Wakeup { wakee, .. } if *wakee == task)).unwrap()
}

#[test]
fn a_run_ends_with_its_own_tasks_and_not_with_those_of_the_machine() {
    let mut script = Script::new(objects());
    script.task(CpuId(0), &[run(3)]);
    let other = background(&mut script, 1, 1, false, &[run(1), LATE]);
    let busy = background(&mut script, 2, 1, false, &[run(8_000)]);
    let (status, sim) = simulate(script, RoundRobin::default());
    assert_eq!(status, Ok(Status::Finished));
    assert!((3 * MS..4 * MS).contains(&sim.elapsed().get()), "{:?}", sim.elapsed());
    let log = sim.observer();
    for task in [other, busy] {
        assert!((MS..MS + 20_000).contains(&woken(log, task).get()));
    }
}

#[test]
fn a_task_of_the_machine_that_ends_does_not_end_the_run() {
    let mut script = Script::new(objects());
    script.task(CpuId(0), &[run(3)]);
    background(&mut script, 1, 1, false, &[]);
    let (status, sim) = simulate(script, RoundRobin::default());
    assert_eq!(status, Ok(Status::Finished));
    assert!(sim.elapsed().get() >= 3 * MS);
    assert_eq!(sim.observer().count(|t| matches!(t, Tracepoint::Exit { .. })), 2);
}

#[test]
fn a_deadlock_is_seen_although_a_task_of_the_machine_has_a_timer() {
    let mut script = Script::new(objects());
    let stuck = script.task(CpuId(0), &[WAIT]);
    background(&mut script, 1, 1, false, &[run(1), LATE]);
    let (status, _) = simulate(script, RoundRobin::default());
    let Err(SimError::Deadlock { blocked, .. }) = status else { panic!("{status:?}") };
    assert_eq!(blocked.iter().map(|blocked| blocked.task).collect::<Vec<_>>(), [stuck.0]);
}

/// A CPU that has become idle keeps its tick until the next one, at 4 ms, and longer while a callback of RCU waits there.
#[test]
fn a_deferrable_timer_waits_while_the_tick_of_its_idle_cpu_is_stopped() {
    let rcu = Op::CallRcu { until: SimTime(9 * MS) };
    for (deferrable, first, range) in [
        (false, Op::Run(Nanos(1_000)), 6 * MS..7 * MS),
        (true, Op::Run(Nanos(1_000)), 20 * MS..25 * MS),
        (true, rcu, 6 * MS..9 * MS),
    ] {
        let mut script = Script::new(objects());
        let busy = script.task(CpuId(1), &[first, Op::SleepUntil(SimTime(20 * MS)), run(10)]);
        script.spec(busy).allowed = Some(CpuSet::single(CpuId(1)));
        let other = background(&mut script, 1, 6, deferrable, &[LATE]);
        let (status, sim) = simulate(script, RoundRobin::default());
        assert_eq!(status, Ok(Status::Finished));
        let at = woken(sim.observer(), other).get();
        assert!(range.contains(&at), "{deferrable}, {first:?}: {at}");
    }
}

/// `tick_sched_timer()`: the wheel that holds the timers of the machine's own tasks is turned by a tick,
/// and an idle CPU whose tick is stopped takes one for them. The timer of another sleep needs none.
#[test]
fn a_timer_of_the_machine_on_an_idle_cpu_takes_a_tick() {
    let mut script = Script::new(objects());
    script.task(CpuId(0), &[run(30)]);
    script.task(CpuId(1), &[Op::Sleep(Nanos(22 * MS)), run(1), Op::Sleep(Nanos(MS))]);
    // Both wake up between two ticks.
    background(&mut script, 2, 22, false, &[run(1), LATE]);
    let (status, sim) = simulate(script, RoundRobin::default());
    assert_eq!(status, Ok(Status::Finished));
    let ticks = |cpu: CpuId| {
        let is_tick = |(at, tracepoint): &&(SimTime, Tracepoint)| {
            let charge = matches!(tracepoint, Tracepoint::Charge { cpu: c, what: Cost::Tick, .. } if *c == cpu);
            charge && (22 * MS..23 * MS).contains(&at.0)
        };
        sim.observer().0.iter().filter(is_tick).count()
    };
    assert_eq!((ticks(CpuId(1)), ticks(CpuId(2))), (0, 1));
}

#[test]
fn a_task_that_begins_asleep_runs_when_its_first_sleep_ends_and_the_run_waits_for_it() {
    let mut script = Script::new(objects());
    script.task(CpuId(0), &[run(1)]);
    let sleeper = script.spawned(&[Op::SleepUntil(SimTime(3 * MS)), run(1)]);
    script.spec(sleeper).start = Start::Asleep(CpuId(2));
    let (status, sim) = simulate(script, RoundRobin::default());
    assert_eq!(status, Ok(Status::Finished));
    assert!(sim.elapsed().get() >= 4 * MS);
    let log = sim.observer();
    assert!((3 * MS..3 * MS + 20_000).contains(&woken(log, sleeper).get()));
    let first =
        log.find(|t| matches!(t, Tracepoint::Switch { next: Some(next), .. } if *next == sleeper));
    assert!(first.unwrap() > SimTime(3 * MS), "it has not run before its sleep");
}

#[test]
fn a_task_that_begins_asleep_has_to_be_in_a_sleep() {
    let mut script = Script::new(objects());
    script.task(CpuId(0), &[run(1)]);
    let awake = script.spawned(&[run(1)]);
    script.spec(awake).start = Start::Asleep(CpuId(2));
    let policy = RoundRobin::default();
    let started = Simulator::new(topology(), Box::new(policy), script, Log::default(), config());
    let told = started.map(|_| ()).unwrap_err().to_string();
    assert!(told.contains("begins asleep"), "{told}");
}

/// Who woke up a task of the machine that sleeps on idle CPU 5 and may run anywhere, while CPU 2 is busy.
fn waker(tmigr: bool, may_move: bool) -> CpuId {
    let mut script = Script::new(objects());
    script.task(CpuId(2), &[run(60)]);
    let task = background(&mut script, 5, 40, false, &[Op::Run(Nanos(1_000)), LATE]);
    if may_move {
        script.spec(task).allowed = None;
    }
    let mut policy = RoundRobin::default();
    policy.tmigr = tmigr;
    let (status, sim) = simulate(script, policy);
    assert_eq!(status, Ok(Status::Finished));
    let is_by = |waker: u16| {
        sim.observer().count(|t| {
            matches!(t, Tracepoint::Waking { wakee, waker: by, .. } if *wakee == task && by.0 == waker)
        }) > 0
    };
    CpuId((0..16).find(|cpu| is_by(*cpu)).expect("it is woken"))
}

/// "timers: Implement the hierarchical pull model", 6.9: idle CPUs leave timers that are not pinned to a CPU whose tick
/// runs.
#[test]
fn since_6_9_a_busy_cpu_expires_the_timers_of_idle_ones() {
    assert_eq!(waker(false, true), CpuId(5));
    assert_eq!(waker(true, true), CpuId(2));
    assert_eq!(waker(true, false), CpuId(5), "one that is pinned stays");
}

/// A sleeper on CPU 1 is roused by a task of CPU 0: the timer of that CPU wakes it up, or its own one; and the latter if
/// another one would expire in the same instant only.
#[test]
fn a_sleeper_is_roused_by_a_timer_of_the_cpu_that_asks_or_by_its_own() {
    for (planned, by, waker) in
        [(20, RousedBy::ThisCpu, 0), (20, RousedBy::OwnTimer, 1), (8, RousedBy::ThisCpu, 1)]
    {
        let mut script = Script::new(objects());
        let sleeper = background(&mut script, 1, planned, false, &[run(1), LATE]);
        let rouse = Op::Rouse { task: sleeper, at: SimTime(8 * MS), by };
        let asks = script.task(CpuId(0), &[rouse, run(12)]);
        script.spec(asks).allowed = Some(CpuSet::single(CpuId(0)));
        let (_, sim) = simulate(script, RoundRobin::default());
        let mut wakers = sim.observer().0.iter().filter_map(|(at, what)| match what {
            Tracepoint::Waking { wakee, waker, .. } if *wakee == sleeper => Some((*at, *waker)),
            _ => None,
        });
        let (at, by) = wakers.next().unwrap();
        assert_eq!((at.get() / MS, by), (8, CpuId(waker)));
    }
}
