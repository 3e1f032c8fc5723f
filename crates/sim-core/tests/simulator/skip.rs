//! Domains that a pass of the load balancer leaves to other CPUs.

use simsched_core::testkit::{Place, Script, Wanted, WantedPass};
use simsched_core::{BalanceStep, Cost, SimTime, Status};
use simsched_topology::CpuId;

use super::balance::{balancing, look, run};
use super::rig::{objects, simulate_on, steady};

/// A newly idle pass of one look, with so many skips before that: what it takes and how many events the run has.
fn pass(machine: &str, skips: usize) -> (u64, u64) {
    let mut steps = vec![Wanted::Step(BalanceStep::Skip); skips];
    steps.push(look(4, 2));
    let mut script = Script::new(objects());
    script.task(CpuId(0), &[run(3_000_000)]);
    script.task(CpuId(4), &[run(1_000_000)]);
    let pass = WantedPass { place: Place::NewlyIdle, cpu: CpuId(4), from: SimTime(0), steps };
    let (status, sim) = simulate_on(steady(machine), script, balancing(vec![pass]));
    assert_eq!(status, Ok(Status::Finished));
    (sim.observer().charged(4, Cost::Balance), sim.events())
}

#[test]
fn a_skip_is_an_event_where_it_takes_time() {
    let machine = "n2x8@untraced-7.3";
    let skip = u64::from(steady(machine).costs().balance_skip);
    assert_eq!(skip, 766);
    let (none, three) = (pass(machine, 0), pass(machine, 3));
    assert_eq!(three.0 - none.0, 3 * skip);
    assert_eq!(three.1 - none.1, 3);
}

#[test]
fn a_skip_that_takes_no_time_changes_nothing() {
    assert_eq!(steady("t16").costs().balance_skip, 0);
    assert_eq!(pass("t16", 0), pass("t16", 3));
}
