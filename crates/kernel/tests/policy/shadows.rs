//! Random programs with the kernel's functions beside the fair class: they give the answers that it gives, all of them.

use std::path::{Path, PathBuf};

use simsched_core::observe::Digest;
use simsched_core::{Config, SimError, SimTime, Simulator};
use simsched_kernel::shadow::{Comparison, Kind, Shadow};
use simsched_policies::catalog;

use crate::common;
use crate::random::Plan;

/// How many programs there are of each version.
const PROGRAMS: u64 = 200;

/// What was compared while this program ran.
fn beside(plan: &Plan, library: &Path) -> Comparison {
    let spec = catalog::parse(&plan.expr, &[]).unwrap().fair().unwrap();
    let shadow = Shadow::new(spec.fair_class(), library.to_owned());
    let config = Config { seed: plan.seed(), irq_accounting: false, ..Config::default() };
    let (policy, script) = (Box::new(shadow), plan.script());
    let observer = Digest::default();
    let mut sim = Simulator::new(plan.topology(), policy, script, observer, config).unwrap();
    let end = sim.run_until(SimTime(300_000_000));
    // Tasks of a random program may wait for each other.
    assert!(matches!(end, Ok(_) | Err(SimError::Deadlock { .. })), "{plan}: {end:?}");
    sim.policy().comparison().clone()
}

/// In random groups, with random features, nice values and affinities, nothing differs, and all is compared to the end.
fn all(version: &str, library: Option<PathBuf>) {
    let Some(library) = library else { return };
    let mut answers = 0;
    for seed in 0..PROGRAMS {
        let plan = Plan::new(seed, version);
        let seen = beside(&plan, &library);
        assert!(seen.is_clean(), "{seed} {version} {plan}:\n{seen}");
        answers += Kind::ALL.iter().map(|&kind| seen.of(kind).0).sum::<u64>();
    }
    println!("{version}: {PROGRAMS} programs, {answers} answers");
    assert!(answers > 10_000 * PROGRAMS, "{answers} answers");
}

#[test]
fn random_programs_have_the_answers_of_6_1() {
    all("6.1", common::library("6.1"));
}

#[test]
fn random_programs_have_the_answers_of_6_12() {
    all("6.12", common::library("6.12"));
}

#[test]
fn random_programs_have_the_answers_of_7_2() {
    all("7.2", common::library_if_any("7.2"));
}

#[test]
fn random_programs_have_the_answers_of_7_3() {
    all("7.3", common::library_if_any("7.3"));
}

#[test]
fn random_programs_have_the_answers_of_7_3_with_cache_aware_scheduling() {
    all("7.3+cache_aware", common::library_if_any("7.3"));
}
