//! `Memory`: who streams through memory now, how fast, and where the pages are.

mod latency;
mod places;
mod shares;

use simsched_topology::{CpuId, MemoryCaps, NodeId, PackageId, Topology, WEIGHT_ONE};

use crate::error::SimError;
use crate::ids::{RegionId, TaskId};
use crate::time::{Nanos, SimTime};
use crate::workload::{Op, Setup, Stores};
use places::Places;
use shares::{Flow, Shares};

/// Work is counted in millionths of a byte: a kB/s moves one in a nanosecond.
const BYTE: u64 = 1_000_000;

/// The stage of a CPU that is bound by memory.
#[derive(Clone, Copy, Debug)]
struct Stream {
    task: TaskId,
    op: Op,
    /// What it still has to load and store, in millionths of a byte.
    left: u64,
    /// From when on that counts.
    since: SimTime,
    /// The rate for which its end is planned, in kB/s.
    planned: u64,
}

/// What a stage loads and stores.
#[derive(Clone, Copy, Debug)]
struct Traffic {
    region: RegionId,
    loads: u64,
    stores: u64,
    /// Of its stores, the lines come from memory first.
    allocates: bool,
    touches: bool,
}

/// The memory of a machine.
///
/// A stage that is bound by memory is a flow. Its rate is what its core, the port of its LLC, the
/// controllers of its pages and the link to them let through; where several flows want the same,
/// [`Shares`] divides it. A flow goes over all touched pages of its region alike. It counts from
/// its start to its end, so what it moves is what the workload said, to the byte. Source: section 7 of
/// the cost model.
#[derive(Clone, Debug)]
pub(crate) struct Memory {
    places: Places,
    shares: Shares,
    /// By CPU.
    flows: Vec<Flow>,
    streams: Vec<Option<Stream>>,
    /// CPUs with a stream, in order.
    active: Vec<u32>,
    /// By task: what is left of its interrupted stream.
    left: Vec<u64>,
    /// By region: its size in bytes, and what its stores do.
    regions: Vec<(u64, Stores)>,
    /// By region and node: bytes that were touched from there.
    pages: Vec<u64>,
    nr_nodes: usize,
    /// Lines that a core has under way.
    lines: u64,
    latency_ps: u64,
}

impl Memory {
    /// The memory of `topology` for the regions of `setup`; nothing at all if there are none.
    pub(crate) fn new(topology: &Topology, setup: &Setup) -> Result<Option<Memory>, SimError> {
        if setup.regions.is_empty() {
            return Ok(None);
        }
        let needs = "; the workload is bound by memory. With hardware=free that takes no time";
        let caps = topology.memory_caps();
        let caps = caps.map_err(|error| SimError::Machine(format!("{error}{needs}")))?;
        Ok(Some(Memory::with(topology, setup, &caps)))
    }

    fn with(topology: &Topology, setup: &Setup, caps: &MemoryCaps) -> Memory {
        let nr_cpus = topology.nr_cpus();
        let places = Places::new(topology, caps);
        let most = places.most_uses();
        let flow = || Flow { uses: Vec::with_capacity(most), rate: 0 };
        let nr_nodes = topology.nr_nodes();
        Memory {
            shares: Shares::new(places.caps(topology, caps), nr_cpus),
            places,
            flows: (0..nr_cpus).map(|_| flow()).collect(),
            streams: vec![None; nr_cpus],
            active: Vec::with_capacity(nr_cpus),
            left: vec![0; setup.tasks.len()],
            regions: setup.regions.iter().map(|it| (u64::from(it.kib) << 10, it.stores)).collect(),
            pages: vec![0; setup.regions.len() * nr_nodes],
            nr_nodes,
            lines: u64::from(topology.costs().memory_lines),
            latency_ps: caps.latency_ps,
        }
    }

    /// `task` begins `op` on `cpu`, or goes on with it if it was `interrupted`; it counts from `start`
    /// on, and now is `now`. How long it takes, as things are.
    pub(crate) fn begins(
        &mut self,
        topology: &Topology,
        (cpu, task): (CpuId, TaskId),
        op: Op,
        interrupted: bool,
        (now, start): (SimTime, SimTime),
    ) -> Nanos {
        let traffic = self.traffic(op);
        if !interrupted {
            self.left[task.idx()] = (traffic.loads + traffic.stores) * BYTE;
        }
        self.counts(now);
        self.finds_pages(topology.node_of(cpu), traffic);
        let left = self.left[task.idx()];
        self.streams[cpu.idx()] = Some(Stream { task, op, left, since: start, planned: 0 });
        self.takes(topology, cpu, traffic);
        let row = u32::try_from(cpu.idx()).expect("a machine has few CPUs");
        let at = self.active.partition_point(|other| *other < row);
        self.active.insert(at, row);
        self.shares.fill(&mut self.flows, &self.active);
        self.plans(cpu).1
    }

    /// The stage of `cpu` is over, or interrupted: how many bytes it has moved since it went on.
    pub(crate) fn stops(&mut self, topology: &Topology, cpu: CpuId, now: SimTime) -> u64 {
        self.counts(now);
        let Some(stream) = self.streams[cpu.idx()].take() else { return 0 };
        let traffic = self.traffic(stream.op);
        let to_do = |left: u64| left.div_ceil(BYTE);
        let bytes = to_do(self.left[stream.task.idx()]) - to_do(stream.left);
        if traffic.touches {
            self.places_pages(topology.node_of(cpu), traffic.region, bytes);
        }
        self.left[stream.task.idx()] = stream.left;
        self.flows[cpu.idx()].uses.clear();
        self.active.retain(|other| *other as usize != cpu.idx());
        self.shares.fill(&mut self.flows, &self.active);
        bytes
    }

    /// How many CPUs stream.
    pub(crate) fn nr_active(&self) -> usize {
        self.active.len()
    }

    /// The `nth` of the CPUs that stream, if its rate is not that for which its end is planned: from
    /// when on what it still has to do counts, and how long that takes now.
    pub(crate) fn replanned(&mut self, nth: usize) -> Option<(CpuId, SimTime, Nanos)> {
        let row = self.active[nth] as usize;
        if self.streams[row]?.planned == self.flows[row].rate {
            return None;
        }
        let cpu = CpuId::new(row);
        let (since, ns) = self.plans(cpu);
        Some((cpu, since, ns))
    }

    /// Whether somebody streams.
    #[inline]
    pub(crate) fn is_busy(&self) -> bool {
        !self.active.is_empty()
    }

    /// How much longer than alone a load from the memory of `package` takes, in 1024ths.
    pub(crate) fn loaded_1024(&self, package: PackageId) -> u64 {
        let of = |row| {
            let (used, cap) = (self.shares.used_1024(row), self.shares.cap(row));
            // The lines that are under way, at the rate at which they come.
            let queue_ps = self.shares.demand(row) * self.lines / WEIGHT_ONE * 64_000_000_000 / cap;
            latency::loaded_1024(used, queue_ps, self.latency_ps)
        };
        self.places.controllers_of(package).map(of).max().unwrap_or(1024)
    }

    /// How long what `cpu` still has to do takes, and from when on.
    fn plans(&mut self, cpu: CpuId) -> (SimTime, Nanos) {
        let stream = self.streams[cpu.idx()].as_mut().expect("it streams");
        stream.planned = self.flows[cpu.idx()].rate;
        (stream.since, Nanos(stream.left.div_ceil(stream.planned)))
    }

    /// All streams have done what they have done up to now.
    fn counts(&mut self, now: SimTime) {
        for &row in &self.active {
            let Some(stream) = &mut self.streams[row as usize] else { continue };
            let done = now.since(stream.since).0.saturating_mul(self.flows[row as usize].rate);
            stream.left = stream.left.saturating_sub(done);
            stream.since = stream.since.max(now);
        }
    }

    fn traffic(&self, op: Op) -> Traffic {
        let bytes = |kib: u32| u64::from(kib) << 10;
        match op {
            Op::Stream { region, loaded_kib, stored_kib } => Traffic {
                region,
                loads: bytes(loaded_kib),
                stores: bytes(stored_kib),
                allocates: self.regions[region.idx()].1 == Stores::Allocate,
                touches: false,
            },
            // A page is cleared past the caches, and what is stored then is in them.
            Op::Touch { region, kib } => {
                let stores = bytes(kib);
                Traffic { region, loads: 0, stores, allocates: false, touches: true }
            }
            _ => unreachable!("{op:?} is not bound by memory"),
        }
    }

    /// Pages of `region` that nobody has touched before are of `node`.
    fn places_pages(&mut self, node: NodeId, region: RegionId, bytes: u64) {
        let row = region.idx() * self.nr_nodes;
        let pages = &mut self.pages[row..row + self.nr_nodes];
        let room = self.regions[region.idx()].0.saturating_sub(pages.iter().sum());
        pages[node.idx()] += bytes.min(room);
    }

    /// Who goes over a region that nobody has touched is the first.
    fn finds_pages(&mut self, node: NodeId, traffic: Traffic) {
        let row = traffic.region.idx() * self.nr_nodes;
        let empty = self.pages[row..row + self.nr_nodes].iter().all(|bytes| *bytes == 0);
        if !traffic.touches && empty {
            self.places_pages(node, traffic.region, u64::MAX);
        }
    }

    /// What a flow of this traffic takes of each resource.
    fn takes(&mut self, topology: &Topology, cpu: CpuId, traffic: Traffic) {
        let work = (traffic.loads + traffic.stores).max(1);
        let fetched = traffic.loads + if traffic.allocates { traffic.stores } else { 0 };
        let mix = places::Mix {
            fetched: WEIGHT_ONE * fetched / work,
            written: WEIGHT_ONE * traffic.stores / work,
        };
        let flow = &mut self.flows[cpu.idx()];
        flow.uses.clear();
        self.places.near(topology, cpu, mix, flow);
        if traffic.touches {
            self.places.far(topology, cpu, mix, topology.node_of(cpu), WEIGHT_ONE, flow);
            return;
        }
        let row = traffic.region.idx() * self.nr_nodes;
        let pages = &self.pages[row..row + self.nr_nodes];
        let all: u64 = pages.iter().sum();
        let (mut so_far, mut given) = (0, 0);
        for (node, bytes) in pages.iter().enumerate() {
            so_far += bytes;
            let upto = u64::try_from(u128::from(WEIGHT_ONE) * u128::from(so_far) / u128::from(all));
            let part = upto.unwrap_or(WEIGHT_ONE) - given;
            given += part;
            self.places.far(topology, cpu, mix, NodeId::new(node), part, flow);
        }
    }
}

impl Op {
    /// Whether how long it takes is decided by what comes from memory, and goes there.
    #[inline]
    pub(crate) fn is_memory(self) -> bool {
        matches!(self, Op::Stream { .. } | Op::Touch { .. })
    }
}
