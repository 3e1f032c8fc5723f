//! `KernelSpec`: a library as a policy that a scenario can ask for, `kernel:FILE` in an expression.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use simsched_core::Policy;
use simsched_policies::catalog::Change;
use simsched_policies::fair::features::Grouping;
use simsched_policies::{OwnSetting, PolicyEntry, PolicyError, PolicySpec};
use simsched_topology::nearest;

use super::{KernelPolicy, placement};
use crate::error::KernelError;
use crate::library::KernelSettings;
use crate::sys::ClassLevel;

/// The name of the policy in an expression.
const NAME: &str = "kernel";
/// The key of the task groups: that of the built-in fair class.
const GROUP: &str = "group";

/// What of a kernel can be set, and how it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Value {
    /// A feature of the scheduler (`sched/features`).
    Feature(bool),
    /// A number of `/sys/kernel/debug/sched`, once it is set: what it is otherwise depends on the machine.
    Knob(Option<u32>),
    /// The task groups that the tasks are in.
    Group(Grouping),
}

#[derive(Clone, Copy, Debug)]
struct Setting {
    key: &'static str,
    default: Value,
    value: Value,
}

impl Setting {
    fn is_changed(&self) -> bool {
        self.value != self.default
    }
}

impl Value {
    fn text(self) -> String {
        match self {
            Value::Feature(on) => if on { "on" } else { "off" }.to_owned(),
            Value::Knob(Some(number)) => number.to_string(),
            Value::Knob(None) => "as the kernel has it".to_owned(),
            Value::Group(grouping) => grouping.name().to_owned(),
        }
    }

    /// The numbers that `key` takes: the kernel divides by most.
    fn range(key: &str) -> RangeInclusive<u32> {
        match key {
            "llc_balancing.enabled" => 0..=1,
            "migration_cost_ns" => 0..=u32::MAX,
            _ if key.starts_with("llc_balancing.") => 0..=u32::MAX,
            _ => 1..=u32::MAX,
        }
    }

    /// This text as a value of the same kind, for `key`.
    fn parse(self, key: &str, text: &str) -> Option<Value> {
        match self {
            Value::Feature(_) => match text {
                "on" | "true" | "1" => Some(Value::Feature(true)),
                "off" | "false" | "0" => Some(Value::Feature(false)),
                _ => None,
            },
            Value::Knob(_) => {
                let number = text.parse().ok().filter(|number| Value::range(key).contains(number));
                number.map(|number| Value::Knob(Some(number)))
            }
            Value::Group(_) => Grouping::from_name(text).map(Value::Group),
        }
    }

    /// What `key` takes.
    fn expected(self, key: &str) -> String {
        match self {
            Value::Feature(_) => "on or off".to_owned(),
            Value::Knob(_) => {
                let range = Value::range(key);
                format!("{} to {}", range.start(), range.end())
            }
            Value::Group(_) => Grouping::VALUES.join(", "),
        }
    }
}

/// The scheduler in a library, and how it is set up.
#[derive(Clone, Debug)]
pub struct KernelSpec {
    path: PathBuf,
    /// The first two numbers of the release, such as `6.12`.
    version: String,
    built_of: Vec<(String, String)>,
    settings: Vec<Setting>,
}

impl KernelSpec {
    /// The scheduler in the file `library`, as its kernel has it by default.
    ///
    /// # Errors
    /// When the file is no library of this version of the interface, or one whose scheduling class cannot be asked.
    pub fn open(library: &Path) -> Result<KernelSpec, KernelError> {
        let mut class = ClassLevel::open(library)?;
        let release = class.release();
        let features = class.features().into_iter().map(|(name, on)| (name, Value::Feature(on)));
        let knobs = class.knobs().into_iter().map(|(name, _)| (name, Value::Knob(None)));
        let group = (GROUP.to_owned(), Value::Group(Grouping::ROOT));
        let all = features.chain(knobs).chain([group]);
        Ok(KernelSpec {
            path: library.to_owned(),
            built_of: class.built_of(),
            version: release.split('.').take(2).collect::<Vec<_>>().join("."),
            settings: all
                .map(|(key, value)| Setting { key: kept(&key), default: value, value })
                .collect(),
        })
    }

    fn changed(&self) -> impl Iterator<Item = &Setting> {
        self.settings.iter().filter(|setting| setting.is_changed())
    }

    fn setting(&mut self, key: &str) -> Option<&mut Setting> {
        self.settings.iter_mut().find(|setting| setting.key == key)
    }

    fn is_feature(&self, key: &str) -> bool {
        let mut settings = self.settings.iter();
        settings.any(|setting| setting.key == key && matches!(setting.value, Value::Feature(_)))
    }

    fn nearest(&self, key: &str) -> Vec<&'static str> {
        let keys = self.settings.iter().map(|setting| setting.key);
        match key.strip_prefix("NO_") {
            Some(key) => {
                nearest(key, keys).into_iter().map(|key| kept(&format!("NO_{key}"))).collect()
            }
            None => nearest(key, keys),
        }
    }

    fn kernel_settings(&self) -> KernelSettings {
        let mut settings = KernelSettings::default();
        for &Setting { key, value, .. } in self.changed() {
            match value {
                Value::Feature(on) => settings.features.push(switched(key, on)),
                Value::Knob(Some(number)) => settings.knobs.push((key.to_owned(), number)),
                Value::Knob(None) => {}
                Value::Group(grouping) => settings.grouping = grouping,
            }
        }
        settings
    }
}

/// A feature as the file `sched/features` takes it.
fn switched(key: &str, on: bool) -> String {
    format!("{}{key}", if on { "" } else { "NO_" })
}

/// A name that lives as long as the program: the names of settings are few, and each is kept once.
fn kept(name: &str) -> &'static str {
    static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let Ok(mut names) = NAMES.lock() else { return "setting" };
    if let Some(known) = names.get(name) {
        return known;
    }
    let name: &'static str = Box::leak(name.to_owned().into_boxed_str());
    names.insert(name);
    name
}

impl PolicySpec for KernelSpec {
    fn name(&self) -> String {
        let change = |&Setting { key, value, .. }: &Setting| match value {
            Value::Feature(on) => format!("+{}", switched(key, on)),
            value => format!("+{key}={}", value.text()),
        };
        let changes = self.changed().map(change).collect::<String>();
        format!("{NAME}:{}{changes}", self.path.display())
    }

    fn policy(&self) -> &str {
        NAME
    }

    fn build(&self) -> Box<dyn Policy + Send> {
        Box::new(KernelPolicy::new(&self.path, self.kernel_settings()))
    }

    fn set(&mut self, key: &str, text: &str) -> Result<(), PolicyError> {
        let (key, nearest) = (key.to_owned(), self.nearest(key));
        let Some(setting) = self.setting(&key) else {
            return Err(PolicyError::UnknownKey { policy: NAME.to_owned(), key, nearest });
        };
        let expected = setting.value.expected(&key);
        let value = setting.value.parse(&key, text);
        setting.value =
            value.ok_or(PolicyError::BadValue { key, value: text.to_owned(), expected })?;
        Ok(())
    }

    fn enable(&mut self, text: &str) -> Result<(), PolicyError> {
        let (key, on) = match text.strip_prefix("NO_") {
            Some(key) if self.is_feature(key) => (key, false),
            _ => (text, true),
        };
        let (key, nearest) = (key.to_owned(), self.nearest(key));
        if !self.is_feature(&key) {
            return Err(PolicyError::UnknownFeature { policy: NAME.to_owned(), key, nearest });
        }
        if let Some(setting) = self.setting(&key) {
            setting.value = Value::Feature(on);
        }
        Ok(())
    }

    fn get(&self, key: &str) -> Option<String> {
        let setting = self.settings.iter().find(|setting| setting.key == key)?;
        Some(setting.value.text())
    }

    fn boxed(&self) -> Box<dyn PolicySpec> {
        Box::new(self.clone())
    }

    fn changes(&self) -> Vec<Change> {
        let change = |&Setting { key, default, value }: &Setting| Change {
            key,
            value: value.text(),
            default: default.text(),
        };
        self.changed().map(change).collect()
    }

    fn own_settings(&self) -> Vec<OwnSetting> {
        let all = self.settings.iter().map(|&Setting { key, value, .. }| OwnSetting {
            key,
            value: value.text(),
            takes: value.expected(key),
            is_feature: matches!(value, Value::Feature(_)),
        });
        all.collect()
    }

    fn reasons(&self) -> Option<Vec<&'static str>> {
        Some(placement::REASONS.to_vec())
    }

    fn kernel(&self) -> Option<&str> {
        Some(&self.version)
    }

    fn built_of(&self) -> Vec<(String, String)> {
        self.built_of.clone()
    }
}

/// The policy `kernel:FILE`, for a [`Registry`](simsched_policies::Registry).
#[must_use]
pub fn entry() -> PolicyEntry {
    let doc = "the scheduler of your own kernel: kernel:FILE, a library of `simsched kernel build`";
    PolicyEntry::from_file(NAME, doc, placement::REASON_INFOS, |file| {
        let failed = |what: String| PolicyError::File { policy: format!("{NAME}:{file}"), what };
        if file.is_empty() {
            let what =
                "found no file, expected kernel:FILE with a library of `simsched kernel build`";
            return Err(PolicyError::File { policy: NAME.to_owned(), what: what.to_owned() });
        }
        let spec = KernelSpec::open(Path::new(file)).map_err(|error| failed(error.to_string()))?;
        Ok(Box::new(spec))
    })
}
