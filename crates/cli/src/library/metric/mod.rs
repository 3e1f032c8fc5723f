//! `Metric`: a number of a run by its name, with its unit, its direction and its definition.

mod table;
mod value;

use std::fmt;
use std::str::FromStr;

use simsched_topology::{did_you_mean, nearest};

use super::error::Error;
use table::{KEY, Row, TABLE};

pub use simsched_claims::Better;

/// A number that a run has, by its name: `context_switches`, `wakeup_latency:p99`, `share:rq_lock:node0`,
/// `program:messages`. [`Metric::names`] lists them, [`FromStr`] reads one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Metric {
    family: usize,
    part: String,
    node: Option<usize>,
}

/// The value of a metric.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Number {
    /// In the unit of the metric, for each simulated second where [`Number::basis`] says so.
    pub value: f64,
    /// What of the run it is of.
    pub basis: Basis,
    /// Half its 95 % interval by batch means, in percent of it: of a run of which a span was measured,
    /// where the metric has a value in every batch.
    pub ci95_pct: Option<f64>,
}

/// What a count or a time is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Basis {
    /// What was measured.
    Measured,
    /// The whole work of the program, extrapolated from the part of the run that was measured or simulated
    /// (a [`Span`](crate::library::Span) or a [`Precision`](crate::library::Precision)).
    WholeWork,
    /// A second of a span of the run of a program that does no fixed amount of work.
    PerSecond,
}

/// Why there is no value.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MetricError {
    /// No metric has this name.
    Unknown {
        /// The name as it was given.
        name: String,
        /// Names that are close to it.
        nearest: Vec<String>,
    },
    /// The run does not have it.
    NotAvailable {
        /// The metric.
        metric: String,
        /// Why.
        why: String,
    },
}

impl Metric {
    /// All switches, those from and to the idle task included (`nr_switches`).
    pub const CONTEXT_SWITCHES: Metric = Metric::bare(table::CONTEXT_SWITCHES);
    /// Switches away from a task: `context-switches` of `perf stat`.
    pub const TASK_SWITCHES: Metric = Metric::bare(table::TASK_SWITCHES);
    /// Every change of a task's CPU, that of a fork included.
    pub const MIGRATIONS: Metric = Metric::bare(table::MIGRATIONS);
    /// Tasks switched in on another CPU than before: `cpu-migrations` of `perf stat`.
    pub const CPU_MIGRATIONS: Metric = Metric::bare(table::CPU_MIGRATIONS);
    /// Elapsed time that the program reports, in seconds.
    pub const TIME: Metric = Metric::bare(0);

    const fn bare(family: usize) -> Metric {
        Metric { family, part: String::new(), node: None }
    }

    fn row(&self) -> &'static Row {
        &TABLE[self.family]
    }

    /// The names of all metrics; `KEY` stands for any name of its kind.
    #[must_use]
    pub fn names() -> Vec<String> {
        let of = |row: &Row| match row.parts {
            [] => vec![row.name.to_owned()],
            parts => parts.iter().map(|part| format!("{}:{part}", row.name)).collect(),
        };
        TABLE.iter().flat_map(of).collect()
    }

    /// The unit of its value; empty of counts and of what only the program knows.
    #[must_use]
    pub fn unit(&self) -> &'static str {
        self.row().unit
    }

    /// In which direction it is good.
    #[must_use]
    pub fn better(&self) -> Better {
        self.row().better
    }

    /// What it is, in a line.
    #[must_use]
    pub fn definition(&self) -> &'static str {
        self.row().doc
    }
}

impl FromStr for Metric {
    type Err = MetricError;

    fn from_str(name: &str) -> Result<Metric, MetricError> {
        let unknown = || {
            let names = Metric::names();
            let close = nearest(name, names.iter().map(String::as_str));
            let nearest = close.into_iter().map(str::to_owned).collect();
            MetricError::Unknown { name: name.to_owned(), nearest }
        };
        let (first, rest) = name.split_once(':').map_or((name, ""), |(first, rest)| (first, rest));
        let family = TABLE.iter().position(|row| row.name == first).ok_or_else(unknown)?;
        let row = &TABLE[family];
        let (part, node) = match rest.rsplit_once(":node") {
            Some((part, node)) if row.name == "share" => {
                (part, Some(node.parse().map_err(|_| unknown())?))
            }
            _ => (rest, None),
        };
        let is_part = match row.parts {
            [] => rest.is_empty(),
            parts if parts == KEY => !part.is_empty(),
            parts => parts.contains(&part),
        };
        if !is_part || (row.parts.is_empty() && name.contains(':')) {
            return Err(unknown());
        }
        Ok(Metric { family, part: part.to_owned(), node })
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.row().name)?;
        if !self.part.is_empty() {
            write!(f, ":{}", self.part)?;
        }
        self.node.map_or(Ok(()), |node| write!(f, ":node{node}"))
    }
}

impl fmt::Display for MetricError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MetricError::Unknown { name, nearest } => {
                write!(f, "there is no metric `{name}`{}", did_you_mean(nearest))
            }
            MetricError::NotAvailable { metric, why } => {
                write!(f, "metric not available: {metric}: {why}")
            }
        }
    }
}

impl std::error::Error for MetricError {}

impl From<MetricError> for Error {
    fn from(error: MetricError) -> Error {
        Error::input(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_listed_is_read_and_written_as_it_was() {
        for name in Metric::names() {
            let metric: Metric = name.parse().unwrap();
            assert_eq!(metric.to_string(), name);
            assert!(!metric.definition().is_empty());
        }
        let metric: Metric = "share:rq_lock:node1".parse().unwrap();
        assert_eq!((metric.to_string().as_str(), metric.node), ("share:rq_lock:node1", Some(1)));
    }

    #[test]
    fn the_constants_stand_for_their_names() {
        let all = [
            (Metric::TIME, "time"),
            (Metric::TASK_SWITCHES, "task_switches"),
            (Metric::CPU_MIGRATIONS, "cpu_migrations"),
            (Metric::CONTEXT_SWITCHES, "context_switches"),
            (Metric::MIGRATIONS, "migrations"),
        ];
        for (metric, name) in all {
            assert_eq!(metric.to_string(), name);
        }
    }

    #[test]
    fn what_is_no_metric_is_refused_with_the_nearest() {
        for name in [
            "",
            "tim",
            "time:",
            "time:p50",
            "wakeup_latency",
            "wakeup_latency:p98",
            "share:",
            "share:x:nodex",
        ] {
            assert!(name.parse::<Metric>().is_err(), "{name}");
        }
        let said = "contextswitches".parse::<Metric>().unwrap_err().to_string();
        assert!(said.contains("`context_switches`"), "{said}");
    }
}
