//! `FairSpec`: the fair class as an expression asks for it.

use simsched_core::Policy;
use simsched_topology::{NumaImbalance, nearest};

use super::{CFS, EEVDF};
use super::{Change, default_of, fair_settings};
use crate::error::PolicyError;
use crate::fair::features::{CHOICES, FLAGS, FeatureFlag, VARIANTS, Variant, Version, home_of};
use crate::fair::tunables::{SETTINGS, Setting};
use crate::fair::{Fair, Features, Overrides};
use crate::registry::PolicySpec;

/// The fair class as it was asked for, before it is built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FairSpec {
    /// Its features, of which the version is one,
    pub features: Features,
    /// and its tunables that are set by hand.
    pub overrides: Overrides,
}

/// The specification that the start of an expression means: `cfs`, `eevdf` or a patch to them, with its
/// version.
pub(crate) fn head(text: &str) -> Result<Box<dyn PolicySpec>, PolicyError> {
    base(text).map(|spec| Box::new(spec) as Box<dyn PolicySpec>)
}

/// A key without the kernel's prefix, which may be there or not.
#[must_use]
pub fn plain(key: &str) -> &str {
    let bare = key.strip_prefix("sched_").unwrap_or(key);
    if SETTINGS.iter().any(|setting| setting.key == bare) { bare } else { key }
}

/// The policy, or the patch, at the start of an expression.
fn base(text: &str) -> Result<FairSpec, PolicyError> {
    let (name, version) = split_version(text);
    let is_patch = |flag: &&FeatureFlag| !flag.is_kernel() && flag.key == name;
    match (name, version) {
        ("cfs" | "eevdf", _) => {
            let features = Features::of(version_of(name, version)?);
            Ok(FairSpec { features, overrides: Overrides::default() })
        }
        _ if FLAGS.iter().any(|flag| is_patch(&flag)) => {
            // A patch has the versions of the policy that it changes, and forms of its own.
            let variant = version.filter(|version| Variant::find(name, version).is_some());
            let (policy, plain) = home_of(name);
            let of_form = version.and_then(|version| Variant::find(name, version)?.version);
            let named = version.filter(|_| variant.is_none());
            let mut selection = match named.or(of_form).or(plain) {
                Some(version) => base(&format!("{policy}@{version}"))
                    .map_err(|_| unknown_version(name, version, &versions_of(policy, name)))?,
                None => base(policy)?,
            };
            selection.enable(if variant.is_some() { text } else { name })?;
            Ok(selection)
        }
        // The registry, which knows all names, says which are near.
        _ => Err(PolicyError::UnknownPolicy {
            name: name.to_owned(),
            known: String::new(),
            nearest: Vec::new(),
        }),
    }
}

/// The patches that may stand as a policy of their own.
pub(crate) fn patches() -> impl Iterator<Item = &'static str> {
    FLAGS.iter().filter(|flag| !flag.is_kernel()).map(|flag| flag.key)
}

pub(crate) fn split_version(text: &str) -> (&str, Option<&str>) {
    text.split_once('@').map_or((text, None), |(name, version)| (name, Some(version)))
}

fn version_of(policy: &str, version: Option<&str>) -> Result<Version, PolicyError> {
    let (info, versions, other) = match policy == EEVDF.name {
        true => (EEVDF, Version::EEVDF, (CFS.name, Version::CFS)),
        false => (CFS, Version::CFS, (EEVDF.name, Version::EEVDF)),
    };
    let known = |name: &str| {
        let known = info.versions.join(", ");
        match other.1.iter().any(|version| version.name() == name) {
            true => format!("{known}; that of Linux {name} is `{}@{name}`", other.0),
            false => known,
        }
    };
    match version {
        None => Ok(versions[0].plain()),
        Some(name) => versions
            .iter()
            .copied()
            .find(|version| version.name() == name)
            .ok_or_else(|| unknown_version(info.name, name, &known(name))),
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

pub(crate) fn unknown_version(name: &str, version: &str, known: &str) -> PolicyError {
    PolicyError::UnknownVersion {
        name: name.to_owned(),
        version: version.to_owned(),
        known: known.to_owned(),
    }
}

impl PolicySpec for FairSpec {
    fn build(&self) -> Box<dyn Policy + Send> {
        Box::new(Fair::new(self.features, self.overrides))
    }

    fn fair(&self) -> Option<FairSpec> {
        Some(self.clone())
    }

    fn name(&self) -> String {
        let FairSpec { features, overrides } = self;
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

    fn enable(&mut self, text: &str) -> Result<(), PolicyError> {
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

    fn set(&mut self, key: &str, value: &str) -> Result<(), PolicyError> {
        let unknown = self.unknown_key(key);
        let FairSpec { features, overrides } = self;
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

    fn policy(&self) -> &str {
        if self.features.version.is_eevdf() { EEVDF.name } else { CFS.name }
    }

    fn kernel(&self) -> Option<&str> {
        Some(self.features.version.name())
    }

    fn numa_imbalance(&self) -> NumaImbalance {
        self.features.numa_imbalance
    }

    fn get(&self, key: &str) -> Option<String> {
        let FairSpec { features, overrides } = self;
        let version = features.version;
        if let Some(flag) = FLAGS.iter().find(|flag| flag.key == key && flag.is_of(version)) {
            return Some(if flag.get(features) { "on" } else { "off" }.to_owned());
        }
        if let Some(choice) = CHOICES.iter().find(|choice| choice.key == key) {
            return Some(choice.get(features).to_owned());
        }
        let bare = plain(key);
        let setting = SETTINGS.iter().find(|it| it.key == bare && it.is_of(version))?;
        let given = overrides.iter().find(|(given, _)| *given == bare);
        Some(given.map_or_else(|| default_of(setting), |(_, value)| value.to_string()))
    }

    fn changes(&self) -> Vec<Change> {
        self.changed()
    }

    fn without_effect(&self) -> Vec<(&'static str, &'static str)> {
        self.idle_keys()
    }

    fn boxed(&self) -> Box<dyn PolicySpec> {
        Box::new(self.clone())
    }
}

impl FairSpec {
    /// Why `key` cannot be switched on.
    fn no_feature(&self, key: &str) -> PolicyError {
        let bare = key.strip_prefix("sched_").unwrap_or(key);
        let setting = fair_settings(self.policy()).into_iter().find(|setting| setting.key == bare);
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
        let FairSpec { features, .. } = self;
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
