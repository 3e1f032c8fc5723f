//! The threads of the kernel beside the program that is run.

use simsched_core::{Config, Workload};
use simsched_topology::Topology;
use simsched_workloads::catalog::Benchmark;
use simsched_workloads::lab::{Kernel, WithKthreads};

/// The tasks of a run on this machine: those of the program, and with `kthreads=on` the threads of this version of the
/// kernel, unless the program has some already. Those of 6.1 stand for all versions but 6.12, 7.2 and 7.3.
pub(crate) fn workload(
    benchmark: &dyn Benchmark,
    topology: &Topology,
    kernel: Option<&str>,
    config: Config,
) -> Box<dyn Workload + Send> {
    let program = benchmark.workload_on(topology);
    if !config.kthreads || benchmark.has_kthreads() {
        return program;
    }
    let threads = WithKthreads::new(program, topology, config.seed).ticking(config.hz);
    Box::new(threads.under(Kernel::named(kernel.unwrap_or_default()), topology))
}
