//! The kernel's own threads in what the tracer and the counters tell of a run.

use std::sync::Arc;

use simsched_core::{Config, Seed, SimTime, Simulator, Workload};
use simsched_lab::event::{PrevState, What};
use simsched_lab::recorder::{Record, Recorder};
use simsched_policies::catalog as policies;
use simsched_topology::Topology;
use simsched_workloads::lab::{Lab, WithKthreads};

fn record(scenario: &str) -> Record {
    let topology = Arc::new(Topology::builtin("t16", Some("lab")).unwrap());
    let program = Lab::new(scenario, 16).unwrap().build(Seed(1)).unwrap();
    let program = WithKthreads::new(program, &topology, Seed(1));
    let recorder = Recorder::new(&program.setup(), topology.nr_cpus());
    let policy = policies::build("cfs@6.1", &[]).unwrap();
    let mut sim = Simulator::new(topology, policy, program, recorder, Config::default()).unwrap();
    sim.run_until(SimTime(20_000_000_000)).unwrap();
    let (world, _, _, recorder) = sim.into_parts();
    recorder.finish(&world, &[])
}

/// The parent and one hog are the only tasks of the program: the parent sleeps once and ends, and the
/// hog gives way to threads of its CPU only.
#[test]
fn they_are_traced_and_their_own_switches_are_not_counted() {
    let record = record("hogs-free-1");
    let kernel = |pid: u32| pid >= 2002;
    let (mut given_up, mut from_kernel) = (0, 0);
    for event in &record.events {
        if let What::Switch { prev, state, .. } = event.what {
            let is_alive = !matches!(state, PrevState::Dead(_));
            given_up += u64::from((2000..2002).contains(&prev.pid) && is_alive);
            from_kernel += u64::from(kernel(prev.pid));
        }
    }
    assert!(from_kernel > 5, "{from_kernel}");
    assert_eq!(record.context_switches, given_up);
    let own = [2000, 2001];
    let threads = record.tasks.iter().filter(|task| !own.contains(&task.pid));
    assert!(threads.clone().count() > 16 && threads.clone().all(|task| task.nice == 0));
}

#[test]
fn their_first_wakeup_is_none_of_a_new_task() {
    let record = record("hogs-free-1");
    let new = record.events.iter().filter(|event| matches!(event.what, What::WakeupNew { .. }));
    assert_eq!(new.count(), 1);
}
