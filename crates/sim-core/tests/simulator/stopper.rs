//! The stopper, and who needs it: active balance, a change of affinity, a new program.

use std::sync::Arc;

use simsched_core::testkit::{Place, RoundRobin, Script, Wanted, WantedPass};
use simsched_core::{
    BalanceStep, Cause, Cost, FutexId, MaskId, Nanos, Observer, Op, Setup, SimTime, Simulator,
    Status, TaskId, Tracepoint, World,
};
use simsched_topology::{CpuId, CpuSet, OsCosts, Topology};

use super::balance::{balancing, moved, run, switched};
use super::rig::{Log, WAIT, WAKE, config, objects, simulate, simulate_on, topology};

const MS: u64 = 1_000_000;

/// Masks 0: CPU 5; 1: CPUs 8 to 11; 2: all.
fn masks() -> Setup {
    let four = (8..12).fold(CpuSet::new(), |mut set, cpu| {
        set.insert(CpuId(cpu));
        set
    });
    let masks = vec![CpuSet::single(CpuId(5)), four, CpuSet::first_n(16)];
    Setup { masks, ..objects() }
}

fn confine(task: TaskId, mask: u32) -> Op {
    Op::SetAffinity { task, mask: MaskId(mask) }
}

fn stopped(log: &Log, on: u16) -> Vec<(SimTime, bool)> {
    let of = |(at, t): &(SimTime, Tracepoint)| match t {
        Tracepoint::Stopper { cpu, begins } if cpu.0 == on => Some((*at, *begins)),
        _ => None,
    };
    log.0.iter().filter_map(of).collect()
}

fn ran_on(log: &Log, wanted: TaskId) -> Vec<u16> {
    let of = |(_, t): &(SimTime, Tracepoint)| match t {
        Tracepoint::Running { cpu, task } if *task == wanted => Some(cpu.0),
        _ => None,
    };
    log.0.iter().filter_map(of).collect()
}

/// Two hogs: one on CPU 0, and on CPU 4 one whose tick starts the stopper of CPU 0.
fn two_hogs_and_a_stopper() -> (Script, RoundRobin) {
    let mut script = Script::new(objects());
    script.task(CpuId(0), &[run(10 * MS)]);
    script.task(CpuId(4), &[run(10 * MS)]);
    let stop = Wanted::Step(BalanceStep::Stop { from: CpuId(0) });
    let (place, cpu, from) = (Place::Softirq, CpuId(4), SimTime::ZERO);
    let mut policy = balancing(vec![WantedPass { place, cpu, from, steps: vec![stop] }]);
    policy.balancer.push = vec![(CpuId(0), CpuId(8))];
    (script, policy)
}

/// Runs both to their ends.
fn push_of_a_running_task() -> Simulator<RoundRobin, Script, Log> {
    let (script, policy) = two_hogs_and_a_stopper();
    let (status, sim) = simulate(script, policy);
    assert_eq!(status, Ok(Status::Finished));
    sim
}

#[test]
fn the_stopper_pushes_the_running_task_and_it_runs_elsewhere() {
    let sim = push_of_a_running_task();
    let (log, hog) = (sim.observer(), TaskId(0));
    let pushes = moved(log, Cause::Active);
    assert_eq!((pushes.len(), pushes[0].1, pushes[0].2, pushes[0].3), (1, hog, 0, 8));
    assert_eq!(ran_on(log, hog), [0, 8]);
    let user = log.charged(0, Cost::User) + log.charged(8, Cost::User);
    assert_eq!(user, 10 * MS);
    let preempted = switched(log, 0, Some(hog), None);
    assert_eq!(stopped(log, 0)[0], (preempted, true));
    // The task is moved when the stopper has worked; then the CPU goes idle.
    assert_eq!(stopped(log, 0)[1], (pushes[0].0, false));
    assert_eq!(switched(log, 0, None, None), pushes[0].0);
}

/// The stopper and its two switches take what the price list says; the balancing CPU pays for a
/// wakeup and the interrupt.
#[test]
fn a_push_costs_what_the_price_list_says() {
    let sim = push_of_a_running_task();
    let costs = *topology().costs();
    let log = sim.observer();
    let preempted = switched(log, 0, Some(TaskId(0)), None);
    let idles = switched(log, 0, None, None).since(preempted).0;
    assert_eq!(idles + u64::from(costs.context_switch_idle), u64::from(costs.stopper));
    assert_eq!(log.charged(4, Cost::Balance), u64::from(costs.wakeup));
    assert_eq!(log.charged(4, Cost::Wakeup), u64::from(costs.ipi_send + costs.ipi_return));
}

/// Between its start and its end the stopper counts among the runnable, and the CPU is not idle.
#[test]
fn a_cpu_whose_stopper_is_runnable_is_not_idle() {
    struct Idle(Vec<(bool, u32, bool)>);
    impl Observer for Idle {
        fn on(&mut self, world: &World, tracepoint: Tracepoint) {
            let cpu = CpuId(0);
            let seen = (world.is_idle(cpu), world.rq(cpu).nr_running, world.rq(cpu).stopping);
            match tracepoint {
                Tracepoint::Stopper { .. } | Tracepoint::Migrate { cause: Cause::Active, .. } => {
                    self.0.push(seen);
                }
                Tracepoint::Switch { cpu: CpuId(0), prev: None, next: None, .. } => {
                    self.0.push(seen)
                }
                _ => {}
            }
        }
    }
    let (script, policy) = two_hogs_and_a_stopper();
    let log = Idle(Vec::new());
    let mut sim = Simulator::new(topology(), Box::new(policy), script, log, config()).unwrap();
    sim.run_until(SimTime(50 * MS)).unwrap();
    let begins = (false, 2, true);
    let moves = (false, 1, true);
    let ends = (false, 0, true);
    let idle = (true, 0, false);
    assert_eq!(sim.observer().0, [begins, moves, ends, idle]);
}

/// A CPU whose only task is pushed away looks for another before it goes idle.
#[test]
fn a_cpu_that_is_left_by_its_stopper_is_newly_idle() {
    let sim = push_of_a_running_task();
    let pushed = moved(sim.observer(), Cause::Active)[0].0;
    let asked = &sim.policy().balancer.asked;
    assert!(asked.contains(&(pushed, Place::NewlyIdle, CpuId(0))));
}

#[test]
fn who_confines_itself_elsewhere_is_moved_by_the_stopper() {
    let mut script = Script::new(masks());
    let task = script.task(CpuId(0), &[run(MS), confine(TaskId(0), 0), run(MS)]);
    let (status, sim) = simulate(script, RoundRobin::default());
    assert_eq!(status, Ok(Status::Finished));
    let log = sim.observer();
    assert_eq!(ran_on(log, task), [0, 5]);
    assert_eq!(stopped(log, 0).len(), 2);
    let all = moved(log, Cause::Affinity);
    assert_eq!((all.len(), all[0].1, all[0].2, all[0].3), (1, task, 0, 5));
    assert_eq!(log.charged(5, Cost::User), MS);
}

#[test]
fn who_runs_where_it_still_may_stays() {
    let mut script = Script::new(masks());
    let task = script.task(CpuId(9), &[run(MS), confine(TaskId(0), 1), run(MS)]);
    let (status, sim) = simulate(script, RoundRobin::default());
    assert_eq!(status, Ok(Status::Finished));
    assert_eq!(ran_on(sim.observer(), task), [9]);
    assert!(stopped(sim.observer(), 9).is_empty());
}

/// Another task that runs where it may not any more is moved in the middle of its computing.
#[test]
fn another_task_that_runs_is_moved_by_the_stopper_of_its_cpu() {
    let mut script = Script::new(masks());
    let hog = script.task(CpuId(2), &[run(8 * MS)]);
    script.task(CpuId(0), &[run(MS), confine(hog, 1)]);
    let (status, sim) = simulate(script, RoundRobin::default());
    assert_eq!(status, Ok(Status::Finished));
    let log = sim.observer();
    // The first CPU of the mask after CPU 0, which nobody was given yet.
    assert_eq!(ran_on(log, hog), [2, 8]);
    assert_eq!(log.charged(2, Cost::User) + log.charged(8, Cost::User), 8 * MS);
    assert_eq!(stopped(log, 2).len(), 2);
    assert!(moved(log, Cause::Affinity)[0].0.0 < MS + 50_000);
}

/// A second change overtakes the stopper's work for the first: only the last one counts.
#[test]
fn the_stopper_moves_a_task_by_its_last_affinity() {
    for (last, want) in [(1, vec![2, 8]), (2, vec![2, 2])] {
        let mut script = Script::new(masks());
        let hog = script.task(CpuId(2), &[run(8 * MS)]);
        script.task(CpuId(0), &[run(MS), confine(hog, 0), confine(hog, last)]);
        let (status, sim) = simulate(script, RoundRobin::default());
        assert_eq!(status, Ok(Status::Finished));
        assert_eq!(ran_on(sim.observer(), hog), want);
        assert_eq!(moved(sim.observer(), Cause::Affinity).len(), usize::from(last == 1));
        assert_eq!(stopped(sim.observer(), 2).len(), 2);
    }
}

/// Tasks that wait are moved at once, each to the CPU after the last one's
/// (`cpumask_any_and_distribute()`).
#[test]
fn tasks_that_wait_are_moved_at_once_and_spread() {
    let mut script = Script::new(masks());
    let hog = script.task(CpuId(2), &[run(3 * MS)]);
    let waiting: Vec<TaskId> = (0..5).map(|_| script.task(CpuId(2), &[run(MS)])).collect();
    let ops: Vec<Op> = waiting.iter().map(|task| confine(*task, 1)).collect();
    script.task(CpuId(0), &[&[run(MS)], &ops[..]].concat());
    let (status, sim) = simulate(script, RoundRobin::default());
    assert_eq!(status, Ok(Status::Finished));
    let log = sim.observer();
    let to: Vec<(TaskId, u16)> =
        moved(log, Cause::Affinity).iter().map(|(_, task, _, to)| (*task, *to)).collect();
    let want: Vec<(TaskId, u16)> = waiting.iter().copied().zip([8, 9, 10, 11, 8]).collect();
    assert_eq!(to, want);
    assert!(stopped(log, 2).is_empty());
    assert_eq!(ran_on(log, hog), [2]);
}

/// A sleeper stays where it is until it is woken, and then is not placed where it may not run.
#[test]
fn a_sleeper_that_is_confined_wakes_up_elsewhere() {
    let mut script = Script::new(masks());
    let sleeper = script.task(CpuId(2), &[WAIT, run(MS)]);
    script.task(CpuId(0), &[run(MS), confine(sleeper, 1), run(MS), WAKE]);
    let (status, sim) = simulate(script, RoundRobin::default());
    assert_eq!(status, Ok(Status::Finished));
    let log = sim.observer();
    assert!(moved(log, Cause::Affinity).is_empty() && stopped(log, 2).is_empty());
    assert_eq!(ran_on(log, sleeper), [2, 8]);
}

/// In the time between the choice of a CPU and the arrival there, its affinity changes: the wakee goes
/// where it may. CPU 8 belongs to another LLC, so it would have been handed over; its interrupt takes
/// longer than the system call.
#[test]
fn a_wakee_that_is_confined_on_its_way_goes_elsewhere() {
    for (start, allowed) in [(2, 1), (12, 0)] {
        for delay in (0..12_000).step_by(250) {
            let mut script = Script::new(masks());
            let sleeper = script.task(CpuId(start), &[WAIT, run(MS)]);
            script.task(CpuId(0), &[run(MS), WAKE]);
            script.task(CpuId(1), &[run(MS - 5_000 + delay), confine(sleeper, allowed), run(MS)]);
            let (status, sim) = simulate(script, RoundRobin::default());
            assert_eq!(status, Ok(Status::Finished));
            let last = ran_on(sim.observer(), sleeper).pop().unwrap();
            assert_eq!(last, if allowed == 0 { 5 } else { 8 }, "{start} {delay}");
        }
    }
}

/// `sched_exec()`: the policy's choice, made true by the stopper of the own CPU.
#[test]
fn a_task_that_executes_a_program_moves_where_the_policy_wants_it() {
    let mut script = Script::new(objects());
    let task = script.task(CpuId(0), &[run(MS), Op::Exec, run(MS)]);
    let mut policy = RoundRobin::default();
    policy.target = vec![Some(CpuId(12))];
    let (status, sim) = simulate(script, policy);
    assert_eq!(status, Ok(Status::Finished));
    let log = sim.observer();
    assert_eq!(ran_on(log, task), [0, 12]);
    assert_eq!((moved(log, Cause::Exec).len(), stopped(log, 0).len()), (1, 2));
}

/// Whoever is enqueued while the stopper runs does not preempt it, and is picked after it.
#[test]
fn nobody_preempts_the_stopper() {
    let mut costs = OsCosts { stopper: 200_000, ..*topology().costs() };
    costs.sleep_entry = 100;
    let machine = Topology::builtin("t16", None).unwrap().with_costs(costs);
    let mut script = Script::new(masks());
    let sleeper = script.task(CpuId(2), &[WAIT, run(MS)]);
    let hog = script.task(CpuId(2), &[run(8 * MS)]);
    script.task(CpuId(0), &[run(MS), confine(hog, 1)]);
    let wake = Op::FutexWake { futex: FutexId(0), count: 1, sync: false };
    script.task(CpuId(1), &[run(MS + 100_000), wake]);
    let mut policy = RoundRobin::default();
    policy.preempts = true;
    let (status, sim) = simulate_on(Arc::new(machine), script, policy);
    assert_eq!(status, Ok(Status::Finished));
    let log = sim.observer();
    let ends = stopped(log, 2)[1].0;
    let woken = |(at, t): &&(SimTime, Tracepoint)| {
        at.0 > MS && matches!(t, Tracepoint::Wakeup { wakee, .. } if *wakee == sleeper)
    };
    let woken = log.0.iter().find(woken).unwrap().0;
    assert!(stopped(log, 2)[0].0 < woken && woken < ends, "{woken} {ends}");
    let next = |(at, t): &&(SimTime, Tracepoint)| {
        *at >= ends && matches!(t, Tracepoint::Switch { cpu: CpuId(2), .. })
    };
    let next = log.0.iter().find(next).unwrap();
    assert!(matches!(next.1, Tracepoint::Switch { next, .. } if next == Some(sleeper)));
    assert_eq!(next.0, ends);
}

#[test]
fn a_mask_that_the_machine_has_no_cpu_of_is_refused() {
    let setup = Setup { masks: vec![CpuSet::single(CpuId(16))], ..objects() };
    let script = Script::new(setup);
    let sim = Simulator::new(topology(), Box::new(RoundRobin::default()), script, (), config());
    let error = sim.err().unwrap().to_string();
    assert!(error.contains("mask 0 has no CPU of the machine"), "{error}");
}

#[test]
fn a_mask_that_was_not_declared_is_the_workloads_fault() {
    let mut script = Script::new(masks());
    script.task(CpuId(0), &[run(1), Op::Sleep(Nanos(1)), confine(TaskId(0), 3)]);
    let (status, _) = simulate(script, RoundRobin::default());
    let error = status.unwrap_err().to_string();
    assert!(error.contains("not declared"), "{error}");
}
