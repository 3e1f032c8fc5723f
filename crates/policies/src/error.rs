//! `PolicyError`: no such policy, version, feature or tunable; a value out of range.

use std::ops::RangeInclusive;

use simsched_topology::did_you_mean;

/// Why a policy could not be built. The messages complete the phrase "failed to ...".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PolicyError {
    /// No policy has this name.
    #[error("find policy `{name}` (known: {known}){}", did_you_mean(nearest))]
    UnknownPolicy {
        /// The name as written.
        name: String,
        /// All policies, and the patches that may stand for one.
        known: String,
        /// Names that are close to it.
        nearest: Vec<&'static str>,
    },
    /// A policy that is made from a file cannot be made from this one, or no file was given.
    #[error("use policy `{policy}`: {what}")]
    File {
        /// The policy as written.
        policy: String,
        /// What was found, and what was expected.
        what: String,
    },
    /// Nothing stands behind a `+`.
    #[error(
        "read policy `{expression}`: found nothing behind a `+`, expected FEATURE or KEY=VALUE"
    )]
    NothingAdded {
        /// The expression as written.
        expression: String,
    },
    /// The policy, or a feature, has no such version.
    #[error("find version `{version}` of `{name}` (known: {known})")]
    UnknownVersion {
        /// The policy or the feature.
        name: String,
        /// The version as written.
        version: String,
        /// Its versions.
        known: String,
    },
    /// The policy has no such feature, where only a feature may stand.
    #[error("find feature `{key}` of policy `{policy}`{}", did_you_mean(nearest))]
    UnknownFeature {
        /// The policy.
        policy: String,
        /// The key as written.
        key: String,
        /// Keys that are close to it.
        nearest: Vec<&'static str>,
    },
    /// The policy has no such feature or tunable.
    #[error("find feature or setting `{key}` of policy `{policy}`{}", did_you_mean(nearest))]
    UnknownKey {
        /// The policy.
        policy: String,
        /// The key as written.
        key: String,
        /// Keys that are close to it.
        nearest: Vec<&'static str>,
    },
    /// The key is a setting, and stands there like a feature.
    #[error(
        "take `{key}` as a feature: it is a setting and needs a value, {key}=VALUE with {expected}"
    )]
    NeedsValue {
        /// The key.
        key: String,
        /// What values it takes.
        expected: String,
    },
    /// The value is none that the key takes.
    #[error("set `{key}` to `{value}`: expected {expected}")]
    BadValue {
        /// The key.
        key: String,
        /// The value as written.
        value: String,
        /// What would be right.
        expected: String,
    },
    /// The value is a number that the key does not take.
    #[error("set `{key}` to {value}: it takes {}..={} {unit}", range.start(), range.end())]
    OutOfRange {
        /// The key.
        key: String,
        /// The value.
        value: u64,
        /// What it takes.
        range: RangeInclusive<u64>,
        /// In which unit.
        unit: &'static str,
    },
}
