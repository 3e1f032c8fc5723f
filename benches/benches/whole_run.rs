//! Whole runs with statistics on, in time per context switch and per event.

use std::sync::Arc;

use criterion::{
    BenchmarkId, Criterion, SamplingMode, Throughput, criterion_group, criterion_main,
};
use simsched_benches::{machine, run_once};
use simsched_core::HardwareModel::{self, Free, Priced};

/// What is run on each machine: its name, what the hardware costs, the policy, the command line.
const LOADS: [(&str, HardwareModel, &str, &str); 5] = [
    ("g8", Priced, "cfs", "hackbench -g 8 -f 20 --threads --pipe -l 100 -s 100"),
    ("g32", Priced, "cfs", "hackbench -g 32 -f 20 --threads --pipe -l 50 -s 100"),
    ("g32_free", Free, "cfs", "hackbench -g 32 -f 20 --threads --pipe -l 50 -s 100"),
    (
        "g32_container",
        Priced,
        "cfs+group=container",
        "hackbench -g 32 -f 20 --threads --pipe -l 50 -s 100",
    ),
    // One sender and one receiver for each group: each message is a wakeup.
    ("pairs", Priced, "cfs", "hackbench -g 100 -f 1 --threads --pipe -l 500 -s 100"),
];

fn whole_run(criterion: &mut Criterion) {
    for (load, hardware, policy, command) in LOADS {
        for unit in ["switch", "event"] {
            let mut group = criterion.benchmark_group(format!("whole_run/{load}/ns_per_{unit}"));
            group.sample_size(10).sampling_mode(SamplingMode::Flat);
            for cpus in [16, 128, 384, 1024] {
                let topology = Arc::new(machine(cpus));
                let counts = run_once(&topology, hardware, policy, command);
                let elements = if unit == "switch" { counts.switches } else { counts.events };
                group.throughput(Throughput::Elements(elements));
                group.bench_function(BenchmarkId::from_parameter(cpus), |bencher| {
                    bencher.iter(|| run_once(&topology, hardware, policy, command));
                });
            }
            group.finish();
        }
    }
}

criterion_group!(benches, whole_run);
criterion_main!(benches);
