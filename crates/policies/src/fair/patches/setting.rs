//! `PatchSetting`: a number or a word that a patch is made with.

use std::ops::RangeInclusive;

use crate::tunable::Tunable;

/// A setting of a patch, as it is listed and set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatchSetting {
    /// Its name, what it does, what it takes and its default: a number or a word.
    pub tunable: Tunable,
    /// Where it comes from.
    pub source: &'static str,
}

impl PatchSetting {
    /// A setting that takes a number of this unit.
    #[must_use]
    pub const fn number(
        key: &'static str,
        (doc, unit): (&'static str, &'static str),
        (range, default): (RangeInclusive<u64>, u64),
        source: &'static str,
    ) -> PatchSetting {
        PatchSetting { tunable: Tunable::Number { key, doc, unit, range, default }, source }
    }

    /// A setting that takes one of these words.
    #[must_use]
    pub const fn word(
        key: &'static str,
        doc: &'static str,
        (words, default): (&'static [&'static str], &'static str),
        source: &'static str,
    ) -> PatchSetting {
        PatchSetting { tunable: Tunable::Word { key, doc, words, default }, source }
    }

    /// Its name.
    #[must_use]
    pub fn key(&self) -> &'static str {
        self.tunable.key()
    }
}
