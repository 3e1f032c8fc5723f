//! `summary.json`: the metrics of one seed as the lab's own program has computed them.

mod cache;

use std::fs;
use std::path::Path;

use serde_json::{Map, Value as Json};

use crate::error::LabError;
use crate::reference::{is_counted, value};
use crate::results::Bench;
use crate::value::{Value, Values, round};
use cache::Cache;

/// The summary of a seed.
#[derive(Clone, Debug)]
pub struct Summary {
    scenarios: Map<String, Json>,
    benches: Map<String, Json>,
}

impl Summary {
    /// Reads `summary.json`.
    ///
    /// # Errors
    /// When it is no JSON or has no scenarios.
    pub fn read(path: &Path) -> Result<Summary, LabError> {
        let text = fs::read_to_string(path).map_err(|error| LabError::read(path, error))?;
        let expected = "an object with `scenarios`";
        let json: Json =
            serde_json::from_str(&text).map_err(|error| LabError::json(path, &error, expected))?;
        let part = |name: &str| json.get(name).and_then(Json::as_object).cloned();
        let scenarios =
            part("scenarios").ok_or_else(|| LabError::content(path, "none", expected))?;
        Ok(Summary { scenarios, benches: part("hackbench").unwrap_or_default() })
    }

    /// The names of its scenarios and of its command lines of hackbench.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.scenarios.keys().chain(self.benches.keys()).map(String::as_str)
    }

    /// The metrics of the scenario or command line of this name.
    #[must_use]
    pub fn scenario(&self, name: &str) -> Option<Box<dyn Values + '_>> {
        if is_counted(name) {
            let runs = self.benches.get(name)?.as_array()?;
            return Some(Box::new(Means::of_json(runs)));
        }
        Some(Box::new(Row(self.scenarios.get(name)?.as_object()?)))
    }
}

/// A scenario of a summary.
struct Row<'a>(&'a Map<String, Json>);

impl Row<'_> {
    fn number(&self, path: &[&str]) -> Option<f64> {
        self.json(path)?.as_f64()
    }

    fn json(&self, path: &[&str]) -> Option<&Json> {
        let (first, rest) = path.split_first()?;
        rest.iter().try_fold(self.0.get(*first)?, |json, key| json.get(key))
    }

    fn sorted(&self, path: &[&str]) -> Option<Value> {
        self.json(path).and_then(value)
    }

    /// What the summary does not tell did not happen.
    fn count(&self, path: &[&str]) -> f64 {
        self.number(path).unwrap_or(0.0)
    }

    /// `count` over all wakeups.
    fn part(&self, count: f64) -> Option<f64> {
        Some(round(count / self.number(&["wakeups", "wake"])?, 4))
    }

    /// The metric `what@at`.
    fn at(&self, what: &str, at: &str) -> Option<Value> {
        self.sorted(&["dist_at_ms", at, what.strip_suffix("_sorted").unwrap_or(what)])
    }

    fn plain(&self, metric: &str) -> Option<f64> {
        let within_llc = ["prev_same", "prev_smt", "prev_llc"];
        match metric {
            "migrations" => Some(self.count(&["migrations", "total"])),
            "wakeups" => self.number(&["wakeups", "wake"]),
            "frac_wake_on_prev" => self.part(self.count(&["wakeups", "prev_same"])),
            "frac_wake_within_llc_of_prev" => {
                self.part(within_llc.iter().map(|near| self.count(&["wakeups", near])).sum())
            }
            "migrations_per_wakeup" => self.part(self.count(&["migrations", "total"])),
            "lat_p50_us" => self.number(&["lat_us", "p50_med"]),
            "lat_p99_us" => self.number(&["lat_us", "p99_max"]),
            "exec_sd_over_mean" => {
                let [sd, mean] = ["sd", "mean"].map(|key| self.number(&["exec_ms", key]));
                Some(round(sd? / mean?, 4))
            }
            _ => self.number(&[metric]),
        }
    }
}

impl Values for Row<'_> {
    fn value(&self, metric: &str) -> Option<Value> {
        if let Some((what, at)) = metric.split_once('@') {
            return self.at(what, at);
        }
        if metric == "fork_per_llc_sorted" {
            return self.sorted(&["fork_per_llc"]);
        }
        if let Some(task) = metric.strip_prefix("share ") {
            return self.number(&["shares", task]).map(|share| round(share, 4).into());
        }
        if let Some(task) = metric.strip_prefix("slice_p50_ms ") {
            return self.number(&["slices_ms", task, "p50"]).map(Value::from);
        }
        let cache = || self.0.get("cache").and_then(Json::as_object).map(Cache);
        self.plain(metric).map(Value::from).or_else(|| cache()?.value(metric))
    }
}

/// The means of the counters of several runs of one command line.
#[derive(Clone, Debug, Default)]
pub struct Means {
    /// Name, sum and number of runs.
    sums: Vec<(&'static str, f64, f64)>,
}

impl Means {
    /// The counters by name.
    const NAMES: [&'static str; 4] =
        ["elapsed_ns", "context_switches", "cpu_migrations", "task_clock_ns"];

    /// The means of these runs.
    #[must_use]
    pub fn of(runs: &[Bench]) -> Means {
        let counters = |run: &Bench| {
            [run.elapsed_ns, run.context_switches, run.cpu_migrations, run.task_clock_ns]
        };
        Means::of_counters(runs.iter().map(counters))
    }

    fn of_json(runs: &[Json]) -> Means {
        let counter = |run: &Json, name| run.get(name).and_then(Json::as_u64).unwrap_or(0);
        Means::of_counters(runs.iter().map(|run| Means::NAMES.map(|name| counter(run, name))))
    }

    #[expect(clippy::cast_precision_loss, reason = "counts and times of a run stay below 2^53")]
    fn of_counters(runs: impl Iterator<Item = [u64; 4]>) -> Means {
        let mut sums = Means::NAMES.map(|name| (name, 0.0, 0.0));
        for run in runs {
            for ((_, sum, count), counter) in sums.iter_mut().zip(run) {
                (*sum, *count) = (*sum + counter as f64, *count + 1.0);
            }
        }
        Means { sums: sums.to_vec() }
    }
}

impl Values for Means {
    /// `elapsed_ns(mean of 3)` is the mean of the runs that there are.
    fn value(&self, metric: &str) -> Option<Value> {
        let name = metric.split('(').next()?;
        let (_, sum, count) = self.sums.iter().find(|(known, ..)| *known == name)?;
        (*count > 0.0).then(|| round(sum / count, 4).into())
    }
}
