//! The slice timer (`HRTICK`): with it a slice ends when it is used up, not at the next tick.
//!
//! 7.3, which has it on, is held against recordings of that kernel: tasks of several nice values that compute on one
//! CPU. In 6.1 and 6.12, which have it off, slices follow from weights and from the numbers of debugfs. Libraries are
//! built of Debian's sources (`common`); `--nocapture` prints the turns.

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test prints its runs, and fails where a machine is missing"
)]

mod common;

use std::path::Path;
use std::sync::Arc;

use simsched_core::testkit::Script;
use simsched_core::{
    Config, Nanos, Observer, Op, Seed, Setup, SimTime, Simulator, Tracepoint, World,
};
use simsched_kernel::{KernelPolicy, KernelSettings};
use simsched_topology::{CpuId, Topology};

/// The CPU on which all compute, of the eight of the recordings.
const CPU: CpuId = CpuId(0);

/// By task: how long its turns were, in us, that began after the first 100 ms.
#[derive(Debug, Default)]
struct Turns {
    by_task: Vec<Vec<u64>>,
    began: u64,
}

impl Observer for Turns {
    fn on(&mut self, world: &World, tracepoint: Tracepoint) {
        let Tracepoint::Switch { cpu: CPU, prev, .. } = tracepoint else { return };
        let now = world.now().0;
        let turn = (now - self.began) / 1_000;
        if let Some(turns) = prev.and_then(|prev| self.by_task.get_mut(prev.idx()))
            && self.began > 100_000_000
        {
            turns.push(turn);
        }
        self.began = now;
    }
}

impl Turns {
    /// How many of 1,000 turns of this task last so long, give or take 12 us: a switch and an interrupt.
    fn share(&self, task: usize, us: u64) -> u64 {
        let turns = &self.by_task[task];
        let near = turns.iter().filter(|turn| turn.abs_diff(us) <= 12).count();
        (near * 1_000 / turns.len()).try_into().unwrap()
    }
}

/// Two seconds of tasks of these nice values that compute on one CPU, forked 140 us one after the other, with time in interrupts counted as theirs, as in
/// the recorded kernels.
fn turns(library: &Path, feature: &str, nices: &[i8]) -> Turns {
    let features = if feature.is_empty() { vec![] } else { vec![feature.to_owned()] };
    let settings = KernelSettings { features, ..KernelSettings::default() };
    let mut script = Script::new(Setup { procs: vec!["hogs".to_owned()], ..Setup::default() });
    let mut parent = Vec::new();
    for &nice in nices {
        let task = script.spawned(&[Op::Run(Nanos(8_000_000_000))]);
        script.spec(task).nice = nice;
        script.spec(task).allowed = Some(std::iter::once(CPU).collect());
        parent.extend([Op::Run(Nanos(130_000)), Op::Spawn(task)]);
    }
    script.task(CPU, &parent);
    let text = include_str!("../../../topologies/t8.toml");
    let machine = Arc::new(Topology::parse(text, "t8.toml", Some("untraced")).unwrap());
    let seen = Turns { by_task: vec![Vec::new(); nices.len()], began: 0 };
    let config = Config { seed: Seed(1), irq_accounting: false, ..Config::default() };
    let policy = Box::new(KernelPolicy::new(library, settings));
    let mut sim = Simulator::new(machine, policy, script, seen, config).unwrap();
    sim.set_paranoid();
    sim.run_until(SimTime(2_100_000_000)).unwrap();
    let seen = std::mem::take(sim.observer_mut());
    for (nth, turns) in seen.by_task.iter().enumerate() {
        println!("{feature} nice {}, task {nth}: {turns:?}", nices[nth]);
    }
    seen
}

/// A slice of 6.1 is the part of a period that a weight is of all: of 24 ms on eight CPUs. A weight is 1024 at nice 0
/// and 335 at 5, 3121 at -5 and 110 at 10; no slice is shorter than the least, which is 3 ms.
#[test]
fn a_slice_of_6_1_is_a_part_of_the_period() {
    let Some(library) = common::library("6.1") else { return };
    for (nices, slices) in [
        (&[0, 0][..], &[12_000, 12_000][..]),
        (&[0, 5], &[24_000 * 1024 / 1359, 24_000 * 335 / 1359]),
        (&[0, 0, 0, 0], &[6_000; 4]),
    ] {
        let seen = turns(&library, "HRTICK", nices);
        for (task, &slice) in slices.iter().enumerate() {
            let share = seen.share(task, slice);
            assert!(
                share >= 900,
                "{nices:?}: {share} of 1000 turns of task {task} last {slice} us"
            );
        }
    }
}

/// A slice of 6.12 is 2.8 ms on eight CPUs; without the timer it ends at a tick, each 4 ms.
#[test]
fn a_slice_of_6_12_is_the_base_slice() {
    let Some(library) = common::library("6.12") else { return };
    for (feature, slice) in [("HRTICK", 2_800), ("", 4_000), ("NO_HRTICK", 4_000)] {
        for nices in [&[0, 0][..], &[0, 0, 0, 0]] {
            let seen = turns(&library, feature, nices);
            for task in 0..nices.len() {
                let share = seen.share(task, slice);
                assert!(share >= 900, "{share} of 1000 turns of task {task} last {slice} us");
            }
        }
    }
}

/// How many of 1,000 turns of this task lasted so many us, at least and at most.
type Recorded = (usize, u64, [u64; 2]);

/// Recorded (`7.3-t8`, two runs of each): how many of 1,000 turns of a task last so many us. There, threads of the
/// kernel cut a turn short now and then; none do here, so up to 5 % more turns may last as long as they should.
#[test]
fn turns_of_7_3_are_those_that_were_recorded() {
    let package = Path::new("/usr/src/linux-source-7.3.tar.xz");
    if !package.exists() {
        println!("skipped: there is no {}", package.display());
        return;
    }
    let Some(library) = common::library("7.3") else { return };
    let recorded: [(&[i8], &[Recorded]); 4] = [
        (&[0, 0], &[(0, 2_803, [880, 954]), (1, 2_803, [883, 968])]),
        (&[0, 5], &[(0, 9_196, [800, 803]), (0, 5_196, [150, 151]), (1, 2_803, [994, 994])]),
        (
            &[0, 0, 0, 0],
            &[
                (0, 2_803, [977, 988]),
                (1, 2_803, [977, 988]),
                (2, 2_803, [977, 988]),
                (3, 2_803, [994, 994]),
            ],
        ),
        (
            &[-5, 0, 5, 10],
            &[
                (0, 5_196, [414, 415]),
                (0, 2_803, [194, 200]),
                (0, 7_590, [183, 183]),
                (0, 9_196, [179, 183]),
                (1, 2_803, [996, 996]),
                (2, 2_803, [990, 990]),
                (3, 2_803, [916, 971]),
            ],
        ),
    ];
    for (nices, shares) in recorded {
        let seen = turns(&library, "", nices);
        for &(task, us, [least, most]) in shares {
            let found = seen.share(task, us);
            println!(
                "nice {nices:?}, task {task}: {found} of 1000 last {us} us, recorded {least} to {most}"
            );
            assert!((least - 50..=most + 50).contains(&found), "{found}");
        }
    }
}

#[test]
fn a_share_counts_turns_of_one_task() {
    let turns = Turns { by_task: vec![vec![4_000, 4_010, 2_800, 4_013], vec![2_800]], began: 0 };
    assert_eq!((turns.share(0, 4_000), turns.share(1, 2_800)), (500, 1_000));
}
