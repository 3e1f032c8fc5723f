//! `select_idle_cpu`: a scan of the LLC, by masks where the kernel walks.

use simsched_core::{Reason, World};
use simsched_topology::{CpuId, CpuSet};

use super::idle_sibling::Sibling;
use super::looks::Looks;
use super::reason;
use crate::fair::{Fair, Version};

/// What a scan found, and which CPUs the kernel would have looked at.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    pub(super) cpu: Option<(CpuId, Reason)>,
    pub(super) looks: Looks,
}

impl Found {
    fn nothing() -> Found {
        Found { cpu: None, looks: Looks::default() }
    }

    /// `cpu` for this reason, behind `scanned` looks, of which `same_core` at CPUs of the waker's core.
    pub(super) fn new(
        cpu: Option<CpuId>,
        reason: Reason,
        scanned: usize,
        same_core: usize,
    ) -> Found {
        Found { cpu: cpu.map(|cpu| (cpu, reason)), looks: Looks::in_llc(scanned, same_core) }
    }
}

impl Fair {
    /// A free CPU in the LLC of the target: on an idle core while there may be one, else any, as
    /// long as the scan is worth it. Source: `select_idle_cpu()`, Linux 6.1.
    pub(super) fn select_idle_cpu(
        &mut self,
        world: &World,
        ask: Sibling,
        has_idle_cores: bool,
    ) -> Found {
        let topology = world.topology();
        let llc = topology.llc_of(ask.target);
        let span = topology.llc_span(llc);
        if span.len() < 2 {
            return Found::nothing();
        }
        let mut limit = usize::MAX;
        if self.all.features.sis_prop && !has_idle_cores {
            let stats = &mut self.stats[ask.waker.idx()];
            let nr = stats.sis_prop_limit(world.jiffies(), span.len() as u64);
            limit = usize::try_from(nr).unwrap_or(usize::MAX);
        }
        if self.all.features.sis_util {
            limit = self.llcs[llc.idx()].nr_idle_scan as usize;
            if limit == 0 {
                return Found::nothing();
            }
        }
        // Since 7.2 the hint stays where the task may use no CPU of the LLC.
        if self.features.version >= Version::V7_2 && self.nr_allowed(world, ask) == 0 {
            return Found::nothing();
        }
        let found = self.walk_span(world, ask, has_idle_cores, limit);
        if has_idle_cores && found.cpu.is_none_or(|(_, why)| why != reason::IDLE_CORE) {
            self.llcs[llc.idx()].has_idle_cores = false;
        }
        let is_priced = self.all.features.sis_prop && !has_idle_cores;
        if is_priced && (found.cpu.is_some() || self.nr_allowed(world, ask) <= limit) {
            let time_ns = u64::from(found.looks.all) * self.all.tunables.sis_prop_cpu_ns;
            self.stats[ask.waker.idx()].sis_prop_account(time_ns);
        }
        found
    }

    /// The same walk, with the limit of `SIS_UTIL` or none, which leaves no trace.
    pub(super) fn walk_llc(&self, world: &World, ask: Sibling, has_idle_cores: bool) -> Found {
        let llc = world.topology().llc_of(ask.target);
        let limit = match self.all.features.sis_util {
            true => self.llcs[llc.idx()].nr_idle_scan as usize,
            false => usize::MAX,
        };
        if limit == 0 || world.topology().llc_span(llc).len() < 2 {
            return Found::nothing();
        }
        self.walk_span(world, ask, has_idle_cores, limit)
    }

    fn walk_span(&self, world: &World, ask: Sibling, has_idle_cores: bool, limit: usize) -> Found {
        let span = world.topology().llc_span(world.topology().llc_of(ask.target));
        let masked = world.allowed(ask.task).map(|allowed| span.and(allowed));
        let mask = masked.as_ref().unwrap_or(span);
        let start = CpuId(ask.target.0 + 1);
        if has_idle_cores {
            self.scan_cores(world, mask, start, ask)
        } else {
            self.scan_cpus(world, mask, start, limit, ask)
        }
    }

    /// How many CPUs behind the target's LLC the task may use.
    fn nr_allowed(&self, world: &World, ask: Sibling) -> usize {
        let span = world.topology().llc_span(world.topology().llc_of(ask.target));
        world.allowed(ask.task).map_or(span.len(), |allowed| span.and(allowed).len())
    }

    /// The first free CPU among the first `limit` of `mask` in wrap order from `start`.
    fn scan_cpus(
        &self,
        world: &World,
        mask: &CpuSet,
        start: CpuId,
        limit: usize,
        ask: Sibling,
    ) -> Found {
        let idle = mask.and_next_wrap(world.idle(), start);
        let sched_idle = match self.beats_sched_idle(ask.task) {
            true => self.next_sched_idle_cpu(world, mask, start),
            false => None,
        };
        let rank = |cpu| mask.rank_wrap(start, cpu);
        let first = match (idle, sched_idle) {
            (Some(a), Some(b)) => Some(if rank(a) <= rank(b) { a } else { b }),
            (a, b) => a.or(b),
        };
        let (cpu, scanned) = match first.map(|cpu| (cpu, rank(cpu))) {
            Some((cpu, rank)) if rank <= limit => (Some(cpu), rank),
            _ => (None, limit.min(mask.len())),
        };
        // In wrap order, whatever the mask.
        let order = |cpu: CpuId| cpu.0.wrapping_sub(start.0);
        let is_reached = |own: CpuId| match cpu {
            Some(last) => order(own) <= order(last),
            None => rank(own) <= scanned,
        };
        let own = world.topology().smt_mask(ask.waker);
        let same_core = own.iter().filter(|own| mask.contains(*own) && is_reached(*own)).count();
        Found::new(cpu, reason::IDLE_CPU, scanned, same_core)
    }

    /// The first CPU of `mask` on an idle core, in wrap order from `start`; or the first free CPU
    /// that a walk over the cores sees. Source: `select_idle_core()`.
    fn scan_cores(&self, world: &World, mask: &CpuSet, start: CpuId, ask: Sibling) -> Found {
        let idle_core = mask.and_next_wrap(world.idle_cores(), start);
        let own = world.topology().core_of(ask.waker);
        let beats_sched_idle = self.beats_sched_idle(ask.task);
        let (mut scanned, mut same_core, mut remembered) = (0, 0, None);
        for cpu in mask.iter_wrap(start) {
            let smt = world.topology().smt_mask(cpu);
            let is_idle_core = Some(cpu) == idle_core;
            // A core that is not idle is looked at when the walk first meets it.
            let looks = if is_idle_core {
                smt.len()
            } else if smt.and_next_wrap(mask, start) == Some(cpu) {
                self.look_at_core(world, smt, (mask, beats_sched_idle), &mut remembered)
            } else {
                continue;
            };
            scanned += looks;
            same_core += if world.topology().core_of(cpu) == own { looks } else { 0 };
            if is_idle_core {
                return Found::new(idle_core, reason::IDLE_CORE, scanned, same_core);
            }
        }
        Found::new(remembered, reason::IDLE_CPU, scanned, same_core)
    }

    /// Looks at the threads of a core that is not idle, until there is nothing more to learn;
    /// returns how many that were. The first free one of all cores is remembered.
    fn look_at_core(
        &self,
        world: &World,
        smt: &CpuSet,
        (mask, beats_sched_idle): (&CpuSet, bool),
        remembered: &mut Option<CpuId>,
    ) -> usize {
        let mut looks = 0;
        for cpu in smt.iter() {
            looks += 1;
            let is_idle = world.is_idle(cpu);
            if !is_idle && remembered.is_some() {
                break;
            }
            let is_free = is_idle || beats_sched_idle && self.sched_idle_cpu(world, cpu);
            if remembered.is_none() && is_free && mask.contains(cpu) {
                *remembered = Some(cpu);
                if !is_idle {
                    break;
                }
            }
        }
        looks
    }
}
