//! `Selection`: a policy as an expression asks for it.

use simsched_core::Policy;
use simsched_topology::nearest;

use super::{CFS, EEVDF, FIFO, policies, settings};
use crate::error::PolicyError;
use crate::fair::features::{CHOICES, FLAGS, FeatureFlag, VARIANTS, Variant, Version, home_of};
use crate::fair::tunables::{SETTINGS, Setting};
use crate::fair::{Fair, Features, Overrides};
use crate::fifo::Fifo;

/// A policy that was asked for, before it is built.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "few are made, before a run")]
pub enum Selection {
    /// The fair class.
    Fair {
        /// With these features, of which the version is one,
        features: Features,
        /// and with these tunables set by hand.
        overrides: Overrides,
    },
    /// First in, first out.
    Fifo,
}

/// Reads an expression; `settings` are further keys with their values.
///
/// # Errors
/// When a name is unknown, or a value is not one that its key takes.
pub fn parse(expr: &str, settings: &[(String, String)]) -> Result<Selection, PolicyError> {
    let mut parts = expr.split('+').map(str::trim);
    let mut selection = base(parts.next().unwrap_or_default())?;
    for part in parts {
        if part.is_empty() {
            return Err(PolicyError::NothingAdded { expression: expr.to_owned() });
        }
        match part.split_once('=') {
            Some((key, value)) => selection.set(key.trim(), value.trim())?,
            None => selection.enable(part)?,
        }
    }
    for (key, value) in settings {
        selection.set(key.trim(), value.trim())?;
    }
    Ok(selection)
}

/// The features and settings that an expression names itself, in its order; a patch that is its base
/// is one of them. They need not exist.
#[must_use]
pub fn named(expr: &str) -> Vec<&str> {
    let mut parts = expr.split('+').map(str::trim);
    let (base, _) = split_version(parts.next().unwrap_or_default());
    let patch = Some(base).filter(|name| FLAGS.iter().any(|flag| flag.key == *name));
    let name = |part| match str::split_once(part, '=') {
        Some((key, _)) => plain(key.trim()),
        None => split_version(part.strip_prefix("NO_").unwrap_or(part)).0,
    };
    patch.into_iter().chain(parts.map(name)).collect()
}

/// A key without the kernel's prefix, which may be there or not.
#[must_use]
pub fn plain(key: &str) -> &str {
    let bare = key.strip_prefix("sched_").unwrap_or(key);
    if SETTINGS.iter().any(|setting| setting.key == bare) { bare } else { key }
}

/// The policy, or the patch, at the start of an expression.
fn base(text: &str) -> Result<Selection, PolicyError> {
    let (name, version) = split_version(text);
    let is_patch = |flag: &&FeatureFlag| !flag.is_kernel() && flag.key == name;
    match (name, version) {
        ("cfs" | "eevdf", _) => {
            let features = Features::of(version_of(name, version)?);
            Ok(Selection::Fair { features, overrides: Overrides::default() })
        }
        ("fifo", None) => Ok(Selection::Fifo),
        ("fifo", Some(version)) => Err(unknown_version(name, version, "none")),
        _ if FLAGS.iter().any(|flag| is_patch(&flag)) => {
            // A patch has the versions of the policy that it changes, and forms of its own.
            let variant = version.filter(|version| Variant::find(name, version).is_some());
            let (policy, plain) = home_of(name);
            let mut selection = match version.filter(|_| variant.is_none()).or(plain) {
                Some(version) => base(&format!("{policy}@{version}"))
                    .map_err(|_| unknown_version(name, version, &versions_of(policy, name)))?,
                None => base(policy)?,
            };
            selection.enable(if variant.is_some() { text } else { name })?;
            Ok(selection)
        }
        _ => Err(unknown_policy(name)),
    }
}

fn unknown_policy(name: &str) -> PolicyError {
    let patches = FLAGS.iter().filter(|flag| !flag.is_kernel()).map(|flag| flag.key);
    let names: Vec<&str> = policies().iter().map(|policy| policy.name).chain(patches).collect();
    let (known, nearest) = (names.join(", "), nearest(name, names));
    PolicyError::UnknownPolicy { name: name.to_owned(), known, nearest }
}

fn split_version(text: &str) -> (&str, Option<&str>) {
    text.split_once('@').map_or((text, None), |(name, version)| (name, Some(version)))
}

fn version_of(policy: &str, version: Option<&str>) -> Result<Version, PolicyError> {
    let (info, versions) = match policy == EEVDF.name {
        true => (EEVDF, Version::EEVDF),
        false => (CFS, Version::CFS),
    };
    match version {
        None => Ok(versions[0].plain()),
        Some(name) => versions
            .into_iter()
            .find(|version| version.name() == name)
            .ok_or_else(|| unknown_version(info.name, name, &info.versions.join(", "))),
    }
}

/// The versions of a policy, and the forms of a patch to it.
fn versions_of(policy: &str, patch: &str) -> String {
    let info = if policy == EEVDF.name { EEVDF } else { CFS };
    info.versions.iter().copied().chain(forms_of(patch)).collect::<Vec<_>>().join(", ")
}

fn forms_of(patch: &str) -> impl Iterator<Item = &'static str> {
    VARIANTS.iter().filter(move |form| form.flag == patch).map(|form| form.name)
}

fn unknown_version(name: &str, version: &str, known: &str) -> PolicyError {
    PolicyError::UnknownVersion {
        name: name.to_owned(),
        version: version.to_owned(),
        known: known.to_owned(),
    }
}

impl Selection {
    /// Builds the policy.
    #[must_use]
    pub fn build(&self) -> Box<dyn Policy + Send> {
        match *self {
            Selection::Fair { features, overrides } => Box::new(Fair::new(features, overrides)),
            Selection::Fifo => Box::new(Fifo::default()),
        }
    }

    /// Its name: the version, and all that is not the default of that version.
    #[must_use]
    pub fn name(&self) -> String {
        let Selection::Fair { features, overrides } = self else { return FIFO.name.to_owned() };
        let plain = Features::of(features.version);
        let mut name = format!("{}@{}", self.policy(), features.version.name());
        for flag in FLAGS {
            let (is, was) = (flag.get(features), flag.get(&plain));
            match (flag.is_kernel(), is) {
                _ if is == was => {}
                (false, true) => {
                    name += &format!("+{}", flag.key);
                    if let Some(variant) = variant_of(flag, features, &plain) {
                        name += &format!("@{}", variant.name);
                    }
                }
                (_, true) => name += &format!("+{}=on", flag.key),
                (_, false) => name += &format!("+{}=off", flag.key),
            }
        }
        let named = FLAGS.iter().filter(|flag| flag.get(features));
        let named: Vec<&str> = named
            .filter_map(|flag| variant_of(flag, features, &plain).map(|it| it.choice))
            .collect();
        for choice in CHOICES.iter().filter(|choice| !named.contains(&choice.key)) {
            if choice.get(features) != choice.get(&plain) {
                name += &format!("+{}={}", choice.key, choice.get(features));
            }
        }
        for (key, value) in overrides.iter() {
            name += &format!("+{key}={value}");
        }
        name
    }

    /// Switches a feature on, or off if it is written as the kernel does, `NO_NEXT_BUDDY`.
    ///
    /// # Errors
    /// When there is no such feature.
    pub fn enable(&mut self, text: &str) -> Result<(), PolicyError> {
        let (key, variant) = split_version(text);
        let is_flag = |name: &str| self.keys().contains(&name) && is_flag(name);
        match key.strip_prefix("NO_") {
            Some(plain) if is_flag(plain) => return self.set(plain, "off"),
            _ if !is_flag(key) => return Err(self.no_feature(key)),
            _ => {}
        }
        match variant.map(|name| (name, Variant::find(key, name))) {
            Some((_, Some(variant))) => {
                self.set(key, "on")?;
                self.set(variant.choice, variant.name)
            }
            Some((name, None)) => {
                let (policy, plain) = home_of(key);
                let base = format!("{policy}@{}", plain.unwrap_or(Version::V6_1.name()));
                let forms: Vec<_> = forms_of(key).collect();
                let forms = if forms.is_empty() { "none".to_owned() } else { forms.join(", ") };
                let known = format!("{forms}; a version belongs to the base, as in {base}+{key}");
                Err(unknown_version(key, name, &known))
            }
            None => self.set(key, "on"),
        }
    }

    /// Sets a feature (`on`, `off`) or a tunable by name; the kernel's prefix `sched_` may be
    /// there or not.
    ///
    /// # Errors
    /// When there is no such key, or it does not take the value.
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), PolicyError> {
        let unknown = self.unknown_key(key);
        let Selection::Fair { features, overrides } = self else { return Err(unknown) };
        let version = features.version;
        if let Some(flag) = FLAGS.iter().find(|flag| flag.key == key && flag.is_of(version)) {
            flag.set(features, switch(key, value)?);
            return Ok(());
        }
        let bare = key.strip_prefix("sched_").unwrap_or(key);
        if let Some(idx) =
            SETTINGS.iter().position(|setting| setting.key == bare && setting.is_of(version))
        {
            overrides.set(idx, number(&SETTINGS[idx], value)?);
            return Ok(());
        }
        let Some(choice) = CHOICES.iter().find(|choice| choice.key == key) else {
            return Err(unknown);
        };
        if choice.set(features, value) {
            return Ok(());
        }
        Err(bad_value(key, value, &format!("one of {}", choice.values.join(", "))))
    }

    /// Why `key` cannot be switched on.
    fn no_feature(&self, key: &str) -> PolicyError {
        let bare = key.strip_prefix("sched_").unwrap_or(key);
        let setting = settings(self.policy()).into_iter().find(|setting| setting.key == bare);
        match setting {
            None => PolicyError::UnknownFeature {
                policy: self.policy().to_owned(),
                key: key.to_owned(),
                nearest: nearest(key, self.keys()),
            },
            Some(setting) => {
                let expected = format!("{} {}", setting.range, setting.unit).trim().to_owned();
                PolicyError::NeedsValue { key: bare.to_owned(), expected }
            }
        }
    }

    fn unknown_key(&self, key: &str) -> PolicyError {
        PolicyError::UnknownKey {
            policy: self.policy().to_owned(),
            key: key.to_owned(),
            nearest: nearest(key, self.keys()),
        }
    }

    /// All features and settings that the policy has.
    fn keys(&self) -> Vec<&'static str> {
        let Selection::Fair { features, .. } = self else { return Vec::new() };
        let version = features.version;
        let flags = FLAGS.iter().filter(|flag| flag.is_of(version)).map(|flag| flag.key);
        let settings = SETTINGS.iter().filter(|setting| setting.is_of(version));
        let settings = settings.map(|setting| setting.key);
        flags.chain(settings).chain(CHOICES.iter().map(|choice| choice.key)).collect()
    }
}

/// The form of a patch, if it is not the one that is meant if none is named.
fn variant_of(flag: &FeatureFlag, is: &Features, plain: &Features) -> Option<&'static Variant> {
    VARIANTS.iter().filter(|variant| variant.flag == flag.key).find(|variant| {
        let choice = CHOICES.iter().find(|choice| choice.key == variant.choice);
        choice.is_some_and(|it| it.get(is) == variant.name && it.get(is) != it.get(plain))
    })
}

fn is_flag(name: &str) -> bool {
    FLAGS.iter().any(|flag| flag.key == name)
}

fn switch(key: &str, value: &str) -> Result<bool, PolicyError> {
    match value {
        "on" | "true" | "1" => Ok(true),
        "off" | "false" | "0" => Ok(false),
        _ => Err(bad_value(key, value, "on or off")),
    }
}

fn number(setting: &Setting, value: &str) -> Result<u64, PolicyError> {
    let number = value.parse().map_err(|_| {
        let unit =
            if setting.unit.is_empty() { String::new() } else { format!(" of {}", setting.unit) };
        let (from, to) = (setting.range.start(), setting.range.end());
        bad_value(setting.key, value, &format!("a whole number{unit} from {from} to {to}"))
    })?;
    if setting.range.contains(&number) {
        return Ok(number);
    }
    Err(PolicyError::OutOfRange {
        key: setting.key.to_owned(),
        value: number,
        range: setting.range.clone(),
        unit: setting.unit,
    })
}

fn bad_value(key: &str, value: &str, expected: &str) -> PolicyError {
    PolicyError::BadValue {
        key: key.to_owned(),
        value: value.to_owned(),
        expected: expected.to_owned(),
    }
}
