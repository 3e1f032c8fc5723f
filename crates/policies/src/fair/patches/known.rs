//! `Patches`: which patches there are, and which of them are on.

use std::sync::LazyLock;

use super::{PATCHES, Patch};
use crate::fair::features::Version;
use crate::fair::select::reason::{self, ReasonRow};

/// The patches that a fair class knows, with the reasons of all of them.
#[derive(Debug)]
struct Table {
    patches: Vec<&'static Patch>,
    /// By number.
    names: Vec<&'static str>,
    docs: Vec<&'static str>,
}

static BUILTIN: LazyLock<Table> = LazyLock::new(|| Table::new(PATCHES.to_vec()));

impl Table {
    fn new(patches: Vec<&'static Patch>) -> Table {
        let (mut names, mut docs) = (Vec::new(), Vec::new());
        for ReasonRow { reason, name, doc } in
            reason::ALL.iter().chain(patches.iter().flat_map(|patch| patch.reasons))
        {
            let at = usize::from(reason.0);
            names.resize(names.len().max(at + 1), "");
            docs.resize(docs.len().max(at + 1), "");
            (names[at], docs[at]) = (name, doc.trim_ascii());
        }
        Table { patches, names, docs }
    }
}

/// The patches of a fair class: which there are, and which of them are on.
#[derive(Clone, Copy, Debug)]
pub struct Patches {
    table: &'static Table,
    /// By patch.
    on: u64,
}

impl PartialEq for Patches {
    fn eq(&self, other: &Patches) -> bool {
        std::ptr::eq(self.table, other.table) && self.on == other.on
    }
}

impl Eq for Patches {}

impl Patches {
    /// Those of this crate; on are those that a kernel of this version has.
    #[must_use]
    pub fn of(version: Version) -> Patches {
        let patches = BUILTIN.patches.iter().enumerate();
        let on = patches.filter(|(_, patch)| patch.is_of(version)).map(|(at, _)| 1 << at).sum();
        Patches { table: &BUILTIN, on }
    }

    /// These patches and one more that is on.
    ///
    /// # Panics
    /// When there is none of this name.
    #[must_use]
    pub fn with(mut self, key: &str) -> Patches {
        assert!(self.set(key, true), "a patch of this name: {key}");
        self
    }

    /// Switches the patch of this name; false if there is none.
    pub fn set(&mut self, key: &str, on: bool) -> bool {
        let Some(at) = self.at(key) else { return false };
        self.on = self.on & !(1 << at) | u64::from(on) << at;
        true
    }

    /// Whether the patch of this name is on; not if there is none.
    #[must_use]
    pub fn is_on(self, key: &str) -> bool {
        self.at(key).is_some_and(|at| self.on & 1 << at != 0)
    }

    /// All that there are, in their order.
    #[must_use]
    pub fn known(self) -> &'static [&'static Patch] {
        &self.table.patches
    }

    /// The patch of this name.
    #[must_use]
    pub fn find(self, key: &str) -> Option<&'static Patch> {
        Some(self.table.patches[self.at(key)?])
    }

    /// The names of the reasons of the fair class and of all patches, by number.
    #[must_use]
    pub fn reasons(self) -> &'static [&'static str] {
        &self.table.names
    }

    /// What those reasons mean, in one line each.
    #[must_use]
    pub fn reason_docs(self) -> &'static [&'static str] {
        &self.table.docs
    }

    fn at(self, key: &str) -> Option<usize> {
        self.table.patches.iter().position(|patch| patch.key == key)
    }
}
