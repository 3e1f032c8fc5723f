//! The prices of the nearest known machine, each marked as its.

use std::fmt::Write as _;

use simsched_topology::Arch;
use toml::{Table, Value};

use crate::known::Known;
use crate::shape::Shape;

/// What a number of another machine is marked with, before that machine's own source.
pub(crate) fn mark(known: &Known) -> String {
    let why = if known.is_asked { "as asked for" } else { "the nearest known machine" };
    format!("from {}, {why}", known.name)
}

/// Prices and other numbers that no description tells, as text of a machine file.
pub(crate) fn write(toml: &mut String, shape: &Shape, ranked: &[Known]) {
    let Some(nearest) = ranked.first() else { return };
    frequency(toml, shape, nearest);
    section(toml, "latency_ns", nearest);
    transfers(toml, shape, ranked);
    section(toml, "bandwidth_gbs", nearest);
    costs(toml, nearest);
    if shape.cores.len() < shape.os_cpus.len() {
        section(toml, "smt", nearest);
    }
    idle(toml, nearest);
}

fn section(toml: &mut String, name: &str, known: &Known) {
    let Some(table) = known.file.get(name).and_then(Value::as_table) else { return };
    line(toml, &format!("\n[{name}]"));
    for (key, value) in table.iter().filter(|(key, _)| *key != "note") {
        entry(toml, key, value, known);
    }
}

/// One number of a section, if the machine has it.
pub(crate) fn one(toml: &mut String, section: &str, key: &str, known: &Known) {
    if let Some(value) = known.file.get(section).and_then(|table| table.get(key)) {
        entry(toml, key, value, known);
    }
}

/// One number with its range and its mark.
fn entry(toml: &mut String, key: &str, value: &Value, known: &Known) {
    match value {
        Value::Array(items) => {
            line(toml, &format!("{key} = ["));
            for item in items.iter().filter_map(Value::as_table) {
                line(toml, &format!("  {},", fact(item, known)));
            }
            line(toml, "]");
        }
        Value::Table(table) => line(toml, &format!("{key} = {}", fact(table, known))),
        Value::Integer(_) | Value::Float(_) => {
            let alone = Table::from_iter([("v".to_owned(), value.clone())]);
            line(toml, &format!("{key} = {}", fact(&alone, known)));
        }
        _ => {}
    }
}

/// `{ v, lo, hi, src }`, and whatever else stands there.
fn fact(table: &Table, known: &Known) -> String {
    let numbers = ["threads", "v", "lo", "hi"].into_iter().filter_map(|key| {
        let value = table.get(key)?;
        Some(format!("{key} = {value}, "))
    });
    let numbers: String = numbers.collect();
    let source = table.get("src").and_then(Value::as_str).unwrap_or("");
    let source = if source.is_empty() { mark(known) } else { format!("{}: {source}", mark(known)) };
    format!("{{ {numbers}src = {} }}", Value::String(source))
}

/// The clocks of the nearest machine; the highest one is the source's own if it tells one.
fn frequency(toml: &mut String, shape: &Shape, nearest: &Known) {
    let Some(table) = nearest.file.get("frequency_ghz").and_then(Value::as_table) else { return };
    let own = shape.processor.max_mhz.map(|(_, most)| most);
    line(toml, "\n[frequency_ghz]");
    for (key, value) in table.iter().filter(|(key, _)| *key != "note") {
        let theirs = value.get("v").unwrap_or(value);
        let milli = theirs.as_float().map_or_else(
            || theirs.as_integer().and_then(|ghz| u64::try_from(ghz).ok()).map(|ghz| ghz * 1000),
            |ghz| format!("{:.0}", ghz * 1000.0).parse().ok(),
        );
        match own {
            Some(mhz) if key == "max_1core" => {
                let ghz = format!("{}.{:03}", mhz / 1000, mhz % 1000);
                line(
                    toml,
                    &format!(
                        "{key} = {{ v = {ghz}, src = {} }}",
                        Value::String(shape.kind.clone())
                    ),
                );
            }
            // No other clock of the nearest machine can be higher than the highest one here.
            Some(mhz) if milli.is_some_and(|theirs| theirs > mhz) => {
                let ghz = format!("{}.{:03}", mhz / 1000, mhz % 1000);
                let source = format!("{}, and not above max_1core", mark(nearest));
                line(toml, &format!("{key} = {{ v = {ghz}, src = {} }}", Value::String(source)));
            }
            _ => entry(toml, key, value, nearest),
        }
    }
}

/// What moving a line costs, by distance; a distance that the nearest machine does not have is priced
/// as on the nearest that has it.
fn transfers(toml: &mut String, shape: &Shape, ranked: &[Known]) {
    line(toml, "\n[c2c_ns]");
    let [cpus, cores, llcs, packages] =
        [shape.os_cpus.len(), shape.cores.len(), shape.llcs.len(), shape.packages.len()];
    for (key, is_needed) in [
        ("smt", cpus > cores),
        ("same_llc", true),
        ("same_socket", llcs > packages),
        ("cross_socket", packages > 1),
    ] {
        let of = |known: &Known| Some(known.file.get("c2c_ns")?.get(key)?.clone());
        let found = ranked.iter().find_map(|known| Some((known, of(known)?)));
        if let Some((known, value)) = found.filter(|_| is_needed) {
            entry(toml, key, &value, known);
        }
    }
}

fn costs(toml: &mut String, nearest: &Known) {
    line(toml, "\n[costs]");
    match nearest.file.get("costs") {
        Some(Value::String(list)) => line(toml, &format!("list = {}", Value::String(list.clone()))),
        Some(Value::Table(table)) => {
            for (key, value) in table.iter().filter(|(key, _)| *key != "note") {
                match value {
                    Value::String(list) => {
                        line(toml, &format!("{key} = {}", Value::String(list.clone())));
                    }
                    _ => entry(toml, key, value, nearest),
                }
            }
        }
        _ => {}
    }
}

fn idle(toml: &mut String, nearest: &Known) {
    let states = nearest.file.get("idle").and_then(Value::as_array);
    for state in states.into_iter().flatten().filter_map(Value::as_table) {
        line(toml, "\n[[idle]]");
        for (key, value) in state.iter().filter(|(key, _)| *key != "note") {
            match value {
                Value::String(_) | Value::Boolean(_) => line(toml, &format!("{key} = {value}")),
                _ => entry(toml, key, value, nearest),
            }
        }
    }
}

/// Distances that the source does not tell: of the nearest machine that has such a pair of nodes, and
/// that machine.
pub(crate) fn distance<'k>(key: &str, ranked: &'k [Known]) -> Option<(i64, &'k Known)> {
    ranked.iter().find_map(|known| {
        let modes = known.file.get("mode")?.as_table()?;
        let distance = modes.values().find_map(|mode| mode.get(key)?.as_integer())?;
        Some((distance, known))
    })
}

/// The size of a page in KiB: 4 but on Power.
pub(crate) fn page_kib(shape: &Shape, nearest: &Known) -> Option<i64> {
    let page = nearest.file.get("page_kib").and_then(Value::as_integer);
    page.filter(|_| shape.arch == Arch::Power)
}

pub(crate) fn line(toml: &mut String, text: &str) {
    // Writing to a text cannot fail.
    let _ = writeln!(toml, "{text}");
}
