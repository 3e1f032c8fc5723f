//! The slow path, for fork and exec: the idlest group of each domain, then its idlest CPU.

use simsched_core::{TaskId, World};
use simsched_topology::{CpuId, CpuSet, Domains, SchedDomain, SchedGroup, SdFlags};

use super::looks::Looks;
use crate::fair::entity::EntityId;
use crate::fair::features::{ForkImbalance, Imbalance};
use crate::fair::group_type::{Candidate, GroupStats, GroupType};
use crate::fair::{Fair, Version};

/// The question of the slow path.
#[derive(Clone, Copy, Debug)]
pub(super) struct Idlest {
    pub(super) task: TaskId,
    pub(super) waker: CpuId,
    pub(super) prev: CpuId,
    pub(super) flag: SdFlags,
}

/// What the task itself adds to the sums of the CPU where it is accounted; nothing for a new task.
#[derive(Clone, Copy, Debug)]
struct Own {
    cpu: CpuId,
    load: u64,
    util: u64,
    util_est: u64,
    runnable: u64,
    /// 1 if the task is queued.
    queued: u32,
}

/// One search: all that the steps share.
struct Search<'a> {
    fair: &'a Fair,
    world: &'a World,
    ask: Idlest,
    allowed: &'a CpuSet,
    own: Option<Own>,
    rule: ForkImbalance,
    looks: Looks,
}

impl Fair {
    /// The idlest CPU in the domain `sd` of the waker's CPU and below, and how many CPUs were
    /// looked at. Source: `find_idlest_cpu()`.
    pub(super) fn find_idlest_cpu(
        &mut self,
        world: &World,
        ask: Idlest,
        sd: usize,
    ) -> (CpuId, Looks) {
        let allowed = world.allowed(ask.task).unwrap_or(world.topology().cpus());
        if !self.domains().of(ask.waker)[sd].span.intersects(allowed) {
            return (ask.prev, Looks::default());
        }
        if ask.flag != SdFlags::BALANCE_FORK {
            self.sync_entity_load_avg(EntityId::of(ask.task));
        }
        let own = self.own(world, ask);
        let rule = self.all.features.fork_imbalance();
        let mut search =
            Search { fair: self, world, ask, allowed, own, rule, looks: Looks::default() };
        let cpu = search.descend(sd);
        (cpu, search.looks)
    }

    /// Source: `task_running_on_cpu()`, `cpu_load_without()` and their kin.
    fn own(&mut self, world: &World, ask: Idlest) -> Option<Own> {
        let se = self.all.entity(EntityId::of(ask.task));
        if se.avg.last_update_time == 0 {
            return None;
        }
        let queued = world.task(ask.task).on_rq;
        let util_est = if queued { u64::from(se.util_est.value()) } else { 0 };
        let (util, runnable) = (se.avg.util_avg, se.avg.runnable_avg);
        let load = self.all.task_h_load(ask.task, world.jiffies());
        Some(Own { cpu: ask.prev, load, util, util_est, runnable, queued: u32::from(queued) })
    }
}

impl<'a> Search<'a> {
    fn descend(&mut self, sd: usize) -> CpuId {
        let domains: &'a Domains = self.fair.domains();
        let (mut cpu, mut found) = (self.ask.waker, self.ask.waker);
        let mut level = Some(sd);
        while let Some(at) = level {
            let sd = &domains.of(cpu)[at];
            level = at.checked_sub(1);
            if !sd.flags.contains(self.ask.flag) {
                continue;
            }
            let Some(group) = self.find_idlest_group(sd) else { continue };
            found = self.find_idlest_group_cpu(group, cpu);
            if found == cpu {
                continue;
            }
            cpu = found;
            let smaller = domains.of(cpu).iter().take_while(|below| below.weight < sd.weight);
            level = smaller
                .enumerate()
                .filter(|(_, below)| below.flags.contains(self.ask.flag))
                .map(|(at, _)| at)
                .last();
        }
        found
    }

    /// The group in which the task should start; `None` is the local one.
    /// Source: `find_idlest_group()`.
    fn find_idlest_group(&mut self, sd: &SchedDomain) -> Option<&'a SchedGroup> {
        let domains: &'a Domains = self.fair.domains();
        let mut local = None;
        let mut idlest: Option<(&SchedGroup, Candidate)> = None;
        for (n, group) in domains.groups_of(sd).enumerate() {
            if !group.span.intersects(self.allowed) {
                continue;
            }
            let stats = self.stats(group);
            let candidate = self.candidate(group, &stats, sd.imbalance_pct);
            if n == 0 {
                local = Some((group, candidate, stats.nr_running));
            } else if candidate
                .is_idler_than(&idlest.map_or(Candidate::WORST, |(_, candidate)| candidate))
            {
                idlest = Some((group, candidate));
            }
        }
        let (group, idlest) = idlest?;
        let Some((local_group, local, local_running)) = local else { return Some(group) };
        let leaves = if local.group_type == idlest.group_type {
            let local_allowed = local_group.span.and(self.allowed).len();
            self.leaves_equal(sd, [local, idlest], local_running, local_allowed)
        } else {
            local.group_type > idlest.group_type
        };
        leaves.then_some(group)
    }

    /// Whether the task leaves the local group for one of the same type.
    fn leaves_equal(
        &self,
        sd: &SchedDomain,
        [local, idlest]: [Candidate; 2],
        local_running: u32,
        local_allowed: usize,
    ) -> bool {
        let is_numa = sd.flags.contains(SdFlags::NUMA);
        match local.group_type {
            GroupType::Overloaded | GroupType::FullyBusy => {
                let pct = u64::from(sd.imbalance_pct);
                let imbalance = 1024 * (pct - 100) / 100;
                let far = is_numa && idlest.avg_load + imbalance >= local.avg_load;
                !far && idlest.avg_load < local.avg_load + imbalance
                    && 100 * local.avg_load > pct * idlest.avg_load
            }
            GroupType::Imbalanced
            | GroupType::LlcBalance
            | GroupType::AsymPacking
            | GroupType::SmtBalance => false,
            GroupType::MisfitTask => local.max_capacity < idlest.max_capacity,
            GroupType::HasSpare => {
                let stays = is_numa
                    && self.rule.allows(Imbalance {
                        local_running,
                        idle_difference: local.idle_cpus.abs_diff(idlest.idle_cpus),
                        span_weight: sd.weight,
                        local_allowed: u32::try_from(local_allowed).expect("at most 1024"),
                        imb_numa_nr: sd.imb_numa_nr,
                    });
                !stays && local.idle_cpus < idlest.idle_cpus
            }
        }
    }

    /// The sums over the CPUs of a group on which the task may run, as if it were not there.
    /// Source: `update_sg_wakeup_stats()`.
    fn stats(&mut self, group: &SchedGroup) -> GroupStats {
        let sgc = &self.fair.balance.sgcs[group.capacity_id as usize];
        let mut stats = GroupStats {
            weight: group.weight,
            capacity: sgc.capacity,
            imbalanced: sgc.imbalance,
            ..GroupStats::default()
        };
        self.looks.groups += 1;
        for cpu in group.span.and(self.allowed).iter() {
            self.look_at(cpu);
            self.add_cpu(&mut stats, cpu);
        }
        stats
    }

    fn look_at(&mut self, cpu: CpuId) {
        self.looks.count(self.world.topology().distance_class(self.ask.waker, cpu));
    }

    fn add_cpu(&self, stats: &mut GroupStats, cpu: CpuId) {
        let (rq, root) = (self.world.rq(cpu), self.fair.all.root(cpu));
        let mut load = root.avg.load_avg;
        let mut util = root.avg.util_avg;
        let mut util_est = u64::from(root.util_est_enqueued);
        let mut runnable = root.avg.runnable_avg;
        let mut queued = 0;
        if let Some(own) = self.own.filter(|own| own.cpu == cpu) {
            load = load.saturating_sub(own.load);
            util = util.saturating_sub(own.util);
            util_est = util_est.saturating_sub(own.util_est);
            runnable = runnable.saturating_sub(own.runnable);
            queued = own.queued;
        }
        stats.load += load;
        stats.util += util.max(util_est).min(u64::from(self.fair.all.capacity(cpu)));
        stats.runnable += runnable;
        // Since 7.2 without those that sleep and are queued still.
        let h_nr = match self.fair.features.version >= Version::V7_2 {
            true => root.h_nr_runnable(),
            false => root.h_nr_running,
        };
        stats.h_nr_running += h_nr.saturating_sub(queued);
        let nr_running = rq.nr_running - queued;
        stats.nr_running += nr_running;
        // Where the stopper is current, no task is, and it is not the idle task either.
        let idle_or_own = rq.curr.map_or(!rq.stopping, |curr| curr == self.ask.task);
        let is_idle = idle_or_own && !rq.pending;
        stats.idle_cpus += u32::from(nr_running == 0 && is_idle);
    }

    fn candidate(&self, group: &SchedGroup, stats: &GroupStats, pct: u32) -> Candidate {
        let group_type = stats.classify(pct);
        let loaded = matches!(group_type, GroupType::Overloaded | GroupType::FullyBusy);
        let capacities = group.span.iter().map(|cpu| u64::from(self.fair.all.capacity(cpu)));
        Candidate {
            group_type,
            avg_load: if loaded { stats.avg_load() } else { 0 },
            idle_cpus: stats.idle_cpus,
            util: stats.util,
            max_capacity: match group_type {
                GroupType::MisfitTask => capacities.max().unwrap_or(0),
                _ => 0,
            },
        }
    }

    /// The idle CPU of a group that is quickest to leave its idle state, among equals the one that
    /// became idle last; or else the least loaded one; `this` if nothing is known of any. Where no
    /// exit latency is known, an idle CPU that has never noted the time is not a candidate.
    /// Source: `find_idlest_group_cpu()`.
    fn find_idlest_group_cpu(&mut self, group: &SchedGroup, this: CpuId) -> CpuId {
        if group.weight == 1 {
            return group.span.first().unwrap_or(this);
        }
        let (mut quickest, mut latest, mut idle) = (u32::MAX, 0, None);
        let (mut min_load, mut least_loaded) = (u64::MAX, this);
        for cpu in group.span.and(self.allowed).iter() {
            self.look_at(cpu);
            if self.fair.sched_idle_cpu(self.world, cpu)
                && self.fair.beats_sched_idle(self.ask.task)
            {
                return cpu;
            }
            if self.world.is_idle(cpu) {
                let stamp = self.fair.stats[cpu.idx()].idle_stamp;
                let latency = self.world.rq(cpu).exit_latency_us;
                let is_quicker = latency.is_some_and(|latency| latency < quickest);
                let is_as_quick = latency.is_none_or(|latency| latency == quickest);
                if is_quicker || (is_as_quick && stamp > latest) {
                    quickest = latency.filter(|_| is_quicker).unwrap_or(quickest);
                    (latest, idle) = (stamp, Some(cpu));
                }
            } else if idle.is_none() {
                let load = self.fair.cpu_load(cpu);
                if load < min_load {
                    (min_load, least_loaded) = (load, cpu);
                }
            }
        }
        idle.unwrap_or(least_loaded)
    }
}
