//! Active balance: the stopper of a CPU pushes the task that was running there.

use simsched_core::{Cause, Moves, World};
use simsched_topology::CpuId;

use super::{CpuIdleType, LbEnv, MigrationType};
use crate::fair::{Fair, reason};

impl Fair {
    /// Whether pulling is not enough and a running task has to go: several attempts to move tasks one
    /// by one have failed, or the CPU of the only task has less left for it than an idle one; or it should
    /// go to its LLC. All is as it is where tasks should stay in theirs.
    /// Source: `need_active_balance()`.
    pub(super) fn need_active_balance(&self, world: &World, env: &LbEnv) -> bool {
        if self.alb_break_llc(world, env) {
            return false;
        }
        let domain = self.domain(env);
        let nr_balance_failed = self.balance.sd(env.cpu, env.sd).nr_balance_failed;
        match env.migration_type {
            MigrationType::Misfit | MigrationType::LlcTask => true,
            MigrationType::Task if nr_balance_failed > domain.cache_nice_tries + 2 => true,
            _ => {
                let has_one = self.h_nr(self.all.root(env.src_cpu)) == 1;
                has_one
                    && env.idle != CpuIdleType::NotIdle
                    && self.check_cpu_capacity(env.src_cpu, domain.imbalance_pct)
                    && self.capacity_of(env.src_cpu) * u64::from(domain.imbalance_pct)
                        < self.capacity_of(env.dst_cpu) * 100
            }
        }
    }

    /// The stopper runs on `cpu`: one task of `cpu` goes to the CPU that wanted it, if it still may. If that
    /// wanted tasks that prefer its LLC, the first such task goes; in version 4 of `cache_aware` the first of all.
    /// Source: `active_load_balance_cpu_stop()`, `active_load_balance_llc_cpu_stop()`.
    pub(in crate::fair) fn stop(&mut self, world: &World, cpu: CpuId, moves: &mut Moves) {
        moves.tasks.clear();
        let rq = &mut self.balance.rqs[cpu.idx()];
        let (target, for_llc) = (rq.push_cpu, rq.push_llc);
        if !std::mem::take(&mut rq.active_balance) || self.all.root(cpu).h_nr_running == 0 {
            return;
        }
        let domains = self.domains().of(target);
        let Some(sd) = domains.iter().position(|sd| sd.span.contains(cpu)) else { return };
        let mut env = LbEnv::new(self.domains(), target, sd, CpuIdleType::Idle);
        (env.src_cpu, env.flags.active_lb) = (cpu, true);
        let knows_llc = self.all.llc.as_ref().is_some_and(|llc| llc.is_merged());
        env.flags.active_lb_llc = for_llc && knows_llc;
        let task = self.detach_one_task(world, &mut env);
        let sd = self.balance.sd_mut(target, sd);
        sd.counts.alb_count += 1;
        let Some(task) = task else {
            sd.counts.alb_failed += 1;
            return;
        };
        sd.counts.alb_pushed += 1;
        sd.nr_balance_failed = 0;
        moves.tasks.push(task);
        (moves.from, moves.to) = (cpu, target);
        moves.cause = Cause::Active;
        moves.reason = if for_llc { reason::LLC_TASK } else { reason::TASK };
        moves.domain = u8::try_from(env.sd).expect("few domains");
    }
}
