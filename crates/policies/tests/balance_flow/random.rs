//! Random programs of random tasks: what no pass may break.

use proptest::prelude::*;
use simsched_core::TaskId;
use simsched_policies::fair::CpuIdleType::{self, Idle, NewlyIdle, NotIdle};
use simsched_policies::fair::Features;
use simsched_topology::{CpuId, CpuSet};

use crate::balance_flow::MS;
use crate::common::driver::Driver;
use crate::common::vector_machine;

const NR_TASKS: u32 = 24;
const NR_CPUS: u16 = 16;

#[derive(Clone, Copy, Debug)]
enum Step {
    Pass(u64),
    Sleep(u16),
    Wake(u32, u16),
    Pin(u32, u16),
    Balance(u16, usize, CpuIdleType),
    Stopper,
}

fn any_step() -> impl Strategy<Value = Step> {
    let kind = prop_oneof![Just(Idle), Just(NotIdle), Just(NewlyIdle)];
    prop_oneof![
        3 => (1..40 * MS).prop_map(Step::Pass),
        2 => (0..NR_CPUS).prop_map(Step::Sleep),
        4 => (0..NR_TASKS, 0..NR_CPUS).prop_map(|(task, cpu)| Step::Wake(task, cpu)),
        1 => (0..NR_TASKS, any::<u16>()).prop_map(|(task, mask)| Step::Pin(task, mask)),
        4 => (0..NR_CPUS, 0..3_usize, kind).prop_map(|(cpu, sd, kind)| Step::Balance(cpu, sd, kind)),
        2 => Just(Step::Stopper),
    ]
}

impl Driver {
    fn may_run(&self, task: TaskId, cpu: CpuId) -> bool {
        self.host.kit.world().is_allowed(task, cpu)
    }

    fn take(&mut self, step: Step) {
        match step {
            Step::Pass(ns) => self.pass(ns, |_| {}),
            Step::Sleep(cpu) if self.curr(CpuId(cpu)).is_some() => {
                self.sleep(CpuId(cpu));
            }
            Step::Wake(task, cpu) if self.may_run(TaskId(task), CpuId(cpu)) => {
                if !self.entity(TaskId(task)).on_rq {
                    self.wake_on(TaskId(task), CpuId(cpu));
                }
            }
            Step::Pin(task, mask) => {
                let mut allowed: CpuSet =
                    (0..NR_CPUS).filter(|cpu| mask >> cpu & 1 == 1).map(CpuId).collect();
                allowed.insert(self.host.kit.world().task(TaskId(task)).cpu);
                self.host.kit.set_allowed(TaskId(task), Some(allowed));
            }
            Step::Balance(cpu, sd, kind) => {
                let sd = sd.min(self.host.policy.domains().of(CpuId(cpu)).len() - 1);
                self.load_balance(CpuId(cpu), sd, kind);
            }
            Step::Stopper => {
                if let Some(cpu) = self.stops.pop() {
                    self.stopper(cpu);
                }
            }
            Step::Sleep(_) | Step::Wake(..) => {}
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// Spec 06, invariants 5 and 9. That no running task is moved but by the stopper, and that a
    /// queue that gives keeps a task, is asserted where the driver moves them.
    #[test]
    fn no_pass_loses_a_task_or_moves_it_where_it_may_not_run(
        steps in prop::collection::vec(any_step(), 1..120),
    ) {
        let nices = vec![0; NR_TASKS as usize];
        let mut driver = Driver::new(vector_machine("mini_2x4x2"), Features::default(), &nices);
        for task in 0..NR_TASKS {
            driver.start(TaskId(task), CpuId((task % 5) as u16));
        }
        for step in steps {
            driver.take(step);
            let queued = (0..NR_TASKS).map(TaskId).filter(|&task| driver.entity(task).on_rq);
            let mut by_cpu = [0; NR_CPUS as usize];
            for task in queued {
                let cpu = driver.host.kit.world().task(task).cpu;
                prop_assert!(driver.may_run(task, cpu));
                by_cpu[cpu.idx()] += 1;
            }
            for cpu in (0..NR_CPUS).map(CpuId) {
                driver.check(cpu);
                let nr_running = driver.host.kit.world().rq(cpu).nr_running;
                prop_assert_eq!(nr_running, by_cpu[cpu.idx()]);
                prop_assert_eq!(driver.curr(cpu).is_some(), nr_running > 0);
            }
        }
    }
}
