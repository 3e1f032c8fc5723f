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
use simsched_core::{
    Config, Observer, Policy, Reason, Seed, SimTime, Simulator, Status, Tracepoint, Wants,
    Workload, World,
};
use simsched_topology::Topology;

use crate::registry::{Make, PolicyEntry, PolicySpec, Registry};
use programs::Programs;

/// How much [`conformance`] tries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Effort {
    /// A dozen random programs on two small machines.
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
/// - all tasks come to their end; no invariant of the machine or of the policy
///   ([`Report::check`](simsched_core::Report::check)) is ever broken;
/// - the same run gives the same digest, also when it is paused, when its pipe operations are done one by
///   one, and when an observer enables all of its trace events;
/// - the reasons that it names are those of its entry, each with a sentence, and it gives no other;
/// - its full name, read again, is the same policy, and so with each feature inverted and each number of
///   its table at both ends of its range.
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
    let specs = variants(entry).map_err(at)?;
    for machine in machines {
        let (name, mode) = machine.split_once('@').map_or((*machine, None), |(n, m)| (n, Some(m)));
        let topology = Topology::builtin(name, mode).map_err(|error| at(error.to_string()))?;
        let topology = Arc::new(topology);
        for nth in 0..programs {
            // Each variant runs one program, and the policy as it is all of them.
            for spec in specs.iter().take(if nth == 0 { specs.len() } else { 1 }) {
                let case = Case { entry, spec: spec.as_ref(), topology: &topology, nth };
                let wrong =
                    |what| at(format!("`{}` on {machine}, program {nth}: {what}", spec.name()));
                case.check().map_err(wrong)?;
            }
        }
    }
    Ok(())
}

/// The policy without features and settings, then with each feature inverted, then with each number of its
/// table at both ends. The full name of each means the same.
fn variants(entry: &PolicyEntry) -> Result<Vec<Box<dyn PolicySpec>>, String> {
    let failed = |error: &dyn std::fmt::Display| format!("failed to {error}");
    let builtin = Registry::builtin();
    let registry = match builtin.entry(entry.info.name) {
        Some(_) => builtin,
        None => builtin.with(entry.clone()).map_err(|error| failed(&error))?,
    };
    let parse = |text: &str| registry.parse(text, &[]).map_err(|error| failed(&error));
    let plain = parse(entry.info.name)?;
    if plain.policy() != entry.info.name {
        return Err(format!("its specification calls it `{}`", plain.policy()));
    }
    let mut values = Vec::new();
    for feature in registry.features(entry.info.name) {
        values.push((feature.key, if feature.default { "off" } else { "on" }.to_owned()));
    }
    if let Make::Tuned { tunables, .. } = entry.make {
        let samples = tunables.iter().map(|tunable| (tunable.key(), tunable.samples()));
        values.extend(
            samples.flat_map(|(key, samples)| samples.into_iter().map(move |value| (key, value))),
        );
    }
    let mut specs = vec![plain];
    for (key, value) in values {
        let mut spec = specs[0].boxed();
        spec.set(key, &value).map_err(|error| failed(&error))?;
        if spec.get(key).as_deref() != Some(value.as_str()) {
            return Err(format!("{key} was set to {value}, and is {:?}", spec.get(key)));
        }
        let again = parse(&spec.name())?;
        if again.name() != spec.name() || again.get(key) != spec.get(key) {
            return Err(format!("its name `{}` means `{}`", spec.name(), again.name()));
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
            ("the run that is watched", plain, true, u64::MAX),
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
        let reasons = Reasons { known: self.entry.reasons.len(), wrong: None };
        let mut run = self.simulator(
            self.spec.build(),
            programs,
            (Digest::default(), (rules, reasons)),
            Config::default(),
        )?;
        self.check_reasons(run.reasons())?;
        run.set_paranoid();
        match run.run_until(HORIZON) {
            Ok(Status::Finished) => {}
            Ok(_) => return Err(format!("not all tasks ended within {HORIZON}")),
            Err(error) => return Err(error.to_string()),
        }
        let (world, _, _, (digest, (mut rules, reasons))) = run.into_parts();
        rules.finish(&world).map_err(|broken| broken.to_string())?;
        reasons.wrong.map_or(Ok(digest.value()), Err)
    }

    fn digest(&self, config: Config, watched: bool, portion: u64) -> Result<u64, String> {
        let programs = Programs::new(self.nth, self.topology.nr_cpus());
        let observer = (Digest::default(), watched.then_some(Curious));
        let mut run = self.simulator(self.spec.build(), programs, observer, config)?;
        while run.run_events(HORIZON, portion).map_err(|error| error.to_string())? == Status::Paused
        {
        }
        Ok(run.observer().0.value())
    }

    fn simulator<O: Observer>(
        &self,
        policy: Box<dyn Policy + Send>,
        programs: Programs,
        observer: O,
        config: Config,
    ) -> Result<Simulator<dyn Policy + Send, Programs, O>, String> {
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

/// Wants to know all that a policy tells.
struct Curious;

impl Observer for Curious {
    fn on(&mut self, _: &World, _: Tracepoint) {}

    fn wants(&self) -> Wants {
        Wants::UTIL_AVG.or(Wants::PREFERRED)
    }
}

/// Watches the reasons of placements.
#[derive(Clone, Debug)]
struct Reasons {
    /// How many the policy has.
    known: usize,
    /// The first that is none of them.
    wrong: Option<String>,
}

impl Observer for Reasons {
    fn on(&mut self, _: &World, tracepoint: Tracepoint) {
        let Tracepoint::Wakeup { reason, .. } = tracepoint else { return };
        let is_core = usize::from(reason.0) >= 256 - Reason::CORE_NAMES.len();
        if !is_core && usize::from(reason.0) >= self.known {
            let said = || format!("it gave the reason {} and has {} of them", reason.0, self.known);
            self.wrong.get_or_insert_with(said);
        }
    }
}
