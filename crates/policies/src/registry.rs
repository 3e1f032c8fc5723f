//! `Registry`: the policies that can be named, those of this crate and those of its callers.
//!
//! ```
//! use simsched_policies::{Fifo, PolicyEntry, Registry};
//!
//! let mine = PolicyEntry::plain("mine", "my policy", &[], || Box::<Fifo>::default());
//! let registry = Registry::builtin().with(mine)?;
//! assert_eq!(registry.parse("mine", &[])?.name(), "mine");
//! assert!(registry.parse("mine+group=container", &[]).is_err());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod entry;
mod own;
mod spec;

use std::sync::Arc;

use simsched_topology::nearest;

use crate::catalog::{
    FeatureInfo, PolicyInfo, ReasonInfo, SettingInfo, VersionInfo, fair_reasons, plain,
    split_version,
};
use crate::error::PolicyError;
use crate::fair::features::{CHOICES, FLAGS, Version};
use crate::fair::tunables::SETTINGS;
use crate::fair::{Patch, PatchSetting, Patches};

pub use self::entry::{Head, Make, PolicyEntry};
pub use self::own::{Chosen, own};
pub use self::spec::{OwnSetting, PolicySpec};

/// The policies that can be named, in the order in which they are listed. A copy is cheap.
#[derive(Clone, Debug)]
pub struct Registry {
    entries: Arc<[PolicyEntry]>,
    /// Of `cfs` and `eevdf`; none is on.
    patches: Patches,
}

/// The policies that patches change.
const FAIR: [&str; 2] = ["cfs", "eevdf"];

/// Why an entry cannot be added.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RegistryError {
    /// Another policy, or a patch, has that name.
    #[error("add policy `{name}`: there is one of that name")]
    Taken {
        /// The name.
        name: String,
    },
    /// It could not be written in an expression.
    #[error(
        "add policy `{name}`: expected a letter or digit, then letters, digits, `_`, `-` or `.`"
    )]
    BadName {
        /// The name.
        name: String,
    },
    /// A patch that cannot be.
    #[error("add patch `{patch}`: {what}")]
    BadPatch {
        /// Its name.
        patch: String,
        /// What is wrong, and what was expected.
        what: String,
    },
    /// A feature or setting of its table cannot be.
    #[error("add policy `{policy}`: its `{key}`: {what}")]
    BadTunable {
        /// The policy.
        policy: String,
        /// The key.
        key: String,
        /// What is wrong, and what was expected.
        what: &'static str,
    },
}

/// Whether a name or key can stand in an expression.
fn is_word(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || ['_', '-', '.'].contains(&c);
    name.starts_with(|c: char| c.is_ascii_alphanumeric()) && name.chars().all(is_plain)
}

impl Default for Registry {
    fn default() -> Registry {
        Registry::builtin()
    }
}

impl Registry {
    /// The policies of this crate: `cfs`, `eevdf` and `fifo`.
    #[must_use]
    pub fn builtin() -> Registry {
        Registry { entries: entry::builtin().into(), patches: Patches::of(Version::default()) }
    }

    /// These policies and one more, which is listed last.
    ///
    /// # Errors
    /// When the name is taken, or is none that an expression can have; when a key of its table is used
    /// twice, belongs to the simulator, or cannot be written, or a default is out of its range.
    pub fn with(self, entry: PolicyEntry) -> Result<Registry, RegistryError> {
        self.check_name(entry.info.name)?;
        entry.check_tunables()?;
        let entries = self.entries.iter().cloned().chain([entry]).collect();
        Ok(Registry { entries, ..self })
    }

    /// These policies, and one more patch of `cfs` and `eevdf`, which is listed and asked behind the others.
    ///
    /// ```
    /// use simsched_policies::fair::{Hook, Patch, PatchSetting, Points, WakeupCx, reason};
    /// use simsched_policies::Registry;
    /// use simsched_core::Placement;
    ///
    /// /// A wakee on a large machine goes to the target, idle or not.
    /// static NO_SEARCH: Patch = Patch {
    ///     settings: &[PatchSetting::number(
    ///         "no_search_cpus",
    ///         ("on how many CPUs and more", "CPUs"),
    ///         (1..=1024, 1),
    ///         "an example",
    ///     )],
    ///     hook: Some(|cx| Box::new(NoSearch { cpus: cx.patches.number("no_search_cpus") })),
    ///     ..Patch::new("no_search", "a wakee goes to the target, idle or not")
    /// };
    ///
    /// #[derive(Debug)]
    /// struct NoSearch {
    ///     cpus: u64,
    /// }
    ///
    /// impl Hook for NoSearch {
    ///     fn points(&self) -> Points {
    ///         Points::BEFORE_TARGET
    ///     }
    ///
    ///     fn before_target(&self, cx: &WakeupCx<'_>) -> Option<Placement> {
    ///         let is_large = cx.world.topology().nr_cpus() as u64 >= self.cpus;
    ///         is_large.then(|| Placement::at(cx.target(), reason::NONE_IDLE))
    ///     }
    /// }
    ///
    /// let registry = Registry::builtin().with_patch(&NO_SEARCH)?;
    /// let name = |expr| registry.parse(expr, &[]).map(|spec| spec.name());
    /// assert_eq!(name("eevdf+no_search")?, "eevdf@7.3+no_search");
    /// assert_eq!(name("no_search+no_search_cpus=64")?, "cfs@6.1+no_search+no_search_cpus=64");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// When its name, or that of one of its settings, is taken, by a policy, a feature or a setting, or is none that an
    /// expression can have; when it is of another policy than `cfs` or `eevdf`, or of a version that this has not; when
    /// a default is not among the values of its setting; when a reason has not the next number, which is that of the
    /// built-in ones until a release has more of them.
    pub fn with_patch(self, patch: &'static Patch) -> Result<Registry, RegistryError> {
        self.check_name(patch.key)?;
        let is_taken = |name: &str| {
            let keys = FLAGS.iter().map(|flag| flag.key).chain(CHOICES.iter().map(|it| it.key));
            let keys = keys.chain(SETTINGS.iter().map(|it| it.key));
            keys.chain(simsched_core::SETTINGS.iter().map(|it| it.name)).any(|key| key == name)
        };
        if is_taken(patch.key) || self.patches.setting(patch.key).is_some() {
            return Err(RegistryError::Taken { name: patch.key.to_owned() });
        }
        let bad = |what| RegistryError::BadPatch { patch: patch.key.to_owned(), what };
        for key in patch.settings.iter().map(PatchSetting::key) {
            if key == patch.key || is_taken(key) || self.check_name(key).is_err() {
                return Err(bad(format!(
                    "its setting {key}: expected a word that is no other name"
                )));
            }
        }
        let patches = self.patches.and(patch).map_err(bad)?;
        Ok(Registry { patches, ..self })
    }

    /// Whether a policy that is no entry yet can have this name.
    ///
    /// # Errors
    /// When it is taken, or is none that an expression can have.
    pub fn check_name(&self, name: &str) -> Result<(), RegistryError> {
        if !is_word(name) {
            return Err(RegistryError::BadName { name: name.to_owned() });
        }
        if self.entry(name).is_some() || self.patches.find(name).is_some() {
            return Err(RegistryError::Taken { name: name.to_owned() });
        }
        Ok(())
    }

    /// All entries.
    #[must_use]
    pub fn entries(&self) -> &[PolicyEntry] {
        &self.entries
    }

    /// The entry with this name; none if there is no such policy.
    #[must_use]
    pub fn entry(&self, name: &str) -> Option<&PolicyEntry> {
        self.entries.iter().find(|entry| entry.info.name == name)
    }

    /// What is listed of each policy.
    pub fn policies(&self) -> impl Iterator<Item = &PolicyInfo> {
        self.entries.iter().map(|entry| &entry.info)
    }

    /// The versions of a policy, from old to new; none if it has none, or there is no such policy.
    #[must_use]
    pub fn versions(&self, policy: &str) -> Vec<VersionInfo> {
        self.entry(policy).map_or_else(Vec::new, PolicyEntry::versions)
    }

    /// The features of a policy; none if there is no such policy.
    #[must_use]
    pub fn features(&self, policy: &str) -> Vec<FeatureInfo> {
        self.entry(policy).map_or_else(Vec::new, |entry| entry.features(&self.patches))
    }

    /// The settings of a policy; none if there is no such policy.
    #[must_use]
    pub fn settings(&self, policy: &str) -> Vec<SettingInfo> {
        self.entry(policy).map_or_else(Vec::new, |entry| entry.settings(&self.patches))
    }

    /// The reasons that a policy gives for its choice of a CPU; none if there is no such policy.
    #[must_use]
    pub fn reasons(&self, policy: &str) -> Vec<ReasonInfo> {
        match self.entry(policy) {
            Some(entry) if FAIR.contains(&entry.info.name) => fair_reasons(&self.patches),
            Some(entry) => entry.reasons.to_vec(),
            None => Vec::new(),
        }
    }

    /// What the patch `key` does beyond its one line, sentence by sentence: when it is asked, what it reads, what
    /// tells of it; none for those of which one line says all, and for other features.
    #[must_use]
    pub fn more(&self, key: &str) -> &'static [&'static str] {
        self.patches.find(key).map_or(&[], |patch| patch.more)
    }

    /// Reads an expression, `BASE[@VERSION](+FEATURE[@VARIANT] | +SETTING=VALUE)*`; a base that is made from a file is
    /// `NAME:FILE`. `settings` are
    /// further keys with their values. Later parts win over earlier ones.
    ///
    /// # Errors
    /// When a name is unknown, or a value is not one that its key takes.
    pub fn parse(
        &self,
        expr: &str,
        settings: &[(String, String)],
    ) -> Result<Box<dyn PolicySpec>, PolicyError> {
        let mut parts = expr.split('+').map(str::trim);
        let mut spec = self.head(parts.next().unwrap_or_default())?;
        for part in parts {
            if part.is_empty() {
                return Err(PolicyError::NothingAdded { expression: expr.to_owned() });
            }
            match part.split_once('=') {
                Some((key, value)) => spec.set(key.trim(), value.trim())?,
                None => spec.enable(part)?,
            }
        }
        for (key, value) in settings {
            spec.set(key.trim(), value.trim())?;
        }
        Ok(spec)
    }

    /// The policy at the start of an expression; a patch stands for the policy that it changes.
    fn head(&self, text: &str) -> Result<Box<dyn PolicySpec>, PolicyError> {
        // A file may be named as it likes, but for a `+`.
        let from_file = |entry: &&PolicyEntry| matches!(entry.make, Make::File { .. });
        let named = text.split(':').next().and_then(|name| self.entry(name));
        if let Some(entry) = named.filter(from_file) {
            return entry.head(text, &self.patches);
        }
        let (name, _) = split_version(text);
        let is_patch = self.patches.find(name).is_some();
        let entry = self.entry(if is_patch { "cfs" } else { name });
        entry.map_or_else(|| Err(self.unknown(name)), |entry| entry.head(text, &self.patches))
    }

    fn unknown(&self, name: &str) -> PolicyError {
        let patches = || self.patches.known().iter().map(|patch| patch.key);
        let names: Vec<&'static str> = self.policies().map(|it| it.name).chain(patches()).collect();
        let policies = self.entries.iter().map(PolicyEntry::form);
        let known = policies.chain(patches().map(str::to_owned)).collect::<Vec<_>>().join(", ");
        let nearest = nearest(name, names);
        PolicyError::UnknownPolicy { name: name.to_owned(), known, nearest }
    }

    /// The features and settings that an expression names itself, in its order; a patch that is its base
    /// is one of them. They need not exist.
    #[must_use]
    pub fn named<'a>(&self, expr: &'a str) -> Vec<&'a str> {
        let mut parts = expr.split('+').map(str::trim);
        let (base, _) = split_version(parts.next().unwrap_or_default());
        let patch = Some(base).filter(|name| self.patches.find(name).is_some());
        let name = |part| match str::split_once(part, '=') {
            Some((key, _)) => plain(key.trim()),
            None => split_version(part.strip_prefix("NO_").unwrap_or(part)).0,
        };
        patch.into_iter().chain(parts.map(name)).collect()
    }
}
