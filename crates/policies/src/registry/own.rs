//! Policies that declare their features and settings as a table.

use std::fmt;
use std::sync::Arc;

use simsched_core::Policy;
use simsched_topology::nearest;

use super::entry::{Make, PolicyEntry};
use super::spec::PolicySpec;
use crate::catalog::{Change, ReasonInfo};
use crate::error::PolicyError;
use crate::tunable::Tunable;

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

    /// The word of the setting `key`.
    ///
    /// # Panics
    /// When the policy's table has no setting of that name that takes words.
    #[must_use]
    pub fn word(&self, key: &str) -> &'static str {
        let tunable = self.tunables.iter().find(|tunable| tunable.key() == key);
        let word = tunable.and_then(|tunable| tunable.word(self.number(key)));
        word.expect("the key of a word of the policy's table")
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
            Some(tunable) => Err(PolicyError::NeedsValue {
                key: key.to_owned(),
                expected: format!("{} {}", tunable.takes(), tunable.unit()).trim().to_owned(),
            }),
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
