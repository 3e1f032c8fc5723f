//! The files of results, and what is printed of them.

use serde_json::{Map, Value};

use super::flat::Table;
use super::store::Store;
use crate::failure::Failure;
use crate::output::units::{decimal, span_of};

/// Their names in the folder.
const CSV: &str = "results.csv";
const JSONL: &str = "results.jsonl";
const PARQUET: &str = "results.parquet";

/// All files of results that there may be.
pub(super) const FILES: [&str; 3] = [CSV, JSONL, PARQUET];

/// Whether this program can write Parquet, if it is to.
///
/// # Errors
/// When it is to and cannot.
pub(super) fn can_write(parquet: bool) -> Result<(), Failure> {
    if parquet && !cfg!(feature = "parquet") {
        let what = "this simsched is built without Parquet, expected one built with the feature";
        return Err(Failure::Input(format!("--parquet: {what} `parquet`")));
    }
    Ok(())
}

/// Writes all files, and tells their paths.
///
/// # Errors
/// When one cannot be written.
pub(super) fn write(store: &Store, table: &Table, parquet: bool) -> Result<Vec<String>, Failure> {
    store.write(CSV, &csv(table)?)?;
    store.write(JSONL, &jsonl(table))?;
    let mut names = vec![CSV, JSONL];
    if parquet {
        #[cfg(feature = "parquet")]
        super::parquet::write(&store.path(PARQUET), table)?;
        names.push(PARQUET);
    }
    Ok(names.into_iter().map(|name| store.path(name).display().to_string()).collect())
}

/// With a line of names; what there is not is empty.
fn csv(table: &Table) -> Result<String, Failure> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let failed = |error: &dyn std::fmt::Display| Failure::File(format!("{CSV}: {error}"));
    writer.write_record(&table.columns).map_err(|error| failed(&error))?;
    for row in &table.rows {
        writer.write_record(row.iter().map(text)).map_err(|error| failed(&error))?;
    }
    let bytes = writer.into_inner().map_err(|error| failed(&error))?;
    String::from_utf8(bytes).map_err(|error| failed(&error))
}

/// A value as CSV has it.
fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// One object for each row, with all columns.
fn jsonl(table: &Table) -> String {
    let mut text = String::new();
    for row in &table.rows {
        let row: Map<String, Value> =
            table.columns.iter().cloned().zip(row.iter().cloned()).collect();
        text.push_str(&Value::Object(row).to_string());
        text.push('\n');
    }
    text
}

/// What is shown of each value of an axis: the column, its head, and whether it is nanoseconds.
const SHOWN: [(&str, &str, bool); 4] = [
    ("elapsed_ns", "elapsed", true),
    ("context_switches", "ctx switches", false),
    ("migrations.total", "migrations", false),
    ("wakeup_latency_ns.p99", "wakeup p99", true),
];

/// How many values of an axis are listed.
const MOST: usize = 20;

/// The sweep as text: its files, and for each value of each axis the means over its cells.
pub(super) fn summary(table: &Table, files: &[String]) -> String {
    let failed = rows_with(table, "state", &"failed".into()).count();
    let done = table.rows.len() - failed;
    let mut text = format!("cells       {done} done, {failed} failed\n");
    let cut = rows_with(table, "partial", &true.into()).count();
    if cut > 0 {
        text += &format!("stopped     by duration: {cut} cells, their numbers are partial\n");
    }
    text += &format!("results     {}\n", files.join(", "));
    let head: String = SHOWN.iter().map(|(_, head, _)| format!("{head:>14}")).collect();
    for axis in 0..table.nr_axes {
        let mut values: Vec<&Value> = Vec::new();
        for row in &table.rows {
            if !values.contains(&&row[axis]) && values.len() <= MOST {
                values.push(&row[axis]);
            }
        }
        if values.len() < 2 || values.len() > MOST {
            continue;
        }
        let width =
            values.iter().filter_map(|value| value.as_str()).map(|text| text.chars().count());
        let width = width.chain([table.columns[axis].chars().count()]).max().unwrap_or(0).min(44);
        text += &format!(
            "\n{:<width$}  {:>7}{head}\n",
            shortened(&table.columns[axis], width),
            "cells"
        );
        for value in values {
            let rows: Vec<&Vec<Value>> =
                table.rows.iter().filter(|row| row[axis] == *value).collect();
            let label = shortened(value.as_str().unwrap_or_default(), width);
            let means: String =
                SHOWN.iter().map(|shown| format!("{:>14}", mean(table, &rows, shown))).collect();
            text += &format!("{label:<width$}  {:>7}{means}\n", rows.len());
        }
    }
    text
}

fn rows_with<'a>(
    table: &'a Table,
    name: &str,
    value: &'a Value,
) -> impl Iterator<Item = &'a Vec<Value>> {
    let column = table.column(name);
    table.rows.iter().filter(move |row| column.is_some_and(|column| row[column] == *value))
}

/// How many cells failed, and how many are less precise than asked for.
pub(super) fn misses(table: &Table) -> (usize, usize) {
    let failed = rows_with(table, "state", &"failed".into()).count();
    (failed, rows_with(table, "precision.reached", &Value::Bool(false)).count())
}

/// The mean over the rows that have a number there.
fn mean(table: &Table, rows: &[&Vec<Value>], (name, _, is_span): &(&str, &str, bool)) -> String {
    let Some(column) = table.column(name) else { return "-".to_owned() };
    let numbers: Vec<f64> = rows.iter().filter_map(|row| row[column].as_f64()).collect();
    if numbers.is_empty() {
        return "-".to_owned();
    }
    #[expect(clippy::cast_precision_loss, reason = "a number of cells")]
    let mean = numbers.iter().sum::<f64>() / numbers.len() as f64;
    if *is_span { span_of(mean) } else { decimal(mean) }
}

fn shortened(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    text.chars().take(width.saturating_sub(1)).chain(['~']).collect()
}
