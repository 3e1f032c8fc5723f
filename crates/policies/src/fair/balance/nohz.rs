//! The CPUs that are idle without a tick: which they are, and who is asked when to balance for them.

use simsched_core::World;
use simsched_topology::{CpuId, CpuSet};

use super::steps::Work;
use crate::fair::{Fair, Version};

/// The domains of the idle CPUs are to be balanced (`NOHZ_BALANCE_KICK`).
pub(super) const BALANCE_KICK: u8 = 1;
/// Their averages are to be aged (`NOHZ_STATS_KICK`).
pub(super) const STATS_KICK: u8 = 2;
/// A CPU ages them itself when it enters its idle task (`NOHZ_NEWILB_KICK`).
const NEWILB_KICK: u8 = 4;
/// The time of their next balance is to be found (`NOHZ_NEXT_KICK`).
pub(super) const NEXT_KICK: u8 = 8;
/// What another CPU can ask for (`NOHZ_KICK_MASK`).
const KICK_MASK: u8 = BALANCE_KICK | STATS_KICK | NEXT_KICK;

/// What is known of the CPUs that are idle without a tick (`struct nohz`).
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::fair) struct Nohz {
    /// Which they are; a CPU leaves at its first tick with a task, not when it gets one.
    pub(in crate::fair) idle_cpus_mask: CpuSet,
    /// How many they are.
    nr_cpus: u32,
    /// Some of them may have averages that have not decayed to nothing.
    pub(in crate::fair) has_blocked: bool,
    /// One has come since `next_balance` was found.
    pub(super) needs_update: bool,
    /// The jiffy of the next balance for them.
    pub(super) next_balance: u64,
    /// The jiffy in which they are aged next.
    pub(super) next_blocked: u64,
}

impl Nohz {
    /// Source: `init_sched_fair_class()`.
    pub(super) fn new(jiffies: u64) -> Nohz {
        Nohz { next_balance: jiffies, next_blocked: jiffies, ..Nohz::default() }
    }
}

impl Fair {
    /// `cpu` has stopped its tick while idle. Source: `nohz_balance_enter_idle()`.
    pub(in crate::fair) fn enter_nohz(&mut self, world: &World, cpu: CpuId) {
        let rq = &mut self.balance.rqs[cpu.idx()];
        rq.has_blocked_load = true;
        if !rq.nohz_tick_stopped {
            if self.domains().of(cpu).is_empty() {
                return;
            }
            self.balance.rqs[cpu.idx()].nohz_tick_stopped = true;
            let nohz = &mut self.balance.nohz;
            nohz.idle_cpus_mask.insert(cpu);
            nohz.nr_cpus += 1;
            nohz.needs_update = true;
            self.count_busy(world, cpu, |busy| busy - 1);
        }
        self.balance.nohz.has_blocked = true;
    }

    /// The first tick of `cpu` with a task since it was idle. Source: `nohz_balance_exit_idle()`.
    fn exit_nohz(&mut self, world: &World, cpu: CpuId) {
        if std::mem::take(&mut self.balance.rqs[cpu.idx()].nohz_tick_stopped) {
            self.balance.nohz.idle_cpus_mask.remove(cpu);
            self.balance.nohz.nr_cpus -= 1;
            self.count_busy(world, cpu, |busy| busy + 1);
        }
    }

    /// Counts the busy CPUs of an LLC, unless the CPU has it alone.
    /// Source: `set_cpu_sd_state_busy()`, `set_cpu_sd_state_idle()`.
    fn count_busy(&mut self, world: &World, cpu: CpuId, change: impl FnOnce(u32) -> u32) {
        if self.domains().sd_llc(cpu).is_some() {
            let llc = &mut self.llcs[world.topology().llc_of(cpu).idx()];
            llc.nr_busy_cpus = change(llc.nr_busy_cpus);
        }
    }

    /// At the end of a tick: which idle CPU is to be sent an interrupt.
    /// Source: `nohz_balancer_kick()`.
    pub(super) fn nohz_balancer_kick(&mut self, world: &World, cpu: CpuId) -> Option<CpuId> {
        if self.balance.rqs[cpu.idx()].idle_balance {
            return None;
        }
        self.exit_nohz(world, cpu);
        let (nohz, jiffies) = (&self.balance.nohz, world.jiffies());
        let is_due = jiffies >= nohz.next_balance;
        // Since 7.2 the mask is not looked at before the time has come.
        if nohz.nr_cpus == 0 && (is_due || self.features.version < Version::V7_2) {
            return None;
        }
        let mut flags = 0;
        if nohz.has_blocked && jiffies > nohz.next_blocked {
            flags = STATS_KICK;
        }
        if is_due && self.wants_nohz_balance(world, cpu) {
            flags = STATS_KICK | BALANCE_KICK;
        }
        if nohz.needs_update {
            flags |= NEXT_KICK;
        }
        if flags == 0 { None } else { self.kick_ilb(world, flags) }
    }

    /// Whether `cpu` has more than it should have: several tasks, less left for its task than other
    /// CPUs have, or company in its LLC, so that another LLC or another core may be the better place.
    fn wants_nohz_balance(&self, world: &World, cpu: CpuId) -> bool {
        if world.rq(cpu).nr_running >= 2 {
            return true;
        }
        let imbalance_pct = self.domains().of(cpu)[0].imbalance_pct;
        let has_task = self.h_nr(self.all.root(cpu)) >= 1;
        if has_task && self.check_cpu_capacity(cpu, imbalance_pct) {
            return true;
        }
        let shares_llc = self.domains().sd_llc(cpu).is_some();
        shares_llc && self.llcs[world.topology().llc_of(cpu).idx()].nr_busy_cpus > 1
    }

    /// Asks the first idle CPU; one that has been asked already needs no second interrupt.
    /// Source: `kick_ilb()`, `find_new_ilb()`.
    fn kick_ilb(&mut self, world: &World, flags: u8) -> Option<CpuId> {
        let nohz = &mut self.balance.nohz;
        if flags & BALANCE_KICK != 0 {
            nohz.next_balance = world.jiffies() + 1;
        }
        let ilb = self.find_new_ilb(world)?;
        let kicked = &mut self.balance.rqs[ilb.idx()].nohz_flags;
        let before = std::mem::replace(kicked, *kicked | flags);
        (before & KICK_MASK == 0).then_some(ilb)
    }

    /// The CPU that is to balance for the idle ones: the first of them, since 7.3 the first on an idle core if there is
    /// one. Who asks is busy, and so none of them. Source: `find_new_ilb()`.
    pub(super) fn find_new_ilb(&self, world: &World) -> Option<CpuId> {
        let mask = &self.balance.nohz.idle_cpus_mask;
        if self.features.version >= Version::V7_3 && self.has_smt {
            let on_idle_cores = mask.and(world.idle_cores());
            if let Some(ilb) = on_idle_cores.first() {
                return Some(ilb);
            }
        }
        mask.iter().find(|&ilb| world.is_idle(ilb))
    }

    /// The interrupt has arrived on `cpu`: whether it is still idle. Source: `nohz_csd_func()`.
    pub(in crate::fair) fn take_kick(&mut self, world: &World, cpu: CpuId) -> bool {
        let rq = &mut self.balance.rqs[cpu.idx()];
        let flags = std::mem::take(&mut rq.nohz_flags);
        rq.idle_balance = world.is_idle(cpu);
        if rq.idle_balance {
            rq.nohz_idle_balance = flags;
        }
        rq.idle_balance
    }

    /// A newly idle CPU that has pulled nothing and will be idle for a while may as well age the idle
    /// CPUs. Source: `nohz_newidle_balance()`.
    #[inline]
    pub(super) fn nohz_newidle_balance(&mut self, world: &World, cpu: CpuId) {
        let nohz = &self.balance.nohz;
        let has_time = self.stats[cpu.idx()].avg_idle >= self.all.tunables.migration_cost_ns;
        if has_time && nohz.has_blocked && world.jiffies() >= nohz.next_blocked {
            self.balance.rqs[cpu.idx()].nohz_flags |= NEWILB_KICK;
        }
    }

    /// True if `cpu`, whose idle task begins, ages the idle CPUs; a kick on its way will do the same.
    /// Source: `nohz_run_idle_balance()`.
    pub(in crate::fair) fn begin_idle_balance(&mut self, world: &World, cpu: CpuId) -> bool {
        let flags = &mut self.balance.rqs[cpu.idx()].nohz_flags;
        let before = std::mem::replace(flags, *flags & !NEWILB_KICK);
        if before != NEWILB_KICK || world.rq(cpu).need_resched {
            return false;
        }
        let ilb = self.begin_ilb(world, cpu, STATS_KICK);
        self.begin_pass(cpu, Work::Nohz(ilb));
        true
    }
}
