//! `Claim`: one published result.

use std::collections::BTreeMap;

use crate::metric::Metric;

/// One published result.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// The file that it stands in, as it was given.
    pub file: String,
    /// Its name, unique in the file.
    pub id: String,
    /// Where it was published.
    pub source: String,
    /// The machine: a file or a built-in name, with its mode.
    pub topology: String,
    /// The policy expression of the side without the patch.
    pub baseline: String,
    /// The policy expression of the side with it.
    pub patched: String,
    /// The command that was run.
    pub workload: String,
    /// What was measured.
    pub metric: Metric,
    /// What is to be said where the file uses a name that the metric had in the past.
    pub note: Option<String>,
    /// Its unit, as published.
    pub unit: String,
    /// In which direction it is good.
    pub better: Better,
    /// What was found.
    pub published: Published,
    /// Of what kind the claim is.
    pub kind: Kind,
    /// How long the runs took on the real machine in s, without the patch and with it; none if that was not
    /// published.
    pub real_seconds: [Option<f64>; 2],
    /// Settings of both sides.
    pub options: BTreeMap<String, String>,
}

/// In which direction a metric is good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// Less is better.
    Lower,
    /// More is better.
    Higher,
    /// Neither: only the change itself is claimed.
    None,
}

/// What a claim is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// What the program reports.
    EndToEnd,
    /// What happens inside.
    Mechanism,
    /// A number that is computed without a run.
    Parameter,
}

/// What was published.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Published {
    /// The numbers themselves.
    pub values: Values,
    /// The spread from run to run without the patch, in percent.
    pub baseline_std_pct: Option<f64>,
    /// The same with it.
    pub patched_std_pct: Option<f64>,
}

/// The numbers that were published.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Values {
    /// Both sides.
    Both {
        /// Without the patch.
        baseline: f64,
        /// With it.
        patched: f64,
    },
    /// Only how they relate: patched over baseline.
    Ratio(f64),
    /// What a parameter must be.
    Exactly(f64),
}

impl Published {
    /// Patched over baseline; none for a parameter.
    #[must_use]
    pub fn ratio(&self) -> Option<f64> {
        match self.values {
            Values::Both { baseline, patched } => Some(patched / baseline),
            Values::Ratio(ratio) => Some(ratio),
            Values::Exactly(_) => None,
        }
    }

    /// The spread of both sides together in percent: the root of the sum of their squares, since
    /// the runs of the two sides have nothing to do with each other. 0 where none was published.
    #[must_use]
    pub fn spread_pct(&self) -> f64 {
        let [a, b] = [self.baseline_std_pct, self.patched_std_pct].map(|std| std.unwrap_or(0.0));
        (a * a + b * b).sqrt()
    }
}

impl Better {
    /// All, by their names in files.
    pub const NAMES: [(&'static str, Better); 3] =
        [("lower", Better::Lower), ("higher", Better::Higher), ("none", Better::None)];

    /// The name in files.
    #[must_use]
    pub fn name(self) -> &'static str {
        Better::NAMES[self as usize].0
    }
}

impl Kind {
    /// All, by their names in files.
    pub const NAMES: [(&'static str, Kind); 3] = [
        ("end_to_end", Kind::EndToEnd),
        ("mechanism", Kind::Mechanism),
        ("parameter", Kind::Parameter),
    ];

    /// The name in files.
    #[must_use]
    pub fn name(self) -> &'static str {
        Kind::NAMES[self as usize].0
    }
}
