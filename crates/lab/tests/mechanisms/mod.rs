//! What the authors of published patches say about causes, seen inside short runs, each with a
//! control in which it must not appear. The numbers of the claims themselves are held by
//! `simsched validate claims/`.

mod bias_prev;
mod cache_aware;
mod flips;
mod gathered;
mod imb_numa;
mod invariants;
mod pipes;
mod shared_lines;
mod tg_load;

use std::sync::Arc;

use simsched_core::observe::Stats;
use simsched_core::{
    Cause, Config, Cost, HardwareModel, Nanos, Seed, SimTime, Simulator, Status, Workload,
};
use simsched_policies::{catalog, fair};
use simsched_topology::{CpuId, Topology, builtin_text};

use HardwareModel::{Free, Priced};

/// The time of `update_cfs_group()`.
const UPDATE_CFS_GROUP: Cost = Cost::of_function(fair::UPDATE_CFS_GROUP);
/// The time of `update_load_avg()`.
const UPDATE_LOAD_AVG: Cost = Cost::of_function(fair::UPDATE_LOAD_AVG);

/// What came of a run.
struct Run {
    machine: Arc<Topology>,
    stats: Stats,
    /// What happened before the run counts.
    before: Option<Stats>,
    /// The policy's reasons, by row.
    reasons: Vec<&'static str>,
    end: SimTime,
}

impl Run {
    fn new(machine: &str, policy: &str, group: &str, command: &str, model: HardwareModel) -> Run {
        Run::on(&Topology::builtin(machine, None).unwrap(), policy, group, command, model)
    }

    fn on(
        machine: &Topology,
        policy: &str,
        group: &str,
        command: &str,
        model: HardwareModel,
    ) -> Run {
        let config = Config { seed: Seed(1), hardware: model, ..Config::default() };
        Run::between(machine, policy, group, command, config, [SimTime::ZERO, SimTime::NEVER])
    }

    /// The same, of which only what happens from the first time to the second counts.
    fn between(
        machine: &Topology,
        policy: &str,
        group: &str,
        command: &str,
        config: Config,
        [from, to]: [SimTime; 2],
    ) -> Run {
        let machine = Arc::new(machine.clone());
        let argv: Vec<String> = command.split(' ').map(str::to_owned).collect();
        let benchmark = simsched_workloads::catalog::parse(&argv, 1, machine.nr_cpus()).unwrap();
        let workload = benchmark.workload();
        let setup = workload.setup();
        let settings = [("group".to_owned(), group.to_owned())];
        let policy = catalog::build(policy, &settings).unwrap();
        let stats = Stats::new(&machine, setup.tasks.len(), setup.marks.len());
        let mut run = Simulator::new(machine.clone(), policy, workload, stats, config).unwrap();
        let reasons = run.reasons().to_vec();
        let before = (from > SimTime::ZERO).then(|| {
            run.run_until(from).unwrap();
            run.observer().clone()
        });
        let status = run.run_until(to).unwrap();
        assert_eq!(status == Status::Finished, to == SimTime::NEVER);
        let end = run.world().now();
        Run { machine, before, stats: run.into_parts().3, reasons, end }
    }

    /// A run of so many pairs that ask and answer, for 5 ms.
    fn pairs(machine: &str, policy: &str, nr_pairs: u32, model: HardwareModel) -> Run {
        let machine = Topology::builtin(machine, None).unwrap();
        Run::pairs_on(&machine, policy, nr_pairs, model)
    }

    fn pairs_on(machine: &Topology, policy: &str, nr_pairs: u32, model: HardwareModel) -> Run {
        let command = format!("netperf -t UDP_RR -n {nr_pairs} -l 0.005");
        Run::on(machine, policy, "container", &command, model)
    }

    /// So many pairs that ask and answer and have done so for a while, for 4 ms. Starting a pair takes
    /// less than 90 us, and a crowd takes as long again until nobody finds a better CPU.
    fn steady(machine: &str, policy: &str, nr_pairs: u32) -> Run {
        let machine = Topology::builtin(machine, None).unwrap();
        Run::steady_on(&machine, policy, nr_pairs, Priced)
    }

    /// As [`Run::steady`], with other draws.
    fn seeded(machine: &str, policy: &str, nr_pairs: u32, seed: Seed) -> Run {
        let machine = Topology::builtin(machine, None).unwrap();
        let config = Config { seed, ..Config::default() };
        Run::steady_as(&machine, policy, nr_pairs, config)
    }

    fn steady_on(machine: &Topology, policy: &str, nr_pairs: u32, model: HardwareModel) -> Run {
        let config = Config { seed: Seed(1), hardware: model, ..Config::default() };
        Run::steady_as(machine, policy, nr_pairs, config)
    }

    fn steady_as(machine: &Topology, policy: &str, nr_pairs: u32, config: Config) -> Run {
        let command = format!("netperf -t UDP_RR -n {nr_pairs} -l 1");
        // The last of 768 programs starts after up to 107 ms, by the seed.
        let start = 4 * 90 * u64::from(nr_pairs) + 6_000;
        let span = [start, start + 4_000].map(|us| SimTime::ZERO + Nanos::from_micros(us));
        Run::between(machine, policy, "container", &command, config, span)
    }

    /// What `count` has become since the run counts.
    fn count(&self, count: impl Fn(&Stats) -> u64) -> u64 {
        count(&self.stats) - self.before.as_ref().map_or(0, count)
    }

    fn wakeups(&self) -> u64 {
        self.count(Stats::wakeups)
    }

    /// How often the workload's marks were reached: what it counts as done.
    fn done(&self) -> u64 {
        self.count(|stats| stats.marks().iter().map(|mark| mark.count).sum())
    }

    /// CPU time that was spent on `what`, ns.
    fn cost(&self, what: Cost) -> u64 {
        self.count(|stats| stats.total_cpu_time()[what as usize])
    }

    /// CPU time that was not idle, ns.
    fn busy(&self) -> u64 {
        let all = self.count(|stats| stats.total_cpu_time().iter().sum());
        all - self.cost(Cost::Idle) - self.cost(Cost::IdleExit)
    }

    /// The part of the busy CPU time that was spent on these, in 1/10,000.
    fn part(&self, what: &[Cost]) -> u64 {
        what.iter().map(|what| self.cost(*what)).sum::<u64>() * 10_000 / self.busy()
    }

    /// The part of the busy CPU time that went into the two functions, in thousandths.
    fn share(&self) -> u64 {
        self.part(&[UPDATE_CFS_GROUP, UPDATE_LOAD_AVG]) / 10
    }

    /// CPU time of one package by what it was spent on, ns.
    fn costs_of_package(&self, package: u16) -> [u64; Cost::ROWS] {
        let mut sum = [0; Cost::ROWS];
        for cpu in (0..self.machine.nr_cpus()).map(CpuId::new) {
            if self.machine.package_of(cpu).0 == package {
                for (what, sum) in sum.iter_mut().enumerate() {
                    *sum += self.count(|stats| stats.cpu_time(cpu)[what]);
                }
            }
        }
        sum
    }

    /// How busy a package was, and what part of that went into these, both in 1/10,000.
    fn package(&self, package: u16, what: &[Cost]) -> (u64, u64) {
        let spent = self.costs_of_package(package);
        let all = spent.iter().sum::<u64>();
        let busy = all - spent[Cost::Idle as usize] - spent[Cost::IdleExit as usize];
        let part = what.iter().map(|what| spent[*what as usize]).sum::<u64>();
        (busy * 10_000 / all, part * 10_000 / busy)
    }

    fn wakeup_migrations(&self) -> u64 {
        self.count(|stats| stats.migrations_by_cause()[Cause::Wakeup as usize])
    }

    /// Wakeups that went to another CPU, of a thousand.
    fn moved(&self) -> u64 {
        self.wakeup_migrations() * 1000 / self.wakeups()
    }

    fn row(&self, reason: &str) -> usize {
        self.reasons.iter().position(|name| *name == reason).expect("a reason of the policy")
    }

    /// Wakeups that were placed for this reason, of a thousand.
    fn placed(&self, reason: &str) -> u64 {
        self.woken_for(reason) * 1000 / self.wakeups()
    }

    /// Wakeups that were placed for this reason.
    fn woken_for(&self, reason: &str) -> u64 {
        let row = self.row(reason);
        self.count(|stats| stats.wakeups_by_reason()[row])
    }

    /// Migrations of wakeups that were placed for this reason.
    fn migrated_for(&self, reason: &str) -> u64 {
        let row = self.row(reason);
        self.count(|stats| stats.migrations_by_reason()[Cause::Wakeup as usize][row])
    }

    /// How many CPUs were looked at for a hundred wakeups.
    fn looks(&self) -> u64 {
        self.count(Stats::scanned) * 100 / self.wakeups()
    }
}

/// A built-in machine in this mode, with other lines in its file.
fn cut(machine: &str, mode: Option<&str>, lines: &[(&str, &str)]) -> Topology {
    let mut text = builtin_text(machine).unwrap().to_owned();
    for (line, other) in lines {
        assert!(text.contains(line), "{line}");
        text = text.replace(line, other);
    }
    Topology::parse(&text, machine, mode).unwrap()
}

/// One socket of an EPYC 9654 with two of its CCX: 32 CPUs.
fn two_ccx() -> Topology {
    let lines = [("sockets = 2", "sockets = 1"), ("llcs_per_socket = 12", "llcs_per_socket = 2")];
    cut("genoa", None, &lines)
}

/// The virtual machine of the kernel lab whose 16 CPUs share one cache, nothing traced; it has no
/// caches to price.
fn one_llc_of_the_lab() -> Topology {
    let lines = [
        ("sockets = 2", "sockets = 1"),
        ("llcs_per_socket = 2", "llcs_per_socket = 1"),
        ("cores_per_llc = 2", "cores_per_llc = 8"),
        ("cross_socket = 21", ""),
        ("cross_socket = { v = 0, src = \"LAB\" }", ""),
    ];
    cut("t16", Some("untraced"), &lines)
}

/// Closed queues: nobody can wait longer for a line than all others need it for. The bound is what two
/// levels of groups can at most add to one: as many waits again, for lines as contended as the first.
#[test]
fn a_second_level_of_groups_at_most_doubles_what_the_lines_cost() {
    let command = "hackbench -g 10 -f 20 -T -p -l 200";
    let spent = |group| {
        let run = Run::new("spr-2x48", "cfs", group, command, Priced);
        let spent = run.stats.total_cpu_time();
        let lines = spent[UPDATE_CFS_GROUP as usize] + spent[UPDATE_LOAD_AVG as usize];
        let busy = spent.iter().sum::<u64>() - spent[Cost::Idle as usize];
        (lines, busy)
    };
    let (one, busy) = spent("nested:1");
    let (two, busy_with_two) = spent("nested:2");
    assert!(one * 50 > busy, "{one} of {busy} ns: the lines are contended");
    assert!(two < 2 * busy && busy_with_two < 2 * busy, "{two} and {busy_with_two} for {busy}");
}
