//! The choice of a CPU for a wakee on a machine of 384 CPUs, by how busy it is.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use simsched_core::testkit::{PolicyHost, WorldKit};
use simsched_core::{TaskId, WakeKind, Wakeup};
use simsched_policies::catalog;
use simsched_topology::{CpuId, Topology};

/// A machine of which every CPU but each `gap`-th is busy, the waker and the wakee's last CPU too.
fn world(gap: usize) -> (WorldKit, TaskId) {
    let mut kit = WorldKit::new(Topology::builtin("genoa", None).expect("shipped"), 250);
    let wakee = kit.add_task(0);
    for cpu in 0..384 {
        let task = kit.add_task(0);
        if cpu % gap != gap - 1 || cpu == 1 {
            kit.run_on(CpuId::new(cpu), Some(task));
        }
    }
    (kit, wakee)
}

fn select(criterion: &mut Criterion) {
    for (name, kind) in [("wake", WakeKind::WakeSync), ("fork", WakeKind::Fork)] {
        let mut group = criterion.benchmark_group(format!("select_task_rq/{name}"));
        for (load, gap) in [("half_idle", 2), ("few_idle", 13), ("full", 1000)] {
            let (kit, wakee) = world(gap);
            let mut host =
                PolicyHost::boxed(kit, catalog::build("cfs", &[]).expect("a known policy"));
            let wakeup = Wakeup { wakee, prev: CpuId(1), waker: CpuId(0), kind };
            group.bench_function(BenchmarkId::from_parameter(load), |bencher| {
                bencher.iter(|| host.select_task_rq(black_box(&wakeup)));
            });
        }
        group.finish();
    }
}

criterion_group!(benches, select);
criterion_main!(benches);
