//! The agenda against a sorted list.

use proptest::prelude::*;
use simsched_core::{Agenda, Event, SimTime, TaskId, TimerId};
use simsched_topology::CpuId;

const CPUS: u16 = 3;
const TASKS: u32 = 4;
const TIMERS: u32 = 2;

/// What a test does to an agenda.
#[derive(Clone, Debug)]
enum Step {
    Arm(Event, u64),
    Disarm(Event),
    Pop(u64),
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        (0..CPUS).prop_map(|cpu| Event::StageEnd(CpuId(cpu))),
        (0..CPUS).prop_map(|cpu| Event::Resched(CpuId(cpu))),
        (0..CPUS).prop_map(|cpu| Event::Tick(CpuId(cpu))),
        (0..TASKS).prop_map(|task| Event::Timer(TaskId(task))),
        (0..TIMERS).prop_map(|timer| Event::PolicyTimer(TimerId(timer))),
    ]
}

/// Delays of all sizes, so that every wheel is met, and many equal instants.
fn delay() -> impl Strategy<Value = u64> {
    prop_oneof![0..3_u64, 0..5_000_u64, 0..20_000_000_u64, 0..(1_u64 << 45)]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (event(), delay()).prop_map(|(event, delay)| Step::Arm(event, delay)),
        1 => event().prop_map(Step::Disarm),
        4 => delay().prop_map(Step::Pop),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn agenda_pops_like_a_sorted_list(steps in prop::collection::vec(step(), 1..200)) {
        let mut agenda = Agenda::new(usize::from(CPUS), TASKS as usize, TIMERS as usize);
        let mut model: Vec<(SimTime, Event)> = Vec::new();
        let mut now = SimTime::ZERO;
        for step in steps {
            match step {
                Step::Arm(event, delay) => {
                    let at = SimTime(now.0 + delay);
                    model.retain(|(_, armed)| *armed != event);
                    model.push((at, event));
                    agenda.arm(event, at);
                    prop_assert_eq!(agenda.planned(event), Some(at));
                }
                Step::Disarm(event) => {
                    model.retain(|(_, armed)| *armed != event);
                    agenda.disarm(event);
                    prop_assert_eq!(agenda.planned(event), None);
                }
                Step::Pop(span) => {
                    let horizon = SimTime(now.0 + span);
                    model.sort();
                    let first = model.first().copied().filter(|(at, _)| *at <= horizon);
                    prop_assert_eq!(agenda.next_until(horizon), first);
                    if let Some((at, _)) = first {
                        now = at;
                        model.remove(0);
                    } else {
                        now = horizon;
                    }
                }
            }
        }
    }
}
