//! `Pass`: what the balancer of one CPU is in the middle of, and how it goes on.
//!
//! Time passes between two steps, so a pass is not a function but the place where one stopped: what
//! was begun ([`Work`]), in it the walk over the domains of a CPU ([`DomainPass`]), and in that one
//! attempt to balance one domain ([`Attempt`]). The innermost goes on first; when it has ended, the
//! next one outside finds what it has left behind.

use simsched_core::{BalanceStep, Cause, Far, Look, Moves, World};
use simsched_topology::{CpuId, CpuSet, Topology};

use super::CpuIdleType;
use super::ilb::Ilb;
use super::load_balance::Attempt;
use super::newidle::NewIdle;
use super::rebalance_domains::DomainPass;
use crate::fair::Fair;

/// What the balancer of one CPU is in the middle of.
#[derive(Debug, Default)]
pub(in crate::fair) struct Pass {
    /// What was begun.
    pub(super) work: Work,
    /// A walk over the domains of a CPU.
    pub(super) domains: Option<DomainPass>,
    /// An attempt to balance one domain.
    pub(super) attempt: Option<Attempt>,
    /// How the last attempt has ended, until it is asked for.
    pub(super) ended: Option<Ended>,
}

/// What was begun on a CPU.
#[derive(Debug, Default)]
pub(super) enum Work {
    /// Nothing.
    #[default]
    Nothing,
    /// The softirq balances for its own CPU, which was idle or not at the tick.
    Own(CpuIdleType, Own),
    /// The CPU is about to become idle.
    NewIdle(NewIdle),
    /// It works for the idle CPUs.
    Nohz(Ilb),
    /// One attempt and nothing else.
    #[cfg(feature = "testkit")]
    Attempt,
}

/// How far the softirq has come that balances for its own CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Own {
    /// Its queues are to be aged.
    Begins,
    /// Its clock is up to date.
    Locked,
    /// Its domains are balanced.
    Balances,
}

/// How an attempt has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ended {
    /// How many tasks were moved (`load_balance()`).
    pub(super) moved: u32,
    /// Whether higher domains are to be balanced too (`continue_balancing`).
    pub(super) goes_on: bool,
}

impl Pass {
    /// Whether nothing is under way.
    pub(super) fn is_over(&self) -> bool {
        matches!(self.work, Work::Nothing) && self.domains.is_none() && self.attempt.is_none()
    }
}

impl Fair {
    /// The balance softirq begins: for the idle CPUs if this CPU was asked to and is idle, else for
    /// itself. Source: `run_rebalance_domains()`.
    pub(in crate::fair) fn begin_softirq(&mut self, world: &World, cpu: CpuId) {
        let rq = &mut self.balance.rqs[cpu.idx()];
        let flags = std::mem::take(&mut rq.nohz_idle_balance);
        let idle = if rq.idle_balance { CpuIdleType::Idle } else { CpuIdleType::NotIdle };
        if flags != 0 && idle == CpuIdleType::Idle {
            let ilb = self.begin_ilb(world, cpu, flags);
            self.begin_pass(cpu, Work::Nohz(ilb));
        } else {
            self.begin_pass(cpu, Work::Own(idle, Own::Begins));
        }
    }

    /// Begins a pass that is one attempt to balance domain `sd` of `cpu`, for tests.
    #[cfg(feature = "testkit")]
    pub fn begin_load_balance(&mut self, cpu: CpuId, sd: usize, idle: CpuIdleType) {
        self.begin_pass(cpu, Work::Attempt);
        let attempt = self.begin_attempt(cpu, sd, idle, Cause::Periodic);
        let pass = self.balance.passes[cpu.idx()].as_mut().expect("lent only during a step");
        pass.attempt = Some(attempt);
    }

    /// Begins a pass on `cpu`, where none is under way.
    pub(super) fn begin_pass(&mut self, cpu: CpuId, work: Work) {
        let pass = self.balance.passes[cpu.idx()].as_mut().expect("lent only during a step");
        debug_assert!(pass.is_over(), "one pass at a time");
        pass.work = work;
    }

    /// The next step of the pass on `cpu`.
    pub(in crate::fair) fn next_step(
        &mut self,
        world: &World,
        cpu: CpuId,
        moves: &mut Moves,
    ) -> BalanceStep {
        let mut pass = self.balance.passes[cpu.idx()].take().expect("lent only during a step");
        let step = loop {
            if let Some(step) = self.advance(world, cpu, &mut pass, moves) {
                break step;
            }
        };
        self.balance.passes[cpu.idx()] = Some(pass);
        step
    }

    /// Goes on to the next step, or to where another part of the pass begins or ends.
    fn advance(
        &mut self,
        world: &World,
        cpu: CpuId,
        pass: &mut Pass,
        moves: &mut Moves,
    ) -> Option<BalanceStep> {
        if pass.attempt.is_some() {
            return self.load_balance(world, cpu, pass, moves);
        }
        if pass.domains.is_some() {
            return self.rebalance_domains(world, cpu, pass);
        }
        match pass.work {
            Work::Nothing => Some(BalanceStep::Done),
            Work::Own(..) => self.balance_own(world, cpu, pass),
            Work::NewIdle(_) => self.newidle_balance(world, cpu, pass),
            Work::Nohz(_) => self.nohz_idle_balance(world, cpu, pass),
            #[cfg(feature = "testkit")]
            Work::Attempt => {
                pass.ended = None;
                pass.work = Work::Nothing;
                None
            }
        }
    }

    /// The rest of `run_rebalance_domains()`.
    fn balance_own(&mut self, world: &World, cpu: CpuId, pass: &mut Pass) -> Option<BalanceStep> {
        let Work::Own(idle, own) = &mut pass.work else { return None };
        match own {
            Own::Begins => {
                *own = Own::Locked;
                return Some(BalanceStep::Lock(cpu));
            }
            Own::Locked => {
                *own = Own::Balances;
                self.update_blocked_averages(world, cpu);
                let busy = self.is_busy(world, cpu, *idle);
                pass.domains = Some(DomainPass::new(world, cpu, (*idle, busy), Cause::Periodic));
            }
            Own::Balances => pass.work = Work::Nothing,
        }
        None
    }

    /// Ages all queues of `cpu`, whose clock is up to date.
    /// Source: `update_blocked_averages()`.
    pub(super) fn update_blocked_averages(&mut self, world: &World, cpu: CpuId) {
        self.balance.rqs[cpu.idx()].last_blocked_load_update_tick = world.jiffies();
        self.all.enter(world, cpu);
        let has_irq = self.update_irq_load_avg(world, cpu);
        let has_blocked = self.all.update_blocked(cpu, world.rq(cpu).clock_task);
        if !(has_blocked || has_irq) {
            self.balance.rqs[cpu.idx()].has_blocked_load = false;
        }
    }
}

/// What it takes `reader` to look at what tasks leave on `cpus`.
pub(in crate::fair) fn look(topology: &Topology, reader: CpuId, cpus: &CpuSet) -> Look {
    let count = |nr: usize| u16::try_from(nr).expect("at most 1024 CPUs");
    let all = cpus.len();
    let in_llc = cpus.and_len(topology.llc_span(topology.llc_of(reader)));
    let in_socket = match in_llc == all {
        true => all,
        false => cpus.and_len(topology.package_span(topology.package_of(reader))),
    };
    Look {
        cpus: count(all),
        far: Far {
            same_socket: count(in_socket - in_llc),
            cross_socket: count(all - in_socket),
            ..Far::default()
        },
        groups: 0,
    }
}

/// What it takes `reader` to look at the runqueue of `cpu`: its lines come from the CPU that has written
/// them last. One that balances for an idle CPU again and again still has them.
#[must_use]
pub fn look_at(world: &World, reader: CpuId, cpu: CpuId) -> Look {
    let (topology, writer) = (world.topology(), world.rq(cpu).writer);
    Look { cpus: 1, far: Far::at(topology.distance_class(reader, writer), 1), groups: 0 }
}

/// What it takes `reader` to look at the runqueues of `cpus` (as [`look_at`] does at one) and to sum them up
/// in so many sched groups.
///
/// # Panics
/// Beyond 65,535 groups.
#[must_use]
pub fn look_at_all(world: &World, reader: CpuId, cpus: &CpuSet, groups: usize) -> Look {
    let topology = world.topology();
    let (llc, package) = (topology.llc_of(reader), topology.package_of(reader));
    let (mut nr, mut near, mut cross_socket) = (0, 0, 0);
    for cpu in cpus.iter() {
        let writer = world.rq(cpu).writer;
        nr += 1;
        near += u16::from(topology.llc_of(writer) == llc);
        cross_socket += u16::from(topology.package_of(writer) != package);
    }
    let far = Far { same_socket: nr - near - cross_socket, cross_socket, ..Far::default() };
    Look { cpus: nr, far, groups: u16::try_from(groups).expect("at most 1024 groups") }
}
