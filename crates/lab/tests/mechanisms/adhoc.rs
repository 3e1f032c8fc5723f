use simsched_core::*;
use simsched_policies::fair::{Fair, Features, Overrides, Version};
use simsched_topology::Topology;
use simsched_workloads::lab::{Counted, Kernel, WithKthreads, counted, replay_counted};
use std::sync::Arc;

#[derive(Debug, Default)]
struct Begun(u32);
impl Observer for Begun {
    fn on(&mut self, _world: &World, tracepoint: Tracepoint) {
        if let Tracepoint::Mark { mark: MarkId(m), .. } = tracepoint {
            if m == 0 || m == 64 {
                self.0 += 1
            }
        }
    }
}
#[test]
fn adhoc() {
    for machine in ["t8", "t16"] {
        let seed = 1;
        let topology = Arc::new(Topology::builtin(machine, Some("untraced-7.3")).unwrap());
        let runs = Counted::new(&counted(), topology.nr_cpus(), Kernel::V7_3, Seed(seed)).unwrap();
        let replay = replay_counted(runs, &topology, Kernel::V7_3, Seed(seed)).unwrap();
        let programs =
            WithKthreads::beside(replay, &topology, Seed(seed)).under(Kernel::V7_3, &topology);
        let policy = Box::new(Fair::new(Features::of(Version::V7_3), Overrides::default()));
        let config =
            Config { seed: Seed(seed), irq_accounting: false, jitter_1024: 0, ..Config::default() };
        let mut run =
            Simulator::new(Arc::clone(&topology), policy, programs, Begun::default(), config)
                .unwrap();
        for stop in 1..=2 {
            while run.observer().0 < stop {
                run.run_events(SimTime::NEVER, 1000).unwrap();
            }
            let levels = if machine == "t8" { 1 } else { 4 };
            let p = run.policy();
            for sd in 0..levels {
                let mut costs: Vec<u64> =
                    topology.cpus().iter().map(|c| p.sd_dbg(c, sd).0).collect();
                let mut ratios: Vec<u32> =
                    topology.cpus().iter().map(|c| p.sd_dbg(c, sd).1).collect();
                let mut calls: Vec<u32> =
                    topology.cpus().iter().map(|c| p.sd_dbg(c, sd).2).collect();
                costs.sort();
                ratios.sort();
                calls.sort();
                eprintln!(
                    "{machine} at {stop} sd{sd} cost {costs:?} ratio {ratios:?} calls {calls:?}"
                );
            }
            let mut idle: Vec<u64> =
                topology.cpus().iter().map(|c| p.idle_stats(c).avg_idle).collect();
            idle.sort();
            eprintln!("{machine} avg_idle {idle:?}");
        }
    }
}
