//! Wakeups: who is told, when, and who pays.

use std::sync::Arc;

use simsched_core::testkit::{RoundRobin, Script};
use simsched_core::{
    Cost, FutexId, MarkId, Nanos, Observer, Op, Reason, SimTime, Simulator, Status, TaskId,
    Tracepoint, TtwuQueue, World,
};
use simsched_topology::{CpuId, Distance, OsCosts, Topology};

use super::rig::{
    READ, WAIT, WAKE, WRITE, config, four_pairs, objects, simulate, simulate_on, steady, topology,
};

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
    let waking = |t: &Tracepoint| matches!(t, Tracepoint::Waking { waker: CpuId(0), wakee, .. } if *wakee == TaskId(0));
    let woke = sim.observer().find(waking).unwrap();
    let marked = sim.observer().find(|t| matches!(t, Tracepoint::Mark { .. })).unwrap();
    // The mark stands where the system call returns, after the interrupt that was sent with the
    // hand-off.
    let paid = costs.wakeup + costs.handoff + costs.ipi_send + costs.ipi_return;
    assert_eq!(marked.since(woke).0, u64::from(paid + costs.pipe_write_tail));
    let (_, _, script, log) = sim.into_parts();
    assert_eq!(script.log[waker.idx()].len(), 5);
    assert_eq!(log.charged(0, Cost::Wakeup), u64::from(paid));
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
    let genoa = steady("genoa");
    let ipi = u64::from(genoa.costs().ipi_handler);
    let (status, sim) = simulate_on(genoa, script, RoundRobin::default());
    assert_eq!(status, Ok(Status::Finished));
    assert_eq!(sim.observer().charged(8, Cost::Ipi), ipi);
    let handed = |t: &Tracepoint| matches!(t, Tracepoint::Wakeup { cpu: CpuId(8), .. });
    // Two starts and two wakeups.
    assert_eq!(sim.observer().count(handed), 4);
}

/// How often a task on another CPU finds CPU 8 idle from the hand-off of a wakee until it runs.
fn idle_looks_during_a_hand_off(ttwu_pending_stays: bool) -> usize {
    let mut script = Script::new(objects());
    let sleeper = script.task(CpuId(8), &[WAIT, Op::Run(Nanos(1_000_000))]);
    script.task(CpuId(0), &[Op::Run(Nanos(2_000_000)), WAKE]);
    let mut looks = vec![Op::Run(Nanos(2_000_000))];
    for _ in 0..400 {
        looks.extend([Op::Run(Nanos(50)), Op::Mark(MarkId(0))]);
    }
    script.task(CpuId(4), &looks);
    let mut policy = RoundRobin::default();
    policy.ttwu_pending_stays = ttwu_pending_stays;
    let seen = Looks { sleeper, handed: false, idle: 0 };
    let mut sim = Simulator::new(topology(), Box::new(policy), script, seen, config()).unwrap();
    assert_eq!(sim.run_until(SimTime(10_000_000_000)), Ok(Status::Finished));
    assert!(sim.observer().handed);
    sim.observer().idle
}

/// Counts the marks at which CPU 8 looks idle although it has been handed a wakee.
struct Looks {
    sleeper: TaskId,
    handed: bool,
    idle: usize,
}

impl Observer for Looks {
    fn on(&mut self, world: &World, tracepoint: Tracepoint) {
        let idle = world.rq(CpuId(8)).is_idle();
        match tracepoint {
            Tracepoint::Waking { wakee, .. } => self.handed |= wakee == self.sleeper && !idle,
            Tracepoint::Mark { .. } => {
                self.handed |= world.now() > SimTime(2_000_000) && !idle;
                self.idle += usize::from(self.handed && idle);
            }
            _ => {}
        }
    }
}

/// 6.1's `sched_ttwu_pending()` clears the mark before it queues: for as long as that takes (1,056 ns
/// of the lab's price list) the CPU looks idle to others. "sched: Clear ttwu_pending after
/// enqueue_task()", 6.2, ends that.
#[test]
fn before_6_2_a_cpu_looks_idle_while_it_queues_what_was_handed_to_it() {
    let looks = idle_looks_during_a_hand_off(false);
    let window = usize::try_from(topology().costs().activate).unwrap();
    assert!(looks > 0 && looks <= window / 50 + 1, "{looks} looks in {window} ns");
    assert_eq!(idle_looks_during_a_hand_off(true), 0);
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
    script.task(CpuId(0), &[run(2_000_000 + window / 2), WAKE, run(100_000)]);
    let (status, sim) = simulate(script, RoundRobin::default());
    assert_eq!(status, Ok(Status::Finished));
    let still = |t: &Tracepoint| matches!(t, Tracepoint::Wakeup { wakee, reason: Reason::STILL_QUEUED, .. } if *wakee == sleeper);
    assert_eq!(sim.observer().count(still), 1);
    let left =
        |t: &Tracepoint| matches!(t, Tracepoint::Switch { prev, .. } if *prev == Some(sleeper));
    assert_eq!(sim.observer().count(left), 1, "it leaves its CPU only to exit");
}

/// From the dequeue on, before the next task is chosen, the sleeper is not queued any more: its CPU
/// switches away and takes it back, which are two switches.
#[test]
fn a_wakeup_between_dequeue_and_pick_does_not_keep_the_sleeper() {
    let costs = OsCosts { pick: 2_000, ..*topology().costs() };
    let machine = Topology::builtin("t16", None).unwrap().with_costs(costs);
    let into_pick = u64::from(costs.sleep_entry + costs.pick / 2);
    let mut script = Script::new(objects());
    let sleeper =
        script.task(CpuId(2), &[Op::Run(Nanos(2_000_000)), WAIT, Op::Run(Nanos(100_000))]);
    script.task(CpuId(0), &[Op::Run(Nanos(2_000_000 + into_pick)), WAKE, Op::Run(Nanos(300_000))]);
    let (status, sim) = simulate_on(Arc::new(machine), script, RoundRobin::default());
    assert_eq!(status, Ok(Status::Finished));
    let back = |t: &Tracepoint| matches!(t, Tracepoint::Wakeup { wakee, reason: Reason::ON_CPU, cpu: CpuId(2), .. } if *wakee == sleeper);
    assert_eq!(sim.observer().count(back), 1);
    let left =
        |t: &Tracepoint| matches!(t, Tracepoint::Switch { prev, .. } if *prev == Some(sleeper));
    assert_eq!(sim.observer().count(left), 2, "it leaves its CPU to sleep and to exit");
}

/// Spec 05 section 2, step 5: while the wakee's CPU switches away from it and has nothing else to
/// do, the wakee goes back there.
#[test]
fn a_wakeup_during_the_switch_goes_back_to_the_same_cpu() {
    let topology = topology();
    let costs = topology.costs();
    let into_switch = u64::from(costs.sleep_entry + costs.pick + costs.context_switch_idle / 2);
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

/// Counted in the lab's kernel 6.1.176: of 449 wakers that saw a sleeper between its dequeue and
/// `sub_nr_running()`, half a microsecond later, 441 waited for the switch and chose a CPU then; of 473
/// that saw it up to 2 us behind that 449 handed the wakee back.
#[test]
fn a_waker_that_finds_the_sleeper_still_counted_waits_for_the_switch() {
    let costs = OsCosts { dequeue_count: 2_000, pick: 4_000, dequeue: 0, ..*topology().costs() };
    let run = |behind_dequeue: u64| {
        let machine = Topology::builtin("t16", None).unwrap().with_costs(costs);
        let at = 2_000_000 + u64::from(costs.sleep_entry) + behind_dequeue;
        let mut script = Script::new(objects());
        script.task(CpuId(2), &[Op::Run(Nanos(2_000_000)), WAIT]);
        script.task(CpuId(0), &[Op::Run(Nanos(at)), WAKE]);
        let mut policy = RoundRobin::default();
        policy.ttwu_queue = Some(TtwuQueue::CrossLlcOrIdle);
        policy.target = vec![Some(CpuId(7)); 2];
        let (status, sim) = simulate_on(Arc::new(machine), script, policy);
        assert_eq!(status, Ok(Status::Finished));
        let moved = |t: &Tracepoint| matches!(t, Tracepoint::Migrate { to: CpuId(7), .. });
        let back = |t: &Tracepoint| {
            matches!(t, Tracepoint::Wakeup { reason: Reason::ON_CPU, cpu: CpuId(2), .. })
        };
        (sim.observer().count(moved), sim.observer().count(back))
    };
    assert_eq!(run(1_000), (1, 0));
    assert_eq!(run(3_000), (0, 1));
}

/// `ttwu_queue()` takes the lock of the runqueue, which `__schedule()` holds up to `finish_task_switch()`:
/// no waker queues anybody on a CPU that is in the middle of a switch. On 8 CPUs four pairs that share
/// two CPUs send each other messages.
#[test]
fn nobody_is_queued_on_a_cpu_in_the_middle_of_its_switch() {
    let (machine, script) = four_pairs(400);
    let (status, sim) = simulate_on(machine, script, RoundRobin::default());
    assert_eq!(status, Ok(Status::Finished));
    let (mut switching, mut queued) = ([false; 8], 0);
    for (_, tracepoint) in &sim.observer().0 {
        match *tracepoint {
            Tracepoint::Switch { cpu, next, .. } => switching[cpu.idx()] = next.is_some(),
            Tracepoint::Running { cpu, .. } => switching[cpu.idx()] = false,
            Tracepoint::Wakeup { cpu, reason, .. } if reason != Reason::STILL_QUEUED => {
                assert!(!switching[cpu.idx()], "CPU {cpu} is in the middle of a switch");
                queued += 1;
            }
            _ => {}
        }
    }
    assert!(queued > 1_000, "{queued} wakeups");
}

/// With `TTWU_QUEUE` off the same waker spins until the switch is over, then places the wakee.
#[test]
fn without_hand_off_the_waker_waits_for_the_switch() {
    let topology = topology();
    let costs = topology.costs();
    let into_switch = u64::from(costs.sleep_entry + costs.pick + costs.context_switch_idle / 2);
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
    let wake = Op::FutexWake { futex: FutexId(0), count: 12_000, sync: false };
    script.task(CpuId(0), &[Op::Run(Nanos::from_secs(1)), wake]);
    // A busy neighbour is sent no interrupt: nothing but the list itself gives way to the ticks.
    script.task(CpuId(1), &[Op::Run(Nanos::from_secs(3))]);
    let (status, sim) = simulate(script, RoundRobin::default());
    assert_eq!(status, Ok(Status::Finished));
    let log = sim.observer();
    let exit = log.find(|t| matches!(t, Tracepoint::Exit { task } if *task == waker)).unwrap();
    let first = log.find(
        |t| matches!(t, Tracepoint::Waking { waker: CpuId(0), wakee, .. } if *wakee != waker),
    );
    assert!(exit.since(first.unwrap()) > Nanos::from_millis(20));
    let ticks = log.charged(0, Cost::Tick) / u64::from(topology().costs().tick);
    // The tick goes on while callbacks wait for what the waker's end leaves behind, for six ticks.
    let periods = exit.0 / 4_000_000 + 6;
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
        let of = |t: &Tracepoint| matches!(t, Tracepoint::Waking { waker: CpuId(0), wakee, .. } if *wakee == TaskId(task));
        sim.observer().find(of).unwrap()
    };
    let costs = *topology().costs();
    let interrupt = costs.ipi_send + costs.ipi_return;
    let paid = u64::from(costs.wakeup + costs.handoff + interrupt);
    assert_eq!(waking(1).since(waking(0)).0, paid);
}

/// Spec 05 section 6: the need-resched flag of a polling CPU is set instead of an interrupt, also
/// while it is on its way out of its idle state.
#[test]
fn a_cpu_that_leaves_a_polling_state_gets_no_interrupt() {
    let spr = steady("spr");
    assert!(spr.idle_states().iter().all(|state| state.polling));
    let mut script = Script::new(objects());
    script.task(CpuId(2), &[WAIT]);
    script.task(CpuId(2), &[Op::Sleep(Nanos(20_000_000))]);
    script.task(CpuId(0), &[Op::Run(Nanos(20_100_000)), WAKE]);
    let (status, sim) = simulate_on(spr, script, RoundRobin::default());
    assert_eq!(status, Ok(Status::Finished));
    assert_eq!(sim.observer().charged(2, Cost::Ipi), 0);
}

/// A wakeup of a polling idle CPU, item by item: bookkeeping, hand-off with the lines that come to the
/// waker, the line of the flag, the way out of the idle state, the lines that come with the wakee, the
/// scheduler, the switch.
#[test]
fn a_wakeup_of_a_polling_cpu_takes_the_sum_of_its_items() {
    let spr = steady("spr");
    let costs = *spr.costs();
    let exit = spr.idle_states().last().unwrap().measured_exit_ns;
    let mut script = Script::new(objects());
    let wakee = script.task(CpuId(2), &[WAIT]);
    script.task(CpuId(0), &[Op::Run(Nanos(3_000_000)), WAKE]);
    let (_, sim) = simulate_on(spr.clone(), script, RoundRobin::default());
    let waking = |t: &Tracepoint| matches!(t, Tracepoint::Waking { waker: CpuId(0), wakee: w, .. } if *w == wakee);
    let woken = sim.observer().find(waking).unwrap();
    let runs = |(at, t): &&(SimTime, Tracepoint)| {
        *at > woken && matches!(t, Tracepoint::Running { task, .. } if *task == wakee)
    };
    let ran = sim.observer().0.iter().find(runs).unwrap().0;
    let notice = costs.poll_notice_same_llc;
    let lines = costs.wakee_lines + costs.handoff_lines + costs.handoff_taken_lines;
    let lines = lines * spr.line_transfer_ns(Distance::SameLlc);
    let items =
        costs.wakeup + costs.handoff + notice + exit + costs.sleep_entry + costs.pick + lines;
    assert_eq!(ran.since(woken).0, u64::from(items + costs.context_switch_idle));
}

/// On the lab's machines CPUs take turns of a microsecond: an interrupt arrives at the start of one,
/// and its handler queues the wakee.
#[test]
fn an_interrupt_between_cpus_arrives_on_the_grid() {
    let mut script = Script::new(objects());
    let sleeper = script.task(CpuId(8), &[WAIT]);
    script.task(CpuId(0), &[Op::Run(Nanos(1_234_567)), WAKE]);
    let (status, sim) = simulate(script, RoundRobin::default());
    assert_eq!(status, Ok(Status::Finished));
    let topology = topology();
    let costs = topology.costs();
    let waking = |t: &Tracepoint| matches!(t, Tracepoint::Waking { waker: CpuId(0), wakee, .. } if *wakee == sleeper);
    let sent = sim.observer().find(waking).unwrap().0
        + u64::from(costs.wakeup + costs.handoff + costs.ipi_send);
    let woken = |(at, t): &&(SimTime, Tracepoint)| {
        at.0 > sent && matches!(t, Tracepoint::Wakeup { wakee, .. } if *wakee == sleeper)
    };
    let woken = sim.observer().0.iter().find(woken).unwrap().0;
    let arrived = woken.0 - u64::from(costs.ipi_handler + costs.activate);
    assert_eq!((arrived % 1000, (arrived - sent) / 1000), (0, 0), "{arrived} {sent}");
    assert_ne!(sent % 1000, 0);
}
