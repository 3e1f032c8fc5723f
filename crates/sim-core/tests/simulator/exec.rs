//! A task takes a new image.

use simsched_core::testkit::{RoundRobin, Script};
use simsched_core::{Nanos, Op, ProcId, Status, TaskId};
use simsched_topology::CpuId;

use super::rig::{objects, simulate};

/// It is of the new process from then on, of which the policy hears once.
#[test]
fn a_task_that_takes_a_new_image_is_of_another_process() {
    let run = Op::Run(Nanos::from_millis(1));
    let (old, new) = (TaskId(1), TaskId(2));
    let mut script = Script::new(objects());
    let main = script.task(
        CpuId(0),
        &[Op::Spawn(old), Op::Join(old), Op::Exec, Op::ExecMmap(ProcId(1)), Op::Spawn(new), run],
    );
    script.spawned(&[]);
    script.spawned(&[run]);
    script.spec(new).proc = ProcId(1);
    let (status, sim) = simulate(script, RoundRobin::default());
    assert_eq!(status, Ok(Status::Finished));
    assert_eq!(sim.policy().images, [ProcId(1)]);
    let procs = [main, old, new].map(|task| sim.world().task(task).proc);
    assert_eq!(procs, [ProcId(1), ProcId(0), ProcId(1)]);
}

/// A process is declared with a task of it.
#[test]
fn an_image_of_an_unknown_process_is_refused() {
    for proc in [1, 7] {
        let mut script = Script::new(objects());
        script.task(CpuId(0), &[Op::ExecMmap(ProcId(proc))]);
        let (status, sim) = simulate(script, RoundRobin::default());
        let error = status.unwrap_err().to_string();
        assert!(error.contains("task 0 does") && error.contains("not declared"), "{error}");
        assert!(sim.policy().images.is_empty());
    }
}
