//! `Patches`: which patches there are, and which of them are on.

use std::sync::LazyLock;

use simsched_core::Reason;

use super::{Form, PATCHES, Patch};
use crate::fair::features::{CHOICES, Version};
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

/// Whether `patch` can stand behind `patches`, whose reasons have these names.
fn check(patch: &Patch, patches: &[&'static Patch], names: &[&'static str]) -> Result<(), String> {
    let wrong = |what: &str| Err(what.to_owned());
    if patches.len() == MOST {
        return wrong("expected at most 64 patches");
    }
    if ["NO_", "sched_"].iter().any(|prefix| patch.key.starts_with(prefix)) {
        return wrong("its name: expected neither NO_ nor sched_ in front");
    }
    let policy = match patch.policy {
        "cfs" => Version::CFS,
        "eevdf" => Version::EEVDF,
        _ => return wrong("its policy: expected cfs or eevdf"),
    };
    let has = |version: &str| policy.iter().any(|it| it.name() == version);
    let mut versions = patch.forms.iter().filter_map(|form| form.version).chain(patch.version);
    if !versions.all(has) {
        return wrong("a version: expected one that its policy has");
    }
    let is_word = |form: &Form| {
        let setting = CHOICES.iter().find(|choice| choice.key == form.setting);
        setting.is_some_and(|choice| choice.values.contains(&form.name))
    };
    if !patch.forms.iter().all(is_word) {
        return wrong("a form: expected a word of its setting");
    }
    check_reasons(patch.reasons, names)
}

/// Whether these reasons can stand behind those of these names: each is one of them, or the next one.
fn check_reasons(reasons: &[ReasonRow], names: &[&'static str]) -> Result<(), String> {
    let mut names = names.to_vec();
    for ReasonRow { reason, name, .. } in reasons {
        let (at, next) = (usize::from(reason.0), names.len());
        if names.get(at) == Some(name) {
            continue;
        }
        let is_new = !names.contains(name) && !Reason::CORE_NAMES.contains(name);
        if at != next || !is_new {
            return Err(format!("its reason {name}: expected the number {next} and a new name"));
        }
        names.push(name);
    }
    let most = usize::from(u8::MAX) + 1 - Reason::CORE_NAMES.len();
    if names.len() > most { Err(format!("expected at most {most} reasons in all")) } else { Ok(()) }
}

/// As many patches as a set of them has bits.
const MOST: usize = 64;

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
    /// Those of this crate; on are those that are so in this version without being asked for.
    #[must_use]
    pub fn of(version: Version) -> Patches {
        Patches { table: &BUILTIN, on: 0 }.at(version)
    }

    /// These; on are those that are so in this version without being asked for.
    #[must_use]
    pub fn at(self, version: Version) -> Patches {
        let patches = self.table.patches.iter().enumerate();
        let on = patches.filter(|(_, patch)| patch.is_of(version)).map(|(at, _)| 1 << at).sum();
        Patches { on, ..self }
    }

    /// These and one more, which is listed and asked last. The table of them is kept until the process ends, as
    /// patches themselves are.
    ///
    /// # Errors
    /// When it cannot be one of them: what is wrong, and what was expected.
    pub fn and(self, patch: &'static Patch) -> Result<Patches, String> {
        let Table { patches, names, .. } = self.table;
        check(patch, patches, names)?;
        let patches = patches.iter().copied().chain([patch]).collect();
        Ok(Patches { table: Box::leak(Box::new(Table::new(patches))), ..self })
    }

    /// Switches the patch of this name; false if there is none.
    pub fn set(&mut self, key: &str, on: bool) -> bool {
        let Some(at) = self.position(key) else { return false };
        self.on = self.on & !(1 << at) | u64::from(on) << at;
        true
    }

    /// Whether the patch of this name is on; not if there is none.
    #[must_use]
    pub fn is_on(self, key: &str) -> bool {
        self.position(key).is_some_and(|at| self.on & 1 << at != 0)
    }

    /// All that there are, in their order.
    #[must_use]
    pub fn known(self) -> &'static [&'static Patch] {
        &self.table.patches
    }

    /// The patch of this name.
    #[must_use]
    pub fn find(self, key: &str) -> Option<&'static Patch> {
        Some(self.table.patches[self.position(key)?])
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

    fn position(self, key: &str) -> Option<usize> {
        self.table.patches.iter().position(|patch| patch.key == key)
    }
}
