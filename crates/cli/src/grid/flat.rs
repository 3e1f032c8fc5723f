//! `Table`: the cells of a sweep as rows, with one column for each number of their reports.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::manifest::Manifest;
use super::store::{Kept, Store};
use crate::failure::Failure;
use crate::inside::KEYS;

/// What is no column: the same in all rows, or a series and no number.
const NO_COLUMN: [&str; 3] = ["schema", "llc", "whole"];

/// The columns between the axes and the report.
const OWN: [&str; 3] = ["cell", "state", "error"];

/// All results.
#[derive(Debug, Default)]
pub(super) struct Table {
    pub(super) columns: Vec<String>,
    /// By column; what a cell does not have is null.
    pub(super) rows: Vec<Vec<Value>>,
    /// How many of the columns are axes.
    pub(super) nr_axes: usize,
}

impl Table {
    /// The table of these cells, in the order of the manifest.
    ///
    /// # Errors
    /// When one has gone since it was done.
    pub(super) fn of<'a>(
        manifest: &Manifest,
        store: &Store,
        ids: impl Fn(&str) -> bool + 'a,
    ) -> Result<Table, Failure> {
        let mut columns = Columns::default();
        for name in manifest.axes.iter().map(String::as_str).chain(OWN) {
            columns.add(name.to_owned());
        }
        let mut rows = Vec::new();
        for cell in manifest.cells.iter().filter(|cell| ids(&cell.id)) {
            let kept = store.find(&cell.id).ok_or_else(|| {
                let what = format!("{} has gone or changed while it was read", cell.id);
                Failure::File(format!("{}: {what}", store.path("cells").display()))
            })?;
            let axes = cell.values.iter().map(|value| Value::from(value.as_str()));
            let own = own(&cell.id, &kept);
            let names = manifest.axes.iter().map(String::as_str).chain(OWN);
            let mut flat: Vec<(String, Value)> =
                names.map(str::to_owned).zip(axes.chain(own)).collect();
            if let Ok(report) = &kept.found {
                flatten_all(report, &mut flat);
            }
            rows.push(columns.take(flat));
        }
        let place: BTreeMap<usize, usize> =
            columns.order.iter().enumerate().map(|(place, &column)| (column, place)).collect();
        let placed = |row: Vec<(usize, Value)>| {
            let mut values = vec![Value::Null; columns.order.len()];
            row.into_iter().for_each(|(column, value)| values[place[&column]] = value);
            values
        };
        let names = columns.order.iter().map(|&column| columns.names[column].clone());
        Ok(Table {
            columns: names.collect(),
            rows: rows.into_iter().map(placed).collect(),
            nr_axes: manifest.axes.len(),
        })
    }

    /// Where the column of this name is.
    pub(super) fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column == name)
    }
}

fn own(id: &str, kept: &Kept) -> [Value; 3] {
    match &kept.found {
        Ok(_) => [id.into(), "done".into(), Value::Null],
        Err(why) => [id.into(), "failed".into(), why.as_str().into()],
    }
}

/// Columns by name, and the order in which they stand: a new one stands behind that which it follows in
/// the first report that has it.
#[derive(Default)]
struct Columns {
    names: Vec<String>,
    known: BTreeMap<String, usize>,
    order: Vec<usize>,
}

impl Columns {
    fn add(&mut self, name: String) {
        let after = self.order.last().copied();
        self.insert(name, after);
    }

    fn insert(&mut self, name: String, after: Option<usize>) -> usize {
        let column = self.names.len();
        let place = after.and_then(|after| self.order.iter().position(|&known| known == after));
        self.order.insert(place.map_or(0, |place| place + 1), column);
        self.known.insert(name.clone(), column);
        self.names.push(name);
        column
    }

    fn take(&mut self, flat: Vec<(String, Value)>) -> Vec<(usize, Value)> {
        let mut before = None;
        let mut row = Vec::with_capacity(flat.len());
        for (name, value) in flat {
            let column = match self.known.get(&name) {
                Some(&column) => column,
                None => self.insert(name, before),
            };
            before = Some(column);
            row.push((column, value));
        }
        row
    }
}

fn flatten_all(report: &Map<String, Value>, flat: &mut Vec<(String, Value)>) {
    let is_column = |key: &str| !NO_COLUMN.contains(&key) && !KEYS.contains(&key);
    for (key, value) in report.iter().filter(|(key, _)| is_column(key)) {
        flatten(key, value, flat);
    }
}

/// Parts have the names of their wholes before theirs: `migrations.by_cause.wakeup`. Lists of texts are no
/// columns.
fn flatten(name: &str, value: &Value, flat: &mut Vec<(String, Value)>) {
    match value {
        Value::Object(parts) => {
            parts.iter().for_each(|(key, value)| flatten(&format!("{name}.{key}"), value, flat));
        }
        Value::Array(parts) => {
            let parts = parts.iter().enumerate().filter(|(_, part)| !part.is_string());
            parts.for_each(|(nth, value)| flatten(&format!("{name}.{nth}"), value, flat));
        }
        _ => flat.push((name.to_owned(), value.clone())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn flat(value: &Value) -> Vec<(String, Value)> {
        let mut flat = Vec::new();
        flatten_all(value.as_object().unwrap(), &mut flat);
        flat
    }

    #[test]
    fn a_tree_becomes_columns_by_its_paths() {
        let report = json!({ "schema": 1, "a": { "b": { "c": 2 }, "d": null }, "e": [{ "f": 1.5 }, { "f": 2 }],
                             "words": ["x"], "llc": { "series": [1, 2] } });
        let want =
            [("a.b.c", json!(2)), ("a.d", Value::Null), ("e.0.f", json!(1.5)), ("e.1.f", json!(2))];
        assert_eq!(flat(&report), want.map(|(name, value)| (name.to_owned(), value)));
    }

    #[test]
    fn a_new_column_stands_where_its_report_has_it() {
        let mut columns = Columns::default();
        for report in [
            json!({ "a": 1, "c": 2 }),
            json!({ "a": 1, "b": 3, "c": 4, "d": 5 }),
            json!({ "z": 0, "d": 1 }),
        ] {
            columns.take(flat(&report));
        }
        let order: Vec<&str> =
            columns.order.iter().map(|&column| columns.names[column].as_str()).collect();
        assert_eq!(order, ["z", "a", "b", "c", "d"]);
    }
}
