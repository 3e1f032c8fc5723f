//! An object of the file as rt-app asks it: keys once, values by type, complaints with their place.

use std::collections::{BTreeMap, BTreeSet};

use simsched_topology::on_one_line;

use super::json::{self, Entry, Kind, Value, Wrong};

/// A file: what it is called, and what is in it.
#[derive(Clone, Copy, Debug)]
pub(super) struct File<'a> {
    pub(super) name: &'a str,
    pub(super) text: &'a str,
    /// Where its lines end, in order: a long file may have a note for each.
    pub(super) line_ends: &'a [usize],
}

impl File<'_> {
    /// The line of a place.
    pub(super) fn line(&self, at: usize) -> usize {
        self.line_ends.partition_point(|end| *end < at) + 1
    }

    /// A complaint with file, line and column.
    pub(super) fn explain(&self, wrong: &Wrong) -> String {
        let (line, column) = json::line_and_column(self.text, wrong.at);
        format!("{}:{line}:{column}: {}", self.name, on_one_line(&wrong.what))
    }
}

/// Makes the keys of all objects unique as json-c does: the last value, at the place of the first. Tells
/// what is lost.
pub(super) fn keep_last(value: &mut Value, file: File<'_>, notes: &mut Vec<String>) {
    match &mut value.kind {
        Kind::Array(items) => items.iter_mut().for_each(|item| keep_last(item, file, notes)),
        Kind::Object(entries) => {
            let mut kept: Vec<Entry> = Vec::new();
            let mut places: BTreeMap<String, usize> = BTreeMap::new();
            for entry in std::mem::take(entries) {
                match places.get(&entry.key).map(|&place| &mut kept[place]) {
                    None => {
                        places.insert(entry.key.clone(), kept.len());
                        kept.push(entry);
                    }
                    Some(known) => {
                        notes.push(format!(
                            "`{}` of line {} counts in place of that of line {}, as in rt-app: keys \
                             are unique there (--workgen keeps both)",
                            on_one_line(&entry.key),
                            file.line(entry.at),
                            file.line(known.at),
                        ));
                        known.value = entry.value;
                    }
                }
            }
            kept.iter_mut().for_each(|entry| keep_last(&mut entry.value, file, notes));
            *entries = kept;
        }
        _ => {}
    }
}

/// Makes the keys of all objects unique as workgen does: a number behind each that was there before.
pub(super) fn number_keys(value: &mut Value) {
    match &mut value.kind {
        Kind::Array(items) => items.iter_mut().for_each(number_keys),
        Kind::Object(entries) => {
            let mut number = 1;
            let mut taken: BTreeSet<String> = BTreeSet::new();
            for entry in entries {
                if taken.contains(&entry.key) {
                    while taken.contains(&format!("{}{number}", entry.key)) {
                        number += 1;
                    }
                    entry.key = format!("{}{number}", entry.key);
                }
                taken.insert(entry.key.clone());
                number_keys(&mut entry.value);
            }
        }
        _ => {}
    }
}

/// An object whose keys are unique.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tree<'a> {
    /// Where it begins.
    pub(super) at: usize,
    pub(super) entries: &'a [Entry],
}

impl<'a> Tree<'a> {
    /// The object that this value is; `what` names it in the complaint.
    pub(super) fn of(value: &'a Value, what: &str) -> Result<Tree<'a>, Wrong> {
        match &value.kind {
            Kind::Object(entries) => Ok(Tree { at: value.at, entries }),
            kind => {
                let what = format!("{what}: expected an object, found {}", kind.name());
                Err(Wrong::new(value.at, what))
            }
        }
    }

    /// The value of a key; null is as if it were not there.
    pub(super) fn get(&self, key: &str) -> Option<&'a Value> {
        let found = self.entries.iter().find(|entry| entry.key == key);
        found.map(|entry| &entry.value).filter(|value| value.kind != Kind::Null)
    }

    /// The integer of a key.
    pub(super) fn int(&self, key: &str) -> Result<Option<i32>, Wrong> {
        self.get(key).map(|value| int(value, key)).transpose()
    }

    /// The boolean of a key.
    pub(super) fn bool(&self, key: &str) -> Result<Option<bool>, Wrong> {
        let bool = |value: &Value| match value.kind {
            Kind::Bool(is) => Ok(is),
            _ => Err(mismatch(value, key, "true or false")),
        };
        self.get(key).map(bool).transpose()
    }

    /// The text of a key.
    pub(super) fn text(&self, key: &str) -> Result<Option<&'a str>, Wrong> {
        self.get(key).map(|value| text(value, key)).transpose()
    }

    /// Where the value of a key is; the object itself if there is none.
    pub(super) fn at(&self, key: &str) -> usize {
        self.get(key).map_or(self.at, |value| value.at)
    }
}

/// The complaint about a value of another type.
pub(super) fn mismatch(value: &Value, key: &str, expected: &str) -> Wrong {
    Wrong::new(value.at, format!("`{key}`: expected {expected}, found {}", value.kind.name()))
}

/// An integer of 32 bits.
pub(super) fn int(value: &Value, key: &str) -> Result<i32, Wrong> {
    let Kind::Int(number) = value.kind else {
        return Err(mismatch(value, key, "an integer"));
    };
    i32::try_from(number).map_err(|_| {
        let range = format!("expected an integer from {} to {}", i32::MIN, i32::MAX);
        Wrong::new(value.at, format!("`{key}`: {range}, found {number}"))
    })
}

/// An integer that is not negative.
pub(super) fn natural(value: &Value, key: &str) -> Result<u32, Wrong> {
    let number = int(value, key)?;
    u32::try_from(number).map_err(|_| {
        Wrong::new(value.at, format!("`{key}`: expected an integer from 0 on, found {number}"))
    })
}

/// A text.
pub(super) fn text<'a>(value: &'a Value, key: &str) -> Result<&'a str, Wrong> {
    match &value.kind {
        Kind::Text(text) => Ok(text),
        _ => Err(mismatch(value, key, "a string")),
    }
}
