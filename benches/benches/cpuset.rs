//! Searches in CPU sets as `select_idle_sibling` makes them.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use simsched_topology::{CpuId, CpuSet, Topology};

fn search(criterion: &mut Criterion) {
    let genoa = Topology::builtin("genoa", None).expect("a shipped machine");
    let llc = genoa.llc_span(genoa.llc_of(CpuId(40)));
    let one_idle = CpuSet::single(CpuId(33));
    criterion.bench_function("cpuset/next_idle_in_llc", |bencher| {
        bencher.iter(|| black_box(llc).and_next_wrap(black_box(&one_idle), CpuId(41)));
    });
    criterion.bench_function("cpuset/next_idle_in_machine", |bencher| {
        bencher.iter(|| black_box(genoa.cpus()).and_next_wrap(black_box(&one_idle), CpuId(41)));
    });
    criterion.bench_function("cpuset/rank_in_llc", |bencher| {
        bencher.iter(|| black_box(llc).rank_wrap(CpuId(41), black_box(CpuId(33))));
    });
}

criterion_group!(benches, search);
criterion_main!(benches);
