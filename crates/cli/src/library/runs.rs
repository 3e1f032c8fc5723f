//! `Runs`, `Run`: what a simulation has come to.

use super::{Error, Metric, MetricError, Number, Seeds, Spread};
use crate::failure::Failure;
use crate::output;
use crate::parallel::each_in_parallel;
use crate::report::ScenarioReport;
use crate::scenario::{Outcome, Scenario};
use crate::summary::Summary;

/// The runs of a simulation, in the order of their seeds. There is at least one.
#[derive(Clone, Debug)]
pub struct Runs {
    scenario: ScenarioReport,
    runs: Vec<Run>,
}

/// A run with one seed.
#[derive(Clone, Debug)]
pub struct Run {
    pub(super) outcome: Outcome,
}

/// Runs `scenario` with each of the seeds.
pub(super) fn measure(scenario: &Scenario, seeds: Seeds) -> Result<Runs, Error> {
    let count = usize::try_from(seeds.count).expect("at most 10,000");
    let outcomes = each_in_parallel(count, |k| scenario.measure(seeds.first + k as u64, None));
    // All are collected before the first error is returned: which one it is must not depend on which
    // thread was faster.
    let outcomes = outcomes.into_iter().collect::<Result<Vec<Outcome>, Failure>>()?;
    if !outcomes.iter().all(Outcome::counts) {
        return Err(Failure::Interrupted.into());
    }
    Ok(Runs::of(scenario.named(seeds.first)?, outcomes))
}

impl Runs {
    /// What these runs of a scenario have come to.
    pub(super) fn of(scenario: ScenarioReport, outcomes: Vec<Outcome>) -> Runs {
        Runs { scenario, runs: outcomes.into_iter().map(|outcome| Run { outcome }).collect() }
    }

    /// Each run.
    #[must_use]
    pub fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// Mean, deviation and interval of a metric over the seeds. What its values are of, the
    /// [`basis`](Number::basis) of each run says: with a window a count is of the whole work or of a second.
    ///
    /// # Errors
    /// When a run does not have it, or two runs have it of something else.
    pub fn metric(&self, metric: &Metric) -> Result<Spread, MetricError> {
        let numbers = self.runs.iter().map(|run| run.metric(metric));
        let numbers = numbers.collect::<Result<Vec<Number>, MetricError>>()?;
        if let Some(other) = numbers.iter().find(|number| number.basis != numbers[0].basis) {
            let (metric, one) = (metric.to_string(), numbers[0].basis);
            let why = format!("it is of {one:?} in one run and of {:?} in another", other.basis);
            return Err(MetricError::NotAvailable { metric, why });
        }
        Ok(Spread::of(&numbers.iter().map(|number| number.value).collect::<Vec<f64>>()))
    }

    /// The JSON that `simsched run --json` writes of the same runs (docs/json.md): of one seed its report,
    /// of several their summary with all reports.
    #[must_use]
    pub fn to_json(&self) -> String {
        match self.runs.as_slice() {
            [run] => run.to_json(),
            runs => {
                let reports: Vec<_> = runs.iter().map(|run| run.outcome.report.clone()).collect();
                let all = reports.len() as u64;
                output::json(&Summary::of(self.scenario.clone(), reports, all))
            }
        }
    }
}

impl Run {
    /// The seed.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.outcome.report.scenario.seed
    }

    /// What the program printed.
    #[must_use]
    pub fn output(&self) -> &str {
        &self.outcome.text
    }

    /// 16 hexadecimal digits; two runs that have the same did the same at each instant.
    #[must_use]
    pub fn digest(&self) -> &str {
        &self.outcome.report.digest
    }

    /// The value of a metric.
    ///
    /// # Errors
    /// When the run does not have it: a program that prints no throughput, a policy without this counter.
    pub fn metric(&self, metric: &Metric) -> Result<Number, MetricError> {
        metric.of(&self.outcome)
    }

    /// Its report as JSON, as `simsched run --json` writes it (docs/json.md).
    #[must_use]
    pub fn to_json(&self) -> String {
        output::json(&self.outcome.report)
    }
}
