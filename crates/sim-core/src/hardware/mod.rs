//! The machine: what things cost here, and how long an idle CPU takes to react.

mod decay;
mod divisor;
mod idle;
mod lines;
mod memory;
mod messages;
mod occupancy;
mod overlap;
mod pipes;
mod prices;
mod runqueues;
mod speed;
mod transfers;
mod warmth;

pub(crate) use idle::IdleGovernor;
pub(crate) use prices::Prices;
pub use speed::{FULL, Speed};
pub(crate) use speed::{at_full_speed, at_speed, both_at_speed};

use simsched_topology::{CpuId, NodeId, PackageId, Topology};

use crate::config::{Config, HardwareModel};
use crate::error::SimError;
use crate::ipc::Slots;
use crate::time::{Nanos, SimTime};
use crate::workload::Setup;
use lines::SharedLines;
use memory::Memory;
use messages::Messages;
use pipes::PipeLines;
use runqueues::RunqueueLocks;
use transfers::Transfers;
use warmth::Warmth;

/// What of a machine is not instructions: lines that move, caches that fill, and clocks.
#[derive(Clone, Debug)]
pub(crate) struct Hardware {
    pub(crate) transfers: Transfers,
    pub(crate) lines: SharedLines,
    messages: Messages,
    pipes: PipeLines,
    pub(crate) runqueues: RunqueueLocks,
    pub(crate) warmth: Warmth,
    pub(crate) speed: Speed,
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
        config: &Config,
    ) -> Result<Hardware, SimError> {
        let costs = topology.costs();
        let home = |node: &NodeId| {
            let first = topology.node_span(*node).first().unwrap_or(CpuId(0));
            topology.package_of(first)
        };
        let homes: Vec<PackageId> = homes.iter().map(home).collect();
        let none = std::iter::repeat(&0);
        let footprints = setup.footprints.iter().chain(none).take(setup.tasks.len());
        let transfers = Transfers::new(topology);
        let mute = transfers.is_free() && costs.fill_llc_ps == 0 && costs.rq_lock_hold == 0;
        let is_free = config.hardware == HardwareModel::Free;
        let is_here = setup.recorded.is_some_and(|times| times.here);
        let free = is_free || mute || is_here;
        let speed = || Speed::new(topology, setup.smt_milli).with_turbo(config.turbo, topology);
        let memory = if is_free { None } else { Memory::new(topology, setup)? };
        Ok(Hardware {
            memory,
            lines: SharedLines::new(topology, &homes),
            messages: Messages::new(2 * setup.sockets.len(), costs),
            pipes: PipeLines::new(setup.pipes as usize, topology.nr_cpus(), costs),
            runqueues: RunqueueLocks::new(topology.nr_cpus(), costs),
            warmth: Warmth::new(topology, footprints.map(|bytes| u64::from(*bytes)), costs),
            speed: if is_free || mute { Speed::free(topology) } else { speed() },
            transfers: if free { Transfers::free() } else { transfers },
            free,
        })
    }

    /// What moving the lines of a socket to `cpu` takes, ns; `object` is that of the receiver.
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
        let ns = self.uncore(topology, cpu, at, ns);
        u32::try_from(ns.0).unwrap_or(u32::MAX)
    }

    /// What the lines take to come to `cpu` with which a task writes a pipe, or reads so many bytes from
    /// it, ns: the count of the file, if it is a thread that shares its files, then the pipe with the
    /// message.
    #[inline(always)]
    pub(crate) fn pipe(
        &mut self,
        topology: &Topology,
        user: (CpuId, bool),
        pipe: usize,
        op: (Option<u32>, Slots),
        at: SimTime,
    ) -> (u64, u64) {
        if self.free {
            return (0, 0);
        }
        let (file, moved) = self.pipes.used(topology, &self.transfers, pipe, user, op);
        if self.lines.is_calm(at) {
            return (file, moved);
        }
        let (cpu, _) = user;
        (self.uncore(topology, cpu, at, file).0, self.uncore(topology, cpu, at, moved).0)
    }

    /// `ns` of transfers of `cpu` as they take while a queue overflows at its socket.
    #[inline]
    pub(crate) fn uncore(&self, topology: &Topology, cpu: CpuId, at: SimTime, ns: u64) -> Nanos {
        if self.lines.is_calm(at) {
            return Nanos(ns);
        }
        match self.lines.factor_of(topology.package_of(cpu), at) {
            100 => Nanos(ns),
            factor => Nanos(ns * u64::from(factor) / 100),
        }
    }
}
