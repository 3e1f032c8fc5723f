//! How much memory a run takes: the most that it has allocated at one time, from before its machine is
//! built to its end. What a process has beside that (code, stacks, the allocator's own) is some 4 MB.

use std::sync::Arc;

use simsched_benches::{machine, simulator, to_the_end};

const MB: u64 = 1_000_000;

/// What a process takes that allocates nothing: `simsched --help` has 3.5 MB resident.
const PROCESS: u64 = 4 * MB;

/// The most that is allocated at one time by so many groups of 40 tasks that send so many messages.
fn peak(name: &str, policy: &str, groups: u64, messages: u64) -> u64 {
    let command = format!("hackbench -g {groups} -f 20 --threads --pipe -l {messages}");
    let info = allocation_counter::measure(|| {
        let topology = Arc::new(machine(name));
        to_the_end(&mut simulator(&topology, policy, &command));
    });
    info.bytes_max
}

#[test]
fn a_run_of_1280_tasks_on_384_cpus_takes_less_than_30_mb() {
    for policy in ["cfs", "eevdf", "cfs+group=container"] {
        let bytes = peak("genoa", policy, 32, 2) + PROCESS;
        assert!(bytes < 30 * MB, "{policy}: {bytes}");
    }
}

/// Buffers that grow when a queue gets longer than ever are all that may differ.
#[test]
fn a_run_ten_times_as_long_takes_no_more_memory() {
    let (short, long) = (peak("genoa", "cfs", 8, 4), peak("genoa", "cfs", 8, 40));
    assert!(long < short + short / 100, "{short} and {long}");
}

/// All tables are linear in tasks, so that two small runs tell what a million takes.
#[test]
fn a_million_tasks_on_1024_cpus_take_less_than_a_gigabyte() {
    let (few, more) = (peak("genoa-1024", "cfs", 100, 1), peak("genoa-1024", "cfs", 200, 1));
    let per_task = (more - few).div_ceil(100 * 40);
    let bytes = few + (1_000_000 - 100 * 40) * per_task + PROCESS;
    assert!(bytes < 1000 * MB, "{bytes}, {per_task} for each task");
}
