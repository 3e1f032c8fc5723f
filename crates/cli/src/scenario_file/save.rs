//! A command line as a scenario file.

use std::ffi::OsStr;
use std::path::Path;

use clap::{Arg, ArgMatches};
use simsched_topology::split_mode;
use toml::Value;

use super::is_said;
use super::written::{command, name, options};
use crate::failure::Failure;
use crate::output::{self, Whole};

/// What says where results go, and is no part of a scenario.
const NO_PART: [&str; 2] = ["json", "quiet"];

/// The scenario file of these arguments, which is to lie at `path`.
///
/// # Errors
/// The name of an option whose value is no text.
pub(super) fn text(run: &ArgMatches, path: Option<&Path>) -> Result<String, Failure> {
    let mut text = "# Run it with `simsched run` and the name of this file.\n".to_owned();
    let command = command();
    for arg in options(&command).filter(|arg| !NO_PART.contains(&arg.get_id().as_str())) {
        let id = arg.get_id().as_str();
        if !is_said(run, id) {
            continue;
        }
        let raw = run.get_raw(id).into_iter().flatten();
        let raw = raw.map(|value| value.to_str().map(str::to_owned).ok_or_else(|| odd(arg, value)));
        let values = raw.collect::<Result<Vec<String>, Failure>>()?;
        let value = match (arg.get_action().takes_values(), &values[..]) {
            (false, _) => Value::Boolean(true),
            (true, [one]) if id == "topo" => Value::String(machine(arg, one, path)?),
            (true, [one]) => scalar(one),
            (true, many) => Value::Array(many.iter().map(|one| scalar(one)).collect()),
        };
        text.push_str(&format!("{} = {value}\n", name(arg)));
    }
    let words: Vec<&String> = run.get_many("workload").into_iter().flatten().collect();
    if !words.is_empty() {
        text.push_str(&format!("workload = {}\n", workload(&words)));
    }
    let settings: Vec<&(String, String)> = run.get_many("settings").into_iter().flatten().collect();
    if !settings.is_empty() {
        text.push_str("\n[settings]\n");
    }
    let mut seen = std::collections::BTreeMap::new();
    for (key, value) in settings {
        seen.insert(key, value);
    }
    for (key, value) in seen {
        text.push_str(&format!("{} = {}\n", bare(key), scalar(value)));
    }
    Ok(text)
}

/// A path that a file in TOML cannot hold.
fn odd(arg: &Arg, path: &OsStr) -> Failure {
    let (option, path) = (arg.get_long().unwrap_or_default(), path.display());
    Failure::Input(format!("--{option}: found '{path}', expected text in UTF-8 to be saved"))
}

/// The command as one text, unless a word of it has blanks.
fn workload(words: &[&String]) -> Value {
    let text = words.iter().map(|word| word.as_str()).collect::<Vec<_>>().join(" ");
    if text.split_whitespace().eq(words.iter().map(|word| word.as_str())) {
        return Value::String(text);
    }
    Value::Array(words.iter().map(|word| Value::String((*word).clone())).collect())
}

/// A whole number as such, where it is written as one writes it.
fn scalar(text: &str) -> Value {
    match text.parse::<i64>() {
        Ok(number) if number.to_string() == text => Value::Integer(number),
        _ => Value::String(text.to_owned()),
    }
}

fn bare(key: &str) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if key.chars().all(is_bare) {
        key.to_owned()
    } else {
        Value::String(key.to_owned()).to_string()
    }
}

/// A machine's file is looked for beside the scenario: where that lies elsewhere, its path is absolute.
fn machine(arg: &Arg, text: &str, path: Option<&Path>) -> Result<String, Failure> {
    let (file, mode) = if Path::new(text).is_file() { (text, None) } else { split_mode(text) };
    let folder = path.and_then(Path::parent).filter(|folder| !folder.as_os_str().is_empty());
    let is_here = folder.is_none_or(|folder| folder == Path::new("."));
    match Path::new(file).canonicalize() {
        Ok(found) if found.is_file() && !is_here => {
            let mode = mode.map_or_else(String::new, |mode| format!("@{mode}"));
            let found = found.to_str().ok_or_else(|| odd(arg, found.as_os_str()))?;
            Ok(format!("{found}{mode}"))
        }
        _ => Ok(text.to_owned()),
    }
}

/// Writes the text to its place.
pub(super) fn write(path: &Path, text: &str) -> Result<(), Failure> {
    if path == Path::new("-") { output::data(text) } else { Whole::begin(path)?.write(text) }
}
