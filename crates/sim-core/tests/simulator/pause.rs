//! [`Op::Pause`]: computing by an instruction that gives up the rest of a turn.

use std::sync::Arc;

use simsched_core::testkit::{RoundRobin, Script};
use simsched_core::{MarkId, Nanos, Op, SimTime, Status, Tracepoint};
use simsched_topology::{CpuId, OsCosts, Topology};

use super::rig::{objects, simulate_on};

/// A machine of the lab whose turns are so long.
fn machine(turn: u32) -> Arc<Topology> {
    let machine = Topology::builtin("t8", None).unwrap();
    let costs = OsCosts { turn, ..*machine.costs() };
    Arc::new(machine.with_costs(costs))
}

/// One with turns of 1 us whose ticks take so long.
fn with_tick(tick: u32) -> Arc<Topology> {
    let machine = machine(1_000);
    let costs = OsCosts { tick, ..*machine.costs() };
    Arc::new(machine.as_ref().clone().with_costs(costs))
}

/// When a pause of `length` ns begins and ends that comes behind `lead` ns of computing on
/// a machine with turns of `turn` ns.
fn pauses(turn: u32, lead: u64, length: u64) -> (SimTime, SimTime) {
    pauses_on(&machine(turn), lead, length)
}

/// When a pause of `length` ns begins and ends that comes behind `lead` ns of computing on `machine`.
fn pauses_on(machine: &Arc<Topology>, lead: u64, length: u64) -> (SimTime, SimTime) {
    let [a, b] = [0, 1].map(MarkId);
    let ops = [Op::Run(Nanos(lead)), Op::Mark(a), Op::Pause(Nanos(length)), Op::Mark(b)];
    let mut script = Script::new(objects());
    script.task(CpuId(2), &ops);
    let (status, sim) = simulate_on(machine.clone(), script, RoundRobin::default());
    assert_eq!(status, Ok(Status::Finished));
    let at = |wanted| {
        let is =
            |point: &Tracepoint| matches!(point, Tracepoint::Mark { mark, .. } if *mark == wanted);
        sim.observer().find(is).unwrap()
    };
    (at(a), at(b))
}

/// The loop of the lab's programs: as long as half a turn or more is missing a `PAUSE` takes the rest of a turn.
fn looped(turn: u64, begins: u64, length: u64) -> u64 {
    let (mut now, mut done) = (begins, 0);
    while done + turn / 2 < length {
        let next = now - now % turn + turn;
        done += next - now;
        now = next;
    }
    now
}

/// With turns of 1 and of 2 us, from anywhere in a turn, and for lengths around half a turn, too.
#[test]
fn a_pause_ends_where_the_loop_of_the_lab_s_programs_does() {
    for turn in [1_000, 2_000] {
        for lead in (10_000..12_000).step_by(125) {
            for length in [1, 499, 500, 501, 999, 1_000, 1_001, 1_500, 20_000, 20_300, 29_999] {
                let (begins, ends) = pauses(turn, lead, length);
                let expected = looped(turn.into(), begins.0, length);
                assert_eq!(ends.0, expected, "turn {turn}, {length} from {begins:?}");
            }
        }
    }
}

/// Where CPUs take no turns, a pause is as long as was asked for.
#[test]
fn without_turns_a_pause_computes() {
    for turn in [0, 1] {
        for lead in [10_000, 10_250, 10_777] {
            let (begins, ends) = pauses(turn, lead, 20_300);
            assert_eq!(ends.since(begins), Nanos(20_300), "turn {turn}");
        }
    }
}

/// The loop takes what is between two of its looks for work up to four turns, so that a tick of 2 us with the turn before
/// or behind it counts (25 of them in 100 ms), and the work ends as if there were none.
#[test]
fn an_interrupt_of_less_than_four_turns_is_work() {
    let length = 100_000_000;
    for lead in [10_000, 10_250, 10_777] {
        let (begins, ends) = pauses_on(&with_tick(2_000), lead, length);
        assert_eq!(ends.0, looped(1_000, begins.0, length), "{begins:?}");
    }
}

/// Of what took longer one turn counts: a tick of 5 us makes the work five turns longer, whether it comes behind a pause or
/// before one, and two more at most where its softirq runs. The work still ends with a turn.
#[test]
fn an_interrupt_of_more_than_four_turns_is_not_work() {
    let length = 100_000_000;
    for lead in [10_000, 10_250, 10_777] {
        let (begins, ends) = pauses_on(&with_tick(5_000), lead, length);
        assert_eq!(ends.0 % 1_000, 0);
        let late = ends.0 - looped(1_000, begins.0, length);
        assert!((25 * 5_000..=25 * 7_000).contains(&late), "{begins:?}: {late} ns late");
    }
}
