//! Every policy by name, with its text: `build("cfs@6.1+wakeup_bias_prev")`.
//!
//! ```text
//! BASE[@VERSION](+FEATURE[@VARIANT] | +SETTING=VALUE)*
//! ```
//!
//! A feature that is a patch is also a base: `wakeup_bias_prev` is `cfs+wakeup_bias_prev`, and has
//! the versions of `cfs`. Later parts win over earlier ones, and what is given beside the expression
//! over the expression.

mod effect;
mod selection;

use std::sync::LazyLock;

use simsched_core::Policy;

pub use self::effect::Change;
pub use self::selection::{FairSpec, plain};
pub(crate) use self::selection::{split_version, unknown_version};
use crate::error::PolicyError;
pub use crate::fair::features::Difference;
use crate::fair::features::{CHOICES, Choice, FLAGS, FeatureFlag, Version};
use crate::fair::tunables::{SETTINGS, Setting};
use crate::fair::{Features, Patch, Patches};
use crate::registry::{Make, PolicyEntry, PolicySpec, Registry};
use crate::tunable::Tunable;

/// A policy as it is listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PolicyInfo {
    /// Its name.
    pub name: &'static str,
    /// What it is, in one line.
    pub doc: &'static str,
    /// Where it comes from.
    pub source: &'static str,
    /// Its versions, from old to new.
    pub versions: &'static [&'static str],
}

/// A version of a policy as it is listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VersionInfo {
    /// Its number.
    pub name: &'static str,
    /// What it is, in one line.
    pub doc: &'static str,
    /// Whether it is meant if none is named.
    pub default: bool,
    /// What it does otherwise than the version before it; nothing for the oldest.
    pub differences: &'static [Difference],
}

/// A feature of a policy as it is listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FeatureInfo {
    /// Its name.
    pub key: &'static str,
    /// What it does when it is on, in one line.
    pub doc: &'static str,
    /// Where it comes from.
    pub source: &'static str,
    /// Whether it is on without being asked for.
    pub default: bool,
    /// Whether it is a patch, which may stand alone as the name of a policy.
    pub is_patch: bool,
}

/// A reason of a policy's choice of a CPU as it is listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReasonInfo {
    /// Its name.
    pub name: &'static str,
    /// What it means, in one line.
    pub doc: &'static str,
}

impl ReasonInfo {
    /// The names of these reasons, as [`Attached::reasons`](simsched_core::Attached::reasons) takes them.
    ///
    /// ```
    /// use simsched_policies::catalog::ReasonInfo;
    ///
    /// const REASONS: &[ReasonInfo] = &[ReasonInfo { name: "prev", doc: "The previous CPU." }];
    /// const NAMES: &[&str] = &ReasonInfo::names::<{ REASONS.len() }>(REASONS);
    /// assert_eq!(NAMES, &["prev"]);
    /// ```
    ///
    /// # Panics
    /// When `reasons` has another length than `N`; in a constant that is an error of the compiler.
    #[must_use]
    pub const fn names<const N: usize>(reasons: &[ReasonInfo]) -> [&'static str; N] {
        assert!(reasons.len() == N, "as many names as reasons");
        let mut names = [""; N];
        let mut nth = 0;
        while nth < N {
            names[nth] = reasons[nth].name;
            nth += 1;
        }
        names
    }
}

/// A setting of a policy as it is listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingInfo {
    /// Its name.
    pub key: &'static str,
    /// What it does, in one line.
    pub doc: &'static str,
    /// Where it comes from.
    pub source: &'static str,
    /// The unit of its value; empty for a word.
    pub unit: &'static str,
    /// What it takes.
    pub range: String,
    /// Its value without being asked for.
    pub default: String,
}

impl SettingInfo {
    /// A setting that a policy or a patch declares.
    pub(crate) fn of(tunable: &Tunable, source: &'static str) -> SettingInfo {
        SettingInfo {
            key: tunable.key(),
            doc: tunable.doc(),
            source,
            unit: tunable.unit(),
            range: tunable.takes(),
            default: tunable.written(tunable.default()),
        }
    }
}

const CFS: PolicyInfo = PolicyInfo {
    name: "cfs",
    doc: "the fair class with virtual run time: least first",
    source: "Linux 6.1.192, kernel/sched/fair.c",
    versions: &[Version::V5_16.name(), Version::V6_1.name(), Version::V6_5.name()],
};

const EEVDF: PolicyInfo = PolicyInfo {
    name: "eevdf",
    doc: "the fair class with requests: of the tasks whose lag is not negative the one with the earliest deadline runs",
    source: "Linux 6.12.117, 7.2.12 and 7.3.4, kernel/sched/fair.c",
    versions: &[
        Version::V6_6.name(),
        Version::V6_12.name(),
        Version::V7_0.name(),
        Version::V7_2.name(),
        Version::V7_3.name(),
    ],
};

/// The reasons of the fair class and of these patches, by number.
pub(crate) fn fair_reasons(patches: &Patches) -> Vec<ReasonInfo> {
    let rows = patches.reasons().iter().zip(patches.reason_docs());
    rows.map(|(name, doc)| ReasonInfo { name, doc }).collect()
}

/// The reasons of the fair class and of the patches of this crate, by number.
static REASONS: LazyLock<Vec<ReasonInfo>> =
    LazyLock::new(|| fair_reasons(&Patches::of(Version::default())));

/// The entry of `cfs`.
pub(crate) fn cfs() -> PolicyEntry {
    let make = Make::Parse {
        head: selection::head,
        versions: || fair_versions("cfs"),
        features: |patches| fair_features("cfs", patches),
        settings: |patches| fair_settings("cfs", patches),
    };
    PolicyEntry { info: CFS, reasons: &REASONS, make }
}

/// The entry of `eevdf`.
pub(crate) fn eevdf() -> PolicyEntry {
    let make = Make::Parse {
        head: selection::head,
        versions: || fair_versions("eevdf"),
        features: |patches| fair_features("eevdf", patches),
        settings: |patches| fair_settings("eevdf", patches),
    };
    PolicyEntry { info: EEVDF, reasons: &REASONS, make }
}

/// All policies of this crate.
#[must_use]
pub fn policies() -> Vec<PolicyInfo> {
    Registry::builtin().policies().copied().collect()
}

/// The versions of a policy of this crate, from old to new; none if it has none, or there is no such
/// policy.
#[must_use]
pub fn versions(policy: &str) -> Vec<VersionInfo> {
    Registry::builtin().versions(policy)
}

/// The features of a policy of this crate; none if there is no such policy.
#[must_use]
pub fn features(policy: &str) -> Vec<FeatureInfo> {
    Registry::builtin().features(policy)
}

/// The settings of a policy of this crate; none if there is no such policy.
#[must_use]
pub fn settings(policy: &str) -> Vec<SettingInfo> {
    Registry::builtin().settings(policy)
}

/// The reasons that a policy of this crate gives for its choice of a CPU; none if there is no such
/// policy.
#[must_use]
pub fn reasons(policy: &str) -> Vec<ReasonInfo> {
    Registry::builtin().reasons(policy)
}

/// The features and settings that an expression of a policy of this crate names itself, in its order; a patch that is
/// its base is one of them. They need not exist.
#[must_use]
pub fn named(expr: &str) -> Vec<&str> {
    Registry::builtin().named(expr)
}

/// Reads the expression of a policy of this crate; `settings` are further keys with their values.
///
/// # Errors
/// As [`Registry::parse`].
pub fn parse(
    expr: &str,
    settings: &[(String, String)],
) -> Result<Box<dyn PolicySpec>, PolicyError> {
    Registry::builtin().parse(expr, settings)
}

/// The versions of one of the fair policies, from old to new.
fn fair_versions(policy: &str) -> Vec<VersionInfo> {
    let Some(plain) = plain_version(policy) else { return Vec::new() };
    let info = |version: Version| VersionInfo {
        name: version.name(),
        doc: version.doc(),
        default: version == plain,
        differences: version.differences(),
    };
    let versions = if plain.is_eevdf() { Version::EEVDF } else { Version::CFS };
    versions.iter().copied().map(info).collect()
}

/// The version of a policy that is meant if none is named; none if it has none.
fn plain_version(policy: &str) -> Option<Version> {
    match policy {
        "cfs" => Some(Version::V6_1.plain()),
        "eevdf" => Some(Version::V7_3.plain()),
        _ => None,
    }
}

/// The features of one of the fair policies, the kernel's first.
fn fair_features(policy: &str, patches: &Patches) -> Vec<FeatureInfo> {
    let Some(version) = plain_version(policy) else { return Vec::new() };
    let of_kernel = |flag: &FeatureFlag| FeatureInfo {
        key: flag.key,
        doc: flag.doc,
        source: flag.source,
        default: flag.get(&Features::of(version)),
        is_patch: false,
    };
    let patches = patches.clone().at(version);
    let of_patch = |patch: &&Patch| FeatureInfo {
        key: patch.key,
        doc: patch.doc,
        source: patch.source,
        default: patches.is_on(patch.key),
        is_patch: true,
    };
    let flags = FLAGS.iter().filter(|flag| flag.is_of(version)).map(of_kernel);
    flags.chain(patches.known().iter().map(of_patch)).collect()
}

/// The value of a setting without being asked for; of one that grows with the CPUs, how.
fn default_of(setting: &Setting) -> String {
    match setting.scaled {
        true => format!("{} * (1 + log2(CPUs, at most 8))", setting.default),
        false => setting.default.to_string(),
    }
}

/// The settings of one of the fair policies, the kernel's first.
fn fair_settings(policy: &str, patches: &Patches) -> Vec<SettingInfo> {
    let Some(version) = plain_version(policy) else { return Vec::new() };
    let number = |setting: &Setting| SettingInfo {
        key: setting.key,
        doc: setting.doc,
        source: setting.source,
        unit: setting.unit,
        range: format!("{}..={}", setting.range.start(), setting.range.end()),
        default: default_of(setting),
    };
    let word = |choice: &Choice| SettingInfo {
        key: choice.key,
        doc: choice.doc,
        source: choice.source,
        unit: "",
        range: choice.values.join(", "),
        default: choice.get(&Features::of(version)).to_owned(),
    };
    let numbers = SETTINGS.iter().filter(|setting| setting.is_of(version)).map(number);
    let of_patches = patches.settings().iter();
    let of_patches = of_patches.map(|setting| SettingInfo::of(&setting.tunable, setting.source));
    numbers.chain(CHOICES.iter().map(word)).chain(of_patches).collect()
}

/// Builds the policy of an expression; `settings` are further keys with their values.
///
/// # Errors
/// When a name is unknown, or a value is not one that its key takes.
pub fn build(
    expr: &str,
    settings: &[(String, String)],
) -> Result<Box<dyn Policy + Send>, PolicyError> {
    Ok(parse(expr, settings)?.build())
}

/// The full name of the policy of an expression: its version, and all that is not the default.
///
/// # Errors
/// As [`build`].
pub fn canonical_name(expr: &str, settings: &[(String, String)]) -> Result<String, PolicyError> {
    Ok(parse(expr, settings)?.name())
}
