//! The metrics of a comparison: their means, and how they differ.

use simsched_claims::{Better, Metric};

use crate::number::{self, Number};
use crate::paired::Paired;
use crate::scenario::Outcome;
use crate::student::Spread;

/// What is compared, and in which direction it is good.
const METRICS: [(&str, &str, Better); 19] = [
    ("time", "s", Better::Lower),
    ("throughput", "1/s", Better::Higher),
    ("bandwidth:triad", "MB/s", Better::Higher),
    ("rps:p50", "1/s", Better::Higher),
    ("request_latency:p50", "us", Better::Lower),
    ("request_latency:p99", "us", Better::Lower),
    ("reported_wakeup_latency:p50", "us", Better::Lower),
    ("reported_wakeup_latency:p90", "us", Better::Lower),
    ("reported_wakeup_latency:p99", "us", Better::Lower),
    ("reported_wakeup_latency:p99.9", "us", Better::Lower),
    ("wakeup_latency:p50", "us", Better::Lower),
    ("wakeup_latency:p90", "us", Better::Lower),
    ("wakeup_latency:p99", "us", Better::Lower),
    ("wakeup_latency:p99.9", "us", Better::Lower),
    ("task_switches", "", Better::None),
    ("task_switches_per_cpu_second", "1/s", Better::None),
    ("cpu_migrations", "", Better::None),
    ("cpu_migrations_per_cpu_second", "1/s", Better::None),
    ("busy_cpus", "", Better::None),
];

/// Below this a change has no class, in percent, as in the verdicts on claims.
const NEUTRAL: f64 = 3.0;

/// One metric under all policies.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) unit: &'static str,
    pub(crate) better: Better,
    /// By policy.
    pub(crate) cells: Vec<Cell>,
}

/// One metric under one policy.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    /// By seed.
    pub(crate) values: Vec<f64>,
    pub(crate) spread: Spread,
    /// Half the interval by batch means of the first run, in percent; of a run that was cut.
    pub(crate) batch_ci95_pct: Option<f64>,
    /// Against the first policy; the first has none.
    pub(crate) paired: Option<Paired>,
}

/// The rows of `runs`, by policy and by seed. A metric that not every run has is left out.
pub(crate) fn rows(runs: &[Vec<Outcome>]) -> Vec<Row> {
    let row = |(name, unit, better): &(&'static str, &'static str, Better)| {
        let metric = Metric::parse(name).expect("a metric of the list");
        let numbers = |side: &Vec<Outcome>| -> Option<Vec<Number>> {
            side.iter().map(|outcome| Number::of(&metric, outcome).ok()).collect()
        };
        let sides: Vec<Vec<Number>> = runs.iter().map(numbers).collect::<Option<_>>()?;
        let values = |side: &Vec<Number>| side.iter().map(|number| number.value).collect();
        let values: Vec<Vec<f64>> = sides.iter().map(values).collect();
        if values.iter().any(Vec::is_empty) {
            return None;
        }
        let cell = |(idx, of): (usize, &Vec<f64>)| Cell {
            values: of.clone(),
            spread: Spread::of(of),
            batch_ci95_pct: sides[idx][0].batch_ci95_pct,
            paired: (idx > 0).then(|| Paired::of(&values[0], of)),
        };
        let cells = values.iter().enumerate().map(cell).collect();
        let is_rate = runs.iter().flatten().any(|outcome| number::is_per_second(&metric, outcome));
        let unit = if is_rate { "1/s" } else { unit };
        Some(Row { name, unit, better: *better, cells })
    };
    METRICS.iter().filter_map(row).collect()
}

impl Row {
    /// What a difference is worth, in percent: more is better, unless neither direction is.
    pub(crate) fn gain(&self, paired: &Paired) -> Option<f64> {
        let percent = paired.difference_pct?;
        Some(if self.better == Better::Lower { -percent } else { percent })
    }

    /// The interval of what a policy gains, in percent: of several seeds that of their pairs, of one that of
    /// the batch means of both sides.
    fn interval(&self, cell: &Cell, gain: f64) -> Option<(f64, f64)> {
        let ends = cell.paired.and_then(|paired| paired.low_pct.zip(paired.high_pct));
        if let Some((low, high)) = ends {
            return Some(if self.better == Better::Lower { (-high, -low) } else { (low, high) });
        }
        let base = self.cells.first()?;
        let ratio = cell.spread.mean / base.spread.mean;
        let half = (ratio * crate::student::both(base.batch_ci95_pct?, cell.batch_ci95_pct?)).abs();
        Some((gain - half, gain + half))
    }

    /// Whether a change is for the better; neither if it is none, or neither direction is.
    pub(crate) fn word(&self, paired: &Paired) -> &'static str {
        match self.gain(paired) {
            Some(gain) if self.better != Better::None && gain > 0.0 => " better",
            Some(gain) if self.better != Better::None && gain < 0.0 => " worse",
            _ => "",
        }
    }

    /// The classes of each policy but the first.
    pub(crate) fn others(&self) -> impl Iterator<Item = Classes> {
        let class = |gain: f64| match gain {
            gain if gain.abs() < NEUTRAL => 0,
            gain if gain > 0.0 => 1,
            _ => -1,
        };
        self.cells.iter().skip(1).map(move |cell| {
            let gain = cell.paired.and_then(|paired| self.gain(&paired)).unwrap_or(0.0);
            let (low, high) = self.interval(cell, gain).unwrap_or((gain, gain));
            Classes { class: class(gain), low: class(low), high: class(high) }
        })
    }

    /// The name of a class.
    pub(crate) fn named(&self, class: i8) -> &'static str {
        let names = match self.better {
            Better::None => ["falls", "neutral", "rises"],
            _ => ["worse", "neutral", "better"],
        };
        names[match class {
            0 => 1,
            class => 2 * usize::from(class > 0),
        }]
    }
}

/// What a change amounts to: -1 for worse or less, 0 for neutral, 1 for better or more; and the
/// same at both ends of its interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Classes {
    pub(crate) class: i8,
    pub(crate) low: i8,
    pub(crate) high: i8,
}
