//! Time: ticks, timers, interrupts, system calls and copies.

use std::sync::Arc;

use simsched_core::testkit::{RoundRobin, Script};
use simsched_core::{
    Config, Cost, FutexId, LockId, Nanos, Observer, Op, PipeId, Setup, SimError, SimTime,
    Simulator, Status, Tracepoint, World,
};
use simsched_topology::{CpuId, OsCosts, Topology};

use super::rig::{
    Log, READ, WAIT, WAKE, WRITE, config, objects, simulate, simulate_on, steady, topology,
};

/// Spec 09, invariant 3: an idle machine does nothing. One task sleeps for five seconds: that is
/// 1,250 ticks of each CPU if they ran. The first one that finds a CPU idle is the last.
#[test]
fn an_idle_machine_has_no_ticks() {
    let mut script = Script::new(objects());
    script.task(CpuId(3), &[Op::Sleep(Nanos::from_secs(5))]);
    let (status, sim) = simulate(script, RoundRobin::default());
    assert_eq!(status, Ok(Status::Finished));
    assert!(sim.events() < 30, "{} events", sim.events());
}

/// A machine without a driver of cpuidle, as the lab's, where 2,283 of 2,283 idle CPUs went to sleep with
/// their tick until one had woken them: who sleeps for a millisecond in between two ticks does not pay
/// for setting the tick again, who sleeps for longer does, once.
#[test]
fn the_tick_of_an_idle_cpu_stops_when_it_has_found_it_idle() {
    let costs = OsCosts { jiffies: 0, tick_forward: 0, ..*topology().costs() };
    let paid = |ms: u64| {
        let machine = Topology::builtin("t16", None).unwrap().with_costs(costs);
        let mut script = Script::new(objects());
        let begin = Op::Run(Nanos(500_000));
        script.task(CpuId(0), &[begin, Op::Sleep(Nanos::from_millis(ms)), begin]);
        let (status, sim) = simulate_on(Arc::new(machine), script, RoundRobin::default());
        assert_eq!(status, Ok(Status::Finished));
        sim.observer().charged(0, Cost::IdleExit)
    };
    let short = paid(1);
    assert_eq!(paid(2), short);
    for long in [5, 9, 30] {
        assert_eq!(paid(long), short + u64::from(costs.tick_restart), "{long} ms");
    }
}

/// With `max_cstate=2` the deepest state of Sapphire Rapids is C1E, as with C6 off: who begins, and wakes up after five
/// milliseconds pays for that one, whatever the governor expects.
#[test]
fn no_cpu_sleeps_deeper_than_it_may() {
    let exit = |max_cstate| {
        let machine = Arc::new(Topology::builtin("spr", None).unwrap());
        let state = usize::from(max_cstate).min(machine.idle_states().len() - 1);
        let deepest = u64::from(machine.idle_states()[state].measured_exit_ns);
        let mut script = Script::new(objects());
        let begin = Op::Run(Nanos(500_000));
        script.task(CpuId(0), &[begin, Op::Sleep(Nanos::from_millis(5)), begin]);
        let config = Config { max_cstate, ..config() };
        let mut sim = Simulator::new(
            machine,
            Box::new(RoundRobin::default()),
            script,
            Log::default(),
            config,
        )
        .unwrap();
        assert_eq!(sim.run_until(SimTime::NEVER), Ok(Status::Finished));
        (sim.observer().charged(0, Cost::IdleExit), deepest)
    };
    let ([shallow, c1e], [deep, c6]) = (exit(2).into(), exit(9).into());
    assert!((2 * c1e..2 * c1e + 8_000).contains(&shallow), "{shallow} for {c1e}");
    assert!((2 * c6..2 * c6 + 8_000).contains(&deep), "{deep} for {c6}");
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
    let look =
        u64::from(costs.syscall + costs.pipe_read_entry + costs.recheck + costs.pipe_read_tail);
    let exit = u64::from(costs.process_exit);
    let ran = |t: &Tracepoint| matches!(t, Tracepoint::Running { task, .. } if *task == reader);
    assert_eq!(sim.observer().count(ran), 2);
    assert_eq!(sim.observer().charged(2, Cost::Syscall), look + copy + exit);
}

/// A sleep lasts its time and the slack; then the CPU leaves its idle state and handles the timer.
#[test]
fn a_sleeper_is_woken_after_its_time_the_slack_and_the_handler() {
    let spr = steady("spr");
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

/// In the kernel such a sleep is one too: the timer is set, and its interrupt comes at once.
#[test]
fn a_sleep_until_an_instant_that_has_passed_lasts_a_microsecond() {
    let mut script = Script::new(objects());
    let late = [Op::Run(Nanos(2_000_000)), Op::SleepUntil(SimTime(1_000_000))];
    let sleeper = script.task(CpuId(0), &late);
    let other = script.task(CpuId(0), &[Op::Run(Nanos(9_000_000))]);
    let (status, sim) = simulate(script, RoundRobin::default());
    assert_eq!(status, Ok(Status::Finished));
    let log = &sim.observer().0;
    let left = log.iter().position(
        |(_, t)| matches!(t, Tracepoint::Switch { prev: Some(prev), .. } if *prev == sleeper),
    );
    let (slept, rest) = (log[left.unwrap()].0, &log[left.unwrap()..]);
    let wakes = |t: &Tracepoint| matches!(t, Tracepoint::Waking { wakee, .. } if *wakee == sleeper);
    let (woken, _) = rest.iter().find(|(_, t)| wakes(t)).unwrap();
    let items = *topology().costs();
    let switch = u64::from(items.context_switch_process);
    assert!(woken.since(slept).0 <= 1_000 + switch + u64::from(items.timer_handler));
    let runs = |t: &Tracepoint| matches!(t, Tracepoint::Running { task, .. } if *task == other);
    assert!(rest.iter().any(|(_, t)| runs(t)), "the other one runs in between");
}

/// Spec 09 section 4: a task in a system call is rescheduled at its end, not before.
#[test]
fn a_system_call_is_not_left_in_its_middle() {
    let bytes = 60_000;
    let mut script = Script::new(objects());
    let sleeper = script.task(CpuId(0), &[WAIT]);
    let write = Op::Write { pipe: PipeId(0), bytes };
    let writer = script.task(CpuId(0), &[Op::Run(Nanos(2_000_000)), write, READ]);
    script.task(CpuId(1), &[Op::Run(Nanos(2_005_000)), WAKE]);
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
    let futex = costs.syscall + costs.futex;
    assert_eq!(sim.observer().charged(4, Cost::Wakeup), u64::from(futex + costs.wakeup_event));
}

/// `futex_wake()` of a word on which nobody sleeps takes no lock: a system call and the look for sleepers.
#[test]
fn waking_nobody_on_a_futex_is_a_system_call_and_a_look() {
    let mut script = Script::new(objects());
    script.task(CpuId(0), &[WAKE]);
    let (status, sim) = simulate(script, RoundRobin::default());
    assert_eq!(status, Ok(Status::Finished));
    let costs = *topology().costs();
    let paid = sim.observer().charged(0, Cost::Syscall);
    assert_eq!(paid, u64::from(costs.syscall + costs.futex_none + costs.process_exit));
}

/// The joiner is woken in the middle of a thread's end, the parent near the end of a process's.
#[test]
fn a_joiner_wakes_before_the_rest_of_a_threads_end() {
    let mut script = Script::new(objects());
    let child = script.task(CpuId(2), &[]);
    script.task(CpuId(0), &[Op::Join(child)]);
    let (status, sim) = simulate(script, RoundRobin::default());
    assert_eq!(status, Ok(Status::Finished));
    let costs = *topology().costs();
    let log = sim.observer();
    let ended = |t: &Tracepoint| matches!(t, Tracepoint::Exit { task } if *task == child);
    let left =
        |t: &Tracepoint| matches!(t, Tracepoint::Switch { prev: Some(task), .. } if *task == child);
    assert!(
        log.find(ended).unwrap() + Nanos(u64::from(costs.thread_exit_tail))
            <= log.find(left).unwrap()
    );
    assert_eq!(
        log.charged(2, Cost::Syscall),
        u64::from(costs.thread_exit + costs.thread_exit_tail)
    );
}

/// `futex_wait_setup()` looks at the word early: what comes behind is the way back, or to the sleep.
#[test]
fn who_finds_another_word_than_expected_pays_the_way_back_behind_it() {
    let mut script = Script::new(objects());
    let wait = Op::FutexWait { futex: FutexId(0), value: 1 };
    script.task(CpuId(0), &[wait]);
    let (status, sim) = simulate(script, RoundRobin::default());
    assert_eq!(status, Ok(Status::Finished));
    let costs = *topology().costs();
    let log = sim.observer();
    let look = costs.syscall + costs.futex_look;
    assert_eq!(log.charged(0, Cost::Syscall), u64::from(look + costs.process_exit));
    assert_eq!(log.charged(0, Cost::Wakeup), u64::from(costs.futex - costs.futex_look));
}

/// Boot option `skew_tick`: CPU 8 of 16 ticks half of half a period after CPU 0.
#[test]
fn skewed_ticks_are_spread_over_half_a_period() {
    let mut script = Script::new(objects());
    script.task(CpuId(0), &[Op::Run(Nanos(20_000_000))]);
    script.task(CpuId(8), &[Op::Run(Nanos(20_000_000))]);
    let config = Config { skew_tick: true, ..config() };
    let log = Log::default();
    let mut sim =
        Simulator::new(topology(), Box::new(RoundRobin::default()), script, log, config).unwrap();
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
    let mut sim =
        Simulator::new(topology(), Box::new(policy), script, Clock::default(), config()).unwrap();
    sim.run_until(SimTime(50_000_000)).unwrap();
    let (now, clock) = sim.observer().0[0];
    let costs = *topology().costs();
    assert_eq!(now - clock, u64::from(costs.sleep_entry + costs.pick));
}

/// A run that sleeps beyond 2^53 ns ends with [`SimError::ClockEnd`] and not with a livelock: many sleeps then
/// end at the last instant of the clock.
#[test]
fn the_end_of_the_clock_is_not_taken_for_a_livelock() {
    let mut script = Script::new(objects());
    script.task(CpuId(0), &vec![Op::Sleep(Nanos::from_secs(9_000_000)); 1_100_000]);
    let policy = Box::new(RoundRobin::default());
    let mut sim = Simulator::new(topology(), policy, script, Log::default(), config()).unwrap();
    let error = sim.run_until(SimTime::NEVER).unwrap_err();
    assert!(matches!(error, SimError::ClockEnd { .. }), "{error}");
}
