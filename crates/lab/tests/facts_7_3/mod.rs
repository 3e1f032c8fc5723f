//! What the lab has found on kernel 7.3.4: the numbered facts about cache-aware scheduling in its `CACHE.md`
//! (`cache_fact_NN_...`), what its description of the rules says beside them, and the numbered findings of
//! `FINDINGS-7.3.md` (`finding_NN_...`). The numbers are the kernel's; a test that is ignored holds one that the
//! simulator misses. `just facts` runs those, says what comes out instead, and fails where one holds after all.
//!
//! Not asserted here:
//!
//! * facts 15 to 19: they need hackbench for seconds, with flips that are inherited or the job of another thread;
//! * facts 20 to 22, and the table about hackbench: they need hackbench for 0.4 to 3 s on up to 64 CPUs;
//! * fact 6, that no thread leaks where no kernel thread runs: a bed always has the kernel's threads;
//! * fact 9, that newly idle CPUs may pull what sleeps: no number is given;
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

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use simsched_lab::folder::Recorded;
use simsched_lab::reference::{Scenario, Turn};
use simsched_lab::run::Bed;
use simsched_lab::value::Value;
use simsched_workloads::lab::cache_set;

const SEEDS: [u64; 3] = [1, 2, 3];

/// The machines on which something was run: their series of scenarios are run once for all tests.
static MACHINES: Mutex<BTreeMap<String, Bed>> = Mutex::new(BTreeMap::new());

/// What the lab ran of its set where it ran a part of it, in its order: without cache-aware scheduling, and with
/// other settings of that.
const PARTS: [&str; 2] = [
    "th-free-2 th-free-4 th-free-6 th-free-8 th-spread-4 th-load-8 pr-2x4 pr-3x2 mix-4-4 sl-4-2-2 sl-8-2-2 pc-1x4 \
     tpp-4 sb-1x4 sb-1x8",
    "th-free-4 th-free-6 th-free-8 th-spread-4 th-load-4 sl-8-2-2 pr-2x4",
];

/// A scenario in the series in which the lab ran it on such a machine; one that it did not run there is run in the
/// whole set.
fn scenario(bed: &Bed, name: &str) -> Scenario {
    let part = match (bed.settings.is_empty(), &*bed.policy) {
        (false, _) => PARTS[1],
        (true, OFF) => PARTS[0],
        _ => "",
    };
    let turn = |name: &str| Turn { name: name.to_owned(), length_ms: None };
    let part =
        part.split(' ').any(|known| known == name).then(|| part.split(' ').map(turn).collect());
    let all = || cache_set().any(|known| known == name).then(|| cache_set().map(turn).collect());
    Scenario { series: part.or_else(all), ..Scenario::new(name, Vec::new()) }
}

/// A run of a scenario with this seed.
fn run(bed: &Bed, name: &str, seed: u64) -> Recorded {
    bed.run(&scenario(bed, name), seed, &|| false).unwrap().unwrap()
}

/// A machine of the lab under this policy of kernel 7.3, with these settings.
fn machine(name: &str, policy: &str, settings: Vec<(String, String)>) -> Bed {
    let key = format!("{name} {policy} {settings:?}");
    let new = || Bed { settings, ..crate::bed::of_7_3(name, policy) };
    let mut machines = MACHINES.lock().unwrap_or_else(PoisonError::into_inner);
    machines.entry(key).or_insert_with(new).clone()
}

/// A machine with cache-aware scheduling.
fn on(name: &str) -> Bed {
    machine(name, "eevdf@7.3+cache_aware", Vec::new())
}

/// The policy without it.
const OFF: &str = "eevdf@7.3";

/// A machine without it.
fn off(name: &str) -> Bed {
    machine(name, OFF, Vec::new())
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
