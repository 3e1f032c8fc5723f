//! Patches of the fair class: changes that are switched on by name, one file each.
//!
//! A patch is a [`Patch`]: its name, its texts, its settings, and a [`Hook`] that is asked where it changes
//! `select_idle_sibling()`. A new one is a file here, its `mod` and a line in [`PATCHES`]; `--policy cfs+NAME` switches
//! it on, `+SETTING=VALUE` behind that sets it, and `simsched policies show` lists both.

mod always_check;
mod bias_pays_search;
pub(super) mod cache_aware;
pub(super) mod cache_aware_wakeup;
mod known;
mod refresh_at_enqueue;
mod select_bias_prev;
mod setting;
mod tg_nomig;
pub(super) mod tg_per_node;
mod tg_ratelimit;
pub mod util_fits_capacity;
pub mod wakeup_bias_prev;

use super::features::{Features, Version};
use super::select::Hook;
use super::select::reason::ReasonRow;
use super::tunables::Tunables;

pub use self::known::Patches;
pub use self::setting::PatchSetting;

/// All patches, in the order in which they are listed and asked.
pub static PATCHES: &[&Patch] = &[
    &wakeup_bias_prev::PATCH,
    &util_fits_capacity::PATCH,
    &select_bias_prev::PATCH,
    &bias_pays_search::PATCH,
    &tg_per_node::PATCH,
    &tg_ratelimit::PATCH,
    &tg_nomig::PATCH,
    &cache_aware::PATCH,
    &cache_aware_wakeup::PATCH,
    &always_check::PATCH,
    &refresh_at_enqueue::PATCH,
];

/// A change to the fair class, as it is listed and switched on.
#[derive(Clone, Copy, Debug)]
pub struct Patch {
    /// Its name.
    pub key: &'static str,
    /// What it does when it is on, in one line.
    pub doc: &'static str,
    /// What it does beyond that line, sentence by sentence: when it is asked, what it reads, what tells of it.
    pub more: &'static [&'static str],
    /// Where it comes from.
    pub source: &'static str,
    /// The policy that it changes where it stands alone, `cfs` or `eevdf`,
    pub policy: &'static str,
    /// and of which version if none is named; none is that policy's default.
    pub version: Option<&'static str>,
    /// Since which version it is on without being asked for; never, if there is none.
    pub since: Option<Version>,
    /// Its settings, which `+KEY=VALUE` and `--set KEY=VALUE` change; [`Patches`] has their values. Patches of this
    /// crate may share one.
    pub settings: &'static [PatchSetting],
    /// Forms of it that an expression may name, as in `cache_aware@v4`.
    pub forms: &'static [Form],
    /// What must be so for it to have an effect; none if it always has.
    pub needs: Option<Need>,
    /// The reasons for a choice of a CPU that it brings, by number: that of a reason is in the digest of a run and
    /// never changes. Patches may share one.
    pub reasons: &'static [ReasonRow],
    /// What is asked in `select_idle_sibling()` while it is on; none if it changes other places.
    pub hook: Option<NewHook>,
}

impl Patch {
    /// A patch of `cfs` that is a name and two texts so far: a base for struct update syntax.
    ///
    /// ```
    /// use simsched_policies::fair::Patch;
    ///
    /// const MINE: Patch = Patch { source: "an idea", ..Patch::new("mine", "what it does when it is on") };
    /// assert!(MINE.hook.is_none());
    /// ```
    #[must_use]
    pub const fn new(key: &'static str, doc: &'static str) -> Patch {
        Patch {
            key,
            doc,
            more: &[],
            source: "",
            policy: "cfs",
            version: None,
            since: None,
            settings: &[],
            forms: &[],
            needs: None,
            reasons: &[],
            hook: None,
        }
    }

    /// Whether it is on in this version without being asked for.
    #[must_use]
    pub fn is_of(&self, version: Version) -> bool {
        self.since.is_some_and(|since| version >= since)
    }

    /// Whether it has a setting of this name.
    #[must_use]
    pub fn has(&self, setting: &str) -> bool {
        self.settings.iter().any(|it| it.key() == setting)
    }

    /// The form of this name.
    #[must_use]
    pub fn form(&self, name: &str) -> Option<&Form> {
        self.forms.iter().find(|form| form.name == name)
    }
}

/// One form of a patch, which an expression may name: `cache_aware@v4`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form {
    /// Its name.
    pub name: &'static str,
    /// The setting of the patch of which it is a word.
    pub setting: &'static str,
    /// The version of the policy that it changes, where it stands alone; none is that of the patch.
    pub version: Option<&'static str>,
}

/// Makes what is asked in `select_idle_sibling()`, when the class is attached to a machine.
pub type NewHook = fn(&HookCx<'_>) -> Box<dyn Hook>;

/// What must be so for a patch to have an effect.
#[derive(Clone, Copy, Debug)]
pub struct Need {
    /// In words, as it could be written in an expression.
    pub what: &'static str,
    /// Whether it is so.
    pub is_met: fn(&Features, &Patches) -> bool,
}

/// What a patch is made of for a machine.
#[derive(Clone, Copy, Debug)]
pub struct HookCx<'a> {
    /// The switches of the kernel.
    pub features: &'a Features,
    /// Its numbers on this machine.
    pub tunables: &'a Tunables,
    /// All patches: which are on, and the values of their settings.
    pub patches: &'a Patches,
}
