//! The simulator under the simplest policy: what happens, when, and who pays for it.

#![expect(clippy::unwrap_used, reason = "a test stops where it fails")]

use std::sync::Arc;

use simsched_core::testkit::{RoundRobin, Script};
use simsched_core::{
    Config, Cost, FutexId, LockId, MarkId, Nanos, Observer, Op, PipeId, Reason, Setup, SimError,
    SimTime, Simulator, Status, TaskId, Tracepoint, TtwuQueue, World,
};
use simsched_topology::{CpuId, Topology};

/// Every tracepoint with its time.
#[derive(Default)]
struct Log(Vec<(SimTime, Tracepoint)>);

impl Observer for Log {
    fn on(&mut self, world: &World, tracepoint: Tracepoint) {
        self.0.push((world.now(), tracepoint));
    }
}

impl Log {
    fn charged(&self, cpu: u16, cost: Cost) -> u64 {
        self.0
            .iter()
            .map(|(_, tracepoint)| match tracepoint {
                Tracepoint::Charge { cpu: c, what, amount } if c.0 == cpu && *what == cost => {
                    amount.0
                }
                _ => 0,
            })
            .sum()
    }

    fn find(&self, wanted: impl Fn(&Tracepoint) -> bool) -> Option<SimTime> {
        self.0.iter().find(|(_, tracepoint)| wanted(tracepoint)).map(|(at, _)| *at)
    }

    fn count(&self, wanted: impl Fn(&Tracepoint) -> bool) -> usize {
        self.0.iter().filter(|(_, tracepoint)| wanted(tracepoint)).count()
    }
}

/// t16: LLCs are CPUs 0-3, 4-7, 8-11, 12-15.
fn topology() -> Arc<Topology> {
    Arc::new(Topology::builtin("t16", None).unwrap())
}

fn config() -> Config {
    Config { jitter_1024: 0, ..Config::default() }
}

fn objects() -> Setup {
    let marks = vec!["a".to_owned(), "b".to_owned()];
    Setup { procs: vec!["p".to_owned()], pipes: 2, futexes: 1, marks, ..Setup::default() }
}

fn simulate(
    script: Script,
    policy: RoundRobin,
) -> (Result<Status, SimError>, Simulator<RoundRobin, Script, Log>) {
    simulate_on(topology(), script, policy)
}

fn simulate_on(
    topology: Arc<Topology>,
    script: Script,
    policy: RoundRobin,
) -> (Result<Status, SimError>, Simulator<RoundRobin, Script, Log>) {
    let mut sim = Simulator::new(topology, policy, script, Log::default(), config()).unwrap();
    let status = sim.run_until(SimTime(10_000_000_000));
    (status, sim)
}

const WRITE: Op = Op::Write { pipe: PipeId(0), bytes: 100 };
const WAIT: Op = Op::FutexWait { futex: FutexId(0), value: 0 };
const WAKE: Op = Op::FutexWake { futex: FutexId(0), count: 2 };
const READ: Op = Op::Read { pipe: PipeId(0), bytes: 100 };

/// Spec 09, invariant 7: the waker's next action is later by exactly the listed items. The wakee's
/// CPU is idle and shares the LLC: bookkeeping, hand-off and one interrupt (its idle state is deep).
#[test]
fn a_wakeup_delays_the_waker_by_the_sum_of_its_items() {
    let mut script = Script::new(objects());
    script.task(CpuId(2), &[READ]);
    let run = Op::Run(Nanos(1_000_000));
    let waker = script.task(CpuId(0), &[run, WRITE, Op::Mark(MarkId(0)), run]);
    let (status, sim) = simulate(script, RoundRobin::default());
    assert_eq!(status, Ok(Status::Finished));
    let topology = topology();
    let costs = topology.costs();
    let waking = |t: &Tracepoint| matches!(t, Tracepoint::Waking { waker: CpuId(0), wakee } if *wakee == TaskId(0));
    let woke = sim.observer().find(waking).unwrap();
    let marked = sim.observer().find(|t| matches!(t, Tracepoint::Mark { .. })).unwrap();
    // The mark stands where the system call returns; the interrupt that was sent with the hand-off
    // delays the op that follows it.
    assert_eq!(marked.since(woke).0, u64::from(costs.wakeup + costs.handoff));
    let (_, _, script, log) = sim.into_parts();
    assert_eq!(script.log[waker.idx()].len(), 5);
    let paid = log.charged(0, Cost::Wakeup);
    assert_eq!(paid, u64::from(costs.wakeup + costs.handoff + costs.ipi_send));
}

/// Spec 05, invariant 6: one interrupt for each time the hand-off list stops being empty.
#[test]
fn two_wakeups_handed_to_one_deep_sleeper_send_one_interrupt() {
    let mut script = Script::new(objects());
    script.task(CpuId(8), &[WAIT]);
    script.task(CpuId(8), &[WAIT]);
    script.task(CpuId(0), &[Op::Run(Nanos(3_000_000_000)), WAKE]);
    // Genoa: CPU 8 belongs to another LLC than CPU 0, and its deep state takes longer to leave than
    // the second wakeup to come.
    let genoa = Arc::new(Topology::builtin("genoa", None).unwrap());
    let ipi = u64::from(genoa.costs().ipi_handler);
    let (status, sim) = simulate_on(genoa, script, RoundRobin::default());
    assert_eq!(status, Ok(Status::Finished));
    assert_eq!(sim.observer().charged(8, Cost::Ipi), ipi);
    let handed = |t: &Tracepoint| matches!(t, Tracepoint::Wakeup { cpu: CpuId(8), .. });
    // Two starts and two wakeups.
    assert_eq!(sim.observer().count(handed), 4);
}

/// Spec 09, invariant 3: an idle machine does nothing. One task sleeps for five seconds: that is
/// 1,250 ticks of each CPU if they ran.
#[test]
fn an_idle_machine_has_no_ticks() {
    let mut script = Script::new(objects());
    script.task(CpuId(3), &[Op::Sleep(Nanos::from_secs(5))]);
    let (status, sim) = simulate(script, RoundRobin::default());
    assert_eq!(status, Ok(Status::Finished));
    assert!(sim.events() < 20, "{} events", sim.events());
}

/// A busy CPU ticks at HZ: 250 ticks a second, each charged as such.
#[test]
fn a_busy_cpu_ticks_at_hz() {
    let mut script = Script::new(objects());
    script.task(CpuId(0), &[Op::Run(Nanos::from_secs(1))]);
    let (_, sim) = simulate(script, RoundRobin::default());
    let tick = u64::from(topology().costs().tick);
    let ticks = sim.observer().charged(0, Cost::Tick) / tick;
    assert!((250..=251).contains(&ticks), "{ticks}");
}

/// Spec 05 section 2, step 3: between setting its sleep state and the dequeue a sleeper is woken
/// where it is, and no CPU is chosen. Wait and wake take equally long; the waker starts half a
/// window later.
#[test]
fn a_wakeup_before_the_dequeue_places_nobody() {
    let window = u64::from(topology().costs().sleep_entry);
    let run = |ns: u64| Op::Run(Nanos(ns));
    let mut script = Script::new(objects());
    let sleeper = script.task(CpuId(2), &[run(2_000_000), WAIT]);
    script.task(CpuId(0), &[run(2_000_000 + window / 2), WAKE]);
    let (status, sim) = simulate(script, RoundRobin::default());
    assert_eq!(status, Ok(Status::Finished));
    let still = |t: &Tracepoint| matches!(t, Tracepoint::Wakeup { wakee, reason: Reason::STILL_QUEUED, .. } if *wakee == sleeper);
    assert_eq!(sim.observer().count(still), 1);
    let left =
        |t: &Tracepoint| matches!(t, Tracepoint::Switch { prev, .. } if *prev == Some(sleeper));
    assert_eq!(sim.observer().count(left), 1, "it leaves its CPU only to exit");
}

/// Spec 05 section 2, step 5: while the wakee's CPU switches away from it and has nothing else to
/// do, the wakee goes back there.
#[test]
fn a_wakeup_during_the_switch_goes_back_to_the_same_cpu() {
    let topology = topology();
    let costs = topology.costs();
    let into_switch = u64::from(costs.sleep_entry + costs.context_switch_idle / 2);
    let mut script = Script::new(objects());
    let reader = script.task(CpuId(2), &[Op::Run(Nanos(2_000_000)), WAIT]);
    script.task(CpuId(0), &[Op::Run(Nanos(2_000_000 + into_switch)), WAKE]);
    let mut policy = RoundRobin::default();
    policy.target = vec![Some(CpuId(7)); 2];
    let (status, sim) = simulate(script, policy);
    assert_eq!(status, Ok(Status::Finished));
    let back = |t: &Tracepoint| matches!(t, Tracepoint::Wakeup { wakee, reason: Reason::ON_CPU, cpu: CpuId(2), .. } if *wakee == reader);
    assert_eq!(sim.observer().count(back), 1);
    assert_eq!(sim.observer().count(|t| matches!(t, Tracepoint::Migrate { .. })), 0);
}

/// With `TTWU_QUEUE` off the same waker spins until the switch is over, then places the wakee.
#[test]
fn without_hand_off_the_waker_waits_for_the_switch() {
    let topology = topology();
    let costs = topology.costs();
    let into_switch = u64::from(costs.sleep_entry + costs.context_switch_idle / 2);
    let mut script = Script::new(objects());
    script.task(CpuId(2), &[Op::Run(Nanos(2_000_000)), WAIT]);
    script.task(CpuId(0), &[Op::Run(Nanos(2_000_000 + into_switch)), WAKE]);
    let mut policy = RoundRobin::default();
    policy.ttwu_queue = Some(TtwuQueue::Off);
    policy.target = vec![Some(CpuId(7)); 2];
    let (status, sim) = simulate(script, policy);
    assert_eq!(status, Ok(Status::Finished));
    let moved = |t: &Tracepoint| matches!(t, Tracepoint::Migrate { to: CpuId(7), .. });
    assert_eq!(sim.observer().count(moved), 1);
}

/// Two tasks share a CPU and a policy that sends the current one to the end at each tick: each
/// switch but the last comes from a tick.
#[test]
fn a_tick_reschedules_a_computing_task() {
    let mut script = Script::new(objects());
    script.task(CpuId(0), &[Op::Run(Nanos::from_millis(40))]);
    script.task(CpuId(0), &[Op::Run(Nanos::from_millis(40))]);
    let (_, sim) = simulate(script, RoundRobin::default());
    let preempted = |t: &Tracepoint| matches!(t, Tracepoint::Switch { preempted: true, .. });
    let count = sim.observer().count(preempted);
    assert!((18..=20).contains(&count), "{count}");
    assert!(sim.observer().charged(0, Cost::User) == 80_000_000);
}

#[test]
fn a_deadlock_names_who_waits_for_what() {
    let mut script = Script::new(objects());
    script.task(CpuId(0), &[READ]);
    let (status, _) = simulate(script, RoundRobin::default());
    let error = status.unwrap_err().to_string();
    assert!(error.starts_with("deadlock at"), "{error}");
    assert!(error.contains("task 0 (t0) waits for pipe 0"), "{error}");
}

#[test]
fn ops_that_take_no_time_for_ever_are_a_livelock() {
    let mut script = Script::new(objects());
    script.task(CpuId(0), &vec![Op::Mark(MarkId(0)); 1_000_001]);
    let (status, _) = simulate(script, RoundRobin::default());
    let error = status.unwrap_err().to_string();
    assert!(error.contains("livelock") && error.contains("task 0 (t0)"), "{error}");
}

#[test]
fn a_task_spawned_twice_is_refused() {
    let mut script = Script::new(objects());
    script.task(CpuId(0), &[Op::Spawn(TaskId(1)), Op::Spawn(TaskId(1))]);
    script.spawned(&[]);
    let (status, _) = simulate(script, RoundRobin::default());
    let error = status.unwrap_err().to_string();
    assert!(error.contains("task 0 spawns task 1, which has started already"), "{error}");
}

/// Interrupts are open between two wakeups of one system call: the waker of 12,000 tasks, which takes
/// some thirty milliseconds, handles all of its ticks.
#[test]
fn a_long_wake_list_is_interrupted_by_ticks() {
    let nr_tasks = 12_000;
    let mut script = Script::new(objects());
    for _ in 0..nr_tasks {
        script.task(CpuId(1), &[WAIT]);
    }
    let waker = TaskId::new(nr_tasks);
    let wake = Op::FutexWake { futex: FutexId(0), count: 12_000 };
    script.task(CpuId(0), &[Op::Run(Nanos::from_secs(1)), wake]);
    // A busy neighbour is sent no interrupt: nothing but the list itself gives way to the ticks.
    script.task(CpuId(1), &[Op::Run(Nanos::from_secs(3))]);
    let (status, sim) = simulate(script, RoundRobin::default());
    assert_eq!(status, Ok(Status::Finished));
    let log = sim.observer();
    let exit = log.find(|t| matches!(t, Tracepoint::Exit { task } if *task == waker)).unwrap();
    let first =
        log.find(|t| matches!(t, Tracepoint::Waking { waker: CpuId(0), wakee } if *wakee != waker));
    assert!(exit.since(first.unwrap()) > Nanos::from_millis(20));
    let ticks = log.charged(0, Cost::Tick) / u64::from(topology().costs().tick);
    let periods = exit.0 / 4_000_000;
    assert!(ticks.abs_diff(periods) <= 1, "{ticks} ticks in {periods} periods");
}

/// Spec 05 section 7.4: the second wakee is looked for when the first is queued and its interrupt is
/// sent, not before.
#[test]
fn the_next_wakeup_of_a_list_begins_when_the_last_is_paid() {
    let mut script = Script::new(objects());
    script.task(CpuId(8), &[WAIT]);
    script.task(CpuId(12), &[WAIT]);
    script.task(CpuId(0), &[Op::Run(Nanos(3_000_000)), WAKE]);
    let (status, sim) = simulate(script, RoundRobin::default());
    assert_eq!(status, Ok(Status::Finished));
    let waking = |task| {
        let of = |t: &Tracepoint| matches!(t, Tracepoint::Waking { waker: CpuId(0), wakee } if *wakee == TaskId(task));
        sim.observer().find(of).unwrap()
    };
    let costs = *topology().costs();
    let paid = u64::from(costs.wakeup + costs.handoff + costs.ipi_send);
    assert_eq!(waking(1).since(waking(0)).0, paid);
}

/// Interrupt time is that of the handlers: what a CPU still owed for a wakeup when the tick came is
/// its task's time.
#[test]
fn interrupt_time_is_the_time_of_handlers() {
    let mut costs = *topology().costs();
    costs.ipi_send = 300_000;
    let machine = Topology::builtin("t16", None).unwrap().with_costs(costs);
    let mut script = Script::new(objects());
    script.task(CpuId(8), &[READ; 100]);
    script.task(CpuId(0), &[WRITE, Op::Run(Nanos(300_000))].repeat(100));
    let (status, sim) = simulate_on(Arc::new(machine), script, RoundRobin::default());
    assert_eq!(status, Ok(Status::Finished));
    let ticks = sim.observer().charged(0, Cost::Tick);
    assert!(ticks >= 5 * u64::from(costs.tick), "{ticks}");
    let handlers = ticks + sim.observer().charged(0, Cost::Ipi);
    assert_eq!(sim.world().rq(CpuId(0)).irq_time, handlers);
}

/// A policy that leaves a CPU to its idle task while a task waits there has lost it.
#[test]
fn a_policy_that_loses_a_task_broke_its_contract() {
    let mut script = Script::new(objects());
    script.task(CpuId(3), &[]);
    let mut policy = RoundRobin::default();
    policy.loses = true;
    let error = simulate(script, policy).0.unwrap_err().to_string();
    assert!(error.contains("picked nobody on CPU 3, where 1 tasks are runnable"), "{error}");
}

/// A child that two parents spawn within the time of one fork is started once.
#[test]
fn two_spawns_of_one_child_at_once_are_refused() {
    let mut script = Script::new(objects());
    script.task(CpuId(0), &[Op::Spawn(TaskId(2))]);
    script.task(CpuId(1), &[Op::Run(Nanos(100)), Op::Spawn(TaskId(2))]);
    script.spawned(&[]);
    let (status, _) = simulate(script, RoundRobin::default());
    let error = status.unwrap_err().to_string();
    assert!(error.contains("spawns task 2, which has started already"), "{error}");
}

#[test]
fn an_op_for_ever_lasts_to_the_horizon() {
    let mut script = Script::new(objects());
    script.task(CpuId(0), &[Op::Run(Nanos(u64::MAX))]);
    let (status, sim) = simulate(script, RoundRobin::default());
    assert_eq!(status, Ok(Status::Horizon));
    assert_eq!(sim.elapsed(), Nanos::from_secs(10));
}

#[test]
fn an_object_that_was_not_declared_is_the_workloads_fault() {
    for op in [
        Op::Write { pipe: PipeId(77), bytes: 1 },
        Op::Spawn(TaskId(99)),
        Op::Join(TaskId(50)),
        Op::FutexWake { futex: FutexId(70), count: 1 },
    ] {
        let mut script = Script::new(objects());
        script.task(CpuId(0), &[op]);
        let (status, _) = simulate(script, RoundRobin::default());
        let error = status.unwrap_err().to_string();
        assert!(error.contains("task 0 does") && error.contains("not declared"), "{error}");
    }
}

/// Spec 05 section 6: the need-resched flag of a polling CPU is set instead of an interrupt, also
/// while it is on its way out of its idle state.
#[test]
fn a_cpu_that_leaves_a_polling_state_gets_no_interrupt() {
    let spr = Arc::new(Topology::builtin("spr", None).unwrap());
    assert!(spr.idle_states().iter().all(|state| state.polling));
    let mut script = Script::new(objects());
    script.task(CpuId(2), &[WAIT]);
    script.task(CpuId(2), &[Op::Sleep(Nanos(20_000_000))]);
    script.task(CpuId(0), &[Op::Run(Nanos(20_100_000)), WAKE]);
    let (status, sim) = simulate_on(spr, script, RoundRobin::default());
    assert_eq!(status, Ok(Status::Finished));
    assert_eq!(sim.observer().charged(2, Cost::Ipi), 0);
}

/// Looking at an empty pipe costs a system call; the copy is paid when there is something to copy.
#[test]
fn a_copy_is_paid_when_data_moves() {
    let topology = topology();
    let costs = topology.costs();
    let bytes = 60_000;
    let mut script = Script::new(objects());
    let reader = script.task(CpuId(2), &[Op::Read { pipe: PipeId(0), bytes }]);
    let write = Op::Write { pipe: PipeId(0), bytes };
    script.task(CpuId(0), &[Op::Run(Nanos(5_000_000)), write]);
    let (status, sim) = simulate(script, RoundRobin::default());
    assert_eq!(status, Ok(Status::Finished));
    let copy = u64::from(costs.pipe_copy) + u64::from(bytes) * u64::from(costs.copy_per_kib) / 1024;
    let look = u64::from(costs.syscall + costs.recheck);
    let exit = u64::from(costs.thread_exit);
    let ran = |t: &Tracepoint| matches!(t, Tracepoint::Running { task, .. } if *task == reader);
    assert_eq!(sim.observer().count(ran), 2);
    assert_eq!(sim.observer().charged(2, Cost::Syscall), look + copy + exit);
}

/// A wakeup of a polling idle CPU, item by item: bookkeeping, hand-off, the line of the flag, the way
/// out of the idle state, the scheduler, the switch.
#[test]
fn a_wakeup_of_a_polling_cpu_takes_the_sum_of_its_items() {
    let spr = Arc::new(Topology::builtin("spr", None).unwrap());
    let costs = *spr.costs();
    let exit = spr.idle_states().last().unwrap().measured_exit_ns;
    let mut script = Script::new(objects());
    let wakee = script.task(CpuId(2), &[WAIT]);
    script.task(CpuId(0), &[Op::Run(Nanos(3_000_000)), WAKE]);
    let (_, sim) = simulate_on(spr, script, RoundRobin::default());
    let waking = |t: &Tracepoint| matches!(t, Tracepoint::Waking { waker: CpuId(0), wakee: w } if *w == wakee);
    let woken = sim.observer().find(waking).unwrap();
    let runs = |(at, t): &&(SimTime, Tracepoint)| {
        *at > woken && matches!(t, Tracepoint::Running { task, .. } if *task == wakee)
    };
    let ran = sim.observer().0.iter().find(runs).unwrap().0;
    let notice = costs.poll_notice_same_llc;
    let items = costs.wakeup + costs.handoff + notice + exit + costs.sleep_entry;
    assert_eq!(ran.since(woken).0, u64::from(items + costs.context_switch_idle));
}

/// A sleep lasts its time and the slack; then the CPU leaves its idle state and handles the timer.
#[test]
fn a_sleeper_is_woken_after_its_time_the_slack_and_the_handler() {
    let spr = Arc::new(Topology::builtin("spr", None).unwrap());
    let costs = *spr.costs();
    let exit = spr.idle_states().last().unwrap().measured_exit_ns;
    let mut script = Script::new(objects());
    script.task(CpuId(2), &[Op::Sleep(Nanos(10_000_000))]);
    let (_, sim) = simulate_on(spr, script, RoundRobin::default());
    let running = sim.observer().find(|t| matches!(t, Tracepoint::Running { .. })).unwrap();
    let wakes =
        |(at, t): &&(SimTime, Tracepoint)| *at > running && matches!(t, Tracepoint::Waking { .. });
    let woken = sim.observer().0.iter().find(wakes).unwrap().0;
    let items = costs.syscall + 10_000_000 + costs.timer_slack + exit + costs.timer_handler;
    assert_eq!(woken.since(running).0, u64::from(items));
}

/// Spec 09 section 4: a task in a system call is rescheduled at its end, not before.
#[test]
fn a_system_call_is_not_left_in_its_middle() {
    let bytes = 60_000;
    let mut script = Script::new(objects());
    let sleeper = script.task(CpuId(0), &[WAIT]);
    let write = Op::Write { pipe: PipeId(0), bytes };
    let writer = script.task(CpuId(0), &[Op::Run(Nanos(2_000_000)), write, READ]);
    script.task(CpuId(1), &[Op::Run(Nanos(2_000_000)), WAKE]);
    let mut policy = RoundRobin::default();
    policy.preempts = true;
    let (status, sim) = simulate(script, policy);
    assert_eq!(status, Ok(Status::Finished));
    let costs = *topology().costs();
    let copy = costs.pipe_copy + bytes * costs.copy_per_kib / 1024;
    let switch = |t: &Tracepoint| matches!(t, Tracepoint::Switch { prev, next, .. } if *prev == Some(writer) && *next == Some(sleeper));
    let left = sim.observer().find(switch).unwrap();
    let woken = sim.observer().find(
        |t| matches!(t, Tracepoint::Wakeup { wakee, cpu: CpuId(0), .. } if *wakee == sleeper),
    );
    let (_, _, script, log) = sim.into_parts();
    let began = script.log[writer.idx()][1].0;
    let again = |(at, t): &&(SimTime, Tracepoint)| {
        *at > began && matches!(t, Tracepoint::Wakeup { wakee, .. } if *wakee == sleeper)
    };
    let rewoken = log.0.iter().find(again).unwrap().0;
    assert!(woken.unwrap() < began && rewoken.since(began).0 < u64::from(copy));
    assert!(left.since(began).0 >= u64::from(costs.syscall + copy), "{left} {began}");
}

/// A contended mutex of user space makes a futex call: the one that has to wait pays for it.
#[test]
fn who_waits_for_a_lock_pays_a_futex_call() {
    let lock = LockId(0);
    let mut script = Script::new(Setup { locks: 1, ..objects() });
    let run = Op::Run(Nanos(1_000_000));
    script.task(CpuId(0), &[Op::Lock(lock), run, run, Op::Unlock(lock)]);
    script.task(CpuId(4), &[run, Op::Lock(lock), Op::Unlock(lock)]);
    let (status, sim) = simulate(script, RoundRobin::default());
    assert_eq!(status, Ok(Status::Finished));
    let costs = *topology().costs();
    assert_eq!(sim.observer().charged(4, Cost::Wakeup), u64::from(costs.syscall + costs.futex));
}

/// Boot option `skew_tick`: CPU 8 of 16 ticks half of half a period after CPU 0.
#[test]
fn skewed_ticks_are_spread_over_half_a_period() {
    let mut script = Script::new(objects());
    script.task(CpuId(0), &[Op::Run(Nanos(20_000_000))]);
    script.task(CpuId(8), &[Op::Run(Nanos(20_000_000))]);
    let config = Config { skew_tick: true, ..config() };
    let log = Log::default();
    let mut sim = Simulator::new(topology(), RoundRobin::default(), script, log, config).unwrap();
    assert_eq!(sim.run_until(SimTime(50_000_000)), Ok(Status::Finished));
    let first = |wanted: u16| {
        let tick = |t: &Tracepoint| matches!(t, Tracepoint::Charge { cpu, what: Cost::Tick, .. } if cpu.0 == wanted);
        sim.observer().find(tick).unwrap().0 % 4_000_000
    };
    assert_eq!(first(8) - first(0), 1_000_000);
}

/// `yield_task_fair()`: the switch that follows counts from the yield (`rq_clock_skip_update()`).
#[test]
fn a_switch_after_a_yield_happens_on_the_clock_of_the_yield() {
    #[derive(Default)]
    struct Clock(Vec<(u64, u64)>);
    impl Observer for Clock {
        fn on(&mut self, world: &World, tracepoint: Tracepoint) {
            if let Tracepoint::Switch { cpu, preempted: true, .. } = tracepoint {
                self.0.push((world.sched_clock(), world.rq(cpu).clock));
            }
        }
    }
    let mut script = Script::new(objects());
    script.task(CpuId(0), &[Op::Run(Nanos(100_000)), Op::Yield]);
    script.task(CpuId(0), &[Op::Run(Nanos(100_000))]);
    let policy = RoundRobin::default();
    let mut sim = Simulator::new(topology(), policy, script, Clock::default(), config()).unwrap();
    sim.run_until(SimTime(50_000_000)).unwrap();
    let (now, clock) = sim.observer().0[0];
    assert_eq!(now - clock, u64::from(topology().costs().sleep_entry));
}
