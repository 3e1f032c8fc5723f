//! `Tunable`: a feature or setting as a policy or a patch declares it.

use std::ops::RangeInclusive;

use crate::error::PolicyError;

/// A feature or setting of a policy that declares them as a table, or a setting of a patch. Its value is kept as a
/// number: 0 or 1, a word's place among the words, or the number itself.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Tunable {
    /// On or off.
    Feature {
        /// Its name.
        key: &'static str,
        /// What it does when it is on, in a line.
        doc: &'static str,
        /// Whether it is on without being asked for.
        default: bool,
    },
    /// One of several words.
    Word {
        /// Its name.
        key: &'static str,
        /// What it chooses, in a line.
        doc: &'static str,
        /// The words that it takes.
        words: &'static [&'static str],
        /// That which holds without being asked for.
        default: &'static str,
    },
    /// A whole number.
    Number {
        /// Its name.
        key: &'static str,
        /// What it does, in a line.
        doc: &'static str,
        /// The unit of its value.
        unit: &'static str,
        /// What it takes.
        range: RangeInclusive<u64>,
        /// Its value without being asked for.
        default: u64,
    },
}

impl Tunable {
    /// Its name.
    #[must_use]
    pub fn key(&self) -> &'static str {
        match self {
            Tunable::Feature { key, .. }
            | Tunable::Word { key, .. }
            | Tunable::Number { key, .. } => key,
        }
    }

    /// What it does, in a line.
    #[must_use]
    pub fn doc(&self) -> &'static str {
        match self {
            Tunable::Feature { doc, .. }
            | Tunable::Word { doc, .. }
            | Tunable::Number { doc, .. } => doc,
        }
    }

    /// The unit of its value; empty where that is a word.
    #[must_use]
    pub fn unit(&self) -> &'static str {
        match self {
            Tunable::Number { unit, .. } => unit,
            Tunable::Feature { .. } | Tunable::Word { .. } => "",
        }
    }

    /// What it takes, as it is listed.
    #[must_use]
    pub fn takes(&self) -> String {
        match self {
            Tunable::Feature { .. } => "off, on".to_owned(),
            Tunable::Word { words, .. } => words.join(", "),
            Tunable::Number { range, .. } => format!("{}..={}", range.start(), range.end()),
        }
    }

    /// Whether its default is a value that it takes.
    pub(crate) fn is_sound(&self) -> bool {
        match self {
            Tunable::Feature { .. } => true,
            Tunable::Word { words, default, .. } => words.contains(default),
            Tunable::Number { range, default, .. } => range.contains(default),
        }
    }

    /// Every word that it takes, or the numbers at both ends, as they are written.
    pub(crate) fn samples(&self) -> Vec<String> {
        match self {
            Tunable::Feature { .. } => vec!["off".to_owned(), "on".to_owned()],
            Tunable::Word { words, .. } => words.iter().map(|&word| word.to_owned()).collect(),
            Tunable::Number { range, .. } => {
                vec![range.start().to_string(), range.end().to_string()]
            }
        }
    }

    /// Its value without being asked for.
    pub(crate) fn default(&self) -> u64 {
        match self {
            Tunable::Feature { default, .. } => u64::from(*default),
            Tunable::Word { words, default, .. } => place(words, default).unwrap_or(0),
            Tunable::Number { default, .. } => *default,
        }
    }

    /// The word of this value; none if it does not take words.
    pub(crate) fn word(&self, value: u64) -> Option<&'static str> {
        let Tunable::Word { words, .. } = self else { return None };
        words.get(usize::try_from(value).ok()?).copied()
    }

    /// A value as it is written.
    pub(crate) fn written(&self, value: u64) -> String {
        match self {
            Tunable::Feature { .. } if value == 0 => "off".to_owned(),
            Tunable::Feature { .. } => "on".to_owned(),
            Tunable::Word { .. } => self.word(value).unwrap_or_default().to_owned(),
            Tunable::Number { .. } => value.to_string(),
        }
    }

    /// The value that is written so.
    ///
    /// # Errors
    /// When it does not take that.
    pub(crate) fn read(&self, text: &str) -> Result<u64, PolicyError> {
        let bad = |expected| bad_value(self.key(), text, expected);
        match self {
            Tunable::Feature { .. } => match text {
                "on" | "true" | "1" => Ok(1),
                "off" | "false" | "0" => Ok(0),
                _ => Err(bad("on or off".to_owned())),
            },
            Tunable::Word { words, .. } => {
                place(words, text).ok_or_else(|| bad(format!("one of {}", words.join(", "))))
            }
            Tunable::Number { key, range, unit, .. } => number(key, range, unit, text),
        }
    }
}

fn place(words: &[&str], word: &str) -> Option<u64> {
    words.iter().position(|it| *it == word).map(|at| at as u64)
}

/// The number of the setting `key` that is written so.
///
/// # Errors
/// When it is none, or out of range.
pub(crate) fn number(
    key: &str,
    range: &RangeInclusive<u64>,
    unit: &'static str,
    text: &str,
) -> Result<u64, PolicyError> {
    let number = text.parse().map_err(|_| {
        let of = if unit.is_empty() { String::new() } else { format!(" of {unit}") };
        let (from, to) = (range.start(), range.end());
        bad_value(key, text, format!("a whole number{of} from {from} to {to}"))
    })?;
    if range.contains(&number) {
        return Ok(number);
    }
    Err(PolicyError::OutOfRange { key: key.to_owned(), value: number, range: range.clone(), unit })
}

/// The error of a value that a key does not take.
pub(crate) fn bad_value(key: &str, value: &str, expected: String) -> PolicyError {
    PolicyError::BadValue { key: key.to_owned(), value: value.to_owned(), expected }
}
