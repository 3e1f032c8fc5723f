//! `Side`: the runs of one scenario with one or several seeds.

use serde_json::{Map, Value};

use crate::document::at;

/// The runs of one scenario, by seed.
#[derive(Clone, Debug)]
pub(crate) struct Side {
    /// Where they are from.
    pub(crate) file: String,
    /// All of them, interrupted ones too; at least one.
    pub(crate) runs: Vec<Map<String, Value>>,
}

impl Side {
    pub(crate) fn new(file: &str, runs: Vec<Map<String, Value>>) -> Side {
        Side { file: file.to_owned(), runs }
    }

    /// The first run, which tells what all are.
    pub(crate) fn first(&self) -> &Map<String, Value> {
        &self.runs[0]
    }

    /// Those that count: not those that were interrupted, as long as there are others.
    pub(crate) fn counted(&self) -> Vec<&Map<String, Value>> {
        let is_whole = |run: &&Map<String, Value>| text(run, "end") != "interrupted";
        let whole: Vec<_> = self.runs.iter().filter(is_whole).collect();
        if whole.is_empty() { self.runs.iter().collect() } else { whole }
    }

    /// A text of the first run; nothing if it has none.
    pub(crate) fn text(&self, key: &str) -> &str {
        text(self.first(), key)
    }

    /// The seeds of the runs that count.
    pub(crate) fn seeds(&self) -> Vec<u64> {
        self.counted().iter().filter_map(|run| at(run, "scenario.seed")?.as_u64()).collect()
    }

    /// The seeds as people say them.
    pub(crate) fn seeds_told(&self) -> String {
        let seeds = self.seeds();
        let is_row = seeds.windows(2).all(|pair| pair[1] == pair[0] + 1);
        match seeds.as_slice() {
            [] => "none".to_owned(),
            [one] => one.to_string(),
            [first, .., last] if is_row => format!("{first} to {last}"),
            all => all.iter().map(u64::to_string).collect::<Vec<_>>().join(", "),
        }
    }

    /// A number of each run that counts; none if not all have it.
    pub(crate) fn values(&self, key: &str) -> Option<Vec<f64>> {
        self.counted().iter().map(|run| at(run, key)?.as_f64()).collect()
    }

    /// A number that a rule finds in each run.
    pub(crate) fn each(
        &self,
        number: impl Fn(&Map<String, Value>) -> Option<f64>,
    ) -> Option<Vec<f64>> {
        self.counted().into_iter().map(number).collect()
    }

    /// The names of counts, in the order of the first run.
    pub(crate) fn names(&self, key: &str) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for run in self.counted() {
            let counts = at(run, key).and_then(Value::as_object);
            for name in counts.into_iter().flat_map(Map::keys) {
                if !names.contains(name) {
                    names.push(name.clone());
                }
            }
        }
        names
    }

    /// The mean of a count of the whole work over the runs; what a run lacks is none in it.
    pub(crate) fn mean(&self, key: &str) -> f64 {
        self.mean_of(|run| at(run, key).and_then(Value::as_f64))
    }

    /// The mean of one of several counts whose name may have dots.
    pub(crate) fn mean_in(&self, key: &str, name: &str) -> f64 {
        self.mean_of(|run| at(run, key)?.as_object()?.get(name)?.as_f64())
    }

    #[expect(clippy::cast_precision_loss, reason = "runs are few")]
    fn mean_of(&self, number: impl Fn(&Map<String, Value>) -> Option<f64>) -> f64 {
        let runs = self.counted();
        let scaled = |run: &&Map<String, Value>| number(run).unwrap_or(0.0) * whole(run);
        runs.iter().map(scaled).sum::<f64>() / runs.len().max(1) as f64
    }

    /// Whether any run has something there.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.counted().iter().any(|run| at(run, key).is_some_and(|value| !value.is_null()))
    }

    /// What tells it from others: the policy with all that is not the default, and what `--set` gave
    /// beyond that.
    pub(crate) fn name(&self) -> String {
        let policy = self.text("scenario.policy_full");
        let settings = at(self.first(), "scenario.settings").and_then(Value::as_object);
        let extra =
            settings.into_iter().flatten().filter(|(key, _)| !policy.contains(key.as_str()));
        let extra: Vec<String> =
            extra.map(|(key, value)| format!("{key}={}", plain(value))).collect();
        if extra.is_empty() { policy.to_owned() } else { format!("{policy} {}", extra.join(" ")) }
    }

    pub(crate) fn machine(&self) -> String {
        format!("{}@{}", self.text("scenario.topology"), self.text("scenario.mode"))
    }

    pub(crate) fn workload(&self) -> &str {
        self.text("scenario.workload")
    }
}

/// A text of a run; nothing if it has none.
pub(crate) fn text<'a>(run: &'a Map<String, Value>, key: &str) -> &'a str {
    at(run, key).and_then(Value::as_str).unwrap_or("")
}

/// A text as it is, anything else as JSON.
pub(crate) fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// By how much the counts of a run grow, if it was cut and says how much work there is in all.
pub(crate) fn whole(run: &Map<String, Value>) -> f64 {
    let of = |key: &str| at(run, key).and_then(Value::as_f64).filter(|number| *number > 0.0);
    of("cut.work_total").zip(of("cut.work")).map_or(1.0, |(total, done)| total / done)
}
