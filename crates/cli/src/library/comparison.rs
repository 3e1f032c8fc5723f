//! `Comparison`: simulations with the same seeds beside each other.

use std::sync::Mutex;

use serde_json::Value;
use simsched_core::Nanos;
use simsched_workloads::catalog::LeastPart;

use super::{Error, Machine, Metric, MetricError, Paired, Run, Runs, Simulation, Spread};
use crate::compare::{self, Asked};
use crate::failure::Failure;
use crate::output;
use crate::progress::Progress;
use crate::scenario::Scenario;

/// Simulations that are run with the same seeds and compared; the first is the base.
#[derive(Clone, Debug)]
pub struct Comparison {
    sides: Vec<Simulation>,
}

/// What a comparison has come to.
#[derive(Clone, Debug)]
pub struct Compared {
    inside: compare::Comparison,
    sides: Vec<Side>,
}

/// One side of a comparison: its name and its runs, by seed.
#[derive(Clone, Debug)]
pub struct Side {
    /// The policy expression, or the name of the caller's policy.
    pub name: String,
    /// By seed. Their JSON names the machine without the hash of its file, as a comparison's does.
    pub runs: Runs,
}

/// A metric on all sides.
#[derive(Clone, Debug)]
pub struct Row {
    /// Which one; its name in [`Compared::to_json`] is that of the command, which may be another.
    pub metric: Metric,
    /// By side, then by seed.
    pub values: Vec<Vec<f64>>,
    /// By side: mean, deviation and interval.
    pub spreads: Vec<Spread>,
    /// By side: its paired differences from the base, which has none.
    pub paired: Vec<Option<Paired>>,
}

/// A number inside the runs that differs from the base.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// What it is part of: `migrations`, `wakeups`, `need_resched`, `costs`, `utilisation` or `waits`.
    pub subject: &'static str,
    /// Its name there.
    pub name: String,
    /// `ns`, or empty of counts.
    pub unit: &'static str,
    /// The mean of the base.
    pub base: f64,
    /// The mean of the other side.
    pub other: f64,
    /// The difference in percent of what all parts of the subject sum up to in the base; of waits, of the
    /// number itself; of `need_resched`, of the switches away from a task.
    pub points: f64,
}

impl Comparison {
    /// Compares these simulations, of which the first is the base. They may differ in their policies and
    /// settings. A setting that a policy does not have is an error here; `simsched compare` leaves it out.
    ///
    /// # Errors
    /// When there are fewer than two; when they differ in something else; when one cannot be run.
    pub fn of(sides: impl IntoIterator<Item = Simulation>) -> Result<Comparison, Error> {
        let sides: Vec<Simulation> = sides.into_iter().collect();
        let [base, others @ ..] = sides.as_slice() else {
            return Err(Error::input("found no side, expected at least two"));
        };
        if others.is_empty() {
            return Err(Error::input("found 1 side, expected at least two"));
        }
        if base.precision.is_some() {
            return Err(Error::input("precision: found it in a comparison, expected a window"));
        }
        for (nth, side) in (1..).zip(others) {
            let differs = [
                ("machine", !side.machine.is(&base.machine)),
                ("workload", side.workload.words() != base.workload.words()),
                ("seeds", side.seeds != base.seeds),
                ("window", (side.window, side.duration) != (base.window, base.duration)),
                ("precision", side.precision != base.precision),
                ("collected series", side.collect != base.collect),
            ];
            if let Some((what, _)) = differs.iter().find(|(_, differs)| *differs) {
                let text = format!("side {nth} of the comparison: expected the {what} of side 0");
                return Err(Error::input(text));
            }
        }
        sides.iter().try_for_each(|side| side.check().map(drop))?;
        Ok(Comparison { sides })
    }

    /// Runs all sides, on all threads.
    ///
    /// # Errors
    /// Why a run could not go on.
    pub fn run(&self) -> Result<Compared, Error> {
        let base = &self.sides[0];
        let scenarios = self.sides.iter().map(|side| {
            // The command's comparison has no hash of the machine's text.
            let machine = Machine { hash: None, ..side.machine.clone() };
            Simulation { machine, ..side.clone() }.scenario(base.seeds.first)
        });
        let scenarios = scenarios.collect::<Result<Vec<Scenario>, Error>>()?;
        let mut notes = Vec::new();
        for (side, scenario) in self.sides.iter().zip(&scenarios) {
            notes.extend(scenario.note().map(|note| format!("{}: {note}", side.policy.name())));
        }
        let slice = base.window.extent().slice(&base.machine.topology, LeastPart::Any);
        let warmup = slice.map_or(Nanos::ZERO, |slice| slice.warmup);
        let asked = Asked {
            policies: self.names(),
            settings: base.settings.clone(),
            seed: base.seeds.first,
            seeds: base.seeds.count,
            span: slice.map(|slice| slice.span),
            warmup,
            duration: base.duration,
        };
        let quiet = Mutex::new(Progress::start(true));
        let inside = compare::Comparison::of(asked, &scenarios, notes, &quiet)?;
        if inside.runs.iter().any(|side| side.len() as u64 != base.seeds.count) {
            return Err(Failure::Interrupted.into());
        }
        let named = inside.asked.policies.iter().zip(&inside.runs).zip(&scenarios);
        let sides = named.map(|((name, outcomes), scenario)| {
            let runs = Runs::of(scenario.named(base.seeds.first)?, outcomes.clone());
            Ok(Side { name: name.clone(), runs })
        });
        Ok(Compared { sides: sides.collect::<Result<Vec<Side>, Failure>>()?, inside })
    }

    /// The names of the sides: of those whose policies are called the same, with their settings.
    fn names(&self) -> Vec<String> {
        let name = |side: &Simulation| {
            let name = side.policy.name();
            let same = |other: &&Simulation| other.policy.name() == name;
            let differ =
                self.sides.iter().filter(same).any(|other| other.settings != side.settings);
            let settings = side.settings.iter().filter(|_| differ);
            let settings = settings.map(|(key, value)| format!("+{key}={value}"));
            name.to_owned() + &settings.collect::<String>()
        };
        self.sides.iter().map(name).collect()
    }
}

impl Compared {
    /// The sides with their runs.
    #[must_use]
    pub fn sides(&self) -> &[Side] {
        &self.sides
    }

    /// The metrics that `simsched compare` shows, of those that all runs have; [`Compared::row`] has any other.
    #[must_use]
    pub fn rows(&self) -> Vec<Row> {
        let row = |row: &compare::Row| Row {
            metric: row.name.parse().expect("a metric of the table"),
            values: row.cells.iter().map(|cell| cell.values.clone()).collect(),
            spreads: row.cells.iter().map(|cell| cell.spread).collect(),
            paired: row.cells.iter().map(|cell| cell.paired).collect(),
        };
        self.inside.rows.iter().map(row).collect()
    }

    /// Any metric on all sides.
    ///
    /// # Errors
    /// When a run does not have it.
    pub fn row(&self, metric: &Metric) -> Result<Row, MetricError> {
        let of = |run: &Run| run.metric(metric).map(|number| number.value);
        let values = self.sides.iter().map(|side| side.runs.runs().iter().map(of).collect());
        let values = values.collect::<Result<Vec<Vec<f64>>, MetricError>>()?;
        let others = values.iter().skip(1).map(|other| Some(Paired::of(&values[0], other)));
        Ok(Row {
            metric: metric.clone(),
            spreads: values.iter().map(|of| Spread::of(of)).collect(),
            paired: std::iter::once(None).chain(others).collect(),
            values,
        })
    }

    /// In what the runs of `side` differ inside from those of the base, by subject, the largest first; none
    /// of the base, or where there is no such side.
    #[must_use]
    pub fn differences(&self, side: usize) -> Vec<Difference> {
        let found = side.checked_sub(1).and_then(|other| self.inside.why.get(other));
        let difference = |it: &compare::Difference| Difference {
            subject: it.subject,
            name: it.name.clone(),
            unit: it.unit,
            base: it.base,
            other: it.other,
            points: it.points,
        };
        found.into_iter().flatten().map(difference).collect()
    }

    /// The JSON that `simsched compare --json` writes of the same comparison (docs/json.md).
    #[must_use]
    pub fn to_json(&self) -> String {
        output::json(&self.value())
    }

    pub(super) fn value(&self) -> Value {
        self.inside.json()
    }
}
