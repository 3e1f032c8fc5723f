//! `ShadowSpec`: the fair class with a library beside it, as a policy that a scenario can ask for.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use simsched_core::Policy;
use simsched_policies::catalog::{Change, FairSpec};
use simsched_policies::{PolicyError, PolicySpec};
use simsched_topology::NumaImbalance;

use super::Shadow;
use super::compare::Comparison;
use crate::error::KernelError;
use crate::sys::ClassLevel;

/// The fair class that an expression asks for, and the kernel's functions that are asked the same beside it. It has the
/// name, the features and the settings of that class, and so has its report.
#[derive(Clone, Debug)]
pub struct ShadowSpec {
    fair: FairSpec,
    library: PathBuf,
    built_of: Vec<(String, String)>,
    /// What was compared in the runs that are over.
    seen: Arc<Mutex<Vec<Comparison>>>,
}

impl ShadowSpec {
    /// `fair` with the library in the file `library` beside it.
    ///
    /// # Errors
    /// When the file is no library of this version of the interface, or one whose scheduling class cannot be asked.
    pub fn new(fair: FairSpec, library: &Path) -> Result<ShadowSpec, KernelError> {
        let built_of = ClassLevel::open(library)?.built_of();
        Ok(ShadowSpec { fair, library: library.to_owned(), built_of, seen: Arc::default() })
    }

    /// What the library was built of, by name: its release, and SHA-256 of the sources of the scheduler, of the
    /// configuration and of the shim.
    #[must_use]
    pub fn library_built_of(&self) -> &[(String, String)] {
        &self.built_of
    }

    /// What was compared in the runs that are over, in the order in which they ended, also of copies of this
    /// specification.
    #[must_use]
    pub fn comparisons(&self) -> Vec<Comparison> {
        self.seen.lock().map(|seen| seen.clone()).unwrap_or_default()
    }
}

impl PolicySpec for ShadowSpec {
    fn name(&self) -> String {
        self.fair.name()
    }

    fn policy(&self) -> &str {
        self.fair.policy()
    }

    fn build(&self) -> Box<dyn Policy + Send> {
        let fair = self.fair.fair_class();
        let shadow = Shadow::new(fair, self.library.clone());
        Box::new(shadow.kept_in(Arc::clone(&self.seen)))
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), PolicyError> {
        self.fair.set(key, value)
    }

    fn enable(&mut self, text: &str) -> Result<(), PolicyError> {
        self.fair.enable(text)
    }

    fn get(&self, key: &str) -> Option<String> {
        self.fair.get(key)
    }

    fn boxed(&self) -> Box<dyn PolicySpec> {
        Box::new(self.clone())
    }

    fn changes(&self) -> Vec<Change> {
        self.fair.changes()
    }

    fn without_effect(&self) -> Vec<(&'static str, String)> {
        self.fair.without_effect()
    }

    fn reasons(&self) -> Option<Vec<&'static str>> {
        self.fair.reasons()
    }

    fn kernel(&self) -> Option<&str> {
        self.fair.kernel()
    }

    fn numa_imbalance(&self) -> NumaImbalance {
        self.fair.numa_imbalance()
    }

    fn fair(&self) -> Option<FairSpec> {
        self.fair.fair()
    }
}
