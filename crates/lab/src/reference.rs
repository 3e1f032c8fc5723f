//! What a kernel did: the metrics of a folder's scenarios over its seeds, with their classes.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use serde_json::Value as Json;
use simsched_workloads::lab;

use crate::error::LabError;
use crate::value::Value;
use crate::verdict::Class;

/// A scenario, or a command line of hackbench, as a kernel ran it.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// Its name, such as `hogs-free-24`, or `hackbench -T -p -g 1 -f 2 -l 500`.
    pub name: String,
    /// Its metrics in the order of the file.
    pub metrics: Vec<Metric>,
    /// How long its tasks were to run, in ms, where the recordings say so: some machines ran a scenario for a
    /// shorter time than its name stands for.
    pub length_ms: Option<u64>,
    /// What was run on the same machine since its boot, one behind the other, up to this scenario or to a later one;
    /// none where the recordings do not say so. Of the lab's cache set only.
    pub series: Option<Arc<[Turn]>>,
}

/// A scenario among those that were run one behind the other.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Turn {
    /// Its name.
    pub name: String,
    /// How long its tasks were to run, in ms; none if as long as its name stands for.
    pub length_ms: Option<u64>,
}

/// A metric as a kernel had it.
#[derive(Clone, Debug, PartialEq)]
pub struct Metric {
    /// Its name.
    pub name: String,
    /// How far it can be trusted.
    pub class: Class,
    /// Its value for each seed.
    pub values: Vec<Value>,
}

impl Scenario {
    /// A scenario of this name that runs as long as the name stands for.
    #[must_use]
    pub fn new(name: &str, metrics: Vec<Metric>) -> Scenario {
        Scenario { name: name.to_owned(), metrics, length_ms: None, series: None }
    }

    /// The scenario among others.
    pub(crate) fn turn(&self) -> Turn {
        Turn { name: self.name.clone(), length_ms: self.length_ms }
    }

    /// What was run on the same machine since its boot; where that is not known, the lab's cache set up to it.
    pub(crate) fn series(&self) -> Arc<[Turn]> {
        if let Some(series) = &self.series {
            return Arc::clone(series);
        }
        let mut names: Vec<&str> = lab::cache_set().collect();
        names.truncate(names.iter().position(|name| *name == self.name).unwrap_or(0));
        let before = names.into_iter().map(|name| Turn { name: name.to_owned(), length_ms: None });
        before.chain([self.turn()]).collect()
    }

    /// Whether it is a run of hackbench without a trace, which has counters and nothing else.
    #[must_use]
    pub fn is_counted(&self) -> bool {
        is_counted(&self.name)
    }
}

/// Whether a scenario of this name is a command line.
pub(crate) fn is_counted(name: &str) -> bool {
    name.contains(' ')
}

/// Reads `robustness.json`.
///
/// # Errors
/// When it is no JSON, or a metric lacks its class or its values.
pub fn read(path: &Path) -> Result<Vec<Scenario>, LabError> {
    let text = fs::read_to_string(path).map_err(|error| LabError::read(path, error))?;
    let expected = "an object with `scenarios`";
    let json: Json =
        serde_json::from_str(&text).map_err(|error| LabError::json(path, &error, expected))?;
    let scenarios = json.get("scenarios").and_then(Json::as_object);
    let scenarios = scenarios.ok_or_else(|| LabError::content(path, "none", expected))?;
    let scenario = |(name, json): (&String, &Json)| {
        let metrics = json.as_object().into_iter().flatten();
        let metric = |(metric, json): (&String, &Json)| {
            parse(metric, json).ok_or_else(|| {
                let found = format!("{json} for `{metric}` of `{name}`");
                LabError::content(path, found, "a `class` and the `values` of the seeds")
            })
        };
        let mut metrics = metrics.map(metric).collect::<Result<Vec<Metric>, _>>()?;
        metrics.retain(|metric| !metric.values.is_empty());
        Ok(Scenario::new(name, metrics))
    };
    scenarios.iter().map(scenario).collect()
}

/// A seed without a value (`null`) had nothing to measure.
fn parse(name: &str, json: &Json) -> Option<Metric> {
    let class = Class::from_name(json.get("class")?.as_str()?)?;
    let seeds = json.get("values")?.as_array()?.iter().filter(|seed| !seed.is_null());
    let values = seeds.map(written).collect::<Option<Vec<_>>>()?;
    Some(Metric { name: name.to_owned(), class, values })
}

/// A number, or counts in the order in which the comparison of the seeds has put them.
fn written(json: &Json) -> Option<Value> {
    match json {
        Json::Array(counts) => {
            counts.iter().map(Json::as_u64).collect::<Option<_>>().map(Value::Vector)
        }
        json => value(json),
    }
}

/// A number, or counts by LLC or node.
pub(crate) fn value(json: &Json) -> Option<Value> {
    match json {
        Json::Array(counts) => {
            counts.iter().map(Json::as_u64).collect::<Option<_>>().map(Value::sorted)
        }
        json => json.as_f64().map(Value::from),
    }
}
