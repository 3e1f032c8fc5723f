//! `Comparison`: simulations with the same seeds beside each other.

use std::sync::Mutex;

use serde_json::Value;

use super::{Better, Error, Paired, Run, Simulation, Spread, Window};
use crate::compare::{self, Asked};
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
    /// By seed.
    pub runs: Vec<Run>,
}

/// A metric on all sides.
#[derive(Clone, Debug)]
pub struct Row {
    /// Its name.
    pub name: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// In which direction it is good.
    pub better: Better,
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
    /// What it is part of: `migrations`, `wakeups`, `costs`, `utilisation` or `waits`.
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
    /// number itself.
    pub points: f64,
}

impl Comparison {
    /// Compares these simulations, of which the first is the base. All run with the seeds of the base.
    ///
    /// # Errors
    /// When there are fewer than two; when they have different seeds or windows; when one cannot be run.
    pub fn of(sides: impl IntoIterator<Item = Simulation>) -> Result<Comparison, Error> {
        let sides: Vec<Simulation> = sides.into_iter().collect();
        if sides.len() < 2 {
            let count = sides.len();
            return Err(Error::input(format!("found {count} sides, expected at least two")));
        }
        let base = &sides[0];
        for (nth, side) in sides.iter().enumerate() {
            let differs = if side.seeds != base.seeds {
                "seeds"
            } else if side.window != base.window || side.duration != base.duration {
                "part of the run"
            } else {
                side.check()?;
                continue;
            };
            return Err(Error::input(format!(
                "side {nth} of the comparison: expected the {differs} of the first side"
            )));
        }
        Ok(Comparison { sides })
    }

    /// Runs all sides, on all threads.
    ///
    /// # Errors
    /// Why a run could not go on.
    pub fn run(&self) -> Result<Compared, Error> {
        let base = &self.sides[0];
        let scenarios = self.sides.iter().map(|side| side.scenario(base.seeds.first));
        let scenarios = scenarios.collect::<Result<Vec<Scenario>, Error>>()?;
        let mut notes = Vec::new();
        for (side, scenario) in self.sides.iter().zip(&scenarios) {
            notes.extend(scenario.note().map(|note| format!("{}: {note}", side.policy.name())));
        }
        let (span, warmup) = match base.window {
            Window::Span(span) => (Some(span.span), span.warmup),
            Window::Whole => (None, simsched_core::Nanos(0)),
        };
        let asked = Asked {
            policies: self.sides.iter().map(|side| side.policy.name().to_owned()).collect(),
            settings: base.settings.clone(),
            seed: base.seeds.first,
            seeds: base.seeds.count,
            span,
            warmup,
            duration: base.duration,
        };
        let quiet = Mutex::new(Progress::start(true));
        let inside = compare::Comparison::of(asked, &scenarios, notes, &quiet)?;
        let named = inside.asked.policies.iter().zip(&inside.runs);
        let sides = named.map(|(name, runs)| {
            let runs = runs.iter().map(|outcome| Run { outcome: outcome.clone() }).collect();
            Side { name: name.clone(), runs }
        });
        Ok(Compared { sides: sides.collect(), inside })
    }
}

impl Compared {
    /// The sides with their runs.
    #[must_use]
    pub fn sides(&self) -> &[Side] {
        &self.sides
    }

    /// The metrics that all runs have.
    #[must_use]
    pub fn rows(&self) -> Vec<Row> {
        let row = |row: &compare::Row| Row {
            name: row.name,
            unit: row.unit,
            better: row.better,
            values: row.cells.iter().map(|cell| cell.values.clone()).collect(),
            spreads: row.cells.iter().map(|cell| cell.spread).collect(),
            paired: row.cells.iter().map(|cell| cell.paired).collect(),
        };
        self.inside.rows.iter().map(row).collect()
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
