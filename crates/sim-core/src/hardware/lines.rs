//! `SharedLines`: cache lines that CPUs fight for; each a server with a queue.
//!
//! A line has a home (the socket of its memory), an owner (who wrote last) and copies. Who wants to
//! write it, or to read it after somebody has written, waits until all who came before have had it,
//! then for its transfer. A request does not wait in an event of its own: the line knows until when
//! it is promised, so a CPU that asks learns at once how long it will stall. Source: section 3 of the
//! cost model ("a single server with distance-dependent service"), whose controls are the tests here.

use std::collections::VecDeque;

use simsched_topology::{CpuId, CpuSet, Distance, OsCosts, PackageId, Topology};

use super::transfers::Transfers;
use crate::policy::Access;
use crate::time::{Nanos, SimTime};

/// So many hand-offs to a neighbour may follow each other, then it is the turn of who came first.
const FAIRNESS: u8 = 32;

/// One line.
#[derive(Clone, Debug)]
struct Line {
    home: PackageId,
    /// Who wrote it last.
    owner: CpuId,
    /// Who holds a copy; the owner alone if the line is modified.
    copies: CpuSet,
    /// Until when it is promised.
    free: SimTime,
    /// Who waits for it or has it, and until when, in order.
    queue: VecDeque<(CpuId, SimTime)>,
    /// How many of these are in the home's socket.
    at_home: u32,
    /// Until when those wait who only read what one of the queue reads first, in order.
    readers: VecDeque<SimTime>,
    /// What the bias has summed up to, in percent.
    bias: u32,
    /// Hand-offs to a neighbour that follow each other.
    handoffs: u8,
    /// What waiters at home have been spared, and others have to wait still.
    spared: u64,
}

/// How the lines of a machine behave.
#[derive(Clone, Copy, Debug)]
struct Rules {
    hit: u32,
    read_hit: u32,
    read_shared_pct: u32,
    handoff_pct: u32,
    /// Requests at one home beyond which it overflows; 0 for never.
    queue: u32,
    penalty_pct: u32,
}

/// The overflow of a socket's hottest home.
#[derive(Clone, Copy, Debug)]
struct Overflow {
    /// The line whose queue it is.
    line: usize,
    /// The factor on each transfer of the socket, in percent.
    factor_pct: u32,
    until: SimTime,
}

/// All lines of a run.
#[derive(Clone, Debug)]
pub(crate) struct SharedLines {
    lines: Vec<Line>,
    rules: Rules,
    /// By package.
    overflow: Vec<Overflow>,
    /// From when on no transfer is slower, as far as is known.
    calm_from: SimTime,
}

impl SharedLines {
    /// Lines whose memory is in the packages `homes`; nobody has touched them.
    pub(crate) fn new(topology: &Topology, homes: &[PackageId]) -> SharedLines {
        let line = |home: &PackageId| {
            let owner = topology.package_span(*home).first().unwrap_or(CpuId(0));
            Line {
                home: *home,
                owner,
                copies: CpuSet::single(owner),
                free: SimTime::ZERO,
                queue: VecDeque::with_capacity(topology.nr_cpus()),
                at_home: 0,
                readers: VecDeque::with_capacity(topology.nr_cpus()),
                bias: 0,
                handoffs: 0,
                spared: 0,
            }
        };
        let calm = Overflow { line: 0, factor_pct: 100, until: SimTime::ZERO };
        SharedLines {
            lines: homes.iter().map(line).collect(),
            rules: Rules::of(topology.costs()),
            overflow: vec![calm; topology.nr_packages()],
            calm_from: SimTime::ZERO,
        }
    }

    /// `cpu` asks for `line` at `at`: how long it stalls.
    pub(crate) fn touch(
        &mut self,
        topology: &Topology,
        transfers: &Transfers,
        line: usize,
        cpu: CpuId,
        access: Access,
        at: SimTime,
    ) -> Nanos {
        let rules = self.rules;
        let factor = self.factor(topology, cpu, self.lines[line].home, at);
        let row = line;
        let line = &mut self.lines[row];
        line.settle(topology, at);
        let quiet = line.free <= at;
        if quiet && line.copies.contains(cpu) {
            let alone = line.owner == cpu && line.copies.len() == 1;
            match access {
                Access::Read => return Nanos(u64::from(rules.read_hit)),
                Access::Write if alone => return Nanos(u64::from(rules.hit)),
                Access::Write => {}
            }
        }
        if access == Access::Read && line.copies.len() > 1 {
            // Who comes before the readers has to be done; readers do not wait for each other.
            line.copies.insert(cpu);
            let far = transfers.ns(line.owner, cpu, line.home);
            let local = topology.package_of(cpu) == line.home;
            let wait = Nanos(line.biased(rules, line.free.since(at).0, local));
            let served = percent(far, rules.read_shared_pct).0 * u64::from(factor) / 100;
            if !quiet {
                line.readers.push_back(line.free);
                let (home, pending, free) = (line.home, line.pending(), line.free);
                self.note_pressure(row, home, pending, at, free);
            }
            return wait + Nanos(served);
        }
        let service = line.service(topology, transfers, rules, cpu, access, quiet);
        let service = Nanos(service * u64::from(factor) / 100);
        let wait = line.enqueue(topology, rules, cpu, access, at, service);
        let (home, pending, free) = (line.home, line.pending(), line.free);
        self.note_pressure(row, home, pending, at, free);
        wait + service
    }

    /// A touch that takes no longer found its line in the own cache.
    #[inline]
    pub(crate) fn longest_hit(&self) -> Nanos {
        Nanos(u64::from(self.rules.hit.max(self.rules.read_hit)))
    }

    /// How much slower the transfers of `cpu` are now, in percent, for a queue overflows at its socket
    /// or at the line's home.
    #[inline]
    fn factor(&self, topology: &Topology, cpu: CpuId, home: PackageId, at: SimTime) -> u32 {
        if self.is_calm(at) {
            return 100;
        }
        self.factor_of(home, at).max(self.factor_of(topology.package_of(cpu), at))
    }

    /// The same for transfers within `package`.
    #[inline]
    pub(crate) fn factor_of(&self, package: PackageId, at: SimTime) -> u32 {
        let Overflow { factor_pct, until, .. } = self.overflow[package.idx()];
        if at < until { factor_pct } else { 100 }
    }

    /// Whether no transfer is slower at `at`; false if one may be.
    #[inline]
    pub(crate) fn is_calm(&self, at: SimTime) -> bool {
        at >= self.calm_from
    }

    /// The hottest line of a home counts: a calm one does not end the overflow of another.
    fn note_pressure(
        &mut self,
        line: usize,
        home: PackageId,
        queued: usize,
        at: SimTime,
        until: SimTime,
    ) {
        let Rules { queue, penalty_pct, .. } = self.rules;
        let queued = u32::try_from(queued).unwrap_or(u32::MAX);
        if queue == 0 {
            return;
        }
        let beyond = queued.saturating_sub(queue);
        let factor_pct = 100 + penalty_pct * beyond / queue;
        let hottest = &mut self.overflow[home.idx()];
        if line == hottest.line || at >= hottest.until || factor_pct > hottest.factor_pct {
            *hottest = Overflow { line, factor_pct, until };
            if factor_pct > 100 {
                self.calm_from = self.calm_from.max(until);
            }
        }
    }
}

impl Rules {
    fn of(costs: &OsCosts) -> Rules {
        Rules {
            hit: costs.line_hit,
            read_hit: costs.line_read_hit,
            read_shared_pct: costs.line_read_shared_pct,
            handoff_pct: costs.line_handoff_pct,
            queue: costs.line_queue,
            penalty_pct: costs.line_queue_penalty_pct,
        }
    }
}

impl Line {
    /// Lets those go who have had the line.
    fn settle(&mut self, topology: &Topology, at: SimTime) {
        while let Some((cpu, _)) = self.queue.front().copied().filter(|(_, end)| *end <= at) {
            self.queue.pop_front();
            self.at_home -= u32::from(topology.package_of(cpu) == self.home);
        }
        while self.readers.front().is_some_and(|end| *end <= at) {
            self.readers.pop_front();
        }
    }

    /// The requests that the home has not answered yet.
    fn pending(&self) -> usize {
        self.queue.len() + self.readers.len()
    }

    /// How long the transfer to `cpu` takes, and what it takes to withdraw the copies of others.
    fn service(
        &mut self,
        topology: &Topology,
        transfers: &Transfers,
        rules: Rules,
        cpu: CpuId,
        access: Access,
        quiet: bool,
    ) -> u64 {
        // An assumption: what comes from behind the own LLC is read there alone, since requests from
        // elsewhere had their turn before; who asked in between is not put in another order.
        let near = !quiet && self.goes_near(topology, rules, cpu);
        let mut ns = match near {
            true => transfers.at(Distance::SameLlc),
            false => transfers.ns(self.owner, cpu, self.home),
        };
        if access == Access::Write && self.copies.len() > 1 {
            let farthest =
                if near { Distance::SameLlc } else { farthest(topology, cpu, &self.copies) };
            ns = if self.copies.contains(cpu) { 0 } else { ns } + transfers.at(farthest);
        }
        u64::from(ns.max(rules.hit))
    }

    /// Whether the line comes from a core behind the LLC of `cpu`, which had it before its turn.
    fn goes_near(&mut self, topology: &Topology, rules: Rules, cpu: CpuId) -> bool {
        self.bias += rules.handoff_pct;
        if self.bias < 100 {
            return false;
        }
        self.bias -= 100;
        let llc = topology.llc_of(cpu);
        let near = |(other, _): &(CpuId, SimTime)| *other != cpu && topology.llc_of(*other) == llc;
        let goes = self.handoffs < FAIRNESS && self.queue.iter().any(near);
        self.handoffs = if goes { self.handoffs + 1 } else { 0 };
        goes
    }

    /// Promises the line to `cpu` for `service` behind all who wait; how long it waits.
    fn enqueue(
        &mut self,
        topology: &Topology,
        rules: Rules,
        cpu: CpuId,
        access: Access,
        at: SimTime,
        service: Nanos,
    ) -> Nanos {
        let wait = self.free.since(at);
        let local = topology.package_of(cpu) == self.home;
        let wait = self.biased(rules, wait.0, local);
        self.free = self.free.max(at) + service;
        self.queue.push_back((cpu, self.free));
        self.at_home += u32::from(local);
        match access {
            Access::Write => {
                self.copies = CpuSet::single(cpu);
                self.owner = cpu;
            }
            Access::Read => {
                self.copies.insert(cpu);
            }
        }
        Nanos(wait)
    }

    /// Waiters at the line's home overtake others: of two classes of which one is preferred with the
    /// probability p, that one waits 1 / (1 + p) as long where both are equally many. What is spared
    /// here is waited there, so that the sum is what it would be in order of arrival.
    fn biased(&mut self, rules: Rules, wait: u64, local: bool) -> u64 {
        let waiting = self.queue.len() as u64;
        let elsewhere = waiting - u64::from(self.at_home);
        if wait == 0 || waiting == 0 {
            return wait;
        }
        if local {
            let weight = 100 * waiting + 2 * u64::from(rules.handoff_pct) * elsewhere;
            let biased = wait * 100 * waiting / weight;
            self.spared += wait - biased;
            return biased;
        }
        let more = self.spared.min(wait);
        self.spared -= more;
        wait + more
    }
}

/// The greatest distance from `cpu` to one of `set`.
fn farthest(topology: &Topology, cpu: CpuId, set: &CpuSet) -> Distance {
    if !set.is_subset(topology.package_span(topology.package_of(cpu))) {
        Distance::CrossSocket
    } else if !set.is_subset(topology.llc_span(topology.llc_of(cpu))) {
        Distance::SameSocket
    } else if !set.is_subset(topology.smt_mask(cpu)) {
        Distance::SameLlc
    } else if set.len() == 1 && set.contains(cpu) {
        Distance::SameCpu
    } else {
        Distance::SameCore
    }
}

fn percent(ns: u32, percent: u32) -> Nanos {
    Nanos(u64::from(ns) * u64::from(percent) / 100)
}

#[cfg(test)]
mod tests;
