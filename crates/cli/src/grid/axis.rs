//! `Axis`: what is varied, and the values that it takes; how a plan says so.

use std::ops::Range;

use simsched_topology::{did_you_mean, nearest};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::failure::Failure;
use crate::scenario_file::{Part, Reader};
use crate::toml_file::{described, entries, scalar};

/// What is varied.
#[derive(Clone, Debug)]
pub(super) struct Axis {
    /// A key of scenarios, `settings.KEY`, or a name of the plan's own.
    pub(super) name: String,
    pub(super) values: Vec<Point>,
    /// Where it begins in the file: axes vary in their order there, the last fastest.
    start: usize,
}

/// One value on an axis.
#[derive(Clone, Debug)]
pub(super) struct Point {
    /// As it stands in results.
    pub(super) label: String,
    pub(super) parts: Vec<Part>,
}

/// The keys that may differ between the cells of a sweep.
pub(super) const KEYS: [&str; 11] = [
    "topo",
    "policy",
    "workload",
    "settings",
    "seed",
    "duration",
    "precision",
    "precision_limit",
    "whole",
    "llc_interval",
    "paranoid",
];

/// What an axis of the plan's own cannot be called: the first columns of results, and the keys of reports,
/// which are columns, too.
const TAKEN: [&str; 18] = [
    "cell",
    "state",
    "error",
    "digest",
    "partial",
    "end",
    "simulated_ns",
    "start_ns",
    "events",
    "elapsed_ns",
    "context_switches",
    "task_switches",
    "cpu_migrations",
    "preemptions",
    "forks",
    "exits",
    "scanned_cpus",
    "idle_while_waiting_ns",
];

/// The axes of `[grid]`.
pub(super) fn of_grid(reader: &Reader<'_>, grid: &DeTable<'_>) -> Result<Vec<Axis>, Failure> {
    let mut axes = Vec::new();
    for (key, list) in entries(grid) {
        let name = key.get_ref().as_ref();
        if name == "settings" {
            let DeValue::Table(table) = list.get_ref() else {
                return Err(reader.doc.expected("grid.settings", list, "a table of lists"));
            };
            for (key, list) in entries(table) {
                let setting = key.get_ref().as_ref();
                let point = |value: &Spanned<DeValue<'_>>| {
                    let setting = reader.setting(setting, value)?;
                    Ok((setting.value.clone(), Part::Settings(vec![setting])))
                };
                let name = format!("settings.{setting}");
                axes.push(listed(reader, &name, key.span(), list, point)?);
            }
            continue;
        }
        if !KEYS.contains(&name) {
            return Err(unknown(reader, "grid", key, &KEYS));
        }
        let point = |value: &Spanned<DeValue<'_>>| {
            let part = reader.part(name, value)?.expect("it is a key of scenarios");
            Ok((label(&part, value), part))
        };
        axes.push(listed(reader, name, key.span(), list, point)?);
    }
    Ok(axes)
}

/// An axis of single values.
fn listed(
    reader: &Reader<'_>,
    name: &str,
    span: Range<usize>,
    list: &Spanned<DeValue<'_>>,
    point: impl Fn(&Spanned<DeValue<'_>>) -> Result<(String, Part), Failure>,
) -> Result<Axis, Failure> {
    let DeValue::Array(values) = list.get_ref() else {
        return Err(reader.doc.expected(&format!("grid.{name}"), list, "a list of values"));
    };
    let mut axis = Axis { name: name.to_owned(), values: Vec::new(), start: span.start };
    for value in values.iter() {
        let (label, part) = point(value)?;
        axis.add(reader, value.span(), Point { label, parts: vec![part] })?;
    }
    axis.not_empty(reader, &span)
}

/// The axes of `[axis.NAME]`, whose values have names and may change several keys at once.
pub(super) fn of_names(reader: &Reader<'_>, names: &DeTable<'_>) -> Result<Vec<Axis>, Failure> {
    entries(names).into_iter().map(|(key, value)| of_name(reader, key, value)).collect()
}

fn of_name(
    reader: &Reader<'_>,
    key: &Spanned<toml::de::DeString<'_>>,
    value: &Spanned<DeValue<'_>>,
) -> Result<Axis, Failure> {
    let name = key.get_ref().as_ref();
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    if name.is_empty()
        || !name.chars().all(is_plain)
        || KEYS.contains(&name)
        || TAKEN.contains(&name)
    {
        let what = "a new name of a-z, 0-9 and _ that is no key of a scenario or a report";
        let what = format!("axis: found the name {name:?}, expected {what}");
        return Err(reader.doc.wrong(&key.span(), &what));
    }
    let path = format!("axis.{name}");
    let DeValue::Table(points) = value.get_ref() else {
        let what = "a table of named values, such as small = { topo = \"t8\" }";
        return Err(reader.doc.expected(&path, value, what));
    };
    let mut axis = Axis { name: name.to_owned(), values: Vec::new(), start: key.span().start };
    for (label, value) in entries(points) {
        let label = label.get_ref().as_ref();
        let DeValue::Table(table) = value.get_ref() else {
            return Err(reader.doc.expected(&format!("{path}.{label}"), value, "a table of keys"));
        };
        let mut parts = Vec::new();
        for (key, value) in entries(table) {
            if !KEYS.contains(&key.get_ref().as_ref()) {
                return Err(unknown(reader, &format!("{path}.{label}"), key, &KEYS));
            }
            parts.extend(reader.part(key.get_ref(), value)?);
        }
        axis.add(reader, value.span(), Point { label: label.to_owned(), parts })?;
    }
    axis.not_empty(reader, &key.span())
}

impl Axis {
    /// The axis of so many seeds from `first` upwards.
    pub(super) fn of_seeds(first: u64, seeds: u64, at: &str) -> Option<Axis> {
        let point = |seed: u64| {
            let words = vec![format!("--seed={seed}")];
            let given =
                crate::scenario_file::Given { id: "seed".to_owned(), words, at: at.to_owned() };
            Point { label: seed.to_string(), parts: vec![Part::Option(given)] }
        };
        let last = first.checked_add(seeds - 1)?;
        let values = (first..=last).map(point).collect();
        Some(Axis { name: "seed".to_owned(), values, start: usize::MAX })
    }

    pub(super) fn start(&self) -> usize {
        self.start
    }

    fn add(
        &mut self,
        reader: &Reader<'_>,
        span: Range<usize>,
        point: Point,
    ) -> Result<(), Failure> {
        if self.values.iter().any(|known| known.label == point.label) {
            let what = format!("{}: found '{}' a second time", self.name, point.label);
            return Err(reader.doc.wrong(&span, &what));
        }
        self.values.push(point);
        Ok(())
    }

    fn not_empty(self, reader: &Reader<'_>, span: &Range<usize>) -> Result<Axis, Failure> {
        if self.values.is_empty() {
            let what = format!("{}: found no value, expected one at least", self.name);
            return Err(reader.doc.wrong(span, &what));
        }
        Ok(self)
    }
}

/// The sentence about a key that is none of these.
pub(super) fn unknown(
    reader: &Reader<'_>,
    table: &str,
    key: &Spanned<toml::de::DeString<'_>>,
    known: &[&str],
) -> Failure {
    let name = key.get_ref().as_ref();
    let near = did_you_mean(&nearest(name, known.iter().copied()));
    let near =
        if near.is_empty() { format!(", expected one of {}", known.join(", ")) } else { near };
    let name: String = name.escape_debug().take(80).collect();
    let table = if table.is_empty() { String::new() } else { format!("{table}: ") };
    reader.doc.wrong(&key.span(), &format!("{table}unknown key `{name}`{near}"))
}

/// A value as it stands in results.
fn label(part: &Part, value: &Spanned<DeValue<'_>>) -> String {
    match part {
        Part::Workload(words, _) => words.join(" "),
        _ => scalar(value.get_ref()).unwrap_or_else(|| described(value.get_ref())),
    }
}
