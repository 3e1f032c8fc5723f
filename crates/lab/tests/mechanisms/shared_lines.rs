//! "Cache aware scheduling", version 4, 2026-04-01: threads that pass lines to each other in every cycle of
//! a circuit gain when they come to share one LLC.

use std::sync::Arc;

use simsched_core::{Config, HardwareModel, Observer, Seed, SimTime, Simulator, Tracepoint, World};
use simsched_policies::catalog;
use simsched_topology::{CpuId, Topology};

/// By task: where it ran last.
#[derive(Clone, Debug, Default)]
struct Last(Vec<CpuId>);

impl Observer for Last {
    fn on(&mut self, _: &World, tracepoint: Tracepoint) {
        if let Tracepoint::Running { cpu, task } = tracepoint {
            self.0.resize(self.0.len().max(task.idx() + 1), cpu);
            self.0[task.idx()] = cpu;
        }
    }
}

/// How many LLCs the eight threads of a model end on, and how long its cycles take in all, in us.
fn model(policy: &str, hardware: HardwareModel) -> (usize, u64) {
    let topology = Arc::new(Topology::builtin("spr-2x30", None).unwrap());
    let argv = ["verilator", "--threads", "8", "--cycles", "170000"].map(str::to_owned);
    let bench = simsched_workloads::catalog::parse(&argv, 1, topology.nr_cpus()).unwrap();
    let policy = catalog::build(policy, &[]).unwrap();
    let config = Config { seed: Seed(1), hardware, ..Config::default() };
    let run = Simulator::new(topology.clone(), policy, bench.workload(), Last::default(), config);
    let mut run = run.unwrap();
    run.run_until(SimTime::NEVER).unwrap();
    let end = run.world().now().get() / 1000;
    let mut llcs: Vec<_> = run.into_parts().3.0.iter().map(|cpu| topology.llc_of(*cpu)).collect();
    llcs.sort_unstable();
    llcs.dedup();
    (llcs.len(), end)
}

/// Prediction P3.6: the gain comes with the number of LLCs going to one (published: a fifth of the time).
/// Control: where lines take no time, the same moves gain nothing.
#[test]
fn threads_of_a_model_gain_when_they_share_one_llc() {
    let gathers = "cache_aware@v4+llc_balancing.aggr_tolerance=100";
    let [(apart, before), (together, after)] =
        ["eevdf@7.0", gathers].map(|policy| model(policy, HardwareModel::Priced));
    assert_eq!((apart, together), (2, 1));
    assert!(after * 100 < before * 95, "{before} {after}");
    let [(_, before), (together, after)] =
        ["eevdf@7.0", gathers].map(|policy| model(policy, HardwareModel::Free));
    assert_eq!(together, 1);
    assert!(before.abs_diff(after) * 100 < before, "{before} {after}");
}
