//! The balance of a CPU that is about to become idle.

use rand::Rng;
use simsched_core::{BalanceStep, Cause, World};
use simsched_topology::{CpuId, SdFlags};

use super::steps::{Ended, Pass, Work};
use super::{Balance, CpuIdleType};
use crate::fair::{Fair, Version};

/// A newly-idle balance and where it is.
#[derive(Clone, Copy, Debug)]
pub(super) struct NewIdle {
    at: At,
    /// The present domain.
    sd: usize,
    /// The jiffy of the next balance.
    next_balance: u64,
    /// What it has cost so far, in ns.
    curr_cost: u64,
    /// Since when what it does now costs, on `sched_clock()`.
    since: u64,
    /// By how much a success of the present attempt counts.
    weight: u32,
    /// Whether the last attempt has pulled something.
    pulled: bool,
}

/// Where a newly-idle balance is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    /// Its queues are to be aged.
    Begins,
    /// Its clock is up to date.
    Locked,
    /// The domains are walked.
    Walks,
}

/// `NI_RANDOM` draws a number below this.
const DRAWS: u32 = 1024;

impl Fair {
    /// True if a balance of the newly idle `cpu` begins: if some CPU of the machine has more than one
    /// task, and the balance of the lowest domain is not known to take longer than the CPU is expected
    /// to be idle. Source: the begin of `sched_balance_newidle()`, Linux 6.1.
    #[inline]
    pub(in crate::fair) fn begin_newidle(&mut self, world: &World, cpu: CpuId) -> bool {
        let rq = world.rq(cpu);
        // A task is on its way: it is queued on the switch to the idle task.
        if rq.pending {
            return false;
        }
        let stats = &mut self.stats[cpu.idx()];
        stats.idle_stamp = rq.clock;
        let avg_idle = stats.avg_idle;
        let first = self.balance.starts[cpu.idx()];
        let mut next_balance = world.jiffies() + world.hz();
        if !self.domains().of(cpu).is_empty() {
            if self.balance.overload && avg_idle >= self.balance.sds[first].max_newidle_lb_cost {
                let newidle = NewIdle {
                    at: At::Begins,
                    sd: 0,
                    next_balance,
                    curr_cost: 0,
                    since: world.sched_clock(),
                    weight: 1,
                    pulled: false,
                };
                self.begin_pass(cpu, Work::NewIdle(newidle));
                return true;
            }
            next_balance = next_balance.min(self.sd_next_balance(world, cpu, 0));
        }
        self.end_newidle(world, cpu, next_balance, false);
        false
    }

    /// Goes on with a newly-idle balance. Source: `sched_balance_newidle()`, Linux 6.1.192.
    pub(super) fn newidle_balance(
        &mut self,
        world: &World,
        cpu: CpuId,
        pass: &mut Pass,
    ) -> Option<BalanceStep> {
        let Work::NewIdle(newidle) = &mut pass.work else { return None };
        match newidle.at {
            // Since 7.2 the lock has not been released yet, and the clock stays as it is.
            At::Begins if self.features.version < Version::V7_2 => {
                newidle.at = At::Locked;
                return Some(BalanceStep::Lock(cpu));
            }
            At::Begins | At::Locked => {
                newidle.at = At::Walks;
                self.update_blocked_averages(world, cpu);
            }
            At::Walks => {}
        }
        let mut goes_on = true;
        if let Some(ended) = pass.ended.take() {
            goes_on = self.newidle_balanced(world, cpu, newidle, ended);
        }
        while goes_on && newidle.sd < self.domains().of(cpu).len() {
            if !self.is_worth_it(world, cpu, newidle) {
                break;
            }
            let domain = &self.domains().of(cpu)[newidle.sd];
            if domain.flags.contains(SdFlags::BALANCE_NEWIDLE) {
                if self.is_lucky(world, cpu, newidle) {
                    let (sd, idle) = (newidle.sd, CpuIdleType::NewlyIdle);
                    pass.attempt = Some(self.begin_attempt(cpu, sd, idle, Cause::NewIdle));
                    return None;
                }
            } else {
                goes_on = self.features.version >= Version::V6_12 || !has_come(world, cpu);
            }
            newidle.sd += 1;
        }
        let &mut NewIdle { curr_cost, next_balance, pulled, .. } = newidle;
        pass.work = Work::Nothing;
        let rq = &mut self.balance.rqs[cpu.idx()];
        rq.max_idle_balance_cost = rq.max_idle_balance_cost.max(curr_cost);
        let is_idle = !pulled && world.rq(cpu).nr_running == 0;
        self.end_newidle(world, cpu, next_balance, !is_idle);
        None
    }

    /// Whether the CPU is expected to be idle for as long as the next domain takes.
    fn is_worth_it(&self, world: &World, cpu: CpuId, newidle: &mut NewIdle) -> bool {
        let next = self.sd_next_balance(world, cpu, newidle.sd);
        newidle.next_balance = newidle.next_balance.min(next);
        let cost = newidle.curr_cost + self.balance.sd(cpu, newidle.sd).max_newidle_lb_cost;
        self.stats[cpu.idx()].avg_idle >= cost
    }

    /// Whether a random draw allows that the next domain is balanced: as often as that has brought something
    /// before. Source: feature `NI_RANDOM`, Linux 6.1.192.
    fn is_lucky(&mut self, world: &World, cpu: CpuId, newidle: &mut NewIdle) -> bool {
        newidle.weight = 1;
        // Since 7.2 a domain that is always worth it is not drawn for.
        let is_sure = self.features.version >= Version::V7_2
            && self.balance.sd(cpu, newidle.sd).newidle_ratio >= DRAWS;
        if !self.features.ni_random || is_sure {
            return true;
        }
        let rule = self.newidle_rule(world);
        let thrown = self.balance.draw(cpu);
        let sd = self.balance.sd_mut(cpu, newidle.sd);
        let weight = 1 + sd.newidle_ratio;
        if thrown > weight {
            sd.update_newidle_stats(0, rule);
            return false;
        }
        newidle.weight = (DRAWS + weight / 2) / weight;
        true
    }

    /// A domain has been balanced: learns what it has cost; true if the next one is to be tried.
    fn newidle_balanced(
        &mut self,
        world: &World,
        cpu: CpuId,
        newidle: &mut NewIdle,
        ended: Ended,
    ) -> bool {
        let now = world.sched_clock();
        let cost = now - newidle.since;
        newidle.curr_cost += cost;
        newidle.since = now;
        newidle.pulled = ended.moved > 0;
        let success = if newidle.pulled { newidle.weight } else { 0 };
        let rule = self.newidle_rule(world);
        let sd = self.balance.sd_mut(cpu, newidle.sd);
        sd.update_newidle_cost(world, cost, success, rule);
        newidle.sd += 1;
        // Since 6.12 whoever has come is seen by the next domain.
        let is_done = match self.features.version >= Version::V6_12 {
            true => !ended.goes_on,
            false => has_come(world, cpu),
        };
        !newidle.pulled && !is_done
    }

    /// `out:` of `sched_balance_newidle()`.
    fn end_newidle(&mut self, world: &World, cpu: CpuId, next_balance: u64, has_task: bool) {
        let rq = &mut self.balance.rqs[cpu.idx()];
        rq.next_balance = rq.next_balance.min(next_balance);
        if has_task {
            self.stats[cpu.idx()].idle_stamp = 0;
        } else {
            self.nohz_newidle_balance(world, cpu);
        }
    }
}

impl Balance {
    /// A number below [`DRAWS`]; in tests that have set them the next of those.
    fn draw(&mut self, cpu: CpuId) -> u32 {
        #[cfg(feature = "testkit")]
        if let Some(drawn) = self.draws.pop_front() {
            return drawn;
        }
        self.random[cpu.idx()].next_u32() % DRAWS
    }
}

/// Whether a task has come to `cpu`, or is about to.
fn has_come(world: &World, cpu: CpuId) -> bool {
    let rq = world.rq(cpu);
    rq.nr_running > 0 || rq.pending
}
