//! One CPU balances for all that are idle: for each in turn, its own domains last.

use simsched_core::{BalanceStep, Cause, World};
use simsched_topology::CpuId;

use super::CpuIdleType;
use super::nohz::{BALANCE_KICK, NEXT_KICK, STATS_KICK};
use super::rebalance_domains::DomainPass;
use super::steps::{Pass, Work, look_at};
use crate::fair::Fair;

/// The half-life of an average: the time between two agings of idle CPUs, in ms (`LOAD_AVG_PERIOD`).
const LOAD_AVG_PERIOD_MS: u64 = 32;

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
                return Some(BalanceStep::Look(look_at(world, this, next)));
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
                    let walk = DomainPass::new(world, cpu, (CpuIdleType::Idle, false), Cause::Nohz);
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
