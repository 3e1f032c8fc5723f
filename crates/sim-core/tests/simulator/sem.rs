//! Semaphores of the kernel: who spins and who sleeps.

use std::sync::Arc;

use simsched_core::testkit::{RoundRobin, Script};
use simsched_core::{Cost, Nanos, Op, SemId, Setup, Status, TaskId, Tracepoint};
use simsched_topology::{CpuId, Topology};

use super::rig::{Log, objects, simulate, simulate_on, topology};

const SEM: SemId = SemId(0);
const HELD: u32 = 50_000;

fn switches(log: &Log, task: TaskId) -> usize {
    log.count(|t| matches!(t, Tracepoint::Switch { prev, .. } if *prev == Some(task)))
}

/// The end of the one who is done first, while the other keeps the address space.
fn end_of_a_thread() -> u64 {
    let costs = *topology().costs();
    u64::from(costs.thread_exit + costs.thread_exit_tail)
}

fn run(ns: u64) -> Op {
    Op::Run(Nanos(ns))
}

/// The holder works for 50 us with the semaphore; the other comes 10 us later, and then has work of its
/// own.
fn beside_a_writer(down: Op, up: Op) -> (u64, usize) {
    let mut script = Script::new(Setup { sems: 1, ..objects() });
    let hold = [Op::DownWrite(SEM), Op::UpWrite { sem: SEM, held: HELD }];
    script.task(CpuId(0), &[run(1_000_000), hold[0], hold[1], run(1_000_000)]);
    let other = script.task(CpuId(2), &[run(1_010_000), down, up]);
    let (status, sim) = simulate(script, RoundRobin::default());
    assert_eq!(status, Ok(Status::Finished));
    let exit = end_of_a_thread();
    let spent = sim.observer().charged(2, Cost::Syscall) - exit;
    (spent, switches(sim.observer(), other))
}

#[test]
fn a_writer_spins_while_the_holder_is_on_a_cpu() {
    let up = Op::UpWrite { sem: SEM, held: 0 };
    let (spent, switches) = beside_a_writer(Op::DownWrite(SEM), up);
    assert!((39_000..42_000).contains(&spent), "{spent}");
    assert_eq!(switches, 1, "to exit");
}

#[test]
fn a_reader_sleeps_at_once() {
    let up = Op::UpRead { sem: SEM, held: 0 };
    let (spent, switches) = beside_a_writer(Op::DownRead(SEM), up);
    assert!(spent < 1_000, "{spent}");
    assert_eq!(switches, 2, "to sleep and to exit");
}

/// A reader holds the semaphore for 50 us, and a writer comes: what the writer spends, where CPUs take
/// turns of so many ns, and how often it is switched out.
fn beside_a_reader(turn: u32) -> (u64, usize) {
    let mut costs = *topology().costs();
    costs.turn = turn;
    let machine = Topology::builtin("t16", None).unwrap().with_costs(costs);
    let mut script = Script::new(Setup { sems: 1, ..objects() });
    let hold = [Op::DownRead(SEM), Op::UpRead { sem: SEM, held: HELD }];
    script.task(CpuId(0), &[run(1_000_000), hold[0], hold[1], run(1_000_000)]);
    let writer = [Op::DownWrite(SEM), Op::UpWrite { sem: SEM, held: 0 }];
    let other = script.task(CpuId(2), &[run(1_010_000), writer[0], writer[1]]);
    let (status, sim) = simulate_on(Arc::new(machine), script, RoundRobin::default());
    assert_eq!(status, Ok(Status::Finished));
    let spent = sim.observer().charged(2, Cost::Syscall) - end_of_a_thread();
    (spent, switches(sim.observer(), other))
}

/// `rwsem_rspin_threshold()`: 10.5 us for one reader.
#[test]
fn a_writer_spins_at_a_reader_for_ten_microseconds_and_sleeps() {
    let (spent, switches) = beside_a_reader(0);
    assert!((10_500..11_500).contains(&spent), "{spent}");
    assert_eq!(switches, 2, "to sleep and to exit");
}

/// It looks at the clock at every 16th look at the semaphore.
#[test]
fn where_cpus_take_turns_a_writer_spins_for_sixteen_of_them() {
    let (spent, switches) = beside_a_reader(1_000);
    assert!((15_000..17_000).contains(&spent), "{spent}");
    assert_eq!(switches, 2, "to sleep and to exit");
}

/// Three writers come for a semaphore that a fourth holds for 50 us, 10 us apart, and each holds it for 20 us. Who comes
/// first gets it first (`osq_lock()`), though the CPUs of those who come later have their turns before.
#[test]
fn spinners_get_it_in_the_order_in_which_they_come() {
    for turn in [0, 1_000] {
        let mut costs = *topology().costs();
        costs.turn = turn;
        let machine = Topology::builtin("t16", None).unwrap().with_costs(costs);
        let mut script = Script::new(Setup { sems: 1, ..objects() });
        let writer = |held| [Op::DownWrite(SEM), Op::UpWrite { sem: SEM, held }];
        let tasks = [(0, 0, HELD), (6, 10_000, 20_000), (4, 20_000, 20_000), (2, 30_000, 20_000)]
            .map(|(cpu, late, held)| {
                let [down, up] = writer(held);
                script.task(CpuId(cpu), &[run(1_000_000 + late), down, up])
            });
        let (status, sim) = simulate_on(Arc::new(machine), script, RoundRobin::default());
        assert_eq!(status, Ok(Status::Finished));
        let exit = |(_, tracepoint): &(_, Tracepoint)| match tracepoint {
            Tracepoint::Exit { task } => Some(*task),
            _ => None,
        };
        let ended: Vec<TaskId> = sim.observer().0.iter().filter_map(exit).collect();
        assert_eq!(ended, tasks, "turns of {turn} ns");
    }
}
