//! `PolicyEntry`: a policy as it is listed, and how it is made.

use std::fmt;

use simsched_core::{Policy, SETTINGS};

use super::own::{Chosen, OwnSpec};
use super::spec::PolicySpec;
use super::{RegistryError, is_word};
use crate::catalog::{self, FeatureInfo, PolicyInfo, ReasonInfo, SettingInfo, VersionInfo};
use crate::error::PolicyError;
use crate::fair::Patches;
use crate::fifo;
use crate::tunable::Tunable;

/// A policy as it is listed, and how it is made.
#[derive(Clone)]
pub struct PolicyEntry {
    /// Its name and what is said of it.
    pub info: PolicyInfo,
    /// The reasons for its choice of a CPU, by [`Reason`](simsched_core::Reason); the names are those of
    /// its [`Attached`](simsched_core::Attached).
    pub reasons: &'static [ReasonInfo],
    /// How it is made.
    pub make: Make,
}

/// Reads the start of an expression, `NAME[@VERSION]`, where there are these patches.
pub type Head = fn(&str, &Patches) -> Result<Box<dyn PolicySpec>, PolicyError>;

/// How a policy is made.
#[derive(Clone)]
#[non_exhaustive]
pub enum Make {
    /// As it is: it has no settings.
    Plain(fn() -> Box<dyn Policy + Send>),
    /// With the values of its features and settings.
    Tuned {
        /// Its features and settings.
        tunables: &'static [Tunable],
        /// Makes it with their values.
        new: fn(&Chosen<'_>) -> Box<dyn Policy + Send>,
    },
    /// From a file: `NAME:FILE` in an expression.
    File {
        /// Reads the file that is named.
        open: fn(&str) -> Result<Box<dyn PolicySpec>, PolicyError>,
    },
    /// By a specification of its own, which reads features and settings.
    Parse {
        /// Reads the start of an expression.
        head: Head,
        /// Its versions, from old to new.
        versions: fn() -> Vec<VersionInfo>,
        /// Its features, these patches among them.
        features: fn(&Patches) -> Vec<FeatureInfo>,
        /// Its settings, those of these patches among them.
        settings: fn(&Patches) -> Vec<SettingInfo>,
    },
}

impl PolicyEntry {
    /// A policy without settings. `doc` says in a line what it is.
    #[must_use]
    pub const fn plain(
        name: &'static str,
        doc: &'static str,
        reasons: &'static [ReasonInfo],
        new: fn() -> Box<dyn Policy + Send>,
    ) -> PolicyEntry {
        PolicyEntry { info: info(name, doc), reasons, make: Make::Plain(new) }
    }

    /// A policy that is made from a file, `NAME:FILE` in an expression. `doc` says in a line what it is.
    #[must_use]
    pub const fn from_file(
        name: &'static str,
        doc: &'static str,
        reasons: &'static [ReasonInfo],
        open: fn(&str) -> Result<Box<dyn PolicySpec>, PolicyError>,
    ) -> PolicyEntry {
        PolicyEntry { info: info(name, doc), reasons, make: Make::File { open } }
    }

    /// A policy with features and settings of its own. `doc` says in a line what it is.
    ///
    /// ```
    /// use simsched_policies::{Fifo, PolicyEntry, Registry, Tunable};
    ///
    /// const TUNABLES: &[Tunable] = &[Tunable::Number {
    ///     key: "scan_max",
    ///     doc: "how many CPUs are scanned at most",
    ///     unit: "CPUs",
    ///     range: 1..=1024,
    ///     default: 16,
    /// }];
    /// let mine = PolicyEntry::tuned("mine", "scans a few CPUs", &[], TUNABLES, |chosen| {
    ///     // A policy of one's own keeps it in a field.
    ///     assert_eq!(chosen.number("scan_max"), 4);
    ///     Box::<Fifo>::default()
    /// });
    /// let registry = Registry::builtin().with(mine)?;
    /// registry.parse("mine+scan_max=4", &[])?.build();
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub const fn tuned(
        name: &'static str,
        doc: &'static str,
        reasons: &'static [ReasonInfo],
        tunables: &'static [Tunable],
        new: fn(&Chosen<'_>) -> Box<dyn Policy + Send>,
    ) -> PolicyEntry {
        PolicyEntry { info: info(name, doc), reasons, make: Make::Tuned { tunables, new } }
    }

    /// Its versions, from old to new.
    #[must_use]
    pub fn versions(&self) -> Vec<VersionInfo> {
        match self.make {
            Make::Parse { versions, .. } => versions(),
            _ => Vec::new(),
        }
    }

    /// Its features, of a policy that patches change these among them.
    #[must_use]
    pub fn features(&self, patches: &Patches) -> Vec<FeatureInfo> {
        match self.make {
            Make::Plain(_) | Make::File { .. } => Vec::new(),
            Make::Tuned { tunables, .. } => tunables.iter().filter_map(feature).collect(),
            Make::Parse { features, .. } => features(patches),
        }
    }

    /// Its settings, of a policy that patches change these patches' among them.
    #[must_use]
    pub fn settings(&self, patches: &Patches) -> Vec<SettingInfo> {
        match self.make {
            Make::Plain(_) | Make::File { .. } => Vec::new(),
            Make::Tuned { tunables, .. } => {
                tunables.iter().filter(|it| feature(it).is_none()).map(setting).collect()
            }
            Make::Parse { settings, .. } => settings(patches),
        }
    }

    /// Whether its table can be read and written back.
    pub(super) fn check_tunables(&self) -> Result<(), RegistryError> {
        let Make::Tuned { tunables, .. } = self.make else { return Ok(()) };
        for (nth, tunable) in tunables.iter().enumerate() {
            let key = tunable.key();
            let what = if !is_word(key) || key.starts_with("NO_") || key.starts_with("sched_") {
                "expected letters, digits, `_`, `-` and `.`, and neither NO_ nor sched_ in front"
            } else if tunables[..nth].iter().any(|other| other.key() == key) {
                "expected once in the table"
            } else if SETTINGS.iter().any(|setting| setting.name == key) {
                "expected a name that no setting of the simulator has"
            } else if !tunable.is_sound() {
                "expected a default within its range"
            } else {
                continue;
            };
            let (policy, key) = (self.info.name.to_owned(), key.to_owned());
            return Err(RegistryError::BadTunable { policy, key, what });
        }
        Ok(())
    }

    /// Its name as an expression has it.
    pub(crate) fn form(&self) -> String {
        match self.make {
            Make::File { .. } => format!("{}:FILE", self.info.name),
            _ => self.info.name.to_owned(),
        }
    }

    /// The policy that `NAME[@VERSION]` means where there are these patches.
    pub(crate) fn head(
        &self,
        text: &str,
        patches: &Patches,
    ) -> Result<Box<dyn PolicySpec>, PolicyError> {
        match self.make {
            Make::Parse { head, .. } => return head(text, patches),
            Make::File { open } => return open(file_of(text).unwrap_or_default()),
            Make::Plain(_) | Make::Tuned { .. } => {}
        }
        if let (name, Some(version)) = catalog::split_version(text) {
            return Err(catalog::unknown_version(name, version, "none"));
        }
        Ok(Box::new(OwnSpec::of(self)))
    }
}

/// A feature of a table as it is listed; none if it is a setting.
fn feature(tunable: &Tunable) -> Option<FeatureInfo> {
    let Tunable::Feature { key, doc, default } = *tunable else { return None };
    Some(FeatureInfo { key, doc, source: "", default, is_patch: false })
}

/// A setting of a table as it is listed.
fn setting(tunable: &Tunable) -> SettingInfo {
    SettingInfo::of(tunable, "")
}

/// The file that `NAME:FILE` names; none if it is another head.
pub(super) fn file_of(text: &str) -> Option<&str> {
    Some(text.split_once(':')?.1)
}

impl fmt::Debug for PolicyEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PolicyEntry").field("info", &self.info).finish_non_exhaustive()
    }
}

const fn info(name: &'static str, doc: &'static str) -> PolicyInfo {
    PolicyInfo { name, doc, source: "", versions: &[] }
}

/// The entries of this crate.
pub(super) fn builtin() -> Vec<PolicyEntry> {
    vec![catalog::cfs(), catalog::eevdf(), fifo::entry()]
}
