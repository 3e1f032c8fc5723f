//! In its middle a run allocates nothing but when a buffer that is kept grows.

use std::sync::Arc;

use simsched_benches::{machine, simulator};
use simsched_core::{SimTime, Status};

/// Far beyond the end of any run here.
const HORIZON: SimTime = SimTime(1 << 50);

/// Allocations in the third quarter of a run of hackbench, by events: its tasks have started and
/// none has ended.
fn allocations_in_third_quarter(name: &str, policy: &str, command: &str) -> u64 {
    let topology = Arc::new(machine(name));
    let mut whole = simulator(&topology, policy, command);
    assert_eq!(whole.run_until(HORIZON), Ok(Status::Finished));
    let quarter = whole.events() / 4;
    let mut run = simulator(&topology, policy, command);
    assert_eq!(run.run_events(HORIZON, 2 * quarter), Ok(Status::Paused));
    let info = allocation_counter::measure(|| {
        assert_eq!(run.run_events(HORIZON, quarter), Ok(Status::Paused));
    });
    info.count_total
}

/// A runqueue that has never been as long grows once or twice; 150,000 events have nothing else to
/// allocate for.
#[test]
fn the_middle_of_a_run_allocates_for_growing_buffers_only() {
    let threads = "hackbench -g 8 -f 20 --threads --pipe -l 60 -s 100";
    assert!(allocations_in_third_quarter("milan-7543", "cfs", threads) <= 4);
    assert!(allocations_in_third_quarter("milan-7543", "cfs+group=container", threads) <= 4);
    assert!(allocations_in_third_quarter("milan-7543", "eevdf@6.12+group=container", threads) <= 4);
    // Its queues find their greatest length later: 19 grow in this quarter of a run that is a quarter as long.
    let longer = "hackbench -g 8 -f 20 --threads --pipe -l 240 -s 100";
    assert!(allocations_in_third_quarter("milan-7543", "eevdf@7.3+group=container", longer) <= 4);
    let sockets = "hackbench -g 4 -f 10 --process -l 100 -s 100";
    assert!(allocations_in_third_quarter("t16", "cfs", sockets) <= 4);
}

/// Pairs never queue up: nothing grows.
#[test]
fn the_middle_of_a_run_of_pairs_allocates_nothing() {
    let pairs = "hackbench -g 4 -f 1 --threads --pipe -l 10000 -s 100";
    for policy in ["cfs", "eevdf", "cfs+group=nested:2+tg_per_node+tg_ratelimit+tg_nomig"] {
        assert_eq!(allocations_in_third_quarter("t16", policy, pairs), 0, "{policy}");
    }
}
