//! Hand-made runs that keep the rules, and one for each rule that breaks it.

use simsched_topology::{OsCosts, Topology};

use super::*;
use crate::names::Reason;
use crate::observer::Cost;
use crate::testkit::WorldKit;
use crate::world::BOOT_CLOCK;

const A: TaskId = TaskId(0);
const CPU: CpuId = CpuId(3);
const WHY: Reason = Reason(0);

/// A run in which task 0 has been forked onto CPU 3 and is current there, at 100 ns.
struct Run {
    kit: WorldKit,
    rules: Invariants,
}

impl Run {
    fn start() -> Run {
        let topology = Topology::builtin("t16", None).unwrap();
        let side_by_side = OsCosts { turn: 0, ..*topology.costs() };
        let topology = topology.with_costs(side_by_side);
        let rules = Invariants::new(topology.nr_cpus(), 2);
        let mut kit = WorldKit::new(topology, 250);
        kit.add_task(0);
        kit.add_task(0);
        Run { kit, rules }
    }

    fn with_a_current() -> Run {
        let mut run = Run::start();
        run.fork_to_cpu();
        run.switch_to_a(90);
        run.tell(100, Tracepoint::Running { cpu: CPU, task: A });
        run
    }

    fn fork_to_cpu(&mut self) {
        self.tell(10, Tracepoint::Fork { parent: None, child: A });
        let task = self.kit.task(A);
        (task.state, task.on_rq, task.cpu) = (TaskState::Running, true, CPU);
        self.kit.set_nr_running(CPU, 1);
        self.tell(20, Tracepoint::Wakeup { wakee: A, cpu: CPU, reason: WHY, scanned: 0 });
    }

    fn switch_to_a(&mut self, at: u64) {
        self.kit.run_on(CPU, Some(A));
        let (prev, next) = (None, Some(A));
        self.tell(at, Tracepoint::Switch { cpu: CPU, prev, next, preempted: false });
    }

    /// Task 0 leaves its CPU at 200 ns, and goes to sleep or ends.
    fn leave(&mut self, state: TaskState) {
        let task = self.kit.task(A);
        (task.state, task.on_rq) = (state, false);
        self.kit.set_nr_running(CPU, 0);
        self.kit.run_on(CPU, None);
        let (prev, next) = (Some(A), None);
        self.tell(200, Tracepoint::Switch { cpu: CPU, prev, next, preempted: false });
    }

    fn tell(&mut self, at: u64, tracepoint: Tracepoint) {
        self.kit.set_clock(BOOT_CLOCK + at);
        self.rules.on(self.kit.world(), tracepoint);
    }

    fn charge(&mut self, at: u64, cpu: CpuId, amount: u64) {
        self.tell(at, Tracepoint::Charge { cpu, what: Cost::User, amount: Nanos(amount) });
    }

    fn finish(mut self) -> Result<(), Violation> {
        self.rules.finish(self.kit.world())
    }

    /// The run has broken a rule whose description holds `text`.
    fn broke(self, text: &str) {
        let violation = self.rules.violation().expect("a rule was broken").to_string();
        assert!(violation.contains(text), "{violation}");
    }
}

#[test]
fn a_legal_run_breaks_nothing() {
    let mut run = Run::with_a_current();
    run.leave(TaskState::Sleeping);
    assert_eq!(run.rules.violation(), None);
    for cpu in (0..16).map(CpuId::new) {
        run.charge(200, cpu, 150);
        run.charge(200, cpu, 50);
    }
    assert_eq!(run.finish(), Ok(()));
}

#[test]
fn uncharged_time_is_found_at_the_end() {
    let mut run = Run::with_a_current();
    for cpu in (0..16).map(CpuId::new) {
        run.charge(100, cpu, 100 - u64::from(cpu.0 / 15));
    }
    let violation = run.finish().unwrap_err();
    assert_eq!(violation.what, "CPU 15 was charged for 99 ns of 100 ns");
}

#[test]
fn time_is_not_charged_twice() {
    let mut run = Run::with_a_current();
    run.charge(100, CPU, 60);
    run.charge(100, CPU, 41);
    run.broke("CPU 3 was charged for 101 ns, more than has passed");
}

#[test]
fn a_sleeper_may_not_be_switched_in() {
    let mut run = Run::with_a_current();
    run.leave(TaskState::Sleeping);
    run.switch_to_a(300);
    run.broke("task 0 () has SwitchIn");
}

#[test]
fn a_cpu_may_not_go_idle_with_work() {
    let mut run = Run::with_a_current();
    run.kit.run_on(CPU, None);
    let (prev, next) = (Some(A), None);
    run.tell(200, Tracepoint::Switch { cpu: CPU, prev, next, preempted: true });
    run.broke("CPU 3 goes idle with 1 runnable tasks");
}

#[test]
fn a_runnable_task_may_not_be_lost() {
    let mut run = Run::with_a_current();
    run.leave(TaskState::Running);
    run.broke("task 0 () is lost");
}

#[test]
fn nr_running_counts_the_tasks_that_are_there() {
    let mut run = Run::with_a_current();
    run.kit.set_nr_running(CPU, 2);
    run.rules.finish(run.kit.world()).unwrap_err();
    run.broke("nr_running of CPU 3 is 2, and 1 tasks are there");
}

#[test]
fn no_task_is_current_on_two_cpus() {
    let mut run = Run::with_a_current();
    run.kit.run_on(CpuId(9), Some(A));
    let task = run.kit.task(A);
    task.cpu = CPU;
    run.kit.set_nr_running(CpuId(9), 0);
    run.rules.finish(run.kit.world()).unwrap_err();
    run.broke("task 0 () is current on CPU 9 and belongs to CPU 3");
}

#[test]
fn affinity_is_kept() {
    let mut run = Run::start();
    run.kit.set_allowed(A, Some(CpuSet::single(CpuId(5))));
    run.fork_to_cpu();
    run.broke("task 0 () may not run on CPU 3");
}

#[test]
fn only_the_first_violation_is_kept() {
    let mut run = Run::start();
    run.tell(10, Tracepoint::Exit { task: A });
    run.tell(20, Tracepoint::Running { cpu: CPU, task: A });
    assert_eq!(run.rules.violation().map(|violation| violation.at), Some(SimTime(10)));
    run.broke("task 0 () has Exit");
}
