//! The walk over the domains of a CPU: those whose time has come are balanced.

use simsched_core::{BalanceStep, Cause, World};
use simsched_topology::{CpuId, SdFlags};

use super::CpuIdleType;
use super::steps::{Ended, Pass};
use crate::fair::{Fair, Version};

/// A walk over the domains of a CPU, bottom-up (`rebalance_domains()`).
#[derive(Debug)]
pub(super) struct DomainPass {
    /// Whose domains, which is not always the CPU that does the work.
    cpu: CpuId,
    /// What it was doing.
    idle: CpuIdleType,
    /// Whether it has more to do than tasks of `SCHED_IDLE`: asked when the walk begins, and when tasks were moved.
    busy: bool,
    cause: Cause,
    /// The present domain.
    sd: usize,
    /// Whether higher domains are balanced too.
    goes_on: bool,
    /// The jiffy of the next balance, as far as is known, and whether it is.
    next_balance: u64,
    is_known: bool,
    /// Whether the cost of the last domain has shrunk.
    has_decayed: bool,
    /// The sum of the costs of the domains, in ns.
    max_cost: u64,
    /// Whether it holds the lock of the domains that only one CPU may balance at a time.
    holds_balancing: bool,
}

impl DomainPass {
    /// For the domains of `cpu`, which is idle or runs tasks of `SCHED_IDLE` alone where it is not `busy`.
    pub(super) fn new(
        world: &World,
        cpu: CpuId,
        (idle, busy): (CpuIdleType, bool),
        cause: Cause,
    ) -> DomainPass {
        DomainPass {
            cpu,
            idle,
            busy,
            cause,
            sd: 0,
            goes_on: true,
            next_balance: world.jiffies() + 60 * world.hz(),
            is_known: false,
            has_decayed: false,
            max_cost: 0,
            holds_balancing: false,
        }
    }
}

impl Fair {
    /// Goes on with the walk of `pass`, executed by `this`: to the begin of an attempt, or to its end.
    pub(super) fn rebalance_domains(
        &mut self,
        world: &World,
        this: CpuId,
        pass: &mut Pass,
    ) -> Option<BalanceStep> {
        let walk = pass.domains.as_mut()?;
        if let Some(ended) = pass.ended.take() {
            self.domain_balanced(world, walk, ended);
        }
        let nr_domains = self.domains().of(walk.cpu).len();
        while walk.sd < nr_domains && self.visit(world, walk) {
            if self.begins_balance(world, this, walk) {
                let &mut DomainPass { cpu, sd, idle, cause, .. } = walk;
                pass.attempt = Some(self.begin_attempt(cpu, sd, idle, cause));
                return None;
            }
        }
        self.end_walk(walk);
        pass.domains = None;
        None
    }

    /// Whether `walk` is not over, and its domain is one to be looked at; ages the domain's cost.
    fn visit(&mut self, world: &World, walk: &mut DomainPass) -> bool {
        let nr_domains = self.domains().of(walk.cpu).len();
        while walk.sd < nr_domains {
            let rule = self.newidle_rule(world);
            let sd = self.balance.sd_mut(walk.cpu, walk.sd);
            walk.has_decayed = sd.update_newidle_cost(world, 0, 0, rule);
            walk.max_cost += sd.max_newidle_lb_cost;
            if walk.goes_on {
                return true;
            }
            // Another CPU of the group balances from here on; only the costs are of interest.
            if !walk.has_decayed {
                return false;
            }
            walk.sd += 1;
        }
        false
    }

    /// Whether the domain of `walk` is balanced now; if not, the walk is at the next one.
    fn begins_balance(&mut self, world: &World, this: CpuId, walk: &mut DomainPass) -> bool {
        let flags = self.domains().of(walk.cpu)[walk.sd].flags;
        let interval = self.sd_interval(world, walk.cpu, walk.sd, walk.busy);
        // Since 7.2 the attempt itself takes the lock.
        if flags.contains(SdFlags::SERIALIZE) && self.features.version < Version::V7_2 {
            if self.balance.balancing.is_some() {
                self.leave_domain(walk, interval);
                return false;
            }
            self.balance.balancing = Some(this);
            walk.holds_balancing = true;
        }
        if world.jiffies() >= self.balance.sd(walk.cpu, walk.sd).last_balance + interval {
            return true;
        }
        self.release(walk);
        self.leave_domain(walk, interval);
        false
    }

    /// The domain of `walk` has been balanced.
    fn domain_balanced(&mut self, world: &World, walk: &mut DomainPass, ended: Ended) {
        walk.goes_on = ended.goes_on;
        if ended.moved > 0 {
            let is_idle = world.is_idle(walk.cpu);
            walk.idle = if is_idle { CpuIdleType::Idle } else { CpuIdleType::NotIdle };
            walk.busy = self.is_busy(world, walk.cpu, walk.idle);
        }
        self.balance.sd_mut(walk.cpu, walk.sd).last_balance = world.jiffies();
        let interval = self.sd_interval(world, walk.cpu, walk.sd, walk.busy);
        self.release(walk);
        self.leave_domain(walk, interval);
    }

    /// Whether `cpu` has more to do than tasks of `SCHED_IDLE`.
    pub(super) fn is_busy(&self, world: &World, cpu: CpuId, idle: CpuIdleType) -> bool {
        idle != CpuIdleType::Idle && !self.sched_idle_cpu(world, cpu)
    }

    fn release(&mut self, walk: &mut DomainPass) {
        if std::mem::take(&mut walk.holds_balancing) {
            self.balance.balancing = None;
        }
    }

    /// The next balance of the domain of `walk` may be the first one to come; on to the next domain.
    fn leave_domain(&self, walk: &mut DomainPass, interval: u64) {
        let next = self.balance.sd(walk.cpu, walk.sd).last_balance + interval;
        if next < walk.next_balance {
            (walk.next_balance, walk.is_known) = (next, true);
        }
        walk.sd += 1;
    }

    fn end_walk(&mut self, walk: &DomainPass) {
        let migration_cost = self.all.tunables.migration_cost_ns;
        let rq = &mut self.balance.rqs[walk.cpu.idx()];
        if walk.has_decayed {
            rq.max_idle_balance_cost = walk.max_cost.max(migration_cost);
        }
        if walk.is_known {
            rq.next_balance = walk.next_balance;
        }
    }
}
