//! Births of threads under 6.12 and 7.3: how far they are apart, and when a thread has slept first, as in recordings of
//! `schbench`: under 7.3.4 the gaps in seven boots of `t8` (two of them in the shared recordings) and the first sleeps in
//! boots of `t8` and `t16`, under 6.12.107 the gaps in the shared recordings.

use std::collections::BTreeMap;
use std::sync::Arc;

use simsched_lab::event::{Event, PrevState, What};
use simsched_lab::run::Bed;
use simsched_topology::Topology;
use simsched_workloads::lab::Kernel;

fn events(name: &str, seed: u64) -> Vec<Event> {
    crate::bed::run(&crate::bed::of_7_3("t8", "eevdf@7.3"), name, seed).events
}

/// From a birth to the next one are 55 to 58 us at least in each of seven boots, where nobody has the lock of the address
/// space, and 80 to 98 at most, where the parent waits for it: a worker maps its heap meanwhile. Here they are within 5 us
/// and 15 % of that, but for one of eight runs in which nobody waits.
#[test]
fn births_wait_for_the_lock_of_the_address_space() {
    let mut waits = 0;
    for seed in 1..=8 {
        let forks = events("schbench-1xN", seed).into_iter();
        let forks: Vec<u64> = forks
            .filter(|event| matches!(event.what, What::Fork { .. }))
            .map(|event| event.us)
            .collect();
        let gaps: Vec<u64> = forks.windows(2).map(|two| two[1] - two[0]).collect();
        assert_eq!(gaps.len(), 8, "{seed}: {gaps:?}");
        assert!((53..=62).contains(gaps.iter().min().unwrap()), "{seed}: {gaps:?}");
        let most = gaps.iter().max().unwrap();
        assert!(*most <= 115, "{seed}: {gaps:?}");
        waits += u32::from(*most >= 68);
    }
    assert!(waits >= 7, "{waits} of 8 runs");
}

/// A first page fault that finds the lock taken waits for it as a reader, without a spin, and is done again under it. In the
/// trace of `schbench-1xN` on t8 the parent or a worker sleeps so (`D`) 3 and 5 times in the two recordings, 2, 2, 3, 6 and
/// 7 times in five other boots of 7.3.4.
#[test]
fn a_first_page_fault_sleeps_where_the_lock_is_taken() {
    let sleeps = |seed| {
        let is_sleep = |event: &&Event| {
            matches!(event.what, What::Switch { state: PrevState::Asleep('D'), .. })
        };
        events("schbench-1xN", seed).iter().filter(is_sleep).count()
    };
    let all: Vec<usize> = (1..=8).map(sleeps).collect();
    let sum: usize = all.iter().sum();
    assert!((2 * all.len()..=7 * all.len()).contains(&sum), "{all:?}");
}

/// The first message thread sleeps 24 to 28 us behind its first sched_switch (10 births), the second one 14 to 18
/// (5 births): the code that it runs has been mapped.
#[test]
fn the_first_thread_maps_the_code_that_all_run() {
    for seed in 1..=3 {
        let (mut first, mut slept) = (BTreeMap::new(), BTreeMap::new());
        for event in events("schbench-2xH", seed) {
            let What::Switch { prev, next, .. } = event.what else { continue };
            if let Some(begun) = first.get(&prev.pid) {
                slept.entry(prev.pid).or_insert(event.us - begun);
            }
            first.entry(next.pid).or_insert(event.us);
        }
        // A message thread, its four workers, the other message thread, its four workers; 2000 is the parent.
        let pids: Vec<u32> =
            first.keys().copied().filter(|pid| (2_001..2_011).contains(pid)).collect();
        let [one, other] = [pids[0], pids[5]].map(|pid| slept[&pid]);
        assert!((23..=29).contains(&one), "{seed}: {one}");
        assert!((13..=19).contains(&other), "{seed}: {other}");
    }
}

/// From a sched_wakeup_new of a thread to the sched_process_fork of the next one are 67.5 us in the mean under 6.12.107,
/// where a page fault does not take the lock (`schbench` on 8 and 16 CPUs, 138 births behind the second, 50 to 115 us).
#[test]
fn births_do_not_wait_for_page_faults_under_6_12() {
    let topology = Arc::new(Topology::builtin("t16", Some("lab-6.12")).unwrap());
    let bed = Bed { topology, kernel: Kernel::V6_12, ..crate::bed::bed("eevdf@6.12") };
    let mut gaps = Vec::new();
    for seed in 1..=3 {
        let mut born = None;
        let mut own = Vec::new();
        for event in crate::bed::run(&bed, "schbench-1xN", seed).events {
            match event.what {
                What::WakeupNew { .. } => born = Some(event.us),
                What::Fork { .. } => own.extend(born.map(|born| event.us - born)),
                _ => {}
            }
        }
        assert_eq!(own.len(), 16, "{seed}: {own:?}");
        gaps.extend_from_slice(&own[2..]);
    }
    let mean = gaps.iter().sum::<u64>() as f64 / gaps.len() as f64;
    assert!((61.0..74.0).contains(&mean), "{mean}: {gaps:?}");
}
