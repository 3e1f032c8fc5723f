//! `Plan`: the cells of a sweep, from the file that describes them.

use std::path::Path;

use simsched_topology::{did_you_mean, nearest};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::axis::{self, Axis, KEYS};
use crate::bounded;
use crate::failure::Failure;
use crate::scenario_file::{Part, Reader, Written};
use crate::toml_file::{Doc, entries, scalar};

/// All that a sweep runs.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) file: String,
    pub(super) axes: Vec<Axis>,
    /// The first axis varies slowest.
    pub(super) cells: Vec<Cell>,
}

/// One scenario.
#[derive(Clone, Debug)]
pub(super) struct Cell {
    /// By axis, which of its values.
    points: Vec<usize>,
    pub(super) written: Written,
}

/// More cells than that are a mistake: a year of runs that take a minute each.
const MAX_CELLS: usize = 500_000;

/// By axis, which values are left out together; none is all.
type Excluded = Vec<Option<Vec<usize>>>;

impl Plan {
    /// The plan in a file.
    ///
    /// # Errors
    /// `FILE:LINE:` and what is wrong there.
    pub(super) fn read(path: &Path) -> Result<Plan, Failure> {
        let file = path.display().to_string();
        crate::output::inputs::reads(path)?;
        let text = bounded::text(path, bounded::WRITTEN)?;
        let doc = Doc { file: &file, text: &text };
        let root = doc.parse()?;
        let reader = Reader::new(doc, path);
        let (base, seeds) = base(&reader, &root)?;
        let mut axes = Vec::new();
        for (key, read) in [("grid", axis::of_grid as AxesOf), ("axis", axis::of_names)] {
            match root.get(key).map(|value| (value, value.get_ref())) {
                None => {}
                Some((_, DeValue::Table(table))) => axes.extend(read(&reader, table)?),
                Some((value, _)) => return Err(doc.expected(key, value, "a table")),
            }
        }
        axes.sort_by_key(Axis::start);
        axes.extend(seeds);
        if let Some(twice) = axes.iter().enumerate().find_map(|(nth, axis)| {
            axes[..nth].iter().any(|before| before.name == axis.name).then_some(&axis.name)
        }) {
            let what = format!("{twice}: found two axes of this name, expected one");
            return Err(Failure::Input(format!("{file}: {what}")));
        }
        let excluded = match root.get("exclude") {
            None => Vec::new(),
            Some(list) => exclusions(&reader, &axes, list)?,
        };
        let cells = cells(&base, &axes, &excluded, &file)?;
        Ok(Plan { file, axes, cells })
    }

    /// The values of a cell, by axis.
    pub(super) fn labels<'a>(&'a self, cell: &'a Cell) -> impl Iterator<Item = &'a str> {
        let label = |(axis, &point): (&'a Axis, &usize)| axis.values[point].label.as_str();
        self.axes.iter().zip(&cell.points).map(label)
    }
}

type AxesOf = fn(&Reader<'_>, &DeTable<'_>) -> Result<Vec<Axis>, Failure>;

/// What all cells share, and the axis of `seeds` if there is one.
fn base(reader: &Reader<'_>, root: &DeTable<'_>) -> Result<(Written, Option<Axis>), Failure> {
    let mut base = Written::default();
    let mut seeds = None;
    let known: Vec<&str> = KEYS.into_iter().chain(["seeds", "grid", "axis", "exclude"]).collect();
    for (key, value) in entries(root) {
        match key.get_ref().as_ref() {
            "grid" | "axis" | "exclude" => {}
            "seeds" => seeds = Some(value),
            name if KEYS.contains(&name) => {
                reader.part(name, value)?.into_iter().for_each(|part| base.set(part));
            }
            _ => return Err(axis::unknown(reader, "", key, &known)),
        }
    }
    let Some(value) = seeds else { return Ok((base, None)) };
    let number = scalar(value.get_ref()).and_then(|text| text.parse::<u64>().ok());
    let number = number.filter(|seeds| (1..=10_000).contains(seeds));
    let number =
        number.ok_or_else(|| reader.doc.expected("seeds", value, "a whole number in 1..=10000"))?;
    let given = base.options.iter().find(|given| given.id == "seed");
    let first = given.map_or(Some(1), |given| given.words.first()?.split_once('=')?.1.parse().ok());
    let at = reader.doc.at(&value.span());
    let axis = first.and_then(|first| Axis::of_seeds(first, number, &at)).ok_or_else(|| {
        reader.doc.expected("seeds", value, "a whole `seed` that has so many others behind it")
    })?;
    Ok((base, Some(axis)))
}

/// `[[exclude]]`: a cell that has all of these values is left out.
fn exclusions(
    reader: &Reader<'_>,
    axes: &[Axis],
    list: &Spanned<DeValue<'_>>,
) -> Result<Vec<Excluded>, Failure> {
    let what = "tables [[exclude]] of axes and values";
    let DeValue::Array(tables) = list.get_ref() else {
        return Err(reader.doc.expected("exclude", list, what));
    };
    let mut all = Vec::new();
    for table in tables.iter() {
        let mut excluded: Excluded = vec![None; axes.len()];
        let DeValue::Table(entries_of) = table.get_ref() else {
            return Err(reader.doc.expected("exclude", table, what));
        };
        for (key, value) in entries(entries_of) {
            match (key.get_ref().as_ref(), value.get_ref()) {
                ("settings", DeValue::Table(settings)) => {
                    for (key, value) in entries(settings) {
                        let name = format!("settings.{}", key.get_ref().as_ref());
                        exclude(reader, axes, &name, value, &mut excluded)?;
                    }
                }
                (name, _) => exclude(reader, axes, name, value, &mut excluded)?,
            }
        }
        if excluded.iter().all(Option::is_none) {
            return Err(reader
                .doc
                .wrong(&table.span(), "exclude: found nothing, expected an axis"));
        }
        all.push(excluded);
    }
    Ok(all)
}

/// One axis of an exclusion, and one or several of its values.
fn exclude(
    reader: &Reader<'_>,
    axes: &[Axis],
    name: &str,
    value: &Spanned<DeValue<'_>>,
    excluded: &mut Excluded,
) -> Result<(), Failure> {
    let Some(nth) = axes.iter().position(|axis| axis.name == name) else {
        let names: Vec<&str> = axes.iter().map(|axis| axis.name.as_str()).collect();
        let near = did_you_mean(&nearest(name, names.iter().copied()));
        let what =
            format!("exclude: no axis `{}`, only {}{near}", name.escape_debug(), names.join(", "));
        return Err(reader.doc.wrong(&value.span(), &what));
    };
    let values: Vec<&Spanned<DeValue<'_>>> = match value.get_ref() {
        DeValue::Array(values) => values.iter().collect(),
        _ => vec![value],
    };
    let mut points = Vec::new();
    for value in values {
        let label = match value.get_ref() {
            DeValue::Boolean(on) if name.starts_with("settings.") => {
                Some(if *on { "on" } else { "off" }.to_owned())
            }
            DeValue::Boolean(on) => Some(on.to_string()),
            other => scalar(other),
        };
        let axis = &axes[nth];
        let point = axis.values.iter().position(|point| Some(&point.label) == label.as_ref());
        let known: Vec<&str> = axis.values.iter().map(|point| point.label.as_str()).collect();
        let what = || format!("one of {}", known.join("; "));
        points.push(point.ok_or_else(|| reader.doc.expected(name, value, &what()))?);
    }
    excluded[nth] = Some(points);
    Ok(())
}

/// The product of the axes, without what is excluded.
fn cells(
    base: &Written,
    axes: &[Axis],
    excluded: &[Excluded],
    file: &str,
) -> Result<Vec<Cell>, Failure> {
    let product = axes.iter().try_fold(1usize, |all, axis| all.checked_mul(axis.values.len()));
    let all = product.filter(|all| *all <= MAX_CELLS).ok_or_else(|| {
        Failure::Input(format!(
            "{file}: found a grid of more than {MAX_CELLS} cells, expected fewer"
        ))
    })?;
    let mut cells = Vec::new();
    for nth in 0..all {
        let mut rest = nth;
        let mut points = vec![0; axes.len()];
        for (point, axis) in points.iter_mut().zip(axes).rev() {
            *point = rest % axis.values.len();
            rest /= axis.values.len();
        }
        let is_in = |excluded: &Excluded| {
            let mut each = excluded.iter().zip(&points);
            each.all(|(left_out, point)| left_out.as_ref().is_none_or(|out| out.contains(point)))
        };
        if excluded.iter().any(is_in) {
            continue;
        }
        let mut written = base.clone();
        let parts = axes.iter().zip(&points).flat_map(|(axis, &point)| &axis.values[point].parts);
        parts.cloned().for_each(|part: Part| written.set(part));
        cells.push(Cell { points, written });
    }
    if cells.is_empty() {
        return Err(Failure::Input(format!(
            "{file}: all cells are excluded, expected one at least"
        )));
    }
    Ok(cells)
}
