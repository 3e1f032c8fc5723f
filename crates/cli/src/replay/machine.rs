//! The machine on which a recording was made.

use std::sync::Arc;

use simsched_core::{Config, HardwareModel};
use simsched_topology::Topology;
use simsched_trace::What;
use simsched_trace::history::is_idle;
use simsched_trace::reader::Trace;
use simsched_workloads::replay::Speeds;

use crate::failure::Failure;
use crate::topo;

/// What is said where it is not known on which machine a recording was made.
const UNKNOWN: &str = "unknown";

/// The machine on which a recording was made, if that is known.
pub(super) struct Machine {
    topology: Option<Arc<Topology>>,
    /// It is the one on which the recording is replayed.
    pub(super) is_this: bool,
    /// Nobody has said so: the recording has as many CPUs.
    pub(super) is_assumed: bool,
}

impl Machine {
    /// The machine `recorded_on`; `topology` where that is not said, the recording has as many CPUs, and the
    /// hardware is not free.
    ///
    /// # Errors
    /// One sentence about a machine that there is not.
    pub(super) fn of(
        trace: &Trace,
        recorded_on: Option<&str>,
        topology: &Topology,
        config: &Config,
    ) -> Result<Machine, Failure> {
        let unknown = Machine { topology: None, is_this: false, is_assumed: false };
        match recorded_on {
            Some(UNKNOWN) => return Ok(unknown),
            Some(name) => {
                let machine = topo::load(name)?.0;
                let (has, needs) = (machine.nr_cpus(), trace.nr_cpus);
                if has < needs as usize {
                    let found = format!("found {name}, which has {has} CPUs");
                    let what = format!("expected a machine with the {needs} of the recording");
                    return Err(Failure::Input(format!("--recorded-on: {found}, {what}")));
                }
                let names = |it: &Topology| (it.name().to_owned(), it.mode().to_owned());
                let is_this = names(&machine) == names(topology);
                return Ok(Machine { topology: Some(Arc::new(machine)), is_this, ..unknown });
            }
            None => {}
        }
        let is_free = config.hardware == HardwareModel::Free;
        if is_free || trace.nr_cpus as usize != topology.nr_cpus() {
            return Ok(unknown);
        }
        let topology = Some(Arc::new(topology.clone()));
        Ok(Machine { topology, is_this: true, is_assumed: true })
    }

    /// Whether there is one.
    pub(super) fn is_known(&self) -> bool {
        self.topology.is_some()
    }

    /// How fast its CPUs were while `trace` was recorded; none where that does not change, or is not known.
    pub(super) fn speeds(&self, trace: &Trace, turbo: bool) -> Option<Speeds> {
        let mut speeds = Speeds::new(Arc::clone(self.topology.as_ref()?), turbo);
        if speeds.are_constant() {
            return None;
        }
        let begin = trace.told.first().map_or(0, |told| told.event.time);
        let mut is_known = vec![false; trace.nr_cpus as usize];
        for told in &trace.told {
            let event = &told.event;
            let runs = |thread| !is_idle(trace.threads.get(thread));
            if let Some(known) = is_known.get_mut(event.cpu as usize).filter(|known| !**known) {
                // Nothing tells of a CPU before its first event.
                *known = true;
                speeds.set_busy(event.time - begin, event.cpu, runs(event.current));
            }
            if let What::Switch { next, .. } = event.what {
                speeds.set_busy(event.time - begin, event.cpu, runs(next));
            }
        }
        Some(speeds)
    }
}
