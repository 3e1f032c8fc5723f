//! What a policy asks for beside its answers: who makes it true, and when.

use simsched_core::testkit::{RoundRobin, Script};
use simsched_core::{Cost, Nanos, Op, Status};
use simsched_topology::CpuId;

use super::rig::{objects, simulate};

/// Two tasks on each of two CPUs that yield all the time, under a policy whose accounting asks for a
/// reschedule of the CPU then. That one is on its way to `schedule()` already: nobody has to tell it, least of
/// all the other CPU.
#[test]
fn what_a_call_asks_for_is_made_true_by_the_cpu_that_made_it() {
    let mut script = Script::new(objects());
    for (cpu, offset) in [(0, 0), (0, 0), (4, 370), (4, 730)] {
        let mut ops = vec![Op::Yield; 200];
        ops.insert(0, Op::Run(Nanos(10_000 + offset)));
        script.task(CpuId(cpu), &ops);
    }
    let mut policy = RoundRobin::default();
    policy.asks_at_yield = true;
    let (status, run) = simulate(script, policy);
    assert_eq!(status.unwrap(), Status::Finished);
    let ipis = [0, 4].map(|cpu| run.observer().charged(cpu, Cost::Ipi));
    assert_eq!(ipis, [0, 0], "ns in handlers of interrupts that nobody had to send");
}
