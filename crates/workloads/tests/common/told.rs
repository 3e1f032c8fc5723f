//! A program on a simulated machine, and what it tells at its end.

use std::sync::Arc;

use simsched_core::observe::{Digest, Stats};
use simsched_core::{Config, Cost, SimTime, Simulator, Status};
use simsched_policies::catalog as policies;
use simsched_topology::Topology;
use simsched_workloads::catalog::{self, BenchResult, MarkTimes, Ran, SpanTimes};

/// What came of a run.
pub(crate) struct Told {
    pub(crate) stats: Stats,
    pub(crate) digest: String,
    pub(crate) banner: String,
    pub(crate) result: BenchResult,
}

impl Told {
    /// A number of the program, by its name.
    pub(crate) fn value(&self, name: &str) -> u64 {
        let found = self.result.values.iter().find(|(known, _)| *known == name);
        found.unwrap_or_else(|| panic!("{name} is not told")).1
    }
}

/// Runs a command line to its end.
pub(crate) fn run(machine: &str, line: &str) -> Told {
    run_with(Config::default(), machine, line)
}

/// The same with other settings.
pub(crate) fn run_with(config: Config, machine: &str, line: &str) -> Told {
    let topology = Arc::new(Topology::builtin(machine, None).expect("a machine"));
    let argv: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    let benchmark = catalog::parse(&argv, 1, topology.nr_cpus()).expect(line);
    let policy = policies::build("cfs", &[]).expect("a policy");
    let workload = benchmark.workload_on(&topology);
    let setup = workload.setup();
    let stats =
        Stats::new(&topology, setup.tasks.len(), setup.marks.len()).with_spans(&setup.spans);
    let observer = (stats, Digest::default());
    let mut run = Simulator::new(topology, policy, workload, observer, config).expect(line);
    assert_eq!(run.run_until(SimTime::NEVER).expect(line), Status::Finished, "{line}");
    let (_, _, workload, (stats, digest)) = run.into_parts();
    let times = |mark: &simsched_core::observe::MarkStats| MarkTimes {
        count: mark.count,
        first_ns: mark.first.get(),
        last_ns: mark.last.get(),
    };
    let marks: Vec<MarkTimes> = stats.marks().iter().map(times).collect();
    let spans = stats.spans().iter().map(|span| SpanTimes {
        count: span.lengths().count(),
        p50_ns: span.lengths().quantile(50, 100).get(),
        p99_ns: span.lengths().quantile(99, 100).get(),
        max_ns: span.lengths().max().get(),
        ..SpanTimes::default()
    });
    let spans: Vec<SpanTimes> = spans.collect();
    let notes = workload.notes();
    let spent = stats.total_cpu_time();
    let user = spent[Cost::User as usize] + spent[Cost::Refill as usize];
    let ran = Ran { marks: &marks, spans: &spans, notes: &notes, cpu_ns: [user, 0] };
    let result = benchmark.result_of(&ran);
    Told { stats, digest: digest.to_string(), banner: benchmark.banner(), result }
}

/// A text whose numbers are not looked at: `N` for each, and one blank for several.
#[allow(dead_code, reason = "not every test has a use for it")]
pub(crate) fn masked(text: &str) -> Vec<String> {
    let mask = |line: &str| {
        let number = |c: char| c.is_ascii_digit() || c == '.';
        let mut masked = String::new();
        for c in line.chars() {
            let (c, twice) = if number(c) { ('N', 'N') } else { (c, ' ') };
            if c != twice || !masked.ends_with(twice) {
                masked.push(c);
            }
        }
        masked
    };
    text.lines().map(mask).collect()
}
