//! After its first half a run allocates nothing but when a buffer that is kept grows.

use std::sync::Arc;

use simsched_benches::{machine, simulator};
use simsched_core::{SimTime, Status};

/// Allocations in the second half of a run of hackbench, by events.
fn allocations_in_second_half(cpus: usize, command: &str) -> u64 {
    let topology = Arc::new(machine(cpus));
    let mut whole = simulator(&topology, "cfs", command);
    whole.run_until(SimTime(1 << 50)).expect("the run ends well");
    let events = whole.events();
    let mut run = simulator(&topology, "cfs", command);
    assert_eq!(run.run_events(SimTime(1 << 50), events / 2), Ok(Status::Paused));
    let info = allocation_counter::measure(|| {
        assert_eq!(run.run_until(SimTime(1 << 50)), Ok(Status::Finished));
    });
    println!("{command}: {events} events, {} allocations", info.count_total);
    info.count_total
}

/// A runqueue that has never been as long may grow once or twice; a run of 100,000 events and more
/// has nothing else to allocate for.
#[test]
fn the_second_half_of_a_run_allocates_for_growing_buffers_only() {
    let threads = "hackbench -g 8 -f 20 --threads --pipe -l 60 -s 100";
    assert!(allocations_in_second_half(128, threads) <= 4);
    let sockets = "hackbench -g 4 -f 10 --process -l 100 -s 100";
    assert!(allocations_in_second_half(16, sockets) <= 4);
}

/// Pairs never queue up: here nothing grows.
#[test]
fn the_second_half_of_a_run_of_pairs_allocates_nothing() {
    let pairs = "hackbench -g 4 -f 1 --threads --pipe -l 5000 -s 100";
    assert_eq!(allocations_in_second_half(16, pairs), 0);
}
