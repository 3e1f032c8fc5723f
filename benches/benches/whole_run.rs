//! Whole runs with statistics on, in ns of this thread's CPU time per context switch and per event.

use std::time::Duration;

use cpu_time::ThreadTime;
use criterion::{BenchmarkId, Criterion, SamplingMode, criterion_group, criterion_main};
use simsched_benches::cells::{Cell, plan};
use simsched_benches::{Counts, to_the_end};

/// CPU time of so many runs, and what one of them did; building them is not measured.
fn cpu_time(cell: &Cell, runs: u64) -> (Duration, Counts) {
    let topology = cell.topology();
    let mut time = Duration::ZERO;
    let mut counts = Counts { switches: 0, events: 0 };
    for _ in 0..runs {
        let mut run = cell.simulator(&topology);
        let start = ThreadTime::now();
        counts = to_the_end(&mut run);
        time += start.elapsed();
    }
    (time, counts)
}

/// What criterion calls the time of an iteration is that of one switch, or of one event.
fn whole_run(criterion: &mut Criterion) {
    for unit in ["switch", "event"] {
        let mut group = criterion.benchmark_group(format!("whole_run/ns_per_{unit}"));
        group.sample_size(10).sampling_mode(SamplingMode::Flat);
        group.warm_up_time(Duration::from_millis(200));
        group.measurement_time(Duration::from_millis(1500));
        for cell in plan() {
            group.bench_function(BenchmarkId::from_parameter(&cell.name), |bencher| {
                bencher.iter_custom(|runs| {
                    let (time, counts) = cpu_time(&cell, runs);
                    let divisor = if unit == "switch" { counts.switches } else { counts.events };
                    time.div_f64(divisor.max(1) as f64)
                });
            });
        }
        group.finish();
    }
}

criterion_group!(benches, whole_run);
criterion_main!(benches);
