//! `Summary`: what several runs with different seeds say together.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::inside::KEYS;
use crate::report::{End, Report, SCHEMA, ScenarioReport};
use crate::student::Spread;

/// Several runs and their spread.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Summary {
    pub(crate) schema: u32,
    /// The scenario of the first run.
    pub(crate) scenario: ScenarioReport,
    pub(crate) seeds: usize,
    /// Whether some run was stopped before its end, or was never started.
    pub(crate) partial: bool,
    /// Mean, deviation and interval of each number, in the tree of a [`Report`].
    pub(crate) summary: Map<String, Value>,
    pub(crate) runs: Vec<Report>,
}

/// The parts of a report that are no measurements.
const NO_MEASUREMENT: [&str; 2] = ["schema", "scenario"];

impl Summary {
    /// The summary of `runs` of a `scenario`, of which `asked` were to be. Runs that were interrupted are kept and do
    /// not count.
    pub(crate) fn of(scenario: ScenarioReport, runs: Vec<Report>, asked: u64) -> Summary {
        let counted: Vec<Map<String, Value>> =
            runs.iter().filter(|run| run.end != End::Interrupted).map(measurements).collect();
        let refs: Vec<&Map<String, Value>> = counted.iter().collect();
        Summary {
            schema: SCHEMA,
            scenario,
            seeds: runs.len(),
            partial: (runs.len() as u64) < asked || runs.iter().any(|run| run.partial),
            summary: spreads(&refs),
            runs,
        }
    }
}

fn measurements(report: &Report) -> Map<String, Value> {
    let Ok(Value::Object(mut tree)) = serde_json::to_value(report) else {
        unreachable!("a report is an object")
    };
    tree.retain(|key, _| !NO_MEASUREMENT.contains(&key.as_str()) && !KEYS.contains(&key.as_str()));
    tree
}

/// The spread of each number that all trees have, in the order of the first tree.
fn spreads(trees: &[&Map<String, Value>]) -> Map<String, Value> {
    let Some(first) = trees.first() else { return Map::new() };
    let each = first.keys().filter_map(|key| {
        let values: Option<Vec<&Value>> = trees.iter().map(|tree| tree.get(key)).collect();
        Some((key.clone(), spread(&values?)?))
    });
    each.collect()
}

fn spread(values: &[&Value]) -> Option<Value> {
    if let Some(numbers) = values.iter().map(|v| v.as_f64()).collect::<Option<Vec<f64>>>() {
        return serde_json::to_value(Spread::of(&numbers)).ok();
    }
    let trees = values.iter().map(|v| v.as_object()).collect::<Option<Vec<_>>>()?;
    Some(Value::Object(spreads(&trees)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(trees: &[Value], want: &Value) {
        let trees: Vec<_> = trees.iter().map(|tree| tree.as_object().unwrap()).collect();
        assert_eq!(Value::Object(spreads(&trees)), *want);
    }

    #[test]
    fn every_number_that_all_runs_have_gets_a_spread() {
        let one = |mean: f64| json!({ "mean": mean, "std": 0.0, "ci95": 0.0 });
        check(
            &[
                json!({ "a": 1, "b": { "c": 2, "name": "x" }, "only": 1, "time": null }),
                json!({ "a": 1, "b": { "c": 2, "name": "y" }, "time": 5 }),
            ],
            &json!({ "a": one(1.0), "b": { "c": one(2.0) } }),
        );
    }

    /// 4 and 6: mean 5, deviation sqrt(2), and 12.706 * sqrt(2) / sqrt(2).
    #[test]
    fn two_runs_have_an_interval() {
        let trees = [json!({ "a": 4 }), json!({ "a": 6 })];
        let trees: Vec<_> = trees.iter().map(|tree| tree.as_object().unwrap()).collect();
        let ci95 = spreads(&trees)["a"]["ci95"].as_f64().unwrap();
        assert!((ci95 - 12.706_2).abs() < 1e-4, "{ci95}");
    }
}
