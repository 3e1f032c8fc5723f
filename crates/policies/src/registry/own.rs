//! Policies that declare their features and settings as a table.

use std::fmt;
use std::ops::RangeInclusive;
use std::sync::Arc;

use simsched_core::Policy;
use simsched_topology::nearest;

use super::entry::{Make, PolicyEntry};
use super::spec::PolicySpec;
use crate::catalog::{Change, FeatureInfo, ReasonInfo, SettingInfo};
use crate::error::PolicyError;

/// A feature or setting of a policy that declares them as a table.
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

/// The values of a policy's features and settings, for which it is made.
#[derive(Clone, Copy, Debug)]
pub struct Chosen<'a> {
    tunables: &'static [Tunable],
    values: &'a [u64],
}

impl Chosen<'_> {
    /// The value of the setting `key`.
    ///
    /// # Panics
    /// When the policy's table has no such key.
    #[must_use]
    pub fn number(&self, key: &str) -> u64 {
        let at = self.tunables.iter().position(|tunable| tunable.key() == key);
        self.values[at.expect("the key of a tunable of the policy's table")]
    }

    /// Whether the feature `key` is on.
    ///
    /// # Panics
    /// When the policy's table has no such key.
    #[must_use]
    pub fn is_on(&self, key: &str) -> bool {
        self.number(key) != 0
    }
}

impl Tunable {
    /// Its name.
    #[must_use]
    pub fn key(&self) -> &'static str {
        match self {
            Tunable::Feature { key, .. } | Tunable::Number { key, .. } => key,
        }
    }

    /// Whether its default is a value that it takes.
    pub(super) fn is_sound(&self) -> bool {
        match self {
            Tunable::Feature { .. } => true,
            Tunable::Number { range, default, .. } => range.contains(default),
        }
    }

    /// The values at both ends of what it takes, as they are written.
    pub(crate) fn ends(&self) -> [String; 2] {
        match self {
            Tunable::Feature { .. } => [self.written(0), self.written(1)],
            Tunable::Number { range, .. } => {
                [self.written(*range.start()), self.written(*range.end())]
            }
        }
    }

    fn default(&self) -> u64 {
        match self {
            Tunable::Feature { default, .. } => u64::from(*default),
            Tunable::Number { default, .. } => *default,
        }
    }

    /// A value as it is written.
    fn written(&self, value: u64) -> String {
        match self {
            Tunable::Feature { .. } if value == 0 => "off".to_owned(),
            Tunable::Feature { .. } => "on".to_owned(),
            Tunable::Number { .. } => value.to_string(),
        }
    }

    fn read(&self, text: &str) -> Result<u64, PolicyError> {
        let bad = |expected: String| PolicyError::BadValue {
            key: self.key().to_owned(),
            value: text.to_owned(),
            expected,
        };
        match self {
            Tunable::Feature { .. } => match text {
                "on" | "true" | "1" => Ok(1),
                "off" | "false" | "0" => Ok(0),
                _ => Err(bad("on or off".to_owned())),
            },
            Tunable::Number { range, unit, .. } => {
                let found = text.parse().ok().filter(|value| range.contains(value));
                let of = if unit.is_empty() { String::new() } else { format!(" of {unit}") };
                let (from, to) = (range.start(), range.end());
                found.ok_or_else(|| bad(format!("a whole number{of} from {from} to {to}")))
            }
        }
    }

    pub(super) fn feature(&self) -> Option<FeatureInfo> {
        let Tunable::Feature { key, doc, default } = *self else { return None };
        Some(FeatureInfo { key, doc, source: "", default, is_patch: false })
    }

    pub(super) fn setting(&self) -> Option<SettingInfo> {
        let Tunable::Number { key, doc, unit, ref range, default } = *self else { return None };
        let range = format!("{}..={}", range.start(), range.end());
        Some(SettingInfo { key, doc, source: "", unit, range, default: default.to_string() })
    }
}

/// Makes a policy with the values of its features and settings.
type New = Arc<dyn Fn(&Chosen<'_>) -> Box<dyn Policy + Send> + Send + Sync>;

/// A policy that declares its features and settings as a table, or has none.
#[derive(Clone)]
pub(super) struct OwnSpec {
    name: String,
    tunables: &'static [Tunable],
    /// By tunable.
    values: Vec<u64>,
    /// Of its entry, if it has one.
    reasons: Option<&'static [ReasonInfo]>,
    new: New,
}

/// The policy that `new` makes before each run, under this name; it has no features or settings and
/// needs no entry.
#[must_use]
pub fn own(
    name: &str,
    new: impl Fn() -> Box<dyn Policy + Send> + Send + Sync + 'static,
) -> Box<dyn PolicySpec> {
    let (name, new) = (name.to_owned(), Arc::new(move |_: &Chosen<'_>| new()));
    Box::new(OwnSpec { name, tunables: &[], values: Vec::new(), reasons: None, new })
}

impl OwnSpec {
    /// What an entry makes without being asked for anything.
    ///
    /// # Panics
    /// When the entry has a specification of its own.
    pub(super) fn of(entry: &PolicyEntry) -> OwnSpec {
        let name = entry.info.name.to_owned();
        let (tunables, new): (&'static [Tunable], New) = match entry.make {
            Make::Plain(new) => (&[], Arc::new(move |_: &Chosen<'_>| new())),
            Make::Tuned { tunables, new } => (tunables, Arc::new(new)),
            Make::Parse { .. } | Make::File { .. } => {
                unreachable!("an entry with a specification of its own")
            }
        };
        let values = tunables.iter().map(Tunable::default).collect();
        OwnSpec { name, tunables, values, reasons: Some(entry.reasons), new }
    }

    fn at(&self, key: &str) -> Option<usize> {
        self.tunables.iter().position(|tunable| tunable.key() == key)
    }

    fn keys(&self) -> impl Iterator<Item = &'static str> {
        self.tunables.iter().map(Tunable::key)
    }
}

impl PolicySpec for OwnSpec {
    fn name(&self) -> String {
        let changed = self.changes().into_iter();
        let parts = changed.map(|change| format!("+{}={}", change.key, change.value));
        self.name.clone() + &parts.collect::<String>()
    }

    fn policy(&self) -> &str {
        &self.name
    }

    fn build(&self) -> Box<dyn Policy + Send> {
        (self.new)(&Chosen { tunables: self.tunables, values: &self.values })
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), PolicyError> {
        let Some(at) = self.at(key) else {
            return Err(PolicyError::UnknownKey {
                policy: self.name.clone(),
                key: key.to_owned(),
                nearest: nearest(key, self.keys()),
            });
        };
        self.values[at] = self.tunables[at].read(value)?;
        Ok(())
    }

    fn enable(&mut self, text: &str) -> Result<(), PolicyError> {
        let (key, value) = match text.strip_prefix("NO_") {
            Some(key) if self.at(key).is_some() => (key, "off"),
            _ => (text, "on"),
        };
        match self.at(key).map(|at| &self.tunables[at]) {
            Some(Tunable::Feature { .. }) => self.set(key, value),
            Some(Tunable::Number { range, unit, .. }) => {
                let expected = format!("{}..={} {unit}", range.start(), range.end());
                let expected = expected.trim().to_owned();
                Err(PolicyError::NeedsValue { key: key.to_owned(), expected })
            }
            None => Err(PolicyError::UnknownFeature {
                policy: self.name.clone(),
                key: key.to_owned(),
                nearest: nearest(key, self.keys()),
            }),
        }
    }

    fn get(&self, key: &str) -> Option<String> {
        self.at(key).map(|at| self.tunables[at].written(self.values[at]))
    }

    fn boxed(&self) -> Box<dyn PolicySpec> {
        Box::new(self.clone())
    }

    fn reasons(&self) -> Option<Vec<&'static str>> {
        Some(self.reasons?.iter().map(|reason| reason.name).collect())
    }

    fn changes(&self) -> Vec<Change> {
        let each = self.tunables.iter().zip(&self.values);
        let changed = each.filter(|(tunable, value)| tunable.default() != **value);
        let change = |(tunable, value): (&Tunable, &u64)| Change {
            key: tunable.key(),
            value: tunable.written(*value),
            default: tunable.written(tunable.default()),
        };
        changed.map(change).collect()
    }
}

impl fmt::Debug for OwnSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let OwnSpec { name, values, .. } = self;
        f.debug_struct("OwnSpec")
            .field("name", name)
            .field("values", values)
            .finish_non_exhaustive()
    }
}
