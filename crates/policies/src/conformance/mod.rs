//! `conformance`: the test that a policy keeps the rules of every policy.
//!
//! ```
//! use simsched_policies::{Effort, Fifo, PolicyEntry, catalog::ReasonInfo, conformance};
//!
//! const REASONS: &[ReasonInfo] = &[
//!     ReasonInfo { name: "prev", doc: "The task may run where it was." },
//!     ReasonInfo { name: "allowed", doc: "It may not: the first CPU on which it may." },
//! ];
//! let mine = PolicyEntry::plain("mine", "my policy", REASONS, || Box::<Fifo>::default());
//! assert_eq!(conformance(&mine, Effort::Quick), Ok(()));
//! ```

mod programs;

use std::sync::Arc;

use simsched_core::observe::{Digest, Invariants};
use simsched_core::{Config, Policy, Seed, SimTime, Simulator, Status, Watched, Workload};
use simsched_topology::Topology;

use crate::registry::{PolicyEntry, PolicySpec};
use programs::Programs;

/// How much [`conformance`] tries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Effort {
    /// A dozen random programs on two small machines: a second.
    #[default]
    Quick,
    /// A hundred random programs on four machines, two of them large.
    Thorough,
}

/// Simulated time in which every program ends under every policy that runs all of its tasks.
const HORIZON: SimTime = SimTime(60_000_000_000);

/// Events between two pauses of a run that is paused.
const PORTION: u64 = 997;

/// Runs random programs under the policy of `entry` and holds it to the rules of every policy:
///
/// - all tasks come to their end, on CPUs on which they may run; no invariant of the machine or of the
///   policy ([`Policy::check`]) is ever broken;
/// - the same run gives the same digest, also when it is paused, when its pipe operations are done one by
///   one, and when an observer watches its `util_avg`;
/// - the reasons that it names are those of its entry, each with a sentence;
/// - its full name means the same policy, and so with each of its features turned over.
///
/// # Errors
/// The first rule that is broken, with the machine and the number of the program.
///
/// # Panics
/// When the policy panics.
pub fn conformance(entry: &PolicyEntry, effort: Effort) -> Result<(), String> {
    let (machines, programs) = match effort {
        Effort::Quick => (&["t8", "t16"][..], 12),
        Effort::Thorough => (&["t8", "t16", "genoa@nps4", "power10"][..], 100),
    };
    let at = |what: String| format!("policy `{}`: {what}", entry.info.name);
    for machine in machines {
        let (name, mode) = machine.split_once('@').map_or((*machine, None), |(n, m)| (n, Some(m)));
        let topology = Topology::builtin(name, mode).map_err(|error| at(error.to_string()))?;
        let topology = Arc::new(topology);
        for nth in 0..programs {
            let specs = if nth == 0 {
                turned_over(entry).map_err(at)?
            } else {
                vec![plain(entry).map_err(at)?]
            };
            for spec in specs {
                let case = Case { entry, spec: spec.as_ref(), topology: &topology, nth };
                let wrong =
                    |what| at(format!("`{}` on {machine}, program {nth}: {what}", spec.name()));
                case.check().map_err(wrong)?;
            }
        }
    }
    Ok(())
}

/// The policy without features and settings.
fn plain(entry: &PolicyEntry) -> Result<Box<dyn PolicySpec>, String> {
    entry.head(entry.info.name).map_err(|error| format!("failed to {error}"))
}

/// The same, and with each of its features turned over.
fn turned_over(entry: &PolicyEntry) -> Result<Vec<Box<dyn PolicySpec>>, String> {
    let mut specs = vec![plain(entry)?];
    for feature in entry.features() {
        let mut spec = plain(entry)?;
        let value = if feature.default { "off" } else { "on" };
        spec.set(feature.key, value).map_err(|error| format!("failed to {error}"))?;
        if spec.get(feature.key).as_deref() != Some(value) {
            return Err(format!("feature {}: it was set to {value} and is not", feature.key));
        }
        specs.push(spec);
    }
    Ok(specs)
}

/// A policy under a program on a machine.
struct Case<'a> {
    entry: &'a PolicyEntry,
    spec: &'a dyn PolicySpec,
    topology: &'a Arc<Topology>,
    nth: u64,
}

impl Case<'_> {
    fn check(&self) -> Result<(), String> {
        let whole = self.with_rules()?;
        let (plain, one_by_one) =
            (Config::default(), Config { batch_ops: false, ..Config::default() });
        let runs = [
            ("the same run again", plain, false, u64::MAX),
            ("the run with pauses", plain, false, PORTION),
            ("the run with pipe operations one by one", one_by_one, false, u64::MAX),
            ("the run with its util_avg watched", plain, true, u64::MAX),
        ];
        for (what, config, watched, portion) in runs {
            let found = self.digest(config, watched, portion)?;
            if found != whole {
                return Err(format!("{what} has the digest {found:016x}, expected {whole:016x}"));
            }
        }
        Ok(())
    }

    /// The digest of the run in which every rule is checked.
    fn with_rules(&self) -> Result<u64, String> {
        let programs = Programs::new(self.nth, self.topology.nr_cpus());
        let rules = Invariants::new(self.topology.nr_cpus(), programs.setup().tasks.len());
        let mut run = self.simulator(
            self.spec.build(),
            programs,
            (Digest::default(), rules),
            Config::default(),
        )?;
        self.check_reasons(run.reasons())?;
        run.set_paranoid();
        match run.run_until(HORIZON) {
            Ok(Status::Finished) => {}
            Ok(_) => return Err(format!("not all tasks ended within {HORIZON}")),
            Err(error) => return Err(error.to_string()),
        }
        let (world, _, _, (digest, mut rules)) = run.into_parts();
        rules.finish(&world).map_err(|broken| broken.to_string())?;
        Ok(digest.value())
    }

    fn digest(&self, config: Config, watched: bool, portion: u64) -> Result<u64, String> {
        let programs = Programs::new(self.nth, self.topology.nr_cpus());
        let mut policy = self.spec.build();
        if watched {
            policy = Box::new(Watched::new(policy));
        }
        let mut run = self.simulator(policy, programs, Digest::default(), config)?;
        while run.run_events(HORIZON, portion).map_err(|error| error.to_string())? == Status::Paused
        {
        }
        Ok(run.observer().value())
    }

    fn simulator<O: simsched_core::Observer>(
        &self,
        policy: Box<dyn Policy + Send>,
        programs: Programs,
        observer: O,
        config: Config,
    ) -> Result<Simulator<Box<dyn Policy + Send>, Programs, O>, String> {
        let config = Config { seed: Seed(self.nth), ..config };
        let run = Simulator::new(Arc::clone(self.topology), policy, programs, observer, config);
        run.map_err(|error| error.to_string())
    }

    /// The names of the reasons are those of the entry, each of which is explained.
    fn check_reasons(&self, attached: &[&str]) -> Result<(), String> {
        let named: Vec<&str> = self.entry.reasons.iter().map(|reason| reason.name).collect();
        if named != attached {
            return Err(format!(
                "its reasons are {attached:?}, and those of its entry {named:?}: expected the same"
            ));
        }
        match self.entry.reasons.iter().find(|reason| reason.doc.trim().is_empty()) {
            Some(reason) => Err(format!("reason {} has no sentence in its entry", reason.name)),
            None => Ok(()),
        }
    }
}
