//! `KernelSpec`: a library as a policy that a scenario can ask for, `kernel:FILE` in an expression.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use simsched_core::Policy;
use simsched_policies::catalog::Change;
use simsched_policies::{PolicyEntry, PolicyError, PolicySpec};
use simsched_topology::nearest;

use super::{KernelPolicy, placement};
use crate::error::KernelError;
use crate::sys::ClassLevel;

/// The name of the policy in an expression.
const NAME: &str = "kernel";

/// A feature of the scheduler in a library (`sched/features`).
#[derive(Clone, Copy, Debug)]
struct Feature {
    name: &'static str,
    default: bool,
    on: bool,
}

/// The scheduler in a library, and which of its features are on.
#[derive(Clone, Debug)]
pub struct KernelSpec {
    path: PathBuf,
    /// The first two numbers of the release, such as `6.12`.
    version: String,
    features: Vec<Feature>,
}

impl KernelSpec {
    /// The scheduler in the file `library`, as its kernel has it by default.
    ///
    /// # Errors
    /// When the file is no library of this version of the interface, or one whose scheduling class cannot be asked.
    pub fn open(library: &Path) -> Result<KernelSpec, KernelError> {
        let mut class = ClassLevel::open(library)?;
        let release = class.release();
        let features = class.features().into_iter();
        Ok(KernelSpec {
            path: library.to_owned(),
            version: release.split('.').take(2).collect::<Vec<_>>().join("."),
            features: features
                .map(|(name, on)| Feature { name: kept(&name), default: on, on })
                .collect(),
        })
    }

    /// The features that are not as the kernel has them by default, as the file `sched/features` takes them.
    fn changed(&self) -> impl Iterator<Item = String> {
        let changed = self.features.iter().filter(|feature| feature.on != feature.default);
        changed.map(|feature| format!("{}{}", if feature.on { "" } else { "NO_" }, feature.name))
    }

    fn feature(&mut self, name: &str) -> Option<&mut Feature> {
        self.features.iter_mut().find(|feature| feature.name == name)
    }

    fn nearest(&self, key: &str) -> Vec<&'static str> {
        let key = key.strip_prefix("NO_").unwrap_or(key);
        nearest(key, self.features.iter().map(|feature| feature.name))
    }
}

/// A name that lives as long as the program: the names of features are few, and each is kept once.
fn kept(name: &str) -> &'static str {
    static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let Ok(mut names) = NAMES.lock() else { return "feature" };
    if let Some(known) = names.get(name) {
        return known;
    }
    let name: &'static str = Box::leak(name.to_owned().into_boxed_str());
    names.insert(name);
    name
}

impl PolicySpec for KernelSpec {
    fn name(&self) -> String {
        let changes = self.changed().map(|change| format!("+{change}"));
        format!("{NAME}:{}{}", self.path.display(), changes.collect::<String>())
    }

    fn policy(&self) -> &str {
        NAME
    }

    fn build(&self) -> Box<dyn Policy + Send> {
        Box::new(KernelPolicy::new(&self.path, &self.changed().collect::<Vec<_>>()))
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), PolicyError> {
        let on = match value {
            "on" | "true" | "1" => Some(true),
            "off" | "false" | "0" => Some(false),
            _ => None,
        };
        let (key, nearest) = (key.to_owned(), self.nearest(key));
        let Some(feature) = self.feature(&key) else {
            return Err(PolicyError::UnknownKey { policy: NAME.to_owned(), key, nearest });
        };
        let expected = "on or off".to_owned();
        feature.on = on.ok_or(PolicyError::BadValue { key, value: value.to_owned(), expected })?;
        Ok(())
    }

    fn enable(&mut self, text: &str) -> Result<(), PolicyError> {
        let (key, on) = match text.strip_prefix("NO_") {
            Some(key) if self.feature(key).is_some() => (key, false),
            _ => (text, true),
        };
        let (key, nearest) = (key.to_owned(), self.nearest(key));
        let Some(feature) = self.feature(&key) else {
            return Err(PolicyError::UnknownFeature { policy: NAME.to_owned(), key, nearest });
        };
        feature.on = on;
        Ok(())
    }

    fn get(&self, key: &str) -> Option<String> {
        let feature = self.features.iter().find(|feature| feature.name == key)?;
        Some(if feature.on { "on" } else { "off" }.to_owned())
    }

    fn boxed(&self) -> Box<dyn PolicySpec> {
        Box::new(self.clone())
    }

    fn changes(&self) -> Vec<Change> {
        let word = |on| if on { "on" } else { "off" }.to_owned();
        let changed = self.features.iter().filter(|feature| feature.on != feature.default);
        let change = |&Feature { name, default, on }: &Feature| Change {
            key: name,
            value: word(on),
            default: word(default),
        };
        changed.map(change).collect()
    }

    fn reasons(&self) -> Option<Vec<&'static str>> {
        Some(placement::REASONS.to_vec())
    }

    fn kernel(&self) -> Option<&str> {
        Some(&self.version)
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
