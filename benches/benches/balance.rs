//! The load balancer on 384 CPUs: a periodic pass, a newly-idle pass, a nohz kick; and an idle machine.

use std::hint::black_box;
use std::sync::Arc;

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use simsched_benches::machine;
use simsched_core::observe::Stats;
use simsched_core::testkit::{PolicyHost, Script, WorldKit};
use simsched_core::{
    BOOT_CLOCK, BalanceStep, Config, Enqueue, Moves, Nanos, Op, Policy, Setup, SimTime, Simulator,
    TaskId,
};
use simsched_policies::catalog;
use simsched_topology::{CpuId, CpuSet};

/// A tick at HZ=250, in ns.
const TICK: u64 = 4_000_000;

/// A machine of 384 CPUs under CFS without dice, with tasks put where they are wanted.
struct Bench {
    host: PolicyHost<dyn Policy + Send>,
    moves: Moves,
    clock: u64,
}

impl Bench {
    /// CPU 0 has two tasks that may run nowhere else, and each other CPU of `busy` one.
    fn new(busy: impl Iterator<Item = u16>) -> Bench {
        let mut kit = WorldKit::new(machine("genoa"), 250);
        let busy: Vec<u16> = [0, 0].into_iter().chain(busy).collect();
        let tasks: Vec<TaskId> = busy.iter().map(|_| kit.add_task(0)).collect();
        let mut host = PolicyHost::boxed(
            kit,
            catalog::build("cfs+NI_RANDOM=off", &[]).expect("a known policy"),
        );
        for cpu in host.kit.world().topology_arc().cpus().iter() {
            host.nohz_balance_enter_idle(cpu);
        }
        for (&cpu, &task) in busy.iter().zip(&tasks) {
            let cpu = CpuId(cpu);
            host.kit.task(task).cpu = cpu;
            host.kit.set_allowed(task, Some([cpu].into_iter().collect::<CpuSet>()));
            host.task_fork(cpu, None, task);
            host.enqueue(cpu, task, Enqueue::New);
            host.kit.task(task).on_rq = true;
            let nr_running = host.kit.world().rq(cpu).nr_running + 1;
            host.kit.set_nr_running(cpu, nr_running);
        }
        for &cpu in &busy[1..] {
            let curr = host.pick_next(CpuId(cpu), None);
            host.kit.run_on(CpuId(cpu), curr);
        }
        Bench { host, moves: Moves::default(), clock: BOOT_CLOCK }
    }

    /// Lets so many ticks pass.
    fn pass(&mut self, ticks: u64) {
        self.clock += ticks * TICK;
        self.host.kit.set_clock(self.clock);
    }

    /// The steps of the pass on `cpu`, none of which finds a task that may move.
    fn steps(&mut self, cpu: CpuId) -> u32 {
        let mut cpus = 0;
        loop {
            match self.host.balance_step(cpu, &mut self.moves) {
                BalanceStep::Look(look) => cpus += u32::from(look.cpus),
                BalanceStep::Lock(_) | BalanceStep::Skip | BalanceStep::Stop { .. } => {}
                BalanceStep::Move => unreachable!("all tasks are pinned"),
                BalanceStep::Done => return cpus,
            }
        }
    }
}

fn periodic(criterion: &mut Criterion) {
    let mut bench = Bench::new(1..384);
    criterion.bench_function("balance/periodic_all_domains_384", |bencher| {
        bencher.iter(|| {
            // All intervals of a busy CPU have passed.
            bench.pass(4_000);
            black_box(bench.host.trigger_load_balance(CpuId(0)));
            bench.host.run_rebalance_domains(CpuId(0));
            black_box(bench.steps(CpuId(0)))
        });
    });
}

fn newly_idle(criterion: &mut Criterion) {
    let idle = CpuId(1);
    let mut bench = Bench::new(2..384);
    // A balance of the top domain finds that some CPU has two tasks.
    bench.pass(4_000);
    bench.host.trigger_load_balance(CpuId(0));
    bench.host.run_rebalance_domains(CpuId(0));
    bench.steps(CpuId(0));
    criterion.bench_function("balance/newly_idle_all_domains_384", |bencher| {
        bencher.iter(|| {
            assert!(bench.host.newidle_balance(idle), "some CPU has two tasks");
            black_box(bench.steps(idle))
        });
    });
}

fn nohz_kick(criterion: &mut Criterion) {
    let mut bench = Bench::new(std::iter::empty());
    criterion.bench_function("balance/nohz_kick_383_idle_cpus", |bencher| {
        bencher.iter(|| {
            bench.pass(200);
            let trigger = bench.host.trigger_load_balance(CpuId(0));
            let ilb = trigger.kick.expect("CPU 0 has two tasks");
            assert!(bench.host.nohz_csd_func(ilb), "an idle CPU balances");
            bench.host.run_rebalance_domains(ilb);
            black_box(bench.steps(ilb))
        });
    });
}

/// A second of a machine on which one task sleeps 10 ms and runs 10 us, in turn.
fn idle_second(criterion: &mut Criterion) {
    let topology = Arc::new(machine("genoa-1024"));
    let turn = [Op::Sleep(Nanos::from_millis(10)), Op::Run(Nanos(10_000))];
    let start = || {
        let procs = vec!["proc".to_owned()];
        let mut script = Script::new(Setup { procs, ..Setup::default() });
        script.task(CpuId(0), &turn.repeat(200));
        let policy = catalog::build("cfs", &[]).expect("a known policy");
        let stats = Stats::new(&topology, 1, 0);
        Simulator::new(Arc::clone(&topology), policy, script, stats, Config::default())
            .expect("a good workload")
    };
    criterion.bench_function("balance/idle_second_1024", |bencher| {
        bencher.iter_batched(
            start,
            |mut run| {
                run.run_until(SimTime(1_000_000_000)).expect("the run goes on");
                (run.events(), run)
            },
            BatchSize::PerIteration,
        );
    });
}

criterion_group!(benches, periodic, newly_idle, nohz_kick, idle_second);
criterion_main!(benches);
