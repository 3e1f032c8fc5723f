//! What the tests share: a log of tracepoints, a machine, and a run of a script.

use std::sync::Arc;

use simsched_core::testkit::{RoundRobin, Script};
use simsched_core::{
    Config, Cost, FutexId, Observer, Op, PipeId, Setup, SimError, SimTime, Simulator, Status,
    Tracepoint, World,
};
use simsched_topology::{CpuId, Facts, Frequency, OsCosts, Smt, Topology};

/// Every tracepoint with its time.
#[derive(Default)]
pub(super) struct Log(pub(super) Vec<(SimTime, Tracepoint)>);

impl Observer for Log {
    fn on(&mut self, world: &World, tracepoint: Tracepoint) {
        self.0.push((world.now(), tracepoint));
    }
}

impl Log {
    pub(super) fn charged(&self, cpu: u16, cost: Cost) -> u64 {
        self.0
            .iter()
            .map(|(_, tracepoint)| match tracepoint {
                Tracepoint::Charge { cpu: c, what, amount } if c.0 == cpu && *what == cost => {
                    amount.0
                }
                _ => 0,
            })
            .sum()
    }

    pub(super) fn find(&self, wanted: impl Fn(&Tracepoint) -> bool) -> Option<SimTime> {
        self.0.iter().find(|(_, tracepoint)| wanted(tracepoint)).map(|(at, _)| *at)
    }

    pub(super) fn count(&self, wanted: impl Fn(&Tracepoint) -> bool) -> usize {
        self.0.iter().filter(|(_, tracepoint)| wanted(tracepoint)).count()
    }
}

/// t16, but that its CPUs run side by side, and that who has just got a CPU is in user mode at once: LLCs are
/// CPUs 0-3, 4-7, 8-11, 12-15.
pub(super) fn topology() -> Arc<Topology> {
    let machine = Topology::builtin("t16", None).unwrap();
    let costs = OsCosts { turn: 0, switch_return: 0, ..*machine.costs() };
    Arc::new(machine.with_costs(costs))
}

/// A built-in machine whose cores have one speed, so that times are sums of prices.
pub(super) fn steady(name: &str) -> Arc<Topology> {
    let machine = Topology::resolve(name).unwrap();
    let facts = Facts {
        frequency_ghz: Frequency::default(),
        smt: Smt::default(),
        ..machine.facts().clone()
    };
    Arc::new(machine.with_facts(facts))
}

pub(super) fn config() -> Config {
    Config { jitter_1024: 0, ..Config::default() }
}

pub(super) fn objects() -> Setup {
    let marks = vec!["a".to_owned(), "b".to_owned()];
    Setup { procs: vec!["p".to_owned()], pipes: 2, futexes: 1, marks, ..Setup::default() }
}

pub(super) fn simulate(
    script: Script,
    policy: RoundRobin,
) -> (Result<Status, SimError>, Simulator<RoundRobin, Script, Log>) {
    simulate_on(topology(), script, policy)
}

pub(super) fn simulate_on(
    topology: Arc<Topology>,
    script: Script,
    policy: RoundRobin,
) -> (Result<Status, SimError>, Simulator<RoundRobin, Script, Log>) {
    let mut sim =
        Simulator::new(topology, Box::new(policy), script, Log::default(), config()).unwrap();
    let status = sim.run_until(SimTime(10_000_000_000));
    (status, sim)
}

pub(super) const WRITE: Op = Op::Write { pipe: PipeId(0), bytes: 100 };
pub(super) const WAIT: Op = Op::FutexWait { futex: FutexId(0), value: 0 };
pub(super) const WAKE: Op = Op::FutexWake { futex: FutexId(0), count: 2, sync: false };
pub(super) const READ: Op = Op::Read { pipe: PipeId(0), bytes: 100 };

/// On 8 CPUs whose prices are counted, four pairs that share two CPUs and send each other `messages`.
pub(super) fn four_pairs(messages: u32) -> (Arc<Topology>, Script) {
    four_pairs_with(messages, |_, ops| ops)
}

/// [`four_pairs`], in which each task does what `changed` makes of its number and its ops.
pub(super) fn four_pairs_with(
    messages: u32,
    changed: impl Fn(usize, Vec<Op>) -> Vec<Op>,
) -> (Arc<Topology>, Script) {
    let machine = Topology::builtin("t8", Some("untraced")).unwrap();
    let mut script = Script::new(Setup { pipes: 8, ..objects() });
    let op = |write: bool, nth: u32| {
        let (pipe, bytes) = (PipeId(nth), 100);
        if write { Op::Write { pipe, bytes } } else { Op::Read { pipe, bytes } }
    };
    for pair in 0..4 {
        let there: Vec<Op> = (0..messages).map(|n| op(n % 2 == 0, 2 * pair + n % 2)).collect();
        let back: Vec<Op> = (0..messages).map(|n| op(n % 2 == 1, 2 * pair + n % 2)).collect();
        let nth = 2 * pair as usize;
        script.task(CpuId(0), &changed(nth, there));
        script.task(CpuId(1), &changed(nth + 1, back));
    }
    (Arc::new(machine), script)
}
