//! `Simulation`: machine, policy, workload and settings, to be run with one seed or several.

use std::fmt;
use std::sync::Arc;

use simsched_core::Nanos;
use simsched_policies::Registry;

use super::runs::measure;
use super::{
    Collect, Error, Machine, MachineChoice, PolicyChoice, Precision, Runs, Seeds, Window,
    WorkloadChoice,
};
use crate::chosen::{ChosenPolicy, ChosenWorkload};
use crate::precision::Ask;
use crate::scenario::{Scenario, Side};

/// A machine, a policy, a workload and settings, to be run with one seed or several.
///
/// It starts as `simsched run --topo MACHINE` does: policy `cfs`, workload `hackbench` with threads over
/// pipes, seed 1, the whole run. Nothing runs before [`run`](Simulation::run).
#[derive(Clone, Debug)]
pub struct Simulation {
    pub(super) machine: Machine,
    registry: Registry,
    pub(super) policy: ChosenPolicy,
    pub(super) workload: ChosenWorkload,
    pub(super) settings: Vec<(String, String)>,
    pub(super) seeds: Seeds,
    pub(super) window: Window,
    pub(super) duration: Option<Nanos>,
    precision: Option<Precision>,
    collect: Collect,
}

impl Simulation {
    /// A simulation on a machine: the name of a built-in one with its mode (`genoa@nps4`), the path of a
    /// machine file, or a [`Machine`].
    ///
    /// # Errors
    /// When there is no such machine, or its file is wrong.
    pub fn on(machine: impl Into<MachineChoice>) -> Result<Simulation, Error> {
        Ok(Simulation {
            machine: machine.into().machine()?,
            registry: Registry::builtin(),
            policy: ChosenPolicy::Named("cfs".to_owned()),
            workload: ChosenWorkload::Words(Vec::new()),
            settings: Vec::new(),
            seeds: Seeds::from(1),
            window: Window::default(),
            duration: None,
            precision: None,
            collect: Collect::default(),
        })
    }

    /// With the policies of this registry, whose entries [`policy`](Simulation::policy) takes by name.
    #[must_use]
    pub fn registry(self, registry: &Registry) -> Simulation {
        Simulation { registry: registry.clone(), ..self }
    }

    /// Under this policy: an expression such as `cfs@5.16+SIS_UTIL=off`, or one of the caller's
    /// ([`policy::own`](super::policy::own)).
    ///
    /// # Errors
    /// When there is no such policy, version, feature or setting.
    pub fn policy(self, policy: impl Into<PolicyChoice>) -> Result<Simulation, Error> {
        let next = Simulation { policy: policy.into().0, ..self };
        let bare = Simulation { settings: Vec::new(), ..next.clone() };
        bare.scenario(1)?;
        Ok(next)
    }

    /// With this workload: a command line such as `hackbench -g 8`, its words, or one of the caller's
    /// ([`workload::own`](super::workload::own)).
    ///
    /// # Errors
    /// When there is no such program, or its options are wrong.
    pub fn workload(self, workload: impl Into<WorkloadChoice>) -> Result<Simulation, Error> {
        let next = Simulation { workload: workload.into().0, ..self };
        let bare = Simulation { settings: Vec::new(), precision: None, ..next.clone() };
        bare.scenario(next.seeds.first)?;
        Ok(next)
    }

    /// With a setting of the simulator or of the policy, as `--set KEY=VALUE` does. Whether there is such
    /// a setting is found when the simulation is checked or run.
    #[must_use]
    pub fn set(mut self, key: &str, value: impl fmt::Display) -> Simulation {
        self.settings.push((key.to_owned(), value.to_string()));
        self
    }

    /// With these seeds: one (`7`) or several (`1..=10`), a run for each.
    #[must_use]
    pub fn seeds(self, seeds: impl Into<Seeds>) -> Simulation {
        Simulation { seeds: seeds.into(), ..self }
    }

    /// Measures this part of each run.
    #[must_use]
    pub fn window(self, window: Window) -> Simulation {
        Simulation { window, ..self }
    }

    /// Stops each run after this much simulated time.
    #[must_use]
    pub fn duration(self, most: Nanos) -> Simulation {
        Simulation { duration: Some(most), ..self }
    }

    /// Simulates only as much of a long job as its numbers need.
    #[must_use]
    pub fn precision(self, precision: Precision) -> Simulation {
        Simulation { precision: Some(precision), ..self }
    }

    /// Collects this beside the numbers of every report.
    #[must_use]
    pub fn collect(self, collect: Collect) -> Simulation {
        Simulation { collect, ..self }
    }

    /// Whether it can be run, and what the caller may have overlooked: a sentence for each setting that was
    /// given and has no effect, and for each part of the workload's input that changes nothing.
    ///
    /// # Errors
    /// What is wrong, in one sentence.
    pub fn check(&self) -> Result<Vec<String>, Error> {
        let seed = self.seeds.checked()?.first;
        let scenario = self.scenario(seed)?;
        let mut notes: Vec<String> = scenario.note().into_iter().collect();
        notes.extend(scenario.without_effect(seed)?);
        Ok(notes)
    }

    /// Runs it, with several seeds on all threads; the result is the same on any number of them.
    ///
    /// # Errors
    /// What is wrong with it; or why a run could not go on, of the first seed of which that is so.
    pub fn run(&self) -> Result<Runs, Error> {
        let seeds = self.seeds.checked()?;
        measure(&self.scenario(seeds.first)?, seeds)
    }

    /// What the command makes of the same arguments, checked with this seed.
    pub(super) fn scenario(&self, seed: u64) -> Result<Scenario, Error> {
        let precision = self.precision.map(precise).transpose()?;
        if precision.is_some() && (self.window != Window::Whole || self.duration.is_some()) {
            let text = "precision: expected neither a window nor a duration beside it";
            return Err(Error::input(text));
        }
        let span = match self.window {
            Window::Whole => None,
            Window::Span(span) => Some(span.slice()),
        };
        let Collect { llc_interval, series, paranoid } = self.collect;
        let side = Side {
            topology: Arc::clone(&self.machine.topology),
            topology_file: self.machine.file.clone(),
            topology_hash: self.machine.hash.clone(),
            policy: self.policy.clone(),
            settings: self.settings.clone(),
            workload: self.workload.clone(),
            span,
            duration: self.duration,
            precision,
            llc_interval,
            series,
            paranoid,
        };
        Ok(Scenario::of_side(side, seed, &self.registry)?)
    }
}

fn precise(precision: Precision) -> Result<Ask, Error> {
    let Precision { percent, max_events } = precision;
    if !(0.1..=50.0).contains(&percent) {
        return Err(Error::input(format!("precision: found {percent} %, expected 0.1 to 50")));
    }
    Ok(Ask { percent, limit: max_events })
}
