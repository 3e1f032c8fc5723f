//! The machine of the files that balance queued tasks with cache-aware scheduling: `proc`, `task`, `list`, `curr`, `rec`
//! and `cnt` of their rows. All clocks stand still.

use serde_json::{Value, json};
use simsched_core::testkit::WorldKit;
use simsched_core::{BalanceStep, Enqueue, Moves, ProcId, TaskId};
use simsched_policies::fair::weight::SCHED_PRIO_TO_WEIGHT;
use simsched_policies::fair::{CacheAware, LlcStats};
use simsched_topology::{CpuId, CpuSet};

use super::cache_busiest::recorded;
use super::cache_task::{class, some};
use crate::balance_moves::number;
use crate::common::driver::Driver;
use crate::common::{ints, vector_machine};

/// A machine in the middle of a row.
pub(super) struct Scene {
    pub(super) driver: Driver,
    /// Of each process a task, where it has one, and the CPU that it prefers at the start.
    procs: Vec<(Option<TaskId>, Value)>,
}

/// A task of the files: `[cpu, is_running, weight, load, util, runnable, ns since exec_start, vruntime, deadline,
/// process, preferred LLC, affinity]`, all attached to their queues at this instant.
struct Row<'a>(&'a Value);

impl Row<'_> {
    fn cpu(&self) -> CpuId {
        CpuId(number(&self.0[0]))
    }

    fn nice(&self) -> i8 {
        let weight = number::<u64>(&self.0[2]) >> 10;
        let at = SCHED_PRIO_TO_WEIGHT.iter().position(|&of_nice| of_nice == weight).unwrap();
        i8::try_from(at).unwrap() - 20
    }

    fn queue(&self, driver: &mut Driver, task: TaskId) {
        let (cpu, host) = (self.cpu(), &mut driver.host);
        let allowed = self.0[11].as_str().unwrap();
        host.kit.set_allowed(task, (allowed != "all").then(|| allowed.parse::<CpuSet>().unwrap()));
        host.kit.task(task).cpu = cpu;
        let avg = &mut host.policy.entity_mut(task).avg;
        (avg.load_avg, avg.util_avg) = (number(&self.0[3]), number(&self.0[4]));
        avg.runnable_avg = number(&self.0[5]);
        host.policy.cache_aware_mut().unwrap().set_pref(task, some(&self.0[10]), false);
        host.enqueue(cpu, task, Enqueue::Moved);
        host.kit.task(task).on_rq = true;
        driver.count(cpu, 1);
        let vruntime = driver.entity(task).vruntime;
        let deadline = driver.host.policy.request_mut(task).deadline;
        assert_eq!(json!([vruntime, deadline]), json!([self.0[7], self.0[8]]), "{}", self.0);
    }
}

impl Scene {
    /// The machine of this name as `row` describes it.
    pub(super) fn new(name: &str, row: &Value) -> Scene {
        let tasks: Vec<Row<'_>> = row["task"].as_array().unwrap().iter().map(Row).collect();
        let procs = row["proc"].as_array().unwrap();
        let mut kit = WorldKit::new(vector_machine(name), 250);
        for (at, row) in tasks.iter().enumerate() {
            let task = kit.add_task(row.nice());
            // A task of no process prefers no LLC: as one that is alone.
            let proc = some(&row.0[9]).unwrap_or(procs.len() + at);
            kit.task(task).proc = ProcId(proc.try_into().unwrap());
        }
        let mut driver = Driver::of(kit, class());
        // Far enough from the boot for what is to have happened before.
        driver.spend(8_000_000_000);
        let a_task_of =
            |proc: usize| tasks.iter().position(|row| row.0[9] == proc).map(TaskId::new);
        let procs: Vec<(Option<TaskId>, Value)> =
            procs.iter().enumerate().map(|(at, proc)| (a_task_of(at), proc[0].clone())).collect();
        let mut scene = Scene { driver, procs };
        scene.set_llcs(row);
        scene.set_domains();
        for (at, list) in row["list"].as_object().unwrap() {
            scene.queue_list(CpuId(at.parse().unwrap()), &ints(list), &tasks);
        }
        let now = scene.driver.host.kit.world().sched_clock();
        for (task, row) in (0..).map(TaskId).zip(&tasks) {
            let exec_start = now - number::<u64>(&row.0[6]);
            scene.driver.host.policy.entity_mut(task).exec_start = exec_start;
        }
        assert_eq!(
            [scene.curr(), scene.recorded(), scene.counted()],
            [row["curr"].clone(), row["rec"].clone(), row["cnt"].clone()]
        );
        scene
    }

    /// What is known of the processes, and what was recorded of the LLCs.
    fn set_llcs(&mut self, row: &Value) {
        let llc = self.driver.host.policy.cache_aware_mut().unwrap();
        for ((task, home), proc) in self.procs.iter().zip(row["proc"].as_array().unwrap()) {
            let Some(task) = *task else { continue };
            let [epoch, next_scan, _] = llc.process(task);
            llc.set_process(task, some(home).map(CpuId), [epoch, next_scan, number(&proc[2])]);
            llc.set_nr_threads(task, number(&proc[1]));
        }
        for (at, state) in (0..).zip(row["rec"].as_array().unwrap()) {
            llc.set_stats(at, LlcStats { util: number(&state[0]), capacity: number(&state[1]) });
        }
    }

    /// The domains have just been built.
    fn set_domains(&mut self) {
        let cpus = *self.driver.host.kit.world().topology().cpus();
        for cpu in cpus.iter() {
            for sd in 0..self.driver.host.policy.domains().of(cpu).len() {
                let min_interval = self.driver.host.policy.domains().of(cpu)[sd].min_interval;
                self.driver.host.policy.sd_state_mut(cpu, sd).balance_interval = min_interval;
            }
        }
    }

    /// Queues the tasks of a CPU. Its list begins with the one that was picked, then come the others from the last one
    /// that was queued. Of those with the same deadline the first is picked.
    fn queue_list(&mut self, cpu: CpuId, list: &[u64], tasks: &[Row<'_>]) {
        let task = |at: &u64| TaskId::new(usize::try_from(*at).unwrap());
        let [picked, others @ ..] = list else { return };
        for task in [picked].into_iter().chain(others.iter().rev()).map(task) {
            tasks[task.idx()].queue(&mut self.driver, task);
        }
        self.pick(cpu);
    }

    /// `cpu`, on which nothing is queued or which is to choose anew, runs what it picks.
    pub(super) fn pick(&mut self, cpu: CpuId) {
        let next = self.driver.host.pick_next(cpu, self.driver.curr(cpu));
        self.driver.host.kit.run_on(cpu, next);
    }

    /// All idle CPUs with queued tasks pick one.
    pub(super) fn pick_all(&mut self) {
        let world = self.driver.host.kit.world();
        let idle = |cpu: &CpuId| world.curr(*cpu).is_none() && world.rq(*cpu).nr_running > 0;
        let cpus: Vec<CpuId> = world.topology().cpus().iter().filter(idle).collect();
        for cpu in cpus {
            self.pick(cpu);
        }
    }

    /// Makes the steps of the pass on `cpu` true, and calls `look` when it reads CPUs. Returns how often it has read
    /// CPUs, and whose stoppers were asked.
    pub(super) fn steps(
        &mut self,
        cpu: CpuId,
        mut look: impl FnMut(&mut Driver),
    ) -> (u32, Vec<CpuId>) {
        let (mut moves, mut looks, mut stops) = (Moves::default(), 0, Vec::new());
        loop {
            match self.driver.host.balance_step(cpu, &mut moves) {
                BalanceStep::Look(_) => {
                    looks += 1;
                    look(&mut self.driver);
                }
                BalanceStep::Lock(_) | BalanceStep::Skip => {}
                BalanceStep::Move => self.attach(&moves),
                BalanceStep::Stop { from } => stops.push(from),
                BalanceStep::Done => return (looks, stops),
            }
        }
    }

    /// The tasks of `moves` come; nobody is switched to yet.
    pub(super) fn attach(&mut self, moves: &Moves) {
        self.driver.attach_tasks(moves);
        for &task in moves.tasks.iter().rev() {
            if self.driver.curr(moves.to).is_some() {
                self.driver.host.wakeup_preempt(moves.to, task, Enqueue::Moved);
            }
        }
    }

    /// Where the tasks are.
    pub(super) fn places(&self) -> Vec<CpuId> {
        let world = self.driver.host.kit.world();
        (0..world.tasks().len()).map(|task| world.task(TaskId::new(task)).cpu).collect()
    }

    /// Who has gone since, and whence and where: `[task, from, to]` by task.
    pub(super) fn gone(&self, since: &[CpuId]) -> Value {
        let places = self.places();
        let both = since.iter().zip(&places).enumerate();
        let gone = both.filter(|(_, (from, to))| from != to);
        Value::Array(gone.map(|(task, (from, to))| json!([task, from.0, to.0])).collect())
    }

    fn llc(&self) -> &CacheAware {
        self.driver.host.policy.cache_aware().unwrap()
    }

    fn cpus(&self) -> impl Iterator<Item = CpuId> {
        let cpus = *self.driver.host.kit.world().topology().cpus();
        (0..).map(CpuId).take(cpus.len())
    }

    /// What runs on each CPU.
    pub(super) fn curr(&self) -> Value {
        let curr = |cpu| self.driver.curr(cpu).map_or(json!(-1), |task| json!(task.0));
        Value::Array(self.cpus().map(curr).collect())
    }

    /// What is recorded of each LLC.
    pub(super) fn recorded(&self) -> Value {
        recorded(self.llc())
    }

    /// Of each CPU how many queued tasks prefer an LLC, its own, and each.
    pub(super) fn counted(&self) -> Value {
        let llc = self.llc();
        let counts = self.cpus().map(|cpu| {
            let rq = llc.rq(cpu);
            let each = (0..llc.ids().len()).map(|at| llc.llc_count(cpu, at.try_into().unwrap()));
            let own = [rq.nr_llc_running, rq.nr_pref_llc_running];
            json!(own.into_iter().chain(each).collect::<Vec<u32>>())
        });
        Value::Array(counts.collect())
    }

    /// The CPU that each process prefers.
    pub(super) fn homes(&self) -> Value {
        let home = |(task, home): &(Option<TaskId>, Value)| match task {
            Some(task) => self.llc().preferred_cpu(*task).map_or(json!(-1), |cpu| json!(cpu.0)),
            None => home.clone(),
        };
        Value::Array(self.procs.iter().map(home).collect())
    }
}
