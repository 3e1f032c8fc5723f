//! The digest of many small runs, by tag: a change that is not meant to change what the simulator does
//! changes none of them.

use std::fmt::Write as _;
use std::sync::Arc;

use simsched_core::observe::Digest;
use simsched_core::{Config, Policy, SimTime, Simulator, Status, Workload};
use simsched_policies::catalog as policies;
use simsched_topology::Topology;
use simsched_workloads::catalog as workloads;

/// Simulated time after which a run that has not ended is stopped.
const HORIZON: SimTime = SimTime(50_000_000);

/// Events between two pauses of a run that is paused.
const PORTION: u64 = 997;

/// A run whose digest is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guarded {
    /// What the run is there for: a change may name the tags that it is allowed to move.
    pub tag: &'static str,
    /// A built-in machine, with its mode.
    pub machine: &'static str,
    /// The policy expression.
    pub policy: &'static str,
    /// Settings of the simulator, `KEY=VALUE` separated by blanks.
    pub settings: &'static str,
    /// The command line of the workload.
    pub workload: &'static str,
}

/// How a run is driven. The digest is the same in all three ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drive {
    /// From the start to the end at once.
    Whole,
    /// With a pause every 997 events.
    Paused,
    /// Pipe operations one by one, without the loop for those that neither block nor wake.
    OneByOne,
}

/// What is kept of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kept {
    /// The digest of its tracepoints.
    pub digest: u64,
    /// Events taken from the queue. They differ between ways to drive a run.
    pub events: u64,
}

const PIPES: &str = "hackbench -g 2 -f 4 -T -p -l 200";
const CROWD: &str = "hackbench -g 4 -f 10 -T -p -l 30";
const SOCKETS: &str = "hackbench -g 2 -f 4 -l 100";
const SCHBENCH: &str = "schbench -m 2 -t 8 -r 1";

/// `(tag, machine, policy, settings, workload)` of all guarded runs.
const PLAN: &[(&str, &str, &str, &str, &str)] = &[
    ("cfs", "t8", "cfs@5.16", "", PIPES),
    ("cfs", "t16", "cfs@5.16", "", PIPES),
    ("cfs", "genoa", "cfs@5.16", "", CROWD),
    ("cfs", "t8", "cfs", "", PIPES),
    ("cfs", "t16", "cfs", "", PIPES),
    ("cfs", "genoa", "cfs", "", CROWD),
    ("cfs", "t8", "cfs@6.5", "", PIPES),
    ("cfs", "t16", "cfs@6.5", "", CROWD),
    ("cfs", "icelake", "cfs+SIS_UTIL=off+SIS_PROP", "", PIPES),
    ("cfs", "t16", "cfs+NEXT_BUDDY+LAST_BUDDY=off", "", CROWD),
    ("eevdf", "t8", "eevdf@6.6", "", PIPES),
    ("eevdf", "t16", "eevdf@6.6", "", CROWD),
    ("eevdf", "t8", "eevdf@6.12", "", PIPES),
    ("eevdf", "t16", "eevdf@6.12", "", PIPES),
    ("eevdf", "genoa", "eevdf@6.12", "", CROWD),
    ("eevdf", "t16", "eevdf@7.0", "", SCHBENCH),
    ("eevdf", "milan-7543", "eevdf@7.0", "", "hackbench -g 20 -f 10 -T -p -l 10"),
    ("eevdf", "t16", "eevdf@6.12+DELAY_DEQUEUE=off", "", CROWD),
    ("eevdf", "t8", "eevdf@6.12+RUN_TO_PARITY=off+NEXT_BUDDY", "", CROWD),
    ("fifo", "t8", "fifo", "", PIPES),
    ("fifo", "genoa", "fifo", "", CROWD),
    ("groups", "t16", "cfs+group=container", "", PIPES),
    ("groups", "t16", "cfs+group=nested:3", "", CROWD),
    ("groups", "genoa", "cfs+group=container", "", CROWD),
    ("groups", "t16", "eevdf@6.12+group=container", "", PIPES),
    ("groups", "t16", "eevdf@6.12+group=nested:3", "", CROWD),
    ("groups", "genoa", "eevdf@6.12+group=container", "", CROWD),
    ("tg_load", "spr", "cfs+group=container+tg_per_node", "", PIPES),
    ("tg_load", "spr", "cfs+group=container+tg_per_node+tg_node=runqueue", "", PIPES),
    ("tg_load", "t16", "cfs+group=container+tg_ratelimit", "", PIPES),
    ("tg_load", "t16", "eevdf@6.12+group=container+tg_nomig", "", PIPES),
    ("tg_load", "icelake", "cfs+group=container", "", "netperf -t UDP_RR -n 8 -l 0.02"),
    ("smt", "power10", "cfs", "", PIPES),
    ("smt", "power10@lpar-coregroups", "eevdf@6.12", "", CROWD),
    ("smt", "spr@snc4", "cfs", "", CROWD),
    ("smt", "t32", "cfs", "", "stress-ng --cpu 24 --timeout 1"),
    ("numa", "genoa@nps4", "cfs", "", CROWD),
    ("numa", "milan-7543@nps4", "eevdf@6.12", "", CROWD),
    ("numa", "milan-7763", "cfs+numa_imbalance=v4.1", "", CROWD),
    ("numa", "genoa-4n32", "cfs@5.16", "", SOCKETS),
    ("cache_aware", "genoa", "cache_aware", "", CROWD),
    ("cache_aware", "t32", "cache_aware", "", PIPES),
    ("cache_aware", "milan-7543", "eevdf@6.12+cache_aware", "", PIPES),
    ("cache_aware", "t32", "eevdf@7.0+cache_aware", "", SCHBENCH),
    ("cache_aware", "spr-2x60", "cache_aware@v4", "", CROWD),
    ("cache_aware", "t16", "cfs+cache_aware+group=container", "", SCHBENCH),
    ("cache_aware", "milan-7763", "cfs+cache_aware+llc_footprint=rss", "", SCHBENCH),
    ("wakeup", "t16", "wakeup_bias_prev", "", PIPES),
    ("wakeup", "milan-7763", "eevdf@6.12+wakeup_bias_prev", "", CROWD),
    ("wakeup", "t16", "select_bias_prev", "", CROWD),
    ("wakeup", "t16", "util_fits_capacity+fits_capacity=v2", "", SCHBENCH),
    ("wakeup", "t16", "wakeup_bias_prev+bias_pays_search", "", CROWD),
    ("wakeup", "genoa", "cache_aware_wakeup", "", SCHBENCH),
    ("wakeup", "t32", "cache_aware_wakeup@L1", "", PIPES),
    ("wakeup", "genoa", "cache_aware_wakeup@L2+always_check", "", CROWD),
    ("wakeup", "t32", "cache_aware_wakeup+refresh_at_enqueue", "", SCHBENCH),
    ("wakeup", "t16", "cfs+TTWU_QUEUE=off", "", PIPES),
    ("wakeup", "t16", "cfs", "launcher=200", CROWD),
    ("yield", "t8", "cfs", "", "schbench-old -m 1 -t 6 -r 1"),
    ("yield", "t8", "eevdf@6.12", "", "schbench-old -m 1 -t 12 -r 1"),
    ("yield", "t8", "eevdf@6.12", "", "schbench-old -m 1 -t 24 -r 1"),
    ("yield", "t16", "cfs", "", "verilator"),
    ("lockstep", "t8@lab", "cfs", "", "lab:hogs-herd-8"),
    ("lockstep", "t16@lab", "cfs", "", "lab:hogs-herd-16"),
    ("lockstep", "t16@lab", "cfs", "", "lab:hackbench-g1f4l10"),
    ("lockstep", "t16@lab-6.12", "eevdf@6.12", "", "lab:hackbench-g1f4l10"),
    ("lockstep", "t8@untraced-6.12", "eevdf@6.12", "", "lab:hogs-free-9"),
    ("lockstep", "t16@untraced", "cfs", "", "lab:hackbench-g1f4l10"),
    ("lockstep", "t16@untraced-6.12", "eevdf@6.12", "", "lab:hackbench-g4f20l100"),
    ("memory", "genoa", "cfs", "", "stream --threads 8 --ntimes 2"),
    ("memory", "spr@snc4", "eevdf@6.12", "", "stream --threads 4 --ntimes 2"),
    ("free", "icelake", "cfs", "hardware=free", PIPES),
    ("free", "genoa", "eevdf@6.12+group=container", "hardware=free", CROWD),
    ("settings", "t16", "cfs", "hz=1000 skew_tick=on", PIPES),
    ("settings", "t16", "cfs", "irq_accounting=off jitter_1024=0", PIPES),
    ("settings", "spr", "eevdf@6.12", "turbo=off max_cstate=2", CROWD),
    ("settings", "t16", "eevdf@6.12", "spurious_writer_wakeups=off hz=100", CROWD),
    ("programs", "t16", "cfs", "", SOCKETS),
    ("programs", "t16", "eevdf@6.12", "", SCHBENCH),
    ("programs", "t16", "cfs", "", "netperf -t TCP_RR -n 4 -l 0.02"),
    ("programs", "t16", "cfs", "", "netperf -t TCP_STREAM -n 4 -l 0.02"),
    ("programs", "t16", "eevdf@6.12", "", "netperf -t UDP_RR -n 4 -l 0.02"),
    ("programs", "t16", "cfs", "", "tbench 4 -t 1"),
    ("programs", "t16", "eevdf@6.12", "", "sysbench oltp_read_write --threads=4 --time=1 run"),
    ("programs", "t16", "cfs", "", "stress-ng --cpu 20 --timeout 1"),
];

/// All guarded runs, in the order of the table.
#[must_use]
pub fn plan() -> Vec<Guarded> {
    let row = |&(tag, machine, policy, settings, workload)| Guarded {
        tag,
        machine,
        policy,
        settings,
        workload,
    };
    PLAN.iter().map(row).collect()
}

impl Guarded {
    /// The line of the table up to its digest.
    #[must_use]
    pub fn name(&self) -> String {
        let Guarded { tag, machine, policy, settings, workload } = self;
        let settings: String =
            settings.split_whitespace().map(|setting| format!(" --set {setting}")).collect();
        format!("{tag}: --topo {machine} --policy {policy}{settings} -- {workload}")
    }

    /// Runs it with seed 1, at most to 50 simulated milliseconds.
    ///
    /// # Panics
    /// When a name of the plan is wrong, or the run fails.
    #[must_use]
    pub fn run(&self, drive: Drive) -> Kept {
        let mut run = self.simulator(drive);
        let most = if drive == Drive::Paused { PORTION } else { u64::MAX };
        while run.run_events(HORIZON, most).expect("a guarded run ends well") == Status::Paused {}
        Kept { digest: run.observer().value(), events: run.events() }
    }

    fn simulator(
        &self,
        drive: Drive,
    ) -> Simulator<dyn Policy + Send, Box<dyn Workload + Send>, Digest> {
        let (name, mode) = match self.machine.split_once('@') {
            Some((name, mode)) => (name, Some(mode)),
            None => (self.machine, None),
        };
        let topology = Arc::new(Topology::builtin(name, mode).expect("a built-in machine"));
        let mut config = Config { batch_ops: drive != Drive::OneByOne, ..Config::default() };
        for setting in self.settings.split_whitespace() {
            let (key, value) = setting.split_once('=').expect("KEY=VALUE");
            assert!(config.set(key, value).expect("a good value"), "{key} is no setting");
        }
        let argv: Vec<String> = self.workload.split(' ').map(str::to_owned).collect();
        let benchmark = workloads::parse(&argv, 1, topology.nr_cpus()).expect("a good workload");
        let workload = benchmark.workload_on(&topology);
        let policy = policies::build(self.policy, &[]).expect("a good policy");
        Simulator::new(topology, policy, workload, Digest::default(), config)
            .expect("a good workload")
    }
}

/// The table of these runs: a line each, the digest and the events first.
///
/// # Panics
/// Never: a `String` takes all.
#[must_use]
pub fn table(rows: &[(Guarded, Kept)]) -> String {
    let mut text = String::from(
        "# Digest and events of the guarded runs, written by benches/guard.sh --record.\n",
    );
    for (run, Kept { digest, events }) in rows {
        writeln!(text, "{digest:016x} {events:>8} {}", run.name()).expect("a String takes all");
    }
    text
}
