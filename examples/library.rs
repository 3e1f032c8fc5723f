//! The library in fifteen lines: what does a patch do to migrations and to the tail of wakeups?
#![expect(clippy::print_stdout, reason = "an example prints")]

use std::sync::Arc;

use simsched_core::observe::Stats;
use simsched_core::{Config, Seed, SimTime, Simulator, Workload};
use simsched_policies::catalog::build;
use simsched_topology::Topology;
use simsched_workloads::{Hackbench, hackbench::THREADS_OVER_PIPES};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let machine = Arc::new(Topology::builtin("genoa", None)?);
    for policy in ["cfs", "cfs+wakeup_bias_prev"] {
        let load = Hackbench { groups: 16, loops: 200, ..THREADS_OVER_PIPES }.build(Seed(1))?;
        let setup = load.setup();
        let stats = Stats::new(&machine, setup.tasks.len(), setup.marks.len());
        let scheduler = build(policy, &[])?;
        let mut run =
            Simulator::new(Arc::clone(&machine), scheduler, load, stats, Config::default())?;
        run.run_until(SimTime::NEVER)?;
        let (stats, p99) = (run.observer(), run.observer().wakeup_latency().quantile(99, 100));
        println!("{policy}: {} migrations, wakeup p99 {} ns", stats.migrations(), p99.get());
    }
    Ok(())
}
