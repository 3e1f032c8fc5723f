//! A policy of one's own, in one file, with its test.
//!
//! Wakees stay where they were if that CPU is idle, and else go to the first idle CPU behind the same
//! LLC; each CPU runs its tasks in the order in which they came. Nobody is balanced: what this policy
//! lacks, beside `cfs`, is what a comparison of the two shows.
#![expect(clippy::print_stdout, reason = "an example prints")]

use std::collections::VecDeque;
use std::sync::Arc;

use simsched_core::observe::{Invariants, Stats};
use simsched_core::{
    Config, Dequeue, Enqueue, Placement, Policy, Preempt, Reason, Seed, SimTime, Simulator, TaskId,
    TtwuQueue, Wakeup, Workload, World,
};
use simsched_policies::catalog::build;
use simsched_topology::{CpuId, Topology};
use simsched_workloads::{Hackbench, Programs, hackbench::THREADS_OVER_PIPES};

/// The first idle CPU of the LLC.
#[derive(Default)]
struct FirstIdle {
    /// Who waits, by CPU.
    waiting: Vec<VecDeque<TaskId>>,
    /// Who runs and is still runnable, by CPU.
    curr: Vec<Option<TaskId>>,
}

const REASONS: &[&str] = &["prev_idle", "first_idle", "nobody_idle"];

impl Policy for FirstIdle {
    fn attach(&mut self, world: &World) {
        self.waiting = vec![VecDeque::new(); world.topology().nr_cpus()];
        self.curr = vec![None; world.topology().nr_cpus()];
    }

    /// The decision that this example is about. What it scans, the machine prices.
    fn select_task_rq(&mut self, world: &World, wakeup: &Wakeup) -> Placement {
        let prev = wakeup.prev;
        if world.is_idle(prev) && world.is_allowed(wakeup.wakee, prev) {
            return Placement::at(prev, Reason(0));
        }
        let topology = world.topology();
        let llc = topology.llc_span(topology.llc_of(prev));
        let usable = |&cpu: &CpuId| world.is_idle(cpu) && world.is_allowed(wakeup.wakee, cpu);
        let mut looked = 0;
        let found = llc.iter_wrap(prev).inspect(|_| looked += 1).find(usable);
        let (cpu, reason) = found.map_or((prev, Reason(2)), |cpu| (cpu, Reason(1)));
        Placement { scanned: looked, ..Placement::at(cpu, reason) }
    }

    fn reasons(&self) -> &'static [&'static str] {
        REASONS
    }

    fn enqueue(&mut self, _: &World, cpu: CpuId, task: TaskId, _: Enqueue) {
        self.waiting[cpu.idx()].push_back(task);
    }

    fn dequeue(&mut self, _: &World, cpu: CpuId, task: TaskId, _: Dequeue) {
        if self.curr[cpu.idx()] == Some(task) {
            self.curr[cpu.idx()] = None;
        } else {
            self.waiting[cpu.idx()].retain(|&waiting| waiting != task);
        }
    }

    fn pick_next(&mut self, _: &World, cpu: CpuId, _: Option<TaskId>) -> Option<TaskId> {
        let waiting = &mut self.waiting[cpu.idx()];
        waiting.extend(self.curr[cpu.idx()].take());
        self.curr[cpu.idx()] = waiting.pop_front();
        self.curr[cpu.idx()]
    }

    fn put_prev_task(&mut self, _: &World, cpu: CpuId, prev: TaskId) {
        if self.curr[cpu.idx()].take().is_some() {
            self.waiting[cpu.idx()].push_front(prev);
        }
    }

    /// At each tick the next one's turn comes.
    fn task_tick(&mut self, _: &World, cpu: CpuId, _: TaskId) -> Preempt {
        if self.waiting[cpu.idx()].is_empty() { Preempt::No } else { Preempt::Yes }
    }

    fn wakeup_preempt(&mut self, _: &World, _: CpuId, _: TaskId, _: Enqueue) -> Preempt {
        Preempt::No
    }

    fn reweight_task(&mut self, _: &World, _: TaskId) -> Preempt {
        Preempt::No
    }

    fn ttwu_queue(&self) -> TtwuQueue {
        TtwuQueue::Off
    }

    // Nothing to do: no load is tracked, and a yield puts its task to the end of the queue anyway.
    fn migrate_task_rq(&mut self, _: &World, _: TaskId, _: CpuId) {}
    fn task_fork(&mut self, _: &World, _: CpuId, _: Option<TaskId>, _: TaskId) {}
    fn task_woken(&mut self, _: &World, _: CpuId) {}
    fn yield_task(&mut self, _: &World, _: CpuId, _: TaskId) {}
    fn idle_entered(&mut self, _: &World, _: CpuId) {}
}

type Watch = (Stats, Invariants);

/// Runs a workload to its end, with every rule of the simulator checked; how long it took in us.
fn run(
    machine: &str,
    policy: Box<dyn Policy + Send>,
    load: Programs,
) -> Result<(u64, Stats), Box<dyn std::error::Error>> {
    let machine = Arc::new(Topology::builtin(machine, None)?);
    let setup = load.setup();
    let rules = Invariants::new(machine.nr_cpus(), setup.tasks.len());
    let watch: Watch = (Stats::new(&machine, setup.tasks.len(), setup.marks.len()), rules);
    let mut run = Simulator::new(machine, policy, load, watch, Config::default())?;
    run.run_until(SimTime::NEVER)?;
    let (world, _, _, (stats, mut rules)) = run.into_parts();
    rules.finish(&world).map_err(|broken| broken.to_string())?;
    Ok((world.now().get() / 1000, stats))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for name in ["cfs", "first_idle"] {
        let policy = if name == "cfs" { build("cfs", &[])? } else { Box::<FirstIdle>::default() };
        let load = Hackbench { groups: 1, loops: 20, ..THREADS_OVER_PIPES }.build(Seed(1))?;
        let (elapsed, stats) = run("t16", policy, load)?;
        println!("{name}: {elapsed} us, {} migrations", stats.migrations());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use simsched_core::Nanos;
    use simsched_workloads::{Builder, Dist};

    /// One writes to the other and goes on computing; both have run on CPU 0.
    fn pair() -> Programs {
        let mut b = Builder::new();
        let proc = b.process("pair");
        let pipe = b.pipes(1);
        let millisecond = || Dist::Constant(Nanos::from_millis(1));
        let writer = b.program("writer", |p| {
            p.write(pipe, 1);
            p.run(millisecond());
        });
        let reader = b.program("reader", |p| {
            p.read(pipe, 1);
            p.run(millisecond());
        });
        b.start("reader", proc, reader, [0, 0]);
        b.start("writer", proc, writer, [0, 0]);
        b.build(Seed(1)).expect("the pair is sound")
    }

    #[test]
    fn a_wakee_whose_cpu_is_taken_goes_to_an_idle_one() {
        let (alone, _) = run("t8", build("fifo", &[]).unwrap(), pair()).unwrap();
        let (beside, stats) = run("t8", Box::<FirstIdle>::default(), pair()).unwrap();
        assert!(alone > 2_000, "fifo moves nobody: {alone} us");
        assert!(beside < 1_500, "both compute at once: {beside} us");
        assert_eq!(stats.wakeups_by_reason()[1], 1, "one wakeup found the first idle CPU");
    }

    #[test]
    fn nobody_is_lost_where_there_are_more_tasks_than_cpus() {
        let load = Hackbench { groups: 1, loops: 5, ..THREADS_OVER_PIPES };
        let tasks = load.workers() + 1;
        let (_, stats) =
            run("t8", Box::<FirstIdle>::default(), load.build(Seed(1)).unwrap()).unwrap();
        assert_eq!(stats.exits(), tasks);
    }
}
