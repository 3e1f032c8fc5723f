//! Two simulations of one program, side by side: the fair class, and the kernel's own functions set up as it is.

use std::path::Path;
use std::sync::Arc;

use simsched_core::observe::{Recorder, Step, lockstep};
use simsched_core::{
    Config, Policy, Reason, Seed, SimError, SimTime, Simulator, Status, Tracepoint, Workload,
};
use simsched_kernel::KernelPolicy;
use simsched_kernel::shadow::Inside;
use simsched_policies::catalog;
use simsched_topology::Topology;

/// What both sides have.
pub(crate) struct Scene<'a, W> {
    pub(crate) topology: Arc<Topology>,
    /// The fair class, as a user would write it.
    pub(crate) expr: &'a str,
    /// The library of the same release.
    pub(crate) library: &'a Path,
    pub(crate) work: &'a dyn Fn() -> W,
    pub(crate) ms: u64,
    pub(crate) irq_accounting: bool,
    pub(crate) seed: Seed,
}

impl<W: Workload> Scene<'_, W> {
    /// How many steps of both runs are the same, or the first that is not.
    pub(crate) fn compared(&self) -> Result<u64, String> {
        let spec = catalog::parse(self.expr, &[]).unwrap().fair().unwrap();
        let fair = spec.fair_class();
        let kernel = KernelPolicy::new(self.library, fair.kernel_settings().unwrap());
        let mut ours = Run::new(self, Box::new(fair));
        let mut kernel = Run::new(self, Box::new(kernel));
        match lockstep(&mut |steps| ours.advance(steps), &mut |steps| kernel.advance(steps)) {
            Some(divergence) => Err(format!("{divergence}{}{}", ours.why(), kernel.why())),
            // Tasks may wait for each other: on both sides alike.
            None if ours.error == kernel.error && !ours.has_failed() => Ok(ours.steps),
            None => Err(format!("{} equal steps{}{}", ours.steps, ours.why(), kernel.why())),
        }
    }
}

/// A run that can be taken on a little.
struct Run<W: Workload> {
    sim: Simulator<dyn Policy, W, Recorder>,
    until: u64,
    end: u64,
    /// How many there were.
    steps: u64,
    error: Option<SimError>,
}

impl<W: Workload> Run<W> {
    fn new(scene: &Scene<'_, W>, policy: Box<dyn Policy>) -> Run<W> {
        let topology = Arc::clone(&scene.topology);
        // All tasks are looked at for each CPU and event.
        let is_small = topology.nr_cpus() <= 16;
        let config =
            Config { seed: scene.seed, irq_accounting: scene.irq_accounting, ..Config::default() };
        let recorder = Recorder::default();
        let mut sim = Simulator::new(topology, policy, (scene.work)(), recorder, config).unwrap();
        if is_small {
            sim.set_paranoid();
        }
        Run { sim, until: 0, end: scene.ms * 1_000_000, steps: 0, error: None }
    }

    /// Whether it ended otherwise than by tasks that wait for each other.
    fn has_failed(&self) -> bool {
        self.error.as_ref().is_some_and(|error| !matches!(error, SimError::Deadlock { .. }))
    }

    fn why(&self) -> String {
        self.error.as_ref().map(|error| format!("; {error}")).unwrap_or_default()
    }

    /// Goes on until there are steps, or to the end.
    fn advance(&mut self, steps: &mut Vec<Step>) {
        while steps.is_empty() && self.until < self.end {
            self.until += 100_000;
            let status = self.sim.run_until(SimTime(self.until));
            self.sim.observer_mut().drain_into(steps);
            match status {
                Ok(Status::Finished) => self.until = self.end,
                Ok(_) => {}
                Err(error) => (self.error, self.until) = (Some(error), self.end),
            }
        }
        self.steps += steps.len() as u64;
        steps.iter_mut().for_each(plain);
    }
}

/// Both name the reasons of a placement in ways of their own.
fn plain(step: &mut Step) {
    if let Tracepoint::Migrate { reason, .. } | Tracepoint::Wakeup { reason, .. } = &mut step.what {
        *reason = Reason(0);
    }
}
