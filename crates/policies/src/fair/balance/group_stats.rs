//! What is summed up of the groups of a domain before they are compared.

use simsched_core::World;
use simsched_topology::{CpuId, GroupId, SdFlags};

use super::{CpuIdleType, FbqType, LbEnv};
use crate::fair::{CfsRq, Fair, GroupStats, GroupType, Version, nr_idle_scan};

/// What is known of one group (`struct sg_lb_stats`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SgLbStats {
    /// Its sums.
    pub sums: GroupStats,
    /// Its type by them.
    pub group_type: GroupType,
    /// Its load per capacity; 0 unless it is overloaded.
    pub avg_load: u64,
    /// Its CPUs share a core.
    pub is_smt: bool,
    /// The cores that it has CPUs of.
    pub cores: u32,
}

impl SgLbStats {
    /// Less busy than any group that has a task. Source: `init_sd_lb_stats()`.
    #[must_use]
    pub fn idlest() -> SgLbStats {
        let sums = GroupStats { idle_cpus: u32::MAX, ..GroupStats::default() };
        SgLbStats { sums, ..SgLbStats::default() }
    }
}

/// What is known of a domain (`struct sd_lb_stats`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SdLbStats {
    /// The busiest group besides the local one.
    pub busiest: Option<GroupId>,
    /// The load of all groups.
    pub total_load: u64,
    /// Their capacity.
    pub total_capacity: u64,
    /// The load per capacity of the domain, once it was needed.
    pub avg_load: u64,
    /// Tasks are to be spread over the children of the domain before they share one.
    pub prefer_sibling: bool,
    /// The busiest group.
    pub busiest_stat: SgLbStats,
    /// The destination's own group.
    pub local_stat: SgLbStats,
}

impl Default for SdLbStats {
    fn default() -> SdLbStats {
        SdLbStats {
            busiest: None,
            total_load: 0,
            total_capacity: 0,
            avg_load: 0,
            prefer_sibling: false,
            busiest_stat: SgLbStats::idlest(),
            local_stat: SgLbStats::default(),
        }
    }
}

/// What holds for all groups of the domain.
#[derive(Clone, Copy)]
struct Level {
    nr_groups: usize,
    imbalance_pct: u32,
    /// Whether tasks are pulled to their LLCs.
    gathers: bool,
    /// Whether it is noted how busy LLCs are, which the groups are.
    notes_llcs: bool,
}

/// The sums of one group, and what they tell the root domain.
struct Summed {
    stats: SgLbStats,
    overload: bool,
}

impl Fair {
    /// Sums up all groups of the domain and finds the busiest. At the top domain it tells whether
    /// any CPU has more than one task, and where the domain is the LLC, how far an idle scan may go.
    /// Source: `update_sd_lb_stats()`.
    pub(super) fn update_sd_lb_stats(&mut self, world: &World, env: &mut LbEnv) -> SdLbStats {
        let mut sds = SdLbStats::default();
        let (mut sum_util, mut overload) = (0, false);
        let level = self.level(env);
        for at in 0..level.nr_groups {
            let group = self.domains().ring(self.domain(env))[at];
            let is_local = self.domains().group(group).span.contains(env.dst_cpu);
            if is_local && self.is_capacity_due(world, env, group) {
                self.update_group_capacity(world, env.cpu, env.sd, env.dst_cpu);
            }
            let summed = self.update_sg_lb_stats(world, env, level, group, is_local);
            overload |= summed.overload;
            let stats = summed.stats;
            if level.notes_llcs {
                self.record_sg_llc_stats(group, &stats);
            }
            if is_local {
                sds.local_stat = stats;
            } else if stats.is_busier_than(&sds.busiest_stat, self.features.version) {
                (sds.busiest, sds.busiest_stat) = (Some(group), stats);
            }
            sds.total_load += stats.sums.load;
            sds.total_capacity += stats.sums.capacity;
            sum_util += stats.sums.util;
        }
        sds.prefer_sibling = self.prefer_sibling(env, sds.busiest);
        if self.domain(env).flags.contains(SdFlags::NUMA) {
            env.fbq_type = FbqType::of(sds.busiest_stat.sums.h_nr_running);
        }
        if self.domains().of(env.cpu).len() == env.sd + 1 {
            self.balance.overload = overload;
        }
        self.update_idle_cpu_scan(world, env, sum_util);
        sds
    }

    fn level(&self, env: &LbEnv) -> Level {
        let sd = self.domain(env);
        Level {
            nr_groups: sd.nr_groups(),
            imbalance_pct: sd.imbalance_pct,
            gathers: self.gathers(env),
            notes_llcs: self.notes_llcs(env),
        }
    }

    /// A newly idle CPU computes the capacity of its group anew only when that is due.
    fn is_capacity_due(&self, world: &World, env: &LbEnv, group: GroupId) -> bool {
        let capacity_id = self.domains().group(group).capacity_id;
        env.idle != CpuIdleType::NewlyIdle
            || world.jiffies() >= self.balance.sgcs[capacity_id as usize].next_update
    }

    /// Whether tasks go to the domain's children first: as the child domain says, since 6.5 as the
    /// busiest group says.
    fn prefer_sibling(&self, env: &LbEnv, busiest: Option<GroupId>) -> bool {
        let flags = if self.features.version >= Version::V6_5 {
            busiest.map(|busiest| self.domains().group(busiest).flags)
        } else {
            env.sd.checked_sub(1).map(|child| self.domains().of(env.cpu)[child].flags)
        };
        flags.is_some_and(|flags| flags.contains(SdFlags::PREFER_SIBLING))
    }

    /// Source: `update_sg_lb_stats()`.
    fn update_sg_lb_stats(
        &self,
        world: &World,
        env: &LbEnv,
        level: Level,
        group: GroupId,
        is_local: bool,
    ) -> Summed {
        let sg = self.domains().group(group);
        let sgc = &self.balance.sgcs[sg.capacity_id as usize];
        let imbalance_pct = level.imbalance_pct;
        let mut sums = GroupStats {
            weight: sg.weight,
            capacity: sgc.capacity,
            imbalanced: sgc.imbalance,
            ..GroupStats::default()
        };
        let mut overload = false;
        for cpu in sg.span.iter().filter(|&cpu| env.cpus.contains(cpu)) {
            let (root, nr_running) = (self.all.root(cpu), world.rq(cpu).nr_running);
            overload |= nr_running > 1;
            sums.load += root.avg.load_avg;
            sums.util += root.util().min(u64::from(self.all.capacity(cpu)));
            sums.runnable += root.avg.runnable_avg;
            sums.h_nr_running += self.h_nr(root);
            sums.nr_running += nr_running;
            if nr_running == 0 && world.is_idle(cpu) {
                sums.idle_cpus += 1;
            } else if !is_local
                && self.h_nr(root) == 1
                && self.is_reduced(cpu, env.idle, imbalance_pct)
            {
                sums.misfit_load = sums.misfit_load.max(root.avg.load_avg);
            }
        }
        sums.smt_balance = !is_local
            && self.features.version >= Version::V6_6
            && env.idle != CpuIdleType::NotIdle
            && sg.flags.contains(SdFlags::SHARE_CPUCAPACITY)
            && sums.h_nr_running > 1;
        if !is_local && level.gathers {
            let cpus = sg.span.iter().filter(|&cpu| env.cpus.contains(cpu));
            sums.nr_pref_dst_llc = cpus.map(|cpu| self.nr_pref_dst_llc(env, cpu)).sum();
            sums.llc_balance = self.llc_balance(env, group, sums.nr_pref_dst_llc);
        }
        let group_type = sums.classify(imbalance_pct);
        let avg_load = if group_type == GroupType::Overloaded { sums.avg_load() } else { 0 };
        let is_smt = sg.flags.contains(SdFlags::SHARE_CPUCAPACITY);
        Summed {
            stats: SgLbStats { sums, group_type, avg_load, is_smt, cores: sg.cores },
            overload,
        }
    }

    /// The fair tasks of a CPU as the balancer counts them: since 6.14 without those that sleep and are
    /// queued still.
    #[inline]
    pub(in crate::fair) fn h_nr(&self, root: &CfsRq) -> u32 {
        if self.features.version >= Version::V7_0 {
            root.h_nr_runnable()
        } else {
            root.h_nr_running
        }
    }

    /// Whether the only fair task of `cpu` would be better off on a CPU that is not kept from its
    /// tasks by interrupts (6.0 and later). Source: `sched_reduced_capacity()`.
    fn is_reduced(&self, cpu: CpuId, idle: CpuIdleType, imbalance_pct: u32) -> bool {
        idle != CpuIdleType::NotIdle
            && self.features.version >= Version::V6_1
            && self.check_cpu_capacity(cpu, imbalance_pct)
    }

    /// How many CPUs an idle scan in this LLC may visit, from what was summed up for a periodic
    /// balance of the domain that is as large as the LLC. Source: `update_idle_cpu_scan()`, 6.0.
    fn update_idle_cpu_scan(&mut self, world: &World, env: &LbEnv, sum_util: u64) {
        if !self.features.sis_util || env.idle == CpuIdleType::NewlyIdle {
            return;
        }
        let (sd, llc_weight) = (self.domain(env), self.domains().llc_size(env.dst_cpu));
        if sd.weight != llc_weight || self.domains().sd_llc(env.dst_cpu).is_none() {
            return;
        }
        let hint = nr_idle_scan(llc_weight, sd.imbalance_pct, sum_util);
        self.llcs[world.topology().llc_of(env.dst_cpu).idx()].nr_idle_scan = hint;
    }
}
