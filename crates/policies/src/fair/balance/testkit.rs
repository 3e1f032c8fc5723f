//! For tests (feature `testkit`): the decisions of the load balancer, one by one.

use simsched_core::{TaskId, World};
use simsched_topology::{CpuId, CpuSet, GroupId};

use super::can_migrate::CanMigrate;
use super::{CpuIdleType, LbEnv, RqBalance, SdState, SgcState};
use crate::fair::{Fair, LlcVerdict};

/// The load balancer of a policy in a world, to be asked.
#[derive(Debug)]
pub struct BalanceKit<'a> {
    /// The policy.
    pub fair: &'a mut Fair,
    /// The world.
    pub world: &'a World,
}

impl BalanceKit<'_> {
    /// A new attempt to balance domain `sd` of `cpu`.
    #[must_use]
    pub fn env(&self, cpu: CpuId, sd: usize, idle: CpuIdleType) -> LbEnv {
        LbEnv::new(self.fair.domains(), cpu, sd, idle)
    }

    /// `should_we_balance()`.
    #[must_use]
    pub fn should_we_balance(&self, env: &LbEnv) -> bool {
        self.fair.should_we_balance(self.world, env)
    }

    /// `update_irq_load_avg()`; true if interrupts have taken time.
    pub fn update_irq_load_avg(&mut self, cpu: CpuId) -> bool {
        self.fair.update_irq_load_avg(self.world, cpu)
    }

    /// `update_blocked_averages()`.
    pub fn update_blocked_averages(&mut self, cpu: CpuId) {
        self.fair.update_blocked_averages(self.world, cpu);
    }

    /// `find_busiest_group()`.
    pub fn find_busiest_group(&mut self, env: &mut LbEnv) -> Option<GroupId> {
        self.fair.find_busiest_group(self.world, env)
    }

    /// `find_busiest_queue()`.
    #[must_use]
    pub fn find_busiest_queue(&self, env: &LbEnv, group: GroupId) -> Option<CpuId> {
        self.fair.find_busiest_queue(self.world, env, group)
    }

    /// `find_new_ilb()`.
    #[must_use]
    pub fn find_new_ilb(&self) -> Option<CpuId> {
        self.fair.find_new_ilb(self.world)
    }

    /// `can_migrate_task()`.
    pub fn can_migrate_task(&self, env: &mut LbEnv, task: TaskId) -> bool {
        self.fair.can_migrate_task(self.world, env, task) != CanMigrate::No
    }

    /// `can_migrate_llc_task()`.
    ///
    /// # Panics
    /// Where `cache_aware` is off.
    #[must_use]
    pub fn can_migrate_llc_task(&self, env: &LbEnv, task: TaskId) -> LlcVerdict {
        let llc = self.fair.all.llc.as_ref().expect("cache_aware is on");
        let util = self.fair.entity(task).avg.util_avg;
        llc.can_migrate_llc_task(task, util, [env.src_cpu, env.dst_cpu])
    }

    /// `migrate_llc_task_wrong_dst()`.
    #[must_use]
    pub fn has_wrong_llc(&self, env: &LbEnv, task: TaskId) -> bool {
        self.fair.has_wrong_llc(env, task)
    }

    /// `migrate_degrades_llc()`.
    #[must_use]
    pub fn migrate_degrades_llc(&self, env: &LbEnv, task: TaskId) -> bool {
        self.fair.migrate_degrades_llc(env, task)
    }

    /// `alb_break_llc()`.
    #[must_use]
    pub fn alb_break_llc(&self, env: &LbEnv) -> bool {
        self.fair.alb_break_llc(self.world, env)
    }

    /// `need_active_balance()`.
    #[must_use]
    pub fn need_active_balance(&self, env: &LbEnv) -> bool {
        self.fair.need_active_balance(self.world, env)
    }

    /// `detach_tasks()`.
    pub fn detach_tasks(&mut self, env: &mut LbEnv) -> Vec<TaskId> {
        let mut detached = Vec::new();
        let nr_detached = self.fair.detach_tasks(self.world, env, &mut detached);
        assert_eq!(nr_detached as usize, detached.len());
        detached
    }

    /// `detach_one_task()`.
    pub fn detach_one_task(&mut self, env: &mut LbEnv) -> Option<TaskId> {
        self.fair.detach_one_task(self.world, env)
    }
}

impl Fair {
    /// The state of domain `sd` of `cpu`, to change.
    pub fn sd_state_mut(&mut self, cpu: CpuId, sd: usize) -> &mut SdState {
        self.balance.sd_mut(cpu, sd)
    }

    /// What changes in `group`, to change.
    pub fn sgc_mut(&mut self, group: GroupId) -> &mut SgcState {
        let capacity_id = self.domains().group(group).capacity_id;
        &mut self.balance.sgcs[capacity_id as usize]
    }

    /// What the balancer keeps of the runqueue of `cpu`, to change.
    pub fn rq_balance_mut(&mut self, cpu: CpuId) -> &mut RqBalance {
        &mut self.balance.rqs[cpu.idx()]
    }

    /// The CPUs that are idle without a tick, to change.
    pub fn nohz_mask_mut(&mut self) -> &mut CpuSet {
        &mut self.balance.nohz.idle_cpus_mask
    }

    /// Whether some CPU has more than one task, as far as the balancer knows.
    #[must_use]
    pub fn is_overloaded(&self) -> bool {
        self.balance.overload
    }

    /// Takes it that some CPU has more than one task, or none.
    pub fn set_overloaded(&mut self, is_overloaded: bool) {
        self.balance.overload = is_overloaded;
    }

    /// The next random numbers of newly idle balances, whatever the CPU, each below 1024.
    pub fn set_draws(&mut self, draws: impl Iterator<Item = u32>) {
        self.balance.draws = draws.collect();
    }

    /// The queued tasks of `cpu` in the order in which a balancer looks at them.
    #[must_use]
    pub fn cfs_tasks(&self, cpu: CpuId) -> Vec<TaskId> {
        self.all.mru.iter_from_last(cpu).collect()
    }
}
