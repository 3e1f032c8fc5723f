//! One update of a load average, at the distances at which a scheduler makes them.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use simsched_core::pelt::{SchedAvg, update_load_avg_cfs_rq};

fn update(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("pelt/update");
    for step_ns in [1_000_u64, 20_000, 1_000_000, 40_000_000] {
        let mut avg = SchedAvg::default();
        let mut now = 1_000_000_000;
        group.bench_function(BenchmarkId::from_parameter(step_ns), |bencher| {
            bencher.iter(|| {
                now += step_ns;
                black_box(update_load_avg_cfs_rq(black_box(now), &mut avg, 1 << 20, 1, true))
            });
        });
    }
    group.finish();
}

criterion_group!(benches, update);
criterion_main!(benches);
