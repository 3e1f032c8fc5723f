//! What the hardware adds to what the kernel does: stalls for cache lines, and the speed of a CPU.

use simsched_topology::CpuId;

use super::state::Simulator;
use crate::hardware::{at_full_speed, at_speed};
use crate::ids::TaskId;
use crate::observer::{Cost, Observer};
use crate::policy::Policy;
use crate::time::Nanos;
use crate::workload::{Op, Workload};

impl<P: Policy + ?Sized, W: Workload, O: Observer> Simulator<P, W, O> {
    /// `cpu` stalls for `ns` before it goes on with anything else.
    pub(super) fn stall(&mut self, cpu: CpuId, what: Cost, ns: Nanos) {
        if ns == Nanos::ZERO || self.is_paid(cpu) {
            return;
        }
        self.note_stall(cpu, what, ns);
        let debt = &mut self.cpus[cpu.idx()].debt;
        *debt = debt.saturating_add(u32::try_from(ns.0).unwrap_or(u32::MAX));
    }

    /// `ns` of what `cpu` does next is a stall.
    #[inline]
    pub(super) fn note_stall(&mut self, cpu: CpuId, what: Cost, ns: Nanos) {
        self.cpus[cpu.idx()].stalled |= 1 << what.stall_row();
        self.desks[cpu.idx()].stalls[what.stall_row()] += ns.0;
    }

    /// `taker` takes the lock of the runqueue of `cpu`, `later` ns from now: what it waits for the
    /// lock and its lines.
    pub(super) fn lock_rq(&mut self, taker: CpuId, cpu: CpuId, later: u32) -> Nanos {
        if self.hardware.free {
            return Nanos::ZERO;
        }
        let topology = self.world.topology();
        let now = self.world.now() + Nanos(u64::from(self.cpus[taker.idx()].debt + later));
        let hardware = &mut self.hardware;
        let from = self.world.rq(cpu).writer;
        let ns = hardware.runqueues.transfer(topology, &hardware.transfers, [from, taker], cpu);
        let transfer = hardware.uncore(topology, taker, now, u64::from(ns));
        hardware.runqueues.lock(cpu, now, transfer) + transfer
    }

    /// What the lines take to come to `waker` that puts `task` on the hand-off list of `cpu`.
    pub(super) fn hand_off_lines(&self, waker: CpuId, cpu: CpuId, task: TaskId) -> Nanos {
        if self.hardware.free {
            return Nanos::ZERO;
        }
        let (topology, hardware) = (self.world.topology(), &self.hardware);
        let last = hardware.warmth.last(task).unwrap_or(waker);
        let (transfers, cpus) = (&hardware.transfers, [last, cpu]);
        let ns = hardware.runqueues.handing(topology, transfers, waker, cpus);
        hardware.uncore(topology, waker, self.world.now(), u64::from(ns))
    }

    /// What the lines take to come to `cpu` that takes a wakee from its list, which `waker` put there.
    pub(super) fn taken_lines(&self, waker: CpuId, cpu: CpuId) -> Nanos {
        if self.hardware.free {
            return Nanos::ZERO;
        }
        let (topology, hardware) = (self.world.topology(), &self.hardware);
        let ns = hardware.runqueues.taking(topology, &hardware.transfers, waker, cpu);
        hardware.uncore(topology, cpu, self.world.now(), u64::from(ns))
    }

    /// How much longer transfers of `cpu` take than the `ns` that they are priced at, while a queue
    /// overflows at its socket.
    #[inline]
    pub(super) fn slower(&self, cpu: CpuId, ns: u32) -> Nanos {
        let ns = Nanos(u64::from(ns));
        let topology = self.world.topology();
        let slowed = self.hardware.uncore(topology, cpu, self.world.now(), ns.0);
        Nanos(slowed.0 - ns.0)
    }

    /// Who has the lock of the runqueue of `cpu` keeps it for `ns` more.
    pub(super) fn keep_rq_locked(&mut self, cpu: CpuId, ns: u32) {
        if !self.hardware.free {
            let until = self.world.now() + Nanos(u64::from(ns));
            self.hardware.runqueues.keep(cpu, until);
        }
    }

    /// What moving the lines of a socket to `cpu` takes; `object` is that of the receiver.
    pub(super) fn message(&mut self, cpu: CpuId, object: usize, read: Option<u32>) -> u32 {
        let now = self.world.now();
        let ns = self.hardware.message(self.world.topology(), cpu, object, read, now);
        if ns > 0 {
            self.note_stall(cpu, Cost::Message, Nanos(u64::from(ns)));
        }
        ns
    }

    /// `task` executes its first instruction on `cpu`: what it needs comes into the caches.
    #[inline]
    pub(super) fn refill(&mut self, cpu: CpuId, task: TaskId) {
        if self.hardware.free {
            return;
        }
        let topology = self.world.topology();
        let hardware = &mut self.hardware;
        let ns = hardware.warmth.arrives(topology, &hardware.transfers, task, cpu);
        let ns = hardware.uncore(topology, cpu, self.world.now(), ns.0);
        self.stall(cpu, Cost::Refill, ns);
    }

    /// `task` leaves `cpu`.
    #[inline]
    pub(super) fn leaves_caches(&mut self, cpu: CpuId, task: TaskId) {
        if !self.hardware.free {
            self.hardware.warmth.leaves(self.world.topology(), task, cpu);
        }
    }

    /// `task` is about to compute for `length`: what it misses of its working set.
    #[inline]
    pub(super) fn computes(&mut self, cpu: CpuId, task: TaskId, length: Nanos) {
        if self.hardware.free || !self.hardware.warmth.has_footprint(task) {
            return;
        }
        let topology = self.world.topology();
        let hardware = &mut self.hardware;
        let home = hardware.warmth.home(task);
        let busy = hardware.memory.as_ref().filter(|memory| memory.is_busy());
        let loaded = home.zip(busy).map_or(1024, |(home, memory)| memory.loaded_1024(home));
        let ns = hardware.warmth.computes(topology, task, cpu, length, loaded);
        self.stall(cpu, Cost::Refill, ns);
    }

    /// How long so many lines take to `cpu` that `from` has stored, where it has run last.
    #[cold]
    pub(super) fn fetch(&self, cpu: CpuId, from: TaskId, lines: u32) -> Nanos {
        let topology = self.world.topology();
        let owner = self.world.task(from).cpu;
        let each = self.hardware.transfers.at(topology.distance_class(owner, cpu));
        let ns = u64::from(each) * u64::from(lines);
        self.hardware.uncore(topology, cpu, self.world.now(), ns)
    }

    /// `task` begins `op`, which is bound by memory, or goes on with it: how long that takes if nobody
    /// else begins or ends. What the others share changes.
    #[cold]
    pub(super) fn memory_begins(
        &mut self,
        cpu: CpuId,
        task: TaskId,
        op: Op,
        interrupted: bool,
    ) -> Nanos {
        if self.actions.has_costs() {
            self.pay_costs();
        }
        let now = self.world.now();
        let start = now + Nanos(u64::from(self.cpus[cpu.idx()].debt));
        let memory = self.hardware.memory.as_mut().expect("free memory takes no time");
        let topology = self.world.topology();
        let ns = memory.begins(topology, (cpu, task), op, interrupted, (now, start));
        self.replan_streams();
        ns
    }

    /// What `cpu` did was bound by memory, and is over or interrupted.
    #[cold]
    pub(super) fn memory_stops(&mut self, cpu: CpuId) {
        let memory = self.hardware.memory.as_mut().expect("it has begun");
        let topology = self.world.topology();
        let bytes = memory.stops(topology, cpu, self.world.now());
        self.hardware.warmth.streams(topology, cpu, bytes);
        self.replan_streams();
    }

    /// What is left of the stages that are bound by memory takes longer or shorter than planned.
    fn replan_streams(&mut self) {
        let Some(memory) = &mut self.hardware.memory else { return };
        for nth in 0..memory.nr_active() {
            if let Some((cpu, since, ns)) = memory.replanned(nth) {
                let until = since + ns;
                self.cpus[cpu.idx()].until = until;
                self.agenda.arm_stage(cpu, until);
            }
        }
    }

    /// `cpu` comes out of its idle state, or enters one: its core and its clock are shared.
    pub(super) fn busy_changes(&mut self, cpu: CpuId, busy: bool) {
        if self.hardware.speed.is_constant() {
            return;
        }
        self.hardware.speed.set_busy(self.world.topology(), cpu, busy);
        let speed = self.hardware.speed.of(self.world.topology(), cpu);
        for nth in 0..self.hardware.speed.core(self.world.topology(), cpu).len() {
            let sibling = self.hardware.speed.core(self.world.topology(), cpu)[nth];
            self.set_speed(sibling, speed);
        }
    }

    /// The speed of `cpu` may be another than when its stage began: what is left of it takes longer
    /// or shorter. What it does on the side keeps its length.
    pub(super) fn change_speed(&mut self, cpu: CpuId) {
        let speed = self.hardware.speed.of(self.world.topology(), cpu);
        self.set_speed(cpu, speed);
    }

    #[inline]
    fn set_speed(&mut self, cpu: CpuId, speed: u16) {
        let now = self.world.now();
        let row = &mut self.cpus[cpu.idx()];
        let before = std::mem::replace(&mut row.speed, speed);
        if before == speed || row.is_steady() {
            return;
        }
        let begins = row.debt_end.max(now);
        let left = at_full_speed(row.until.since(begins), before);
        row.until = begins + at_speed(left, speed);
        self.arm_stage(cpu);
    }
}
