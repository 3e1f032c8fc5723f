//! `FairSpec`: the fair class as an expression asks for it.

use simsched_core::Policy;
use simsched_topology::{NumaImbalance, nearest};

use super::{CFS, EEVDF};
use super::{Change, default_of, fair_settings};
use crate::error::PolicyError;
use crate::fair::features::{CHOICES, FLAGS, Version};
use crate::fair::patches::{Form, Patch};
use crate::fair::tunables::{SETTINGS, Setting};
use crate::fair::{Fair, Features, Overrides, Patches};
use crate::registry::PolicySpec;
use crate::tunable::{bad_value, number};

/// The fair class as it was asked for, before it is built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FairSpec {
    /// Its features, of which the version is one,
    pub features: Features,
    /// its patches,
    pub patches: Patches,
    /// and its tunables that are set by hand.
    pub overrides: Overrides,
}

impl From<Features> for FairSpec {
    /// With these features, and otherwise as a kernel of their version is.
    fn from(features: Features) -> FairSpec {
        let patches = Patches::of(features.version);
        FairSpec { features, patches, overrides: Overrides::default() }
    }
}

/// The specification that the start of an expression means: `cfs`, `eevdf` or a patch to them, with its
/// version.
pub(crate) fn head(text: &str, patches: &Patches) -> Result<Box<dyn PolicySpec>, PolicyError> {
    base(text, patches).map(|spec| Box::new(spec) as Box<dyn PolicySpec>)
}

/// A key without the kernel's prefix, which may be there or not.
#[must_use]
pub fn plain(key: &str) -> &str {
    let bare = key.strip_prefix("sched_").unwrap_or(key);
    let is_of_patch = || Patches::of(Version::default()).setting(bare).is_some();
    if SETTINGS.iter().any(|setting| setting.key == bare) || is_of_patch() { bare } else { key }
}

/// The policy, or one of `patches`, at the start of an expression.
fn base(text: &str, patches: &Patches) -> Result<FairSpec, PolicyError> {
    let (name, version) = split_version(text);
    if let "cfs" | "eevdf" = name {
        let version = version_of(name, version)?;
        let features = Features::of(version);
        return Ok(FairSpec { patches: patches.clone().at(version), ..features.into() });
    }
    let Some(patch) = patches.find(name) else {
        // The registry, which knows all names, says which are near.
        return Err(PolicyError::UnknownPolicy {
            name: name.to_owned(),
            known: String::new(),
            nearest: Vec::new(),
        });
    };
    // A patch has the versions of the policy that it changes, and forms of its own.
    let form = version.and_then(|version| patch.form(version));
    let named = version.filter(|_| form.is_none());
    let of_form = form.and_then(|form| form.version);
    let mut selection = match named.or(of_form).or(patch.version) {
        Some(version) => base(&format!("{}@{version}", patch.policy), patches)
            .map_err(|_| unknown_version(name, version, &versions_of(patch)))?,
        None => base(patch.policy, patches)?,
    };
    selection.enable(if form.is_some() { text } else { name })?;
    Ok(selection)
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

/// The versions of the policy that a patch changes, and the forms of the patch.
fn versions_of(patch: &Patch) -> String {
    let info = if patch.policy == EEVDF.name { EEVDF } else { CFS };
    let forms = patch.forms.iter().map(|form| form.name);
    info.versions.iter().copied().chain(forms).collect::<Vec<_>>().join(", ")
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
        Box::new(self.fair_class())
    }

    fn fair(&self) -> Option<FairSpec> {
        Some(self.clone())
    }

    fn name(&self) -> String {
        let FairSpec { features, patches, overrides } = self;
        let plain = Features::of(features.version);
        let mut name = format!("{}@{}", self.policy(), features.version.name());
        for flag in FLAGS {
            let is = flag.get(features);
            if is != flag.get(&plain) {
                name += &format!("+{}={}", flag.key, word(is));
            }
        }
        let mut named = Vec::new();
        for patch in patches.known() {
            let (is, was) = (patches.is_on(patch.key), patch.is_of(features.version));
            let form = form_of(patch, patches).filter(|_| is);
            named.extend(form.map(|form| form.setting));
            match (is, form) {
                _ if is == was => {}
                (true, Some(form)) => name += &format!("+{}@{}", patch.key, form.name),
                (true, None) => name += &format!("+{}", patch.key),
                (false, _) => name += &format!("+{}=off", patch.key),
            }
        }
        for choice in CHOICES {
            if choice.get(features) != choice.get(&plain) {
                name += &format!("+{}={}", choice.key, choice.get(features));
            }
        }
        for (key, value) in overrides.iter() {
            name += &format!("+{key}={value}");
        }
        for (setting, value) in patches.changed().filter(|(it, _)| !named.contains(&it.key())) {
            name += &format!("+{}={}", setting.key(), setting.written(value));
        }
        name
    }

    fn enable(&mut self, text: &str) -> Result<(), PolicyError> {
        let (key, variant) = split_version(text);
        let is_flag = |name: &str| self.is_flag(name);
        match key.strip_prefix("NO_") {
            Some(plain) if is_flag(plain) => return self.set(plain, "off"),
            _ if !is_flag(key) => return Err(self.no_feature(key)),
            _ => {}
        }
        let Some(name) = variant else { return self.set(key, "on") };
        let patch = self.patches.find(key);
        let forms = patch.map_or(&[][..], |patch| patch.forms);
        if let Some(form) = forms.iter().find(|form| form.name == name) {
            self.set(key, "on")?;
            return self.set(form.setting, form.name);
        }
        let policy = patch.map_or(CFS.name, |patch| patch.policy);
        let version = patch.and_then(|patch| patch.version).unwrap_or(Version::V6_1.name());
        let base = format!("{policy}@{version}");
        let forms: Vec<_> = forms.iter().map(|form| form.name).collect();
        let forms = if forms.is_empty() { "none".to_owned() } else { forms.join(", ") };
        let known = format!("{forms}; a version belongs to the base, as in {base}+{key}");
        Err(unknown_version(key, name, &known))
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), PolicyError> {
        let unknown = self.unknown_key(key);
        let FairSpec { features, patches, overrides } = self;
        let version = features.version;
        if let Some(flag) = FLAGS.iter().find(|flag| flag.key == key && flag.is_of(version)) {
            flag.set(features, switch(key, value)?);
            return Ok(());
        }
        if patches.find(key).is_some() {
            patches.set(key, switch(key, value)?);
            return Ok(());
        }
        let bare = key.strip_prefix("sched_").unwrap_or(key);
        if let Some(idx) =
            SETTINGS.iter().position(|setting| setting.key == bare && setting.is_of(version))
        {
            let Setting { key, ref range, unit, .. } = SETTINGS[idx];
            overrides.set(idx, number(key, range, unit, value)?);
            return Ok(());
        }
        if let Some(choice) = CHOICES.iter().find(|choice| choice.key == key) {
            let expected = || format!("one of {}", choice.values.join(", "));
            let is_set = choice.set(features, value);
            return if is_set { Ok(()) } else { Err(bad_value(key, value, expected())) };
        }
        if patches.assign(plain(key), value)? { Ok(()) } else { Err(unknown) }
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
        let FairSpec { features, patches, overrides } = self;
        let version = features.version;
        if let Some(flag) = FLAGS.iter().find(|flag| flag.key == key && flag.is_of(version)) {
            return Some(word(flag.get(features)).to_owned());
        }
        if patches.find(key).is_some() {
            return Some(word(patches.is_on(key)).to_owned());
        }
        if let Some(choice) = CHOICES.iter().find(|choice| choice.key == key) {
            return Some(choice.get(features).to_owned());
        }
        let bare = plain(key);
        if let Some(value) = patches.written(bare) {
            return Some(value);
        }
        let setting = SETTINGS.iter().find(|it| it.key == bare && it.is_of(version))?;
        let given = overrides.iter().find(|(given, _)| *given == bare);
        Some(given.map_or_else(|| default_of(setting), |(_, value)| value.to_string()))
    }

    fn changes(&self) -> Vec<Change> {
        self.changed()
    }

    fn without_effect(&self) -> Vec<(&'static str, String)> {
        self.idle_keys()
    }

    fn boxed(&self) -> Box<dyn PolicySpec> {
        Box::new(self.clone())
    }
}

impl FairSpec {
    /// The fair class that it asks for, not attached to a machine yet.
    #[must_use]
    pub fn fair_class(&self) -> Fair {
        Fair::new(self.features, self.overrides).patched(self.patches.clone())
    }

    /// Whether there is a feature of this name.
    fn is_flag(&self, name: &str) -> bool {
        let version = self.features.version;
        let is_kernel = FLAGS.iter().any(|flag| flag.key == name && flag.is_of(version));
        is_kernel || self.patches.find(name).is_some()
    }

    /// Why `key` cannot be switched on.
    fn no_feature(&self, key: &str) -> PolicyError {
        let bare = key.strip_prefix("sched_").unwrap_or(key);
        let settings = fair_settings(self.policy(), &self.patches);
        match settings.into_iter().find(|setting| setting.key == bare) {
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
        let version = self.features.version;
        let flags = FLAGS.iter().filter(|flag| flag.is_of(version)).map(|flag| flag.key);
        let flags = flags.chain(self.patches.known().iter().map(|patch| patch.key));
        let settings = SETTINGS.iter().filter(|setting| setting.is_of(version));
        let settings = settings.map(|setting| setting.key);
        let of_patches = self.patches.settings().iter().map(|setting| setting.tunable.key());
        let choices = CHOICES.iter().map(|choice| choice.key);
        flags.chain(settings).chain(choices).chain(of_patches).collect()
    }
}

/// The form of a patch, if it is not the one that is meant if none is named.
fn form_of(patch: &'static Patch, patches: &Patches) -> Option<&'static Form> {
    let is = |form: &&Form| {
        patches.changed().any(|(setting, value)| {
            setting.key() == form.setting && setting.written(value) == form.name
        })
    };
    patch.forms.iter().find(is)
}

/// A switch as it is written.
pub(super) fn word(on: bool) -> &'static str {
    if on { "on" } else { "off" }
}

fn switch(key: &str, value: &str) -> Result<bool, PolicyError> {
    match value {
        "on" | "true" | "1" => Ok(true),
        "off" | "false" | "0" => Ok(false),
        _ => Err(bad_value(key, value, "on or off".to_owned())),
    }
}
