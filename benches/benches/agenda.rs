//! The agenda's hold: take the earliest event out and plan its source again.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use simsched_core::{Agenda, Event, Seed, SimTime};
use simsched_topology::CpuId;

/// Ops of a few hundred ns on each CPU: the usual load of the agenda.
fn hold(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("agenda/hold");
    for cpus in [16_usize, 128, 384, 1024] {
        let mut agenda = Agenda::new(cpus, 0, 0);
        let mut delays = Seed(1).stream("bench", 0);
        for cpu in 0..cpus {
            agenda.arm(Event::StageEnd(CpuId::new(cpu)), SimTime(delay(&mut delays)));
        }
        group.throughput(Throughput::Elements(1));
        group.bench_function(BenchmarkId::from_parameter(cpus), |bencher| {
            bencher.iter(|| {
                let (now, event) = agenda.next_until(SimTime(1 << 60)).expect("events go on");
                agenda.arm(black_box(event), SimTime(now.0 + delay(&mut delays)));
            });
        });
    }
    group.finish();
}

fn delay(stream: &mut simsched_core::Stream) -> u64 {
    use rand::Rng;
    200 + (stream.next_u64() & 511)
}

criterion_group!(benches, hold);
criterion_main!(benches);
