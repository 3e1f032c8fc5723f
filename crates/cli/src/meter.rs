//! `Meter` and `Totals`: how much work a program has done, and what it took.

use std::cell::Cell;
use std::rc::Rc;

use simsched_core::{
    Cost, CostedFunction, MarkId, Notes, Op, Outcome, Policy, Setup, SimTime, Simulator, TaskId,
    Workload,
};
use simsched_policies::fair::FUNCTIONS;
use simsched_topology::{CpuId, Topology};
use simsched_workloads::catalog::Teams;

use crate::report::Counts;
use crate::run::Watch;

/// Counts what the tasks of a workload have asked for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Meter {
    counts: Rc<Asked>,
    /// What the program does a fixed number of.
    round: Option<MarkId>,
}

/// What the tasks have asked for.
#[derive(Debug, Default)]
struct Asked {
    /// Messages that were begun to be sent.
    sent: Cell<u64>,
    /// All operations.
    ops: Cell<u64>,
    /// How often the round was done.
    rounds: Cell<u64>,
    /// Whether anything is to be done before the next operation, and what.
    is_due: Cell<bool>,
    due: Cell<Due>,
    /// Messages that were left out, once that was asked for.
    skipped: Cell<Option<u64>>,
}

/// What is to be done to a program between two of its operations.
#[derive(Clone, Copy, Debug, Default)]
enum Due {
    #[default]
    Nothing,
    /// What it counts itself is to be forgotten.
    Begin,
    /// Of what is left of its work, only so many 1,024ths are to be done.
    Shorten(Teams, u64),
}

impl Meter {
    /// A meter of a program that passes this mark after each of its rounds.
    pub(crate) fn new(round: Option<MarkId>) -> Meter {
        Meter { round, ..Meter::default() }
    }

    /// What is measured begins now.
    pub(crate) fn begin(&self) {
        self.ask(Due::Begin);
    }

    /// From now on the tasks of these teams do only so many 1,024ths of what is left of their work.
    pub(crate) fn shorten(&self, teams: Teams, to_1024: u64) {
        self.ask(Due::Shorten(teams, to_1024));
    }

    /// How many messages that has left out; none before it was done.
    pub(crate) fn skipped(&self) -> Option<u64> {
        self.counts.skipped.get()
    }

    fn ask(&self, due: Due) {
        self.counts.is_due.set(true);
        self.counts.due.set(due);
    }
}

/// Leaves out what is more than `to_1024` of 1,024 of the rounds that each sender has still to do, and
/// as much of what the receivers of its team expect; how many messages these are. A team of which
/// somebody has not begun yet, or has ended, goes on as it is.
fn shorten(workload: &mut impl Workload, teams: Teams, to_1024: u64) -> u64 {
    let each = teams.each as usize;
    let mut skipped = 0;
    for team in 0..teams.count as usize {
        let first = teams.first as usize + team * 2 * each;
        let receivers = first..first + each;
        let turns: Option<Vec<u64>> =
            (first..first + 2 * each).map(|task| workload.turns_left(TaskId::new(task))).collect();
        let Some(turns) = turns else { continue };
        // A round is a message to each receiver.
        let rounds = |turns: &u64| (turns - turns * to_1024 / 1024) / u64::from(teams.each);
        let rounds: Vec<u64> = turns[each..].iter().map(rounds).collect();
        let to_each: u64 = rounds.iter().sum();
        if turns[..each].iter().any(|left| *left < to_each) {
            continue;
        }
        for (sender, rounds) in (first + each..).zip(&rounds) {
            workload.skip_turns(TaskId::new(sender), rounds * u64::from(teams.each));
        }
        for receiver in receivers {
            workload.skip_turns(TaskId::new(receiver), to_each);
        }
        skipped += to_each * u64::from(teams.each);
    }
    skipped
}

/// A workload with a meter.
pub(crate) struct Metered<W> {
    workload: W,
    meter: Meter,
}

impl<W> Metered<W> {
    pub(crate) fn new(workload: W, meter: &Meter) -> Metered<W> {
        Metered { workload, meter: meter.clone() }
    }
}

impl<W: Workload> Metered<W> {
    #[cold]
    fn do_what_is_due(&mut self, now: SimTime) {
        let Asked { is_due, due, skipped, .. } = &*self.meter.counts;
        is_due.set(false);
        match due.take() {
            Due::Nothing => {}
            Due::Begin => self.workload.measure_from(now),
            Due::Shorten(teams, to_1024) => {
                skipped.set(Some(shorten(&mut self.workload, teams, to_1024)));
            }
        }
    }
}

impl<W: Workload> Workload for Metered<W> {
    fn setup(&self) -> Setup {
        self.workload.setup()
    }

    fn next_op(&mut self, task: TaskId, now: SimTime, last: Outcome) -> Op {
        if self.meter.counts.is_due.get() {
            self.do_what_is_due(now);
        }
        let Meter { counts, round } = &self.meter;
        let Asked { sent, ops, rounds, .. } = &**counts;
        let op = self.workload.next_op(task, now, last);
        ops.set(ops.get() + 1);
        match op {
            Op::Write { .. } | Op::Send { .. } => sent.set(sent.get() + 1),
            Op::Mark(mark) if Some(mark) == *round => rounds.set(rounds.get() + 1),
            _ => {}
        }
        op
    }

    fn leave(&mut self, task: TaskId) -> Option<simsched_core::Nanos> {
        self.workload.leave(task)
    }

    fn dispatch(&self, task: TaskId) -> Option<simsched_core::Nanos> {
        self.workload.dispatch(task)
    }

    fn notes(&self) -> Notes {
        self.workload.notes()
    }
}

/// Under which name the results of a program say how many rounds it does in all.
pub(crate) const ROUNDS: &str = "cycles_in_all";

/// In what the work of a program is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WorkUnit {
    /// Messages, where the program says how many it sends.
    Messages,
    /// Rounds, where it says how many it does.
    Rounds,
    /// Operations of its tasks.
    Operations,
}

impl WorkUnit {
    pub(crate) const ALL: [WorkUnit; 3] =
        [WorkUnit::Messages, WorkUnit::Rounds, WorkUnit::Operations];

    /// The unit for a program with these results, and how much of it the whole program does; none if
    /// it does not say.
    pub(crate) fn of(numbers: &Counts) -> (WorkUnit, Option<u64>) {
        let all = |key: &str| numbers.get(key)?.as_u64().filter(|all| *all > 0);
        if let Some(messages) = all("messages") {
            return (WorkUnit::Messages, Some(messages));
        }
        all(ROUNDS).map_or((WorkUnit::Operations, None), |all| (WorkUnit::Rounds, Some(all)))
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            WorkUnit::Messages => "messages",
            WorkUnit::Rounds => "cycles",
            WorkUnit::Operations => "operations",
        }
    }
}

/// Something that is done so often a second.
type Rate = (&'static str, fn(&Totals) -> Option<f64>);

/// What must be steady in a run that is stationary.
pub(crate) const RATES: [Rate; 3] = [
    ("operations", |totals| totals.per_second(totals.ops)),
    ("cpu_migrations", |totals| totals.per_second(totals.cpu_migrations)),
    ("task_switches", |totals| totals.per_second(totals.task_switches)),
];

/// CPU time by what it was spent on, in ns.
pub(crate) type Costs = [u64; Cost::ROWS];

/// The names of the rows of [`Costs`]; those without a name are none.
pub(crate) type CostNames = [&'static str; Cost::ROWS];

/// The names of the costs of a run. Where the policy tells no function apart, those of the fair class are
/// listed all the same, so that reports of all policies without functions of their own have the same keys.
fn cost_names(functions: &[CostedFunction]) -> CostNames {
    Cost::names(if functions.is_empty() { FUNCTIONS } else { functions })
}

/// What a run has done up to some time, or between two.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    pub(crate) span_ns: u64,
    sent: u64,
    pub(crate) ops: u64,
    rounds: u64,
    pub(crate) task_switches: u64,
    pub(crate) cpu_migrations: u64,
    pub(crate) by_node: Vec<Costs>,
    pub(crate) names: CostNames,
}

impl Totals {
    /// All that `run` has done so far.
    pub(crate) fn of<P: Policy + ?Sized, W: Workload>(
        run: &Simulator<P, W, Watch>,
        meter: &Meter,
        topology: &Topology,
    ) -> Totals {
        let (stats, (window, _)) = run.observer();
        let mut by_node = vec![[0; Cost::ROWS]; topology.nr_nodes()];
        for cpu in (0..topology.nr_cpus()).map(CpuId::new) {
            let node = &mut by_node[topology.node_of(cpu).idx()];
            node.iter_mut().zip(stats.cpu_time(cpu)).for_each(|(sum, spent)| *sum += spent);
        }
        Totals {
            span_ns: run.world().now().get(),
            sent: meter.counts.sent.get(),
            ops: meter.counts.ops.get(),
            rounds: meter.counts.rounds.get(),
            task_switches: window.counters.task_switches,
            cpu_migrations: window.counters.cpu_migrations,
            by_node,
            names: cost_names(run.functions()),
        }
    }

    /// What was done since `earlier`.
    pub(crate) fn since(&self, earlier: &Totals) -> Totals {
        let minus = |(now, then): (&Costs, &Costs)| {
            let mut spent = *now;
            spent.iter_mut().zip(then).for_each(|(now, then)| *now -= then);
            spent
        };
        Totals {
            span_ns: self.span_ns - earlier.span_ns,
            sent: self.sent - earlier.sent,
            ops: self.ops - earlier.ops,
            rounds: self.rounds - earlier.rounds,
            task_switches: self.task_switches - earlier.task_switches,
            cpu_migrations: self.cpu_migrations - earlier.cpu_migrations,
            by_node: self.by_node.iter().zip(&earlier.by_node).map(minus).collect(),
            names: self.names,
        }
    }

    /// The totals of a whole run: all but CPU time from `later`, which counts it from the beginning; CPU time, which
    /// `later` has since these totals only, as the sum of both.
    pub(crate) fn with_time_of(&self, later: &Totals) -> Totals {
        let sum = |(a, b): (&Costs, &Costs)| {
            let mut sum = *a;
            sum.iter_mut().zip(b).for_each(|(a, b)| *a += b);
            sum
        };
        let by_node = self.by_node.iter().zip(&later.by_node).map(sum).collect();
        Totals { by_node, ..later.clone() }
    }

    /// The work that was done.
    pub(crate) fn work(&self, unit: WorkUnit) -> u64 {
        match unit {
            WorkUnit::Messages => self.sent,
            WorkUnit::Rounds => self.rounds,
            WorkUnit::Operations => self.ops,
        }
    }

    /// The same per second; none of no time.
    pub(crate) fn rate(&self, unit: WorkUnit) -> Option<f64> {
        self.per_second(self.work(unit))
    }

    #[expect(clippy::cast_precision_loss, reason = "below 2^52 in any run that ends")]
    fn per_second(&self, count: u64) -> Option<f64> {
        (self.span_ns > 0).then(|| count as f64 * 1e9 / self.span_ns as f64)
    }

    /// The row of the cost of this name.
    pub(crate) fn cost(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|known| *known == name && !known.is_empty())
    }

    /// CPU time of this node, or of all, by what it was spent on.
    pub(crate) fn costs(&self, node: Option<usize>) -> Option<Costs> {
        if let Some(node) = node {
            return self.by_node.get(node).copied();
        }
        let mut sum = [0; Cost::ROWS];
        for node in &self.by_node {
            sum.iter_mut().zip(node).for_each(|(sum, spent)| *sum += spent);
        }
        Some(sum)
    }

    /// CPU time that was not idle: what tasks, interrupts and the scheduler took.
    pub(crate) fn busy_ns(&self, node: Option<usize>) -> Option<u64> {
        let costs = self.costs(node)?;
        let idle = costs[Cost::Idle as usize] + costs[Cost::IdleExit as usize];
        Some(costs.iter().sum::<u64>() - idle)
    }
}
