//! Balancing for CPUs that are idle without a tick: who is asked to do it, when, and what it does.

use simsched_core::{BalanceStep, Cause, World};
use simsched_topology::{CpuId, CpuSet};

use super::CpuIdleType;
use super::rebalance_domains::DomainPass;
use super::steps::{Pass, Work, look};
use crate::fair::Fair;

/// The domains of the idle CPUs are to be balanced (`NOHZ_BALANCE_KICK`).
const BALANCE_KICK: u8 = 1;
/// Their averages are to be aged (`NOHZ_STATS_KICK`).
const STATS_KICK: u8 = 2;
/// A CPU ages them itself when it enters its idle task (`NOHZ_NEWILB_KICK`).
const NEWILB_KICK: u8 = 4;
/// The time of their next balance is to be found (`NOHZ_NEXT_KICK`).
const NEXT_KICK: u8 = 8;
/// What another CPU can ask for (`NOHZ_KICK_MASK`).
const KICK_MASK: u8 = BALANCE_KICK | STATS_KICK | NEXT_KICK;

/// The half-life of an average: the time between two agings of idle CPUs, in ms (`LOAD_AVG_PERIOD`).
const LOAD_AVG_PERIOD_MS: u64 = 32;

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
    needs_update: bool,
    /// The jiffy of the next balance for them.
    next_balance: u64,
    /// The jiffy in which they are aged next.
    next_blocked: u64,
}

impl Nohz {
    /// Source: `init_sched_fair_class()`.
    pub(super) fn new(jiffies: u64) -> Nohz {
        Nohz { next_balance: jiffies, next_blocked: jiffies, ..Nohz::default() }
    }
}

/// One CPU works for all that are idle (`_nohz_idle_balance()`).
#[derive(Clone, Copy, Debug)]
pub(super) struct Ilb {
    /// What for.
    flags: u8,
    at: At,
    /// The CPU whose turn it is; before that, from where on the next one is looked for.
    cpu: CpuId,
    /// Whether the search has begun anew at CPU 0.
    wrapped: bool,
    /// The jiffy in which it began.
    begin: u64,
    /// The first of the next balances, if there is one.
    next_balance: Option<u64>,
    has_blocked: bool,
}

/// Where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    /// Looking for the next CPU.
    Seeks,
    /// The next CPU has been read.
    Found,
    /// Its clock is up to date, for its averages.
    LockedToAge,
    /// Its averages are of no concern any more.
    Aged,
    /// Its clock is up to date, for its domains.
    LockedToBalance,
    /// Its domains have been balanced.
    Balanced,
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
        let nohz = &self.balance.nohz;
        if nohz.nr_cpus == 0 {
            return None;
        }
        let jiffies = world.jiffies();
        let mut flags = 0;
        if nohz.has_blocked && jiffies > nohz.next_blocked {
            flags = STATS_KICK;
        }
        if jiffies >= nohz.next_balance && self.wants_nohz_balance(world, cpu) {
            flags = STATS_KICK | BALANCE_KICK;
        }
        if nohz.needs_update {
            flags |= NEXT_KICK;
        }
        if flags == 0 { None } else { self.kick_ilb(world, cpu, flags) }
    }

    /// Whether `cpu` has more than it should have: several tasks, less left for its task than other
    /// CPUs have, or company in its LLC, so that another LLC or another core may be the better place.
    fn wants_nohz_balance(&self, world: &World, cpu: CpuId) -> bool {
        if world.rq(cpu).nr_running >= 2 {
            return true;
        }
        let imbalance_pct = self.domains().of(cpu)[0].imbalance_pct;
        let has_task = self.all.root(cpu).h_nr_running >= 1;
        if has_task && self.check_cpu_capacity(cpu, imbalance_pct) {
            return true;
        }
        let shares_llc = self.domains().sd_llc(cpu).is_some();
        shares_llc && self.llcs[world.topology().llc_of(cpu).idx()].nr_busy_cpus > 1
    }

    /// Asks the first idle CPU; one that has been asked already needs no second interrupt.
    /// Source: `kick_ilb()`, `find_new_ilb()`.
    fn kick_ilb(&mut self, world: &World, cpu: CpuId, flags: u8) -> Option<CpuId> {
        let nohz = &mut self.balance.nohz;
        if flags & BALANCE_KICK != 0 {
            nohz.next_balance = world.jiffies() + 1;
        }
        let mut idle = nohz.idle_cpus_mask.iter().filter(|&ilb| ilb != cpu && world.is_idle(ilb));
        let ilb = idle.next()?;
        let kicked = &mut self.balance.rqs[ilb.idx()].nohz_flags;
        let before = std::mem::replace(kicked, *kicked | flags);
        (before & KICK_MASK == 0).then_some(ilb)
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

    /// The begin of `_nohz_idle_balance()`: a CPU that becomes idle from now on raises the flags again.
    pub(super) fn begin_ilb(&mut self, world: &World, this: CpuId, flags: u8) -> Ilb {
        let nohz = &mut self.balance.nohz;
        nohz.has_blocked &= flags & STATS_KICK == 0;
        nohz.needs_update &= flags & NEXT_KICK == 0;
        Ilb {
            flags,
            at: At::Seeks,
            cpu: CpuId::new(this.idx() + 1),
            wrapped: false,
            begin: world.jiffies(),
            next_balance: None,
            has_blocked: false,
        }
    }

    /// Goes on with the work for all idle CPUs, that of `this` last.
    /// Source: `_nohz_idle_balance()`.
    pub(super) fn nohz_idle_balance(
        &mut self,
        world: &World,
        this: CpuId,
        pass: &mut Pass,
    ) -> Option<BalanceStep> {
        let Work::Nohz(ilb) = &mut pass.work else { return None };
        let cpu = ilb.cpu;
        match ilb.at {
            At::Seeks => {
                let Some(next) = self.next_idle(this, ilb) else {
                    self.end_ilb(world, ilb);
                    pass.work = Work::Nothing;
                    return None;
                };
                (ilb.cpu, ilb.at) = (next, At::Found);
                let look = look(world.topology(), this, &CpuSet::single(next), 0);
                return Some(BalanceStep::Look(look));
            }
            At::Found if !world.is_idle(cpu) => ilb.seek(),
            At::Found if !world.is_idle(this) && world.rq(this).need_resched => {
                self.abort_ilb(ilb);
                pass.work = Work::Nothing;
            }
            At::Found => {
                ilb.at = At::Aged;
                if ilb.flags & STATS_KICK != 0 && self.balance.has_blocked_load(cpu) {
                    if world.jiffies() > self.balance.rqs[cpu.idx()].last_blocked_load_update_tick {
                        ilb.at = At::LockedToAge;
                        return Some(BalanceStep::Lock(cpu));
                    }
                    ilb.has_blocked = true;
                }
            }
            At::LockedToAge => {
                ilb.at = At::Aged;
                self.update_blocked_averages(world, cpu);
                ilb.has_blocked |= self.balance.rqs[cpu.idx()].has_blocked_load;
            }
            At::Aged if world.jiffies() >= self.balance.rqs[cpu.idx()].next_balance => {
                ilb.at = At::LockedToBalance;
                return Some(BalanceStep::Lock(cpu));
            }
            At::LockedToBalance => {
                ilb.at = At::Balanced;
                if ilb.flags & BALANCE_KICK != 0 {
                    let walk = DomainPass::new(world, cpu, CpuIdleType::Idle, Cause::Nohz);
                    pass.domains = Some(walk);
                }
            }
            At::Aged | At::Balanced => {
                let next_balance = self.balance.rqs[cpu.idx()].next_balance;
                ilb.found_next_balance(next_balance, world.hz());
                ilb.seek();
            }
        }
        None
    }

    /// The next CPU of the mask, as it is now, in the order that begins after `this`.
    fn next_idle(&self, this: CpuId, ilb: &mut Ilb) -> Option<CpuId> {
        let mask = &self.balance.nohz.idle_cpus_mask;
        if !ilb.wrapped {
            if let Some(next) = mask.next_from(ilb.cpu) {
                return Some(next);
            }
            (ilb.wrapped, ilb.cpu) = (true, CpuId(0));
        }
        mask.next_from(ilb.cpu).filter(|&next| next <= this)
    }

    fn end_ilb(&mut self, world: &World, ilb: &Ilb) {
        let nohz = &mut self.balance.nohz;
        if let Some(next_balance) = ilb.next_balance {
            nohz.next_balance = next_balance;
        }
        if ilb.flags & STATS_KICK != 0 {
            nohz.next_blocked = ilb.begin + (LOAD_AVG_PERIOD_MS * world.hz()).div_ceil(1000);
        }
        nohz.has_blocked |= ilb.has_blocked;
    }

    /// This CPU has got work: whoever is asked next begins anew.
    fn abort_ilb(&mut self, ilb: &Ilb) {
        let nohz = &mut self.balance.nohz;
        nohz.has_blocked |= ilb.has_blocked || ilb.flags & STATS_KICK != 0;
        nohz.needs_update |= ilb.flags & NEXT_KICK != 0;
    }
}

impl Ilb {
    /// On to the next CPU.
    fn seek(&mut self) {
        (self.cpu, self.at) = (CpuId::new(self.cpu.idx() + 1), At::Seeks);
    }

    /// Only a balance within the next minute counts.
    fn found_next_balance(&mut self, next_balance: u64, hz: u64) {
        let limit = self.next_balance.unwrap_or(self.begin + 60 * hz);
        if next_balance < limit {
            self.next_balance = Some(next_balance);
        }
    }
}
