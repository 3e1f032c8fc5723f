//! A machine whose CPUs are as busy as a test says.

use simsched_core::TaskId;
use simsched_core::testkit::{PolicyHost, WorldKit};
use simsched_policies::fair::{
    BalanceKit, CpuIdleType, Fair, Features, LbEnv, MigrationType, Overrides,
};
use simsched_topology::{CpuId, Topology};

/// What runs on a CPU: tasks, their load and utilization; they run all the time that they use.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Busy {
    pub(crate) nr_running: u32,
    pub(crate) load: u64,
    pub(crate) util: u64,
}

/// A CPU on which so many tasks run that use it up.
pub(crate) fn full(nr_running: u32) -> Busy {
    Busy { nr_running, load: 1024 * u64::from(nr_running), util: 1024 }
}

/// A CPU on which a task runs that needs little.
pub(crate) const LIGHT: Busy = Busy { nr_running: 1, load: 100, util: 100 };

pub(crate) struct Scene {
    pub(crate) host: PolicyHost<Fair>,
}

/// What a pass finds: whence, of what kind, how much.
pub(crate) type Found = Option<(String, MigrationType, i64)>;

impl Scene {
    /// All CPUs idle.
    pub(crate) fn new(topology: Topology, features: Features) -> Scene {
        let mut kit = WorldKit::new(topology, 250);
        for _ in 0..kit.world().topology().nr_cpus() {
            kit.add_task(0);
        }
        let host = PolicyHost::new(kit, Fair::new(features, Overrides::default()));
        Scene { host }
    }

    pub(crate) fn cpu(&mut self, cpu: u16, busy: Busy) {
        let id = CpuId(cpu);
        self.host.kit.run_on(id, (busy.nr_running > 0).then_some(TaskId(u32::from(cpu))));
        self.host.kit.set_nr_running(id, busy.nr_running);
        let rq = self.host.policy.cfs_rq_mut(id);
        rq.h_nr_running = busy.nr_running;
        (rq.avg.load_avg, rq.avg.util_avg, rq.avg.runnable_avg) = (busy.load, busy.util, busy.util);
    }

    pub(crate) fn balancer(&mut self) -> BalanceKit<'_> {
        BalanceKit { fair: &mut self.host.policy, world: self.host.kit.world() }
    }

    /// The place of the domain with this name among those of `cpu`.
    #[track_caller]
    pub(crate) fn domain(&self, cpu: u16, name: &str) -> usize {
        let domains = self.host.policy.domains().of(CpuId(cpu));
        domains.iter().position(|sd| sd.name == name).unwrap()
    }

    /// `find_busiest_group()` for `cpu`, and what it wrote down.
    pub(crate) fn find(&mut self, cpu: u16, name: &str, idle: CpuIdleType) -> (Found, LbEnv) {
        let sd = self.domain(cpu, name);
        let mut balancer = self.balancer();
        let mut env = balancer.env(CpuId(cpu), sd, idle);
        let group = balancer.find_busiest_group(&mut env);
        let span = group.map(|group| self.host.policy.domains().group(group).span.to_string());
        (span.map(|span| (span, env.migration_type, env.imbalance)), env)
    }

    /// The same, with the queue that gives tasks instead of the group.
    pub(crate) fn find_queue(&mut self, cpu: u16, name: &str, idle: CpuIdleType) -> Option<u16> {
        let sd = self.domain(cpu, name);
        let mut balancer = self.balancer();
        let mut env = balancer.env(CpuId(cpu), sd, idle);
        let group = balancer.find_busiest_group(&mut env)?;
        balancer.find_busiest_queue(&env, group).map(|cpu| cpu.0)
    }
}
