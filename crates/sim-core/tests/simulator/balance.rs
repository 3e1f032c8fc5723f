//! The passes of a load balancer: where they run, what they delay, and what their moves do.

use std::sync::Arc;

use simsched_core::testkit::{Place, RoundRobin, Script, Wanted, WantedPass};
use simsched_core::{
    BalanceStep, Cause, Cost, Far, FutexId, Look, Nanos, Op, SimTime, Status, TaskId, Tracepoint,
    TtwuQueue,
};
use simsched_topology::{CpuId, OsCosts, Topology};

use super::rig::{Log, WAIT, WAKE, four_pairs, objects, simulate, simulate_on, steady, topology};

const MS: u64 = 1_000_000;

pub(super) fn run(ns: u64) -> Op {
    Op::Run(Nanos(ns))
}

fn pass(place: Place, cpu: u16, from: u64, steps: &[Wanted]) -> WantedPass {
    WantedPass { place, cpu: CpuId(cpu), from: SimTime(from), steps: steps.to_vec() }
}

pub(super) fn look(cpus: u16, groups: u16) -> Wanted {
    Wanted::Step(BalanceStep::Look(Look { cpus, far: Far::default(), groups }))
}

fn lock(cpu: u16) -> Wanted {
    Wanted::Step(BalanceStep::Lock(CpuId(cpu)))
}

fn pull(from: u16, to: u16, tasks: usize) -> Wanted {
    Wanted::Pull { from: CpuId(from), to: CpuId(to), tasks }
}

pub(super) fn balancing(passes: Vec<WantedPass>) -> RoundRobin {
    let mut policy = RoundRobin::default();
    policy.balancer.passes = passes;
    policy
}

/// When the switch on `cpu` from `prev` to `next` took place.
pub(super) fn switched(log: &Log, on: u16, from: Option<TaskId>, to: Option<TaskId>) -> SimTime {
    let is = |t: &Tracepoint| matches!(t, Tracepoint::Switch { cpu, prev, next, .. } if cpu.0 == on && *prev == from && *next == to);
    log.find(is).unwrap_or_else(|| panic!("CPU {on} never switched from {from:?} to {to:?}"))
}

fn exited(log: &Log, wanted: TaskId) -> SimTime {
    log.find(|t| matches!(t, Tracepoint::Exit { task } if *task == wanted)).unwrap()
}

pub(super) fn moved(log: &Log, wanted: Cause) -> Vec<(SimTime, TaskId, u16, u16)> {
    let of = |(at, t): &(SimTime, Tracepoint)| match t {
        Tracepoint::Migrate { task, from, to, cause, .. } if *cause == wanted => {
            Some((*at, *task, from.0, to.0))
        }
        _ => None,
    };
    log.0.iter().filter_map(of).collect()
}

/// CPU 4 runs out of tasks and finds one that waits on CPU 0: it switches to that one, without its
/// idle task in between, and later by exactly what the pass costs.
#[test]
fn a_newly_idle_cpu_goes_on_with_the_task_that_it_pulls() {
    let steps = [look(8, 2), lock(0), pull(0, 4, 1)];
    let mut times = Vec::new();
    for passes in [vec![], vec![pass(Place::NewlyIdle, 4, 0, &steps)]] {
        let mut script = Script::new(objects());
        script.task(CpuId(0), &[run(3 * MS)]);
        let pulled = script.task(CpuId(0), &[run(3 * MS)]);
        let last = script.task(CpuId(4), &[run(MS)]);
        let pulls = !passes.is_empty();
        let (status, sim) = simulate(script, balancing(passes));
        assert_eq!(status, Ok(Status::Finished));
        let log = sim.observer();
        times.push(switched(log, 4, Some(last), pulls.then_some(pulled)));
        let all = moved(log, Cause::NewIdle);
        assert_eq!(all.len(), usize::from(pulls));
        if pulls {
            let costs = *topology().costs();
            let (at, task, from, to) = all[0];
            assert_eq!((task, from, to), (pulled, 0, 4));
            let price = costs.detach_task + costs.attach_task;
            assert_eq!(times[1].since(at).0, u64::from(price));
            // CPUs 0 and 4 share no LLC, but a node.
            let price = 8 * costs.balance_cpu_same_llc
                + 2 * costs.balance_group
                + costs.balance_domain
                + costs.balance_cpu_same_socket
                + price;
            assert_eq!(times[1].since(times[0]).0, u64::from(price));
            assert_eq!(log.charged(4, Cost::Balance), u64::from(price));
        }
    }
}

/// A task is enqueued on a CPU that is in the middle of its newly idle pass: it runs there without
/// the idle task in between, and the interrupt that came with it is handled after the switch.
#[test]
fn a_task_that_arrives_during_the_pass_is_picked() {
    let mut script = Script::new(objects());
    let sleeper = script.task(CpuId(1), &[WAIT, run(MS)]);
    let last = script.task(CpuId(1), &[run(2 * MS)]);
    script.task(CpuId(0), &[run(2 * MS + 60_000), WAKE]);
    // The pass takes 450 us, and the wakeup comes after 60.
    let mut policy = balancing(vec![pass(Place::NewlyIdle, 1, 0, &[look(5_000, 0)])]);
    policy.ttwu_queue = Some(TtwuQueue::Off);
    policy.preempts = true;
    let (status, sim) = simulate(script, policy);
    assert_eq!(status, Ok(Status::Finished));
    let log = sim.observer();
    let left = switched(log, 1, Some(last), Some(sleeper));
    let woken = |t: &Tracepoint| matches!(t, Tracepoint::Wakeup { wakee, cpu: CpuId(1), .. } if *wakee == sleeper);
    let wakeups: Vec<SimTime> = log.0.iter().filter(|(_, t)| woken(t)).map(|(at, _)| *at).collect();
    let gone = exited(log, last);
    assert!(gone < wakeups[1] && wakeups[1] < left, "{gone} {} {left}", wakeups[1]);
    let ipi = |(_, t): &&(SimTime, Tracepoint)| {
        matches!(t, Tracepoint::Charge { cpu: CpuId(1), what: Cost::Ipi, .. })
    };
    let handled = log.0.iter().find(ipi).unwrap().0;
    assert!(handled > left, "{handled} {left}");
    // Its wish to preempt is forgotten: the CPU goes through schedule() once for each of the switches
    // to the sleeper, from it and back to it; the last two leave a task that sleeps or has ended.
    let costs = *topology().costs();
    let switches = costs.context_switch_from_idle + 2 * costs.context_switch_thread;
    assert_eq!(
        log.charged(1, Cost::ContextSwitch),
        u64::from(3 * (costs.sleep_entry + costs.pick) + 2 * costs.dequeue + switches)
    );
}

/// The softirq after a tick delays the task that it interrupts by its price, which is nobody's time.
#[test]
fn a_softirq_delays_the_interrupted_task_by_what_it_costs() {
    let costs = *topology().costs();
    let searches = 10 * costs.balance_group + 2 * costs.balance_domain;
    let price = 100 * costs.balance_cpu_same_llc + searches;
    let mut ends = Vec::new();
    for passes in [vec![], vec![pass(Place::Softirq, 0, 0, &[look(60, 4), look(40, 6)])]] {
        let mut script = Script::new(objects());
        let task = script.task(CpuId(0), &[run(10 * MS)]);
        let (_, sim) = simulate(script, balancing(passes));
        ends.push(exited(sim.observer(), task));
        let log = sim.observer();
        let balance = log.charged(0, Cost::Balance);
        assert_eq!(balance, if ends.len() == 2 { u64::from(price) } else { 0 });
        let irqs = log.charged(0, Cost::Tick) + log.charged(0, Cost::Ipi) + balance;
        assert_eq!(sim.world().rq(CpuId(0)).irq_time, irqs);
        assert_eq!(log.charged(0, Cost::User), 10 * MS);
    }
    assert_eq!(ends[1].since(ends[0]).0, u64::from(price));
}

/// In the middle of a softirq of 900 us a wakeup is handed over: it is queued at once, the task that
/// it preempts stays until the softirq is over, and the softirq loses no time.
#[test]
fn an_interrupt_in_the_middle_of_a_softirq_is_handled_before_it_ends() {
    let costs = *topology().costs();
    let price = 10_000 * u64::from(costs.balance_cpu_same_llc);
    let tick = 4 * MS;
    let mut script = Script::new(objects());
    let sleeper = script.task(CpuId(0), &[WAIT, run(MS)]);
    let current = script.task(CpuId(0), &[run(10 * MS)]);
    let wake = Op::FutexWake { futex: FutexId(0), count: 1, sync: false };
    script.task(CpuId(8), &[run(tick + 50_000), wake]);
    let mut policy = balancing(vec![pass(Place::Softirq, 0, 0, &[look(10_000, 0)])]);
    policy.preempts = true;
    let (status, sim) = simulate(script, policy);
    assert_eq!(status, Ok(Status::Finished));
    let log = sim.observer();
    let woken = log.0.iter().find(|(at, t)| {
        at.0 > tick
            && matches!(t, Tracepoint::Wakeup { wakee, cpu: CpuId(0), .. } if *wakee == sleeper)
    });
    let woken = woken.unwrap().0;
    let left = switched(log, 0, Some(current), Some(sleeper));
    assert!(woken.0 < tick + 100_000, "{woken}");
    let event = u64::from(costs.wakeup_event);
    let handlers = u64::from(costs.tick + costs.ipi_handler + costs.activate) + event;
    let schedule = u64::from(costs.sleep_entry + costs.pick);
    assert_eq!(left.0, tick + handlers + price + schedule);
    assert_eq!(log.charged(0, Cost::Balance), price);
    let irqs = log.charged(0, Cost::Tick) + log.charged(0, Cost::Ipi) + event + price;
    assert_eq!(sim.world().rq(CpuId(0)).irq_time, irqs);
}

/// A tick in the middle of a softirq asks for another: it runs right after the first.
#[test]
fn a_softirq_that_is_raised_in_its_middle_runs_after_it() {
    let mut script = Script::new(objects());
    script.task(CpuId(0), &[run(10 * MS)]);
    let long = pass(Place::Softirq, 0, 0, &[look(30_000, 0), look(30_000, 0)]);
    let policy = balancing(vec![long, pass(Place::Softirq, 0, 5 * MS, &[look(10, 0)])]);
    let (_, sim) = simulate(script, policy);
    let costs = *topology().costs();
    let asked = &sim.policy().balancer.asked;
    let softirqs: Vec<u64> =
        asked.iter().filter(|asked| asked.1 == Place::Softirq).map(|asked| asked.0.0).collect();
    let price = 60_000 * u64::from(costs.balance_cpu_same_llc);
    assert!(price > 4 * MS, "it lasts beyond the next tick");
    let first = 4 * MS + u64::from(costs.tick);
    assert_eq!(softirqs, [first, first + price + u64::from(costs.tick)]);
}

/// Tasks are detached in order and attached in reverse; the idle CPU to which a softirq elsewhere
/// moves them is told.
#[test]
fn moved_tasks_arrive_in_reverse_order_on_a_cpu_that_is_told() {
    let mut script = Script::new(objects());
    let tasks: Vec<TaskId> = (0..4).map(|_| script.task(CpuId(0), &[run(6 * MS)])).collect();
    script.task(CpuId(1), &[run(6 * MS)]);
    let policy = balancing(vec![pass(Place::Softirq, 1, 0, &[lock(0), pull(0, 8, 2)])]);
    let (status, sim) = simulate(script, policy);
    assert_eq!(status, Ok(Status::Finished));
    let log = sim.observer();
    let all: Vec<(TaskId, u16)> =
        moved(log, Cause::Periodic).iter().map(|(_, task, _, to)| (*task, *to)).collect();
    // Task 0 runs, the others wait in order.
    assert_eq!(all, [(tasks[3], 8), (tasks[2], 8)]);
    let first = |wanted: TaskId| {
        let runs = |t: &Tracepoint| matches!(t, Tracepoint::Running { cpu: CpuId(8), task } if *task == wanted);
        log.find(runs).unwrap()
    };
    assert!(first(tasks[2]) < first(tasks[3]));
    assert!(first(tasks[2]).0 < 5 * MS, "CPU 8 was told");
}

/// Spec 09 section 3: a CPU that is idle at a tick balances before its tick stops, and is told of the
/// stop.
#[test]
fn an_idle_cpu_balances_at_its_last_tick() {
    let mut script = Script::new(objects());
    // Eight short periods: it will expect short ones, and keep its tick when it sleeps. Its task does
    // not end before the run does: an end would keep the tick longer.
    let mut naps = [run(10_000), Op::Sleep(Nanos(200_000))].repeat(9);
    naps.extend([run(10_000), Op::Sleep(Nanos(30 * MS))]);
    script.task(CpuId(2), &naps);
    script.task(CpuId(0), &[run(20 * MS)]);
    let policy = balancing(vec![pass(Place::Softirq, 2, 3 * MS, &[look(50, 1)])]);
    let (status, sim) = simulate(script, policy);
    assert_eq!(status, Ok(Status::Finished));
    let costs = *topology().costs();
    let search = costs.balance_group + costs.balance_domain;
    let price = u64::from(50 * costs.balance_cpu_same_llc + search);
    let log = sim.observer();
    assert_eq!(log.charged(2, Cost::Balance), price);
    let asked = |place: Place| {
        let of = |asked: &&(SimTime, Place, CpuId)| {
            (asked.1, asked.2) == (place, CpuId(2)) && asked.0.0 > 3 * MS
        };
        sim.policy().balancer.asked.iter().filter(of).map(|asked| asked.0).collect::<Vec<_>>()
    };
    let (softirqs, stops) = (asked(Place::Softirq), asked(Place::TickStopped));
    assert_eq!((softirqs.len(), stops.len()), (1, 1), "{softirqs:?} {stops:?}");
    assert!(softirqs[0].0 > 4 * MS && stops[0].since(softirqs[0]).0 == price);
}

/// A busy CPU kicks an idle one: on a deep sleeper with an interrupt, on a polling one without. The
/// softirq runs there either way, and a wakeup that is handed over meanwhile gets there too.
#[test]
fn a_kick_and_a_wakeup_of_one_idle_cpu_both_take_effect() {
    for machine in ["t16", "spr"] {
        let machine = steady(machine);
        let price = 50 * u64::from(machine.costs().balance_cpu_same_llc);
        let mut script = Script::new(objects());
        let sleeper = script.task(CpuId(2), &[WAIT]);
        script.task(CpuId(0), &[run(20 * MS)]);
        // The wakeup begins while the kick of the tick at 12 ms is under way.
        script.task(CpuId(1), &[run(12 * MS + 6_100), WAKE]);
        let mut policy = balancing(vec![pass(Place::Softirq, 2, 11 * MS, &[look(50, 0)])]);
        policy.balancer.kicks = vec![(SimTime(11 * MS), CpuId(0), CpuId(2))];
        let (status, sim) = simulate_on(machine, script, policy);
        assert_eq!(status, Ok(Status::Finished));
        let log = sim.observer();
        assert_eq!(log.charged(2, Cost::Balance), price);
        let woken =
            |t: &Tracepoint| matches!(t, Tracepoint::Running { task, .. } if *task == sleeper);
        assert_eq!(log.count(woken), 2);
        assert!(exited(log, sleeper).0 < 13 * MS);
    }
}

/// The idle task's own pass: open to interrupts, before it chooses a state, once each time it begins.
#[test]
fn the_idle_loop_balances_before_it_sleeps() {
    let price = 5_000 * u64::from(topology().costs().balance_cpu_same_llc);
    let mut script = Script::new(objects());
    let sleeper = script.task(CpuId(8), &[WAIT]);
    script.task(CpuId(0), &[run(100_000), WAKE]);
    let policy = balancing(vec![pass(Place::IdleLoop, 8, 0, &[look(5_000, 0)])]);
    let (status, sim) = simulate(script, policy);
    assert_eq!(status, Ok(Status::Finished));
    let log = sim.observer();
    assert_eq!(log.charged(8, Cost::Balance), price);
    let again = log
        .0
        .iter()
        .rfind(|(_, t)| matches!(t, Tracepoint::Wakeup { wakee, .. } if *wakee == sleeper));
    assert!(again.unwrap().0.0 < price, "the interrupt is handled in the middle of the pass");
    let event = u64::from(topology().costs().wakeup_event);
    assert_eq!(sim.world().rq(CpuId(8)).irq_time, log.charged(8, Cost::Ipi) + event);
}

/// Spec 09, invariant 4: where all is free, passes end and tasks are moved.
#[test]
fn free_passes_end() {
    let free = Topology::builtin("t16", None).unwrap().with_costs(OsCosts::free());
    let mut script = Script::new(objects());
    for _ in 0..20 {
        script.task(CpuId(0), &[run(2 * MS), Op::Sleep(Nanos(MS)), run(9 * MS)]);
    }
    let mut policy = RoundRobin::default();
    policy.balancer.greedy = true;
    let (status, sim) = simulate_on(Arc::new(free), script, policy);
    assert_eq!(status, Ok(Status::Finished));
    assert!(moved(sim.observer(), Cause::Periodic).len() > 3);
}

/// A pass that costs nothing and never ends is found out.
#[test]
fn a_free_pass_without_end_is_a_livelock() {
    let free = Topology::builtin("t16", None).unwrap().with_costs(OsCosts::free());
    let mut script = Script::new(objects());
    script.task(CpuId(0), &[run(20 * MS)]);
    let policy = balancing(vec![pass(Place::Softirq, 0, 0, &vec![look(1, 1); 1_100_000])]);
    let (status, _) = simulate_on(Arc::new(free), script, policy);
    assert!(status.unwrap_err().to_string().contains("livelock"));
}

/// Spec 09, invariant 3, with a balancer that uses every chance.
#[test]
fn a_balancer_leaves_an_idle_machine_alone() {
    let mut script = Script::new(objects());
    script.task(CpuId(3), &[Op::Sleep(Nanos::from_secs(5))]);
    let mut policy = RoundRobin::default();
    policy.balancer.greedy = true;
    let (status, sim) = simulate(script, policy);
    assert_eq!(status, Ok(Status::Finished));
    assert!(sim.events() < 40, "{} events", sim.events());
}

#[test]
fn a_move_of_a_task_that_runs_breaks_the_contract() {
    let mut script = Script::new(objects());
    let task = script.task(CpuId(0), &[run(20 * MS)]);
    let force = Wanted::Force { from: CpuId(0), to: CpuId(1), task };
    let (status, _) = simulate(script, balancing(vec![pass(Place::Softirq, 0, 0, &[force])]));
    let error = status.unwrap_err().to_string();
    assert!(error.contains("moved task 0 from CPU 0 to CPU 1, although"), "{error}");
}

/// Before a balancer detaches anybody it takes the lock of their runqueue, which `__schedule()` holds up to
/// `finish_task_switch()`. Counted in the lab's kernel 6.1.176: 232 of 6,225 newidle balances of hackbench
/// spun there, and took 3,594 ns and not 1,378 in the mean, up to 16,606.
#[test]
fn nobody_is_pulled_from_a_cpu_in_the_middle_of_its_switch() {
    let (machine, script) = four_pairs(16_000);
    let mut policy = RoundRobin::default();
    policy.balancer.greedy = true;
    let (status, sim) = simulate_on(machine, script, policy);
    assert_eq!(status, Ok(Status::Finished));
    let (mut switching, mut pulled) = ([false; 8], 0);
    for (_, tracepoint) in &sim.observer().0 {
        match *tracepoint {
            Tracepoint::Switch { cpu, next, .. } => switching[cpu.idx()] = next.is_some(),
            Tracepoint::Running { cpu, .. } => switching[cpu.idx()] = false,
            Tracepoint::Migrate { from, cause: Cause::NewIdle | Cause::Periodic, .. } => {
                assert!(!switching[from.idx()], "CPU {from} is in the middle of a switch");
                pulled += 1;
            }
            _ => {}
        }
    }
    assert!(pulled > 100, "{pulled} tasks");
}

/// `load_balance()` takes the lock of the busiest runqueue: two balancers at once come one after the other,
/// each with the lines of that runqueue (section 5 of the cost model: 4 to 6 lines, 200 to 500 ns). The
/// second waits for the first. Control: a balancer alone waits for lines only.
#[test]
fn balancers_queue_for_the_lock_of_the_source() {
    let genoa = steady("genoa");
    let (lines, hold) = (genoa.costs().rq_lines * 27, genoa.costs().rq_lock_hold);
    let waited = |balancers: &[u16]| {
        let mut script = Script::new(objects());
        for cpu in [0, 2, 3] {
            script.task(CpuId(cpu), &[run(if cpu == 0 { 3 * MS } else { MS })]);
        }
        let pass = |cpu: &u16| pass(Place::NewlyIdle, *cpu, 0, &[lock(0)]);
        let passes = balancers.iter().map(pass).collect();
        let (status, sim) = simulate_on(genoa.clone(), script, balancing(passes));
        assert_eq!(status, Ok(Status::Finished));
        [2, 3].map(|cpu| sim.observer().charged(cpu, Cost::RqLock)).iter().sum::<u64>()
    };
    let without = waited(&[]);
    assert_eq!(waited(&[2]) - without, u64::from(lines));
    assert_eq!(waited(&[2, 3]) - without, u64::from(3 * lines + hold));
}
