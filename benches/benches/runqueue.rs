//! One turn of a runqueue: the current task sleeps, the next is picked, the sleeper comes back.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use simsched_core::testkit::{PolicyHost, WorldKit};
use simsched_core::{BOOT_CLOCK, Dequeue, Enqueue};
use simsched_policies::catalog;
use simsched_topology::{CpuId, Topology};

const CPU: CpuId = CpuId(0);

fn turn(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("runqueue/sleep_pick_wake");
    for depth in [1_usize, 4, 16, 64] {
        let mut kit = WorldKit::new(Topology::builtin("t8", None).expect("shipped"), 250);
        let tasks: Vec<_> = (0..=depth).map(|_| kit.add_task(0)).collect();
        let mut host = PolicyHost::boxed(kit, catalog::build("cfs", &[]).expect("a known policy"));
        for task in &tasks {
            host.task_fork(CPU, None, *task);
            host.enqueue(CPU, *task, Enqueue::New);
            host.kit.task(*task).on_rq = true;
        }
        let mut curr = host.pick_next(CPU, None);
        let mut clock = BOOT_CLOCK;
        group.bench_function(BenchmarkId::from_parameter(depth), |bencher| {
            bencher.iter(|| {
                clock += 5_000;
                host.kit.set_clock(clock);
                let sleeper = curr.expect("somebody runs");
                host.kit.run_on(CPU, curr);
                host.dequeue(CPU, sleeper, Dequeue::Sleep);
                curr = black_box(host.pick_next(CPU, Some(sleeper)));
                host.kit.run_on(CPU, curr);
                let why = Enqueue::Wakeup { migrated: false };
                host.enqueue(CPU, sleeper, why);
                black_box(host.wakeup_preempt(CPU, sleeper, why))
            });
        });
    }
    group.finish();
}

criterion_group!(benches, turn);
criterion_main!(benches);
