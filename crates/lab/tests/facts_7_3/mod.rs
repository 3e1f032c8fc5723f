//! What the lab has found on kernel 7.3.4: the numbered facts about cache-aware scheduling in its `CACHE.md`
//! (`cache_fact_NN_...`), what its description of the rules says beside them, and the numbered findings of
//! `FINDINGS-7.3.md` (`finding_NN_...`). The numbers are the kernel's; a test that is ignored holds one that the
//! simulator misses.
//!
//! Not asserted here:
//!
//! * facts 15 to 19: they need hackbench for seconds, with flips that are inherited or the job of another thread;
//! * facts 20 to 22, and the table about hackbench: they need hackbench for 0.4 to 3 s on up to 64 CPUs;
//! * fact 6, that no thread leaks where no kernel thread runs: a bed always has the kernel's threads;
//! * fact 9, that newly idle CPUs may pull what sleeps: no number is given;
//! * fact 14, exec: the scenario `life-exec` does not exist here;
//! * fact 5, the times on s2d2 beyond one seed: the kernel has one;
//! * fact 4, th-load-8 beside the times of fact 11: that it is an exception has no number of its own;
//! * finding 2, the preemption model: only its effect on latencies is held;
//! * the command lines of hackbench in `FINDINGS-7.3.md`: ranges of a table, not findings.

mod findings;
mod gathering;
mod hogs;
mod nodes;
mod scanning;
mod sharing;
mod tunables;
mod waking;
mod watched;

use std::sync::Arc;

use simsched_lab::folder::Recorded;
use simsched_lab::run::Bed;
use simsched_lab::value::Value;
use simsched_topology::Topology;
use simsched_workloads::lab::Kernel;

use crate::bed::run;

const SEEDS: [u64; 3] = [1, 2, 3];

/// A machine of the lab under this policy of kernel 7.3.
fn machine(name: &str, policy: &str) -> Bed {
    let topology = |mode| Arc::new(Topology::builtin(name, Some(mode)).unwrap());
    Bed {
        topology: topology("lab-7.3"),
        untraced: topology("untraced-7.3"),
        kernel: Kernel::V7_3,
        ..crate::bed::bed(policy)
    }
}

/// A machine with cache-aware scheduling.
fn on(name: &str) -> Bed {
    machine(name, "eevdf@7.3+cache_aware")
}

/// A machine without it.
fn off(name: &str) -> Bed {
    machine(name, "eevdf@7.3")
}

/// A scenario with each seed.
fn runs(bed: &Bed, scenario: &str) -> Vec<Recorded> {
    SEEDS.map(|seed| run(bed, scenario, seed)).into()
}

/// A metric of a scenario with each seed; none where there is nothing to measure it on.
fn numbers(bed: &Bed, scenario: &str, metric: &str) -> Vec<Option<f64>> {
    let value = |recorded: &Recorded| match recorded.values.value(metric)? {
        Value::Number(number) => Some(number),
        Value::Vector(counts) => panic!("{metric}: {counts:?}"),
    };
    runs(bed, scenario).iter().map(value).collect()
}

/// Whether a metric is in this range with each seed.
#[track_caller]
fn assert_within(bed: &Bed, scenario: &str, metric: &str, range: std::ops::RangeInclusive<f64>) {
    let found = numbers(bed, scenario, metric);
    let is_within = |number: &Option<f64>| number.is_some_and(|number| range.contains(&number));
    assert!(found.iter().all(is_within), "{scenario} {metric}: {found:?} instead of {range:?}");
}

/// Whether a metric is this number with each seed.
#[track_caller]
fn assert_is(bed: &Bed, scenario: &str, metric: &str, number: u32) {
    let number = f64::from(number);
    assert_within(bed, scenario, metric, number - 1e-6..=number + 1e-6);
}

/// Whether the threads of each process are in LLCs like these at last, with each seed.
#[track_caller]
fn assert_ends(bed: &Bed, scenario: &str, any_of: &[&[u64]]) {
    let end = |recorded: &Recorded| match recorded.values.value("end_per_llc_sorted") {
        Some(Value::Vector(counts)) => counts,
        other => panic!("{scenario}: {other:?}"),
    };
    let found: Vec<Vec<u64>> = runs(bed, scenario).iter().map(end).collect();
    let is_one = |counts: &Vec<u64>| any_of.contains(&&counts[..]);
    assert!(found.iter().all(is_one), "{scenario}: {found:?} instead of {any_of:?}");
}
