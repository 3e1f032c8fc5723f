//! The machine's door: what things cost here, and how long an idle CPU takes to react.

mod decay;
mod divisor;
mod idle;
mod lines;
mod memory;
mod messages;
mod occupancy;
mod prices;
mod runqueues;
mod speed;
mod transfers;
mod warmth;

pub(crate) use idle::IdleGovernor;
pub(crate) use prices::Prices;
pub(crate) use speed::{FULL, at_full_speed, at_speed};

use simsched_topology::{CpuId, NodeId, PackageId, Topology};

use crate::config::HardwareModel;
use crate::error::SimError;
use crate::ids::TaskId;
use crate::time::{Nanos, SimTime};
use crate::workload::Setup;
use lines::SharedLines;
use memory::Memory;
use messages::Messages;
use runqueues::RunqueueLocks;
use speed::Speed;
use transfers::Transfers;
use warmth::Warmth;

/// What of a machine is not instructions: lines that move, caches that fill, and clocks.
#[derive(Clone, Debug)]
pub(crate) struct Hardware {
    pub(crate) transfers: Transfers,
    pub(crate) lines: SharedLines,
    pub(crate) messages: Messages,
    pub(crate) runqueues: RunqueueLocks,
    pub(crate) warmth: Warmth,
    pub(crate) speed: Speed,
    /// By task: other tasks have its process, and so its files.
    threads: Vec<bool>,
    /// Only if the workload has loops that are bound by it.
    pub(crate) memory: Option<Memory>,
    /// Nothing of all that takes any time.
    pub(crate) free: bool,
}

impl Hardware {
    /// The hardware of `topology` for the objects of `setup`, and shared lines whose memory is in
    /// these nodes.
    ///
    /// # Errors
    /// When the workload is bound by memory, and the machine has no price for that.
    pub(crate) fn new(
        topology: &Topology,
        setup: &Setup,
        homes: &[NodeId],
        model: HardwareModel,
    ) -> Result<Hardware, SimError> {
        let costs = topology.costs();
        let home = |node: &NodeId| {
            let first = topology.node_span(*node).first().unwrap_or(CpuId(0));
            topology.package_of(first)
        };
        let homes: Vec<PackageId> = homes.iter().map(home).collect();
        let objects = setup.pipes as usize + 2 * setup.sockets.len();
        let none = std::iter::repeat(&0);
        let footprints = setup.footprints.iter().chain(none).take(setup.tasks.len());
        let transfers = Transfers::new(topology);
        let mute = transfers.is_free() && costs.fill_llc_ps == 0 && costs.rq_lock_hold == 0;
        let free = model == HardwareModel::Free || mute;
        let is_free = model == HardwareModel::Free;
        let memory = if is_free { None } else { Memory::new(topology, setup)? };
        Ok(Hardware {
            memory,
            lines: SharedLines::new(topology, &homes),
            messages: Messages::new(setup.pipes as usize, objects, costs),
            threads: threads(setup),
            runqueues: RunqueueLocks::new(topology.nr_cpus(), costs),
            warmth: Warmth::new(topology, footprints.map(|bytes| u64::from(*bytes)), costs),
            speed: if free { Speed::free(topology) } else { Speed::new(topology) },
            transfers: if free { Transfers::free() } else { transfers },
            free,
        })
    }

    /// What moving the lines of a pipe or socket to `cpu` takes, ns; `object` is that of the receiver.
    #[inline(always)]
    pub(crate) fn message(
        &mut self,
        topology: &Topology,
        cpu: CpuId,
        object: usize,
        read: Option<u32>,
        at: SimTime,
    ) -> u32 {
        if self.free {
            return 0;
        }
        let ns = self.messages.used(topology, &self.transfers, object, cpu, read);
        if ns == 0 {
            return 0;
        }
        u32::try_from(self.uncore(topology, cpu, at, ns).0).unwrap_or(u32::MAX)
    }

    /// What the count of the file takes to come, with which `task` on `cpu` reads a pipe or writes it,
    /// ns.
    #[inline(always)]
    pub(crate) fn file(
        &mut self,
        topology: &Topology,
        cpu: CpuId,
        task: TaskId,
        pipe: usize,
        reads: bool,
        at: SimTime,
    ) -> u32 {
        if self.free || !self.threads[task.idx()] {
            return 0;
        }
        let ns = self.messages.file(topology, &self.transfers, pipe, cpu, reads);
        if ns == 0 {
            return 0;
        }
        u32::try_from(self.uncore(topology, cpu, at, ns).0).unwrap_or(u32::MAX)
    }

    /// `ns` of transfers of `cpu` as they take while a queue overflows at its socket.
    #[inline]
    pub(crate) fn uncore(&self, topology: &Topology, cpu: CpuId, at: SimTime, ns: u32) -> Nanos {
        match self.lines.factor_of(topology.package_of(cpu), at) {
            100 => Nanos(u64::from(ns)),
            factor => Nanos(u64::from(ns) * u64::from(factor) / 100),
        }
    }
}

/// Which tasks are threads of a process that has others.
fn threads(setup: &Setup) -> Vec<bool> {
    let mut counts = std::collections::BTreeMap::new();
    for task in &setup.tasks {
        *counts.entry(task.proc).or_insert(0_u32) += 1;
    }
    setup.tasks.iter().map(|task| counts[&task.proc] > 1).collect()
}
