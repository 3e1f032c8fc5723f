//! The plan: which runs are measured. Not the product of all axes, but each axis from one base cell,
//! and programs by sizes.

use std::sync::Arc;

use simsched_core::HardwareModel::{self, Free, Priced};
use simsched_core::Workload;
use simsched_topology::Topology;
use simsched_workloads::catalog as workloads;

use crate::pairs::{Idle, PingPong};
use crate::run::{Run, machine, simulator_of};

/// The machines of all sizes.
const SIZES: [&str; 4] = ["genoa-16", "genoa-128", "genoa-384", "genoa-1024"];

/// The machine of the base cell.
const BASE: &str = "genoa-384";

/// A program; how long it runs is chosen so that a cell takes some hundred million instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Load {
    /// `hackbench -g 32 -f 20 --threads --pipe`: 1,280 tasks, whatever the machine.
    Hackbench,
    /// The same with one message: what its start and its end take.
    Start,
    /// A pair for every two CPUs that plays ping-pong over two pipes, as `perf bench sched pipe` does.
    Pairs,
    /// A worker for each CPU.
    Schbench,
    /// A pair for every two CPUs, at most 48 (they begin one after the other, so their beginning takes as
    /// long as their number squared): a byte there, a byte back, over UDP.
    Netperf,
    /// One task that sleeps ten milliseconds at a time, and nobody else.
    Idle,
    /// The command `simsched run` with the JSON of a hackbench, in a process of its own: counted are all
    /// its instructions, those of parsing, of the command's observers and of the report, too.
    Command,
}

/// A run that is measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    /// Its name in all tables.
    pub name: String,
    /// The machine; see [`machine`].
    pub machine: &'static str,
    /// The policy, as `simsched run --policy` takes it.
    pub policy: &'static str,
    /// What of the hardware takes time.
    pub hardware: HardwareModel,
    /// The program.
    pub load: Load,
}

/// All cells: each program on each size of machine under `cfs` with priced hardware in the root group;
/// then what differs from the base (hackbench on 384 CPUs) in one thing; then a published setup of
/// schbench, and the lab's machine, whose CPUs take turns; at last a run of the whole command.
#[must_use]
pub fn plan() -> Vec<Cell> {
    let mut cells = Vec::new();
    for load in [Load::Hackbench, Load::Pairs, Load::Schbench, Load::Netperf, Load::Idle] {
        cells.extend(SIZES.map(|machine| cell(load, machine, "cfs", Priced, None)));
    }
    for machine in [BASE, "genoa-1024"] {
        cells.push(cell(Load::Start, machine, "cfs", Priced, None));
    }
    let hackbench =
        |policy, hardware, what| cell(Load::Hackbench, BASE, policy, hardware, Some(what));
    cells.push(hackbench("cfs", Free, "free"));
    cells.push(hackbench("cfs+group=container", Priced, "container"));
    for version in ["eevdf@6.12", "eevdf@7.3", "cache_aware@7.3"] {
        cells.push(hackbench(version, Priced, version));
    }
    let disabled = "cache_aware@7.3+llc_balancing.enabled=0";
    cells.push(hackbench(disabled, Priced, "cache_aware@7.3-disabled"));
    cells.push(hackbench("cfs+cache_aware", Priced, "cache_aware"));
    cells.push(cell(Load::Netperf, BASE, "eevdf@6.12", Priced, Some("eevdf@6.12")));
    cells.push(cell(Load::Schbench, "spr-2x60", "cfs", Priced, None));
    cells.push(cell(Load::Hackbench, "t16", "cfs", Priced, None));
    cells.push(cell(Load::Command, "genoa", "cfs", Priced, None));
    cells
}

fn cell(
    load: Load,
    machine: &'static str,
    policy: &'static str,
    hardware: HardwareModel,
    differs: Option<&str>,
) -> Cell {
    let program = format!("{load:?}").to_lowercase();
    let place = machine.strip_prefix("genoa-").unwrap_or(machine);
    let suffix = differs.map(|differs| format!("-{differs}")).unwrap_or_default();
    Cell { name: format!("{program}-{place}{suffix}"), machine, policy, hardware, load }
}

impl Cell {
    /// The machine of the cell.
    #[must_use]
    pub fn topology(&self) -> Arc<Topology> {
        Arc::new(machine(self.machine))
    }

    /// The words behind `simsched` of a cell that is a whole command; none if it is a run of the library.
    #[must_use]
    pub fn command(&self) -> Option<String> {
        let workload = self.load.command(self.topology().nr_cpus());
        let of =
            |what: &str| format!("run -q --topo {} --policy {} {what}", self.machine, self.policy);
        (self.load == Load::Command).then(|| of(&format!("--json - -- {workload}")))
    }

    /// The run before its start.
    #[must_use]
    pub fn simulator(&self, topology: &Arc<Topology>) -> Run {
        simulator_of(topology, self.hardware, self.policy, self.load.on(topology.nr_cpus()))
    }
}

impl Load {
    /// The command line on a machine with so many CPUs, or in words what no command is.
    #[must_use]
    pub fn command(self, cpus: usize) -> String {
        let pairs = cpus / 2;
        match self {
            Load::Hackbench => "hackbench -g 32 -f 20 --threads --pipe -l 40".to_owned(),
            Load::Start => "hackbench -g 32 -f 20 --threads --pipe -l 1".to_owned(),
            Load::Pairs => format!("{pairs} pairs, {} balls each way", balls(cpus)),
            Load::Schbench => format!("schbench -t {cpus} -r {}", runtime(cpus, 80.0).max(0.3)),
            Load::Netperf => {
                let pairs = pairs.min(MOST_NETPERFS);
                format!("netperf -t UDP_RR -n {pairs} -l {}", runtime(pairs, 0.2))
            }
            Load::Idle => format!("{SLEEPS} sleeps of 10 ms"),
            Load::Command => "hackbench -g 8 -f 20 --threads --pipe -l 40".to_owned(),
        }
    }

    fn on(self, cpus: usize) -> Box<dyn Workload + Send> {
        match self {
            Load::Pairs => Box::new(PingPong::new(cpus / 2, balls(cpus))),
            Load::Idle => Box::new(Idle::new(SLEEPS)),
            _ => {
                let argv: Vec<String> = self.command(cpus).split(' ').map(str::to_owned).collect();
                workloads::parse(&argv, 1, cpus).expect("a good command line").workload()
            }
        }
    }
}

/// How often an idle machine's only task sleeps.
const SLEEPS: u32 = 1_000;

/// Balls of a pair: about as many in all on each machine.
fn balls(cpus: usize) -> usize {
    49_152 / cpus
}

/// Pairs of netperf at most.
const MOST_NETPERFS: usize = 48;

/// Seconds so that so many CPUs or pairs do as much as one does in `seconds`.
fn runtime(cpus: usize, seconds: f64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "few CPUs")]
    let share = seconds / cpus as f64;
    (share * 1e4).ceil() / 1e4
}
