//! One attempt to balance one domain: from the question who balances to the tasks that move.

use simsched_core::{BalanceStep, Cause, Moves, Reason, World};
use simsched_topology::{CpuId, SdFlags};

use super::env::NR_MIGRATE;
use super::steps::{Ended, Pass, look_at_all};
use super::{CpuIdleType, LbEnv, MigrationType, SdState};
use crate::fair::features::Version;
use crate::fair::{Fair, reason};

/// One attempt to balance one domain, and where it is (`load_balance()`).
#[derive(Debug)]
pub(super) struct Attempt {
    env: LbEnv,
    cause: Cause,
    at: At,
    moved: u32,
    goes_on: bool,
    /// It holds the lock of the domains that only one CPU may balance at a time (7.2 and later).
    serializes: bool,
}

/// Where an attempt is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    /// Whether this CPU is the one to balance.
    Ask,
    /// It is not; asking has taken its time.
    Skipped,
    /// The CPUs of the domain have been read.
    Decide,
    /// The source is locked.
    Detach,
    /// What could be detached has been attached.
    Attached,
    /// All that can be moved by pulling has been.
    Pulled,
    /// The stopper of the source has been called.
    Stopped,
}

/// How an attempt goes on.
enum Next {
    /// With a step, and then from there.
    Step(At, BalanceStep),
    /// From there.
    Go(At),
    /// Not at all: with so many moved tasks.
    End(u32),
}

/// How balanced it was found to be, from best to worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Balanced {
    /// It is (`out_balanced`).
    Yes,
    /// All tasks of the source are pinned (`out_all_pinned`).
    AllPinned,
    /// The running task of the source is pinned (`out_one_pinned`).
    OnePinned,
}

/// How long an interval may be doubled while tasks are pinned, in ms (`MAX_PINNED_INTERVAL`).
const MAX_PINNED_INTERVAL: u32 = 512;

/// Why a task was moved.
const fn reason_of(migration_type: MigrationType) -> Reason {
    match migration_type {
        MigrationType::Load => reason::LOAD,
        MigrationType::Util => reason::UTIL,
        MigrationType::Task => reason::TASK,
        MigrationType::Misfit => reason::MISFIT,
        MigrationType::LlcTask => reason::LLC_TASK,
    }
}

impl Fair {
    /// An attempt to balance the domain `sd` of `cpu`, which was doing that, begins.
    pub(super) fn begin_attempt(
        &mut self,
        cpu: CpuId,
        sd: usize,
        idle: CpuIdleType,
        cause: Cause,
    ) -> Attempt {
        self.balance.sd_mut(cpu, sd).counts.lb_count[idle as usize] += 1;
        let env = LbEnv::new(self.domains(), cpu, sd, idle);
        Attempt { env, cause, at: At::Ask, moved: 0, goes_on: true, serializes: false }
    }

    /// Goes on with the attempt of `pass`, executed by `this`.
    pub(super) fn load_balance(
        &mut self,
        world: &World,
        this: CpuId,
        pass: &mut Pass,
        moves: &mut Moves,
    ) -> Option<BalanceStep> {
        let attempt = pass.attempt.as_mut()?;
        let next = match attempt.at {
            At::Ask => self.ask(world, this, attempt),
            At::Skipped => self.balanced(&attempt.env, Balanced::Yes),
            At::Decide => self.decide(world, attempt),
            At::Detach => self.detach(world, attempt, moves),
            At::Attached => self.attached(world, attempt),
            At::Pulled => self.pulled(world, attempt),
            At::Stopped => self.unbalanced(world, attempt, true),
        };
        match next {
            Next::Step(at, step) => {
                attempt.at = at;
                Some(step)
            }
            Next::Go(at) => {
                attempt.at = at;
                None
            }
            Next::End(moved) => {
                if attempt.serializes {
                    self.balance.balancing = None;
                }
                pass.ended = Some(Ended { moved, goes_on: attempt.goes_on });
                pass.attempt = None;
                None
            }
        }
    }

    /// The state of the attempt's domain, and where the counters of its kind are.
    fn sd_of(&mut self, env: &LbEnv) -> (&mut SdState, usize) {
        (self.balance.sd_mut(env.cpu, env.sd), env.idle as usize)
    }

    /// `redo:`, as far as no other CPU is read.
    fn ask(&mut self, world: &World, this: CpuId, attempt: &mut Attempt) -> Next {
        let env = &attempt.env;
        if !self.should_we_balance(world, env) {
            attempt.goes_on = false;
            return Next::Step(At::Skipped, BalanceStep::Skip);
        }
        if self.features.version >= Version::V7_2
            && self.domain(env).flags.contains(SdFlags::SERIALIZE)
            && !std::mem::replace(&mut attempt.serializes, true)
        {
            if self.balance.balancing.is_some() {
                attempt.serializes = false;
                return self.balanced(env, Balanced::Yes);
            }
            self.balance.balancing = Some(this);
        }
        let groups = self.domain(env).nr_groups();
        let look = look_at_all(world, this, &env.cpus, groups);
        Next::Step(At::Decide, BalanceStep::Look(look))
    }

    /// The CPUs have been read: which group and queue are busiest.
    fn decide(&mut self, world: &World, attempt: &mut Attempt) -> Next {
        let env = &mut attempt.env;
        let Some(group) = self.find_busiest_group(world, env) else {
            let (sd, idle) = self.sd_of(env);
            sd.counts.lb_nobusyg[idle] += 1;
            return self.balanced(env, Balanced::Yes);
        };
        let Some(busiest) = self.find_busiest_queue(world, env, group) else {
            let (sd, idle) = self.sd_of(env);
            sd.counts.lb_nobusyq[idle] += 1;
            return self.balanced(env, Balanced::Yes);
        };
        debug_assert_ne!(busiest, env.dst_cpu);
        let (sd, idle) = self.sd_of(env);
        let imbalance = env.imbalance.max(0).cast_unsigned();
        sd.counts.lb_imbalance[env.migration_type as usize][idle] += imbalance;
        env.src_cpu = busiest;
        env.flags.all_pinned = true;
        attempt.moved = 0;
        let nr_running = world.rq(busiest).nr_running;
        if nr_running <= 1 {
            return Next::Go(At::Pulled);
        }
        env.loop_max = nr_running.min(NR_MIGRATE);
        Next::Step(At::Detach, BalanceStep::Lock(busiest))
    }

    /// `more_balance:`, with the source locked.
    fn detach(&mut self, world: &World, attempt: &mut Attempt, moves: &mut Moves) -> Next {
        let env = &mut attempt.env;
        moves.tasks.clear();
        let moved = self.detach_tasks(world, env, &mut moves.tasks);
        if moved == 0 {
            return Next::Go(At::Attached);
        }
        attempt.moved += moved;
        moves.from = env.src_cpu;
        moves.to = env.dst_cpu;
        moves.cause = attempt.cause;
        moves.reason = reason_of(env.migration_type);
        moves.domain = u8::try_from(env.sd).expect("few domains");
        Next::Step(At::Attached, BalanceStep::Move)
    }

    /// More from the same source, for this destination or for another one; or another source.
    fn attached(&mut self, world: &World, attempt: &mut Attempt) -> Next {
        let env = &mut attempt.env;
        let more = Next::Step(At::Detach, BalanceStep::Lock(env.src_cpu));
        if std::mem::take(&mut env.flags.need_break) {
            // Linux 6.1 without what was carried back, up to 6.10, stops when all were tried.
            let tries_on = !matches!(self.features.version, Version::V6_5 | Version::V6_6)
                || env.loop_ < world.rq(env.src_cpu).nr_running;
            if tries_on {
                return more;
            }
        }
        if env.flags.dst_pinned && env.imbalance > 0 {
            env.cpus.remove(env.dst_cpu);
            env.dst_cpu = env.new_dst_cpu;
            env.flags.dst_pinned = false;
            (env.loop_, env.loop_break) = (0, NR_MIGRATE);
            return more;
        }
        if env.flags.some_pinned && env.imbalance > 0 {
            self.set_group_imbalance(env, true);
        }
        if !env.flags.all_pinned {
            return Next::Go(At::Pulled);
        }
        env.cpus.remove(env.src_cpu);
        if env.cpus.is_subset(&env.dst_grpmask) {
            return self.balanced(env, Balanced::AllPinned);
        }
        (env.loop_, env.loop_break) = (0, NR_MIGRATE);
        Next::Go(At::Ask)
    }

    /// Nothing was moved: the failure is counted, and the running task may have to go.
    fn pulled(&mut self, world: &World, attempt: &mut Attempt) -> Next {
        let env = &mut attempt.env;
        let is_misfit = self.is_misfit(env);
        let (sd, idle) = self.sd_of(env);
        if attempt.moved > 0 {
            sd.nr_balance_failed = 0;
            return self.unbalanced(world, attempt, false);
        }
        sd.counts.lb_failed[idle] += 1;
        // Who stays for the sake of its LLC is no reason to try harder.
        // A task that does not fit its CPU is none either (6.12).
        let counts = env.idle != CpuIdleType::NewlyIdle && !env.flags.llc_pinned && !is_misfit;
        sd.nr_balance_failed += u32::from(counts);
        if let (true, Some(llc)) = (env.flags.llc_pinned, &mut self.all.llc) {
            llc.note_pinned();
        }
        if !self.need_active_balance(world, env) {
            return self.unbalanced(world, attempt, false);
        }
        // The idle task and the stopper may run nowhere else.
        let src = env.src_cpu;
        if !world.curr(src).is_some_and(|curr| world.is_allowed(curr, env.cpu)) {
            return self.balanced(env, Balanced::OnePinned);
        }
        env.flags.all_pinned = false;
        // Since 7.3 who is leaving needs not be pushed.
        let is_leaving = self.features.version >= Version::V7_3
            && world.curr(src).is_some_and(|curr| !world.task(curr).on_rq);
        if self.balance.rqs[src.idx()].active_balance || is_leaving {
            return self.unbalanced(world, attempt, false);
        }
        let rq = &mut self.balance.rqs[src.idx()];
        (rq.active_balance, rq.push_cpu) = (true, env.cpu);
        rq.push_llc = env.migration_type == MigrationType::LlcTask;
        // The stopper counts as a task.
        self.note_overload(world, src, 0);
        Next::Step(At::Stopped, BalanceStep::Stop { from: src })
    }

    /// There was an imbalance: the next look comes soon, unless the stopper is at it.
    fn unbalanced(&mut self, world: &World, attempt: &Attempt, stopped: bool) -> Next {
        let env = &attempt.env;
        let is_reset = !stopped || self.features.version >= Version::V7_3;
        if is_reset || self.need_active_balance(world, env) {
            let min_interval = self.domain(env).min_interval;
            self.balance.sd_mut(env.cpu, env.sd).balance_interval = min_interval;
        }
        Next::End(attempt.moved)
    }

    /// Nothing can be done here: the next look comes later. A newly idle CPU looks at will, so its
    /// looks say nothing about the interval.
    fn balanced(&mut self, env: &LbEnv, how: Balanced) -> Next {
        if how == Balanced::Yes && !env.flags.all_pinned {
            self.set_group_imbalance(env, false);
        }
        let (max_interval, is_misfit) = (self.domain(env).max_interval, self.is_misfit(env));
        let (sd, idle) = self.sd_of(env);
        if how <= Balanced::AllPinned {
            sd.counts.lb_balanced[idle] += 1;
            sd.nr_balance_failed = 0;
        }
        let is_pinned = env.flags.all_pinned && sd.balance_interval < MAX_PINNED_INTERVAL;
        let grows = is_pinned || sd.balance_interval < max_interval;
        if grows && env.idle != CpuIdleType::NewlyIdle && !is_misfit {
            sd.balance_interval *= 2;
        }
        Next::End(0)
    }

    /// Whether the attempt is for a task that does not fit its CPU, which says nothing about the balance (6.12).
    fn is_misfit(&self, env: &LbEnv) -> bool {
        env.migration_type == MigrationType::Misfit && self.features.version >= Version::V6_12
    }

    /// Tells the domain above whether affinity keeps this one from being balanced.
    fn set_group_imbalance(&mut self, env: &LbEnv, imbalance: bool) {
        let domains = self.domains();
        if let Some(parent) = domains.of(env.cpu).get(env.sd + 1) {
            let capacity_id = domains.local_group(parent).capacity_id;
            self.balance.sgcs[capacity_id as usize].imbalance = imbalance;
        }
    }
}
