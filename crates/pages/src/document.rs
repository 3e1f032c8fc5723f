//! `Document`: a file of results, checked so that whoever reads it need not.

use serde_json::{Map, Value};

use crate::error::PageError;
use crate::side::Side;

/// The version of the JSON that is read here.
const SCHEMA: u64 = 2;

/// A file of results: one run (also as a cell of a sweep, or of a replay), several seeds of one, or a
/// comparison.
#[derive(Clone, Debug)]
pub struct Document {
    /// One for each policy.
    pub(crate) sides: Vec<Side>,
    /// What only a comparison has.
    pub(crate) comparison: Option<Map<String, Value>>,
}

/// What a value should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Text,
    Flag,
    Number,
    /// Numbers by name.
    Counts,
    /// Such counts by name.
    Table,
    /// An object whose keys are checked one by one.
    Object,
    /// An array of numbers.
    Numbers,
    /// An array of such arrays.
    Rows,
    /// An array of objects.
    Objects,
}

/// What a run must have,
const NEEDED: [(&str, Kind); 9] = [
    ("scenario", Kind::Object),
    ("scenario.topology", Kind::Text),
    ("scenario.mode", Kind::Text),
    ("scenario.topology_file", Kind::Text),
    ("scenario.policy", Kind::Text),
    ("scenario.policy_full", Kind::Text),
    ("scenario.workload", Kind::Text),
    ("scenario.seed", Kind::Number),
    ("digest", Kind::Text),
];

/// and what it may lack, or have as null.
const KNOWN: [(&str, Kind); 42] = [
    ("scenario.settings", Kind::Object),
    ("scenario.nr_cpus", Kind::Number),
    ("scenario.nr_llcs", Kind::Number),
    ("scenario.nr_nodes", Kind::Number),
    ("scenario.duration_ns", Kind::Number),
    ("partial", Kind::Flag),
    ("end", Kind::Text),
    ("precision", Kind::Object),
    ("precision.exact", Kind::Flag),
    ("precision.figures", Kind::Object),
    ("cut", Kind::Object),
    ("simulated_ns", Kind::Number),
    ("events", Kind::Number),
    ("elapsed_ns", Kind::Number),
    ("context_switches", Kind::Number),
    ("task_switches", Kind::Number),
    ("cpu_migrations", Kind::Number),
    ("preemptions", Kind::Number),
    ("migrations", Kind::Object),
    ("migrations.total", Kind::Number),
    ("migrations.by_cause", Kind::Counts),
    ("migrations.by_distance", Kind::Counts),
    ("migrations.by_reason", Kind::Counts),
    ("migrations.by_cause_and_reason", Kind::Table),
    ("wakeups", Kind::Object),
    ("wakeups.by_reason", Kind::Counts),
    ("wakeup_latency_ns", Kind::Counts),
    ("runqueue_wait_ns", Kind::Counts),
    ("cpu_time_ns", Kind::Counts),
    ("idle_while_waiting_ns", Kind::Number),
    ("costs", Kind::Counts),
    ("workload", Kind::Object),
    ("machine.llcs", Kind::Objects),
    ("migrations_by_llc", Kind::Rows),
    ("cpu_utilisation", Kind::Numbers),
    ("histograms.wakeup_latency_ns.up_to", Kind::Numbers),
    ("histograms.wakeup_latency_ns.count", Kind::Numbers),
    ("histograms.runqueue_wait_ns.up_to", Kind::Numbers),
    ("histograms.runqueue_wait_ns.count", Kind::Numbers),
    ("series.interval_ns", Kind::Number),
    ("series.cpu_busy_pct", Kind::Rows),
    ("llc.series.utilisation", Kind::Rows),
];

/// Reads the text of a file of this name.
///
/// # Errors
/// One sentence with the file, and the line or the key.
pub fn read(file: &str, text: &str) -> Result<Document, PageError> {
    let value: Value = serde_json::from_str(text).map_err(|error| PageError::Json {
        file: file.to_owned(),
        line: error.line(),
        column: error.column(),
        what: said(&error),
    })?;
    let kind = |found: &str| PageError::Kind {
        file: file.to_owned(),
        found: found.to_owned(),
        expected: "what `run --json`, `compare --json` or `replay --json` writes, or a cell of a sweep",
    };
    let Value::Object(top) = value else {
        return Err(kind(&format!("{} at the top", shown(&value))));
    };
    if let Some(why) =
        top.get("error").and_then(Value::as_str).filter(|_| top.contains_key("report"))
    {
        return Err(kind(&format!("a cell of a sweep that has failed ({why})")));
    }
    let (top, prefix) = unwrapped(top);
    let check = Check { file, prefix };
    check.schema(&top)?;
    if top.contains_key("claims") {
        return Err(kind("the verdicts of `validate`"));
    }
    if top.contains_key("folders") {
        return Err(kind("the verdicts of `lab`"));
    }
    if top.contains_key("sched_domains") {
        return Err(kind("a machine of `topo show`"));
    }
    if top.contains_key("metrics") && top.contains_key("policies") {
        return comparison(&check, top);
    }
    if top.contains_key("runs") {
        let runs = check.runs(&top, "runs")?;
        if runs.is_empty() {
            let (key, expected) = ("runs".to_owned(), "at least one run");
            return Err(PageError::Key { file: file.into(), key, found: "none".into(), expected });
        }
        return Ok(Document { sides: vec![Side::new(file, runs)], comparison: None });
    }
    check.run(&top)?;
    Ok(Document { sides: vec![Side::new(file, vec![top])], comparison: None })
}

/// The report that a cell of a sweep, or a replay, holds beside what is its own, and what stands before the
/// report's keys there; anything else as it is.
fn unwrapped(mut top: Map<String, Value>) -> (Map<String, Value>, String) {
    let is_cell = top.contains_key("id") && top.contains_key("version");
    let key = match top.contains_key("recorded") {
        true => "run",
        false if is_cell => "report",
        false => return (top, String::new()),
    };
    match top.get_mut(key) {
        Some(Value::Object(report)) => (std::mem::take(report), format!("{key}.")),
        _ => (top, String::new()),
    }
}

fn comparison(check: &Check<'_>, top: Map<String, Value>) -> Result<Document, PageError> {
    check.known(&top, "topology", Kind::Text, true)?;
    check.known(&top, "workload", Kind::Text, true)?;
    check.known(&top, "policies", Kind::Objects, true)?;
    check.known(&top, "metrics", Kind::Objects, true)?;
    let mut sides = Vec::new();
    let policies = top.get("policies").and_then(Value::as_array).into_iter().flatten();
    for (idx, policy) in policies.enumerate() {
        let inner = Check { file: check.file, prefix: format!("{}policies[{idx}].", check.prefix) };
        let Some(policy) = policy.as_object() else { continue };
        inner.known(policy, "policy", Kind::Text, true)?;
        // A comparison that was written before had none.
        if policy.contains_key("runs") {
            let runs = inner.runs(policy, "runs")?;
            if !runs.is_empty() {
                sides.push(Side::new(check.file, runs));
            }
        }
    }
    Ok(Document { sides, comparison: Some(top) })
}

/// Checks the values of a file.
struct Check<'a> {
    file: &'a str,
    /// Before the keys.
    prefix: String,
}

impl Check<'_> {
    fn schema(&self, top: &Map<String, Value>) -> Result<(), PageError> {
        match top.get("schema") {
            Some(schema) if schema.as_u64() == Some(SCHEMA) => Ok(()),
            found => Err(self.wrong("schema", found, "2")),
        }
    }

    fn runs(
        &self,
        object: &Map<String, Value>,
        key: &str,
    ) -> Result<Vec<Map<String, Value>>, PageError> {
        self.known(object, key, Kind::Objects, true)?;
        let runs = object.get(key).and_then(Value::as_array).into_iter().flatten();
        let runs: Vec<_> = runs.filter_map(Value::as_object).cloned().collect();
        for (idx, run) in runs.iter().enumerate() {
            let prefix = format!("{}{key}[{idx}].", self.prefix);
            Check { file: self.file, prefix }.run(run)?;
        }
        Ok(runs)
    }

    fn run(&self, run: &Map<String, Value>) -> Result<(), PageError> {
        NEEDED.iter().try_for_each(|(key, kind)| self.known(run, key, *kind, true))?;
        KNOWN.iter().try_for_each(|(key, kind)| self.known(run, key, *kind, false))?;
        let llcs = at(run, "machine.llcs").and_then(Value::as_array).into_iter().flatten();
        for (idx, llc) in llcs.enumerate() {
            let prefix = format!("{}machine.llcs[{idx}].", self.prefix);
            let inner = Check { file: self.file, prefix };
            let Some(llc) = llc.as_object() else { continue };
            inner.known(llc, "package", Kind::Number, true)?;
            inner.known(llc, "node", Kind::Number, true)?;
            inner.known(llc, "cores", Kind::Text, true)?;
        }
        Ok(())
    }

    /// The value of a dotted key, if it is there, is what it should be.
    fn known(
        &self,
        object: &Map<String, Value>,
        key: &str,
        kind: Kind,
        needed: bool,
    ) -> Result<(), PageError> {
        match at(object, key) {
            None | Some(Value::Null) if !needed => Ok(()),
            Some(value) if kind.fits(value) => Ok(()),
            found => Err(self.wrong(key, found, kind.expected())),
        }
    }

    fn wrong(&self, key: &str, found: Option<&Value>, expected: &'static str) -> PageError {
        PageError::Key {
            file: self.file.to_owned(),
            key: format!("{}{key}", self.prefix),
            found: found.map_or_else(|| "nothing".to_owned(), shown),
            expected,
        }
    }
}

impl Kind {
    fn fits(self, value: &Value) -> bool {
        let all = |value: &Value, kind: Kind| {
            value.as_array().is_some_and(|items| items.iter().all(|item| kind.fits(item)))
        };
        let each = |value: &Value, fits: &dyn Fn(&Value) -> bool| {
            value.as_object().is_some_and(|items| items.values().all(fits))
        };
        match self {
            Kind::Text => value.is_string(),
            Kind::Flag => value.is_boolean(),
            Kind::Number => value.as_f64().is_some_and(|number| number >= 0.0),
            Kind::Counts => each(value, &|item| item.is_null() || Kind::Number.fits(item)),
            Kind::Table => each(value, &|item| Kind::Counts.fits(item)),
            Kind::Object => value.is_object(),
            Kind::Numbers => all(value, Kind::Number),
            Kind::Rows => all(value, Kind::Numbers),
            Kind::Objects => all(value, Kind::Object),
        }
    }

    fn expected(self) -> &'static str {
        match self {
            Kind::Text => "a text",
            Kind::Flag => "true or false",
            Kind::Number => "a number from 0",
            Kind::Counts => "an object of numbers",
            Kind::Table => "an object of objects of numbers",
            Kind::Object => "an object",
            Kind::Numbers => "an array of numbers",
            Kind::Rows => "an array of arrays of numbers",
            Kind::Objects => "an array of objects",
        }
    }
}

/// The value of a dotted key.
pub(crate) fn at<'a>(object: &'a Map<String, Value>, key: &str) -> Option<&'a Value> {
    let (first, rest) =
        key.split_once('.').map_or((key, None), |(first, rest)| (first, Some(rest)));
    let value = object.get(first)?;
    match rest {
        None => Some(value),
        Some(rest) => at(value.as_object()?, rest),
    }
}

/// A value as a message shows it.
fn shown(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Array(items) => format!("an array of {}", items.len()),
        Value::Object(_) => "an object".to_owned(),
        Value::String(text) if text.chars().count() > 40 => "a long text".to_owned(),
        _ => value.to_string(),
    }
}

/// What a parser says, without the place, which is told before it.
fn said(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.split(" at line ").next().unwrap_or(&text).to_owned()
}
