//! `Patches`: which patches there are, and which of them are on.

use std::sync::LazyLock;

use simsched_core::Reason;

use super::{Form, PATCHES, Patch, PatchSetting};
use crate::error::PolicyError;
use crate::fair::features::Version;
use crate::fair::select::reason::{self, ReasonRow};
use crate::tunable::Tunable;

/// The patches that a fair class knows, with the settings and reasons of all of them.
#[derive(Debug)]
struct Table {
    patches: Vec<&'static Patch>,
    /// In the order of the patches; once each, also where two patches read it.
    settings: Vec<&'static PatchSetting>,
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
        let mut settings: Vec<&'static PatchSetting> = Vec::new();
        for setting in patches.iter().flat_map(|patch| patch.settings) {
            if !settings.iter().any(|it| it.key() == setting.key()) {
                settings.push(setting);
            }
        }
        Table { patches, settings, names, docs }
    }
}

/// Whether `patch` can stand behind `patches`, whose reasons have these names.
fn check(patch: &Patch, table: &Table) -> Result<(), String> {
    let wrong = |what: &str| Err(what.to_owned());
    if table.patches.len() == MOST {
        return wrong("expected at most 64 patches");
    }
    if has_prefix(patch.key) {
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
        let setting = patch.settings.iter().find(|setting| setting.key() == form.setting);
        setting.is_some_and(|setting| match setting.tunable {
            Tunable::Word { words, .. } => words.contains(&form.name),
            _ => false,
        })
    };
    if !patch.forms.iter().all(is_word) {
        return wrong("a form: expected a word of one of its settings");
    }
    check_settings(patch.settings, &table.settings)?;
    check_reasons(patch.reasons, &table.names)
}

/// Whether it begins as what an expression may have in front of a name.
fn has_prefix(key: &str) -> bool {
    ["NO_", "sched_"].iter().any(|prefix| key.starts_with(prefix))
}

/// Whether these settings can stand beside those.
fn check_settings(
    settings: &[PatchSetting],
    known: &[&'static PatchSetting],
) -> Result<(), String> {
    for (nth, setting) in settings.iter().enumerate() {
        let key = setting.key();
        let is_twice = settings[..nth].iter().any(|other| other.key() == key);
        let what = match &setting.tunable {
            _ if has_prefix(key) => "neither NO_ nor sched_ in front",
            _ if is_twice || known.iter().any(|it| it.key() == key) => "a name of its own",
            Tunable::Feature { .. } => "a number or a word; a switch is a patch",
            it if !it.is_sound() => "a default among its values",
            _ => continue,
        };
        return Err(format!("its setting {key}: expected {what}"));
    }
    Ok(())
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

/// The patches of a fair class: which there are, which of them are on, and the values of their settings.
#[derive(Clone, Debug)]
pub struct Patches {
    table: &'static Table,
    /// By patch.
    on: u64,
    /// By setting.
    values: Vec<u64>,
}

impl PartialEq for Patches {
    fn eq(&self, other: &Patches) -> bool {
        std::ptr::eq(self.table, other.table) && self.on == other.on && self.values == other.values
    }
}

impl Eq for Patches {}

impl Patches {
    /// Those of this crate; on are those that are so in this version without being asked for, and settings have their
    /// defaults.
    #[must_use]
    pub fn of(version: Version) -> Patches {
        Patches { table: &BUILTIN, on: 0, values: defaults(&BUILTIN) }.at(version)
    }

    /// These; on are those that are so in this version without being asked for.
    #[must_use]
    pub fn at(self, version: Version) -> Patches {
        let patches = self.table.patches.iter().enumerate();
        let on = patches.filter(|(_, patch)| patch.is_of(version)).map(|(at, _)| 1 << at).sum();
        Patches { on, ..self }
    }

    /// These and one more, which is listed and asked last; settings have their defaults. The table of them is kept
    /// until the process ends, as patches themselves are.
    ///
    /// # Errors
    /// When it cannot be one of them: what is wrong, and what was expected.
    pub fn and(self, patch: &'static Patch) -> Result<Patches, String> {
        check(patch, self.table)?;
        let patches = self.table.patches.iter().copied().chain([patch]).collect();
        let table = Box::leak(Box::new(Table::new(patches)));
        Ok(Patches { values: defaults(table), table, ..self })
    }

    /// Switches the patch of this name; false if there is none.
    pub fn set(&mut self, key: &str, on: bool) -> bool {
        let Some(at) = self.position(key) else { return false };
        self.on = self.on & !(1 << at) | u64::from(on) << at;
        true
    }

    /// Whether the patch of this name is on; not if there is none.
    #[must_use]
    pub fn is_on(&self, key: &str) -> bool {
        self.position(key).is_some_and(|at| self.on & 1 << at != 0)
    }

    /// All that there are, in their order.
    #[must_use]
    pub fn known(&self) -> &'static [&'static Patch] {
        &self.table.patches
    }

    /// The patch of this name.
    #[must_use]
    pub fn find(&self, key: &str) -> Option<&'static Patch> {
        Some(self.table.patches[self.position(key)?])
    }

    /// The settings of all patches, in their order.
    #[must_use]
    pub fn settings(&self) -> &'static [&'static PatchSetting] {
        &self.table.settings
    }

    /// The setting of this name.
    #[must_use]
    pub fn setting(&self, key: &str) -> Option<&'static PatchSetting> {
        Some(self.table.settings[self.place(key)?])
    }

    /// Gives the setting of this name the value that is written so; false if there is none.
    ///
    /// # Errors
    /// When it does not take that value.
    pub fn assign(&mut self, key: &str, value: &str) -> Result<bool, PolicyError> {
        let Some(at) = self.place(key) else { return Ok(false) };
        self.values[at] = self.table.settings[at].tunable.read(value)?;
        Ok(true)
    }

    /// The value of the setting of this name, as it is written; none if there is none.
    #[must_use]
    pub fn written(&self, key: &str) -> Option<String> {
        let at = self.place(key)?;
        Some(self.table.settings[at].tunable.written(self.values[at]))
    }

    /// The number that the setting of this name has; of one that takes words, the place of the word among them.
    ///
    /// # Panics
    /// When no patch has a setting of that name.
    #[must_use]
    pub fn number(&self, key: &str) -> u64 {
        self.values[self.place(key).expect("the name of a setting of a patch")]
    }

    /// The word that the setting of this name has.
    ///
    /// # Panics
    /// When no patch has a setting of that name that takes words.
    #[must_use]
    pub fn word(&self, key: &str) -> &'static str {
        let word = self.setting(key).and_then(|setting| setting.tunable.word(self.number(key)));
        word.expect("the name of a setting of a patch that takes words")
    }

    /// The settings that have not their default, with their values: of one that takes words, the place of the word
    /// among them.
    pub fn changed(&self) -> impl Iterator<Item = (&'static Tunable, u64)> {
        let values = self.values.iter().copied();
        let each = self.table.settings.iter().map(|setting| &setting.tunable).zip(values);
        each.filter(|(tunable, value)| tunable.default() != *value)
    }

    /// The names of the reasons of the fair class and of all patches, by number.
    #[must_use]
    pub fn reasons(&self) -> &'static [&'static str] {
        &self.table.names
    }

    /// What those reasons mean, in one line each.
    #[must_use]
    pub fn reason_docs(&self) -> &'static [&'static str] {
        &self.table.docs
    }

    fn position(&self, key: &str) -> Option<usize> {
        self.table.patches.iter().position(|patch| patch.key == key)
    }

    fn place(&self, key: &str) -> Option<usize> {
        self.table.settings.iter().position(|setting| setting.key() == key)
    }
}

/// The values of its settings without being asked for.
fn defaults(table: &Table) -> Vec<u64> {
    table.settings.iter().map(|setting| setting.tunable.default()).collect()
}
