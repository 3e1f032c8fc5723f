//! STREAM on simulated machines: what it prints, and where its threads and pages are.

use std::sync::Arc;

use simsched_core::observe::{MarkStats, SpanStats, Stats};
use simsched_core::{Config, Cost, Nanos, SimTime, Simulator, Status};
use simsched_policies::catalog as policies;
use simsched_topology::Topology;
use simsched_workloads::catalog::{self, BenchResult, MarkTimes, SpanTimes};

fn run(machine: &str, policy: &str, line: &str) -> (BenchResult, Stats) {
    let topology = Arc::new(Topology::resolve(machine).unwrap());
    let argv: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    let benchmark = catalog::parse(&argv, 1, topology.nr_cpus()).unwrap();
    let workload = benchmark.workload_on(&topology);
    let setup = workload.setup();
    let stats =
        Stats::new(&topology, setup.tasks.len(), setup.marks.len()).with_spans(&setup.spans);
    let policy = policies::build(policy, &[]).unwrap();
    let mut run = Simulator::new(topology, policy, workload, stats, Config::default()).unwrap();
    assert_eq!(run.run_until(SimTime::NEVER).unwrap(), Status::Finished, "{line}");
    let (.., stats) = run.into_parts();
    let mark = |mark: &MarkStats| MarkTimes {
        count: mark.count,
        first_ns: mark.first.get(),
        last_ns: mark.last.get(),
    };
    let marks: Vec<MarkTimes> = stats.marks().iter().map(mark).collect();
    let span = |span: &SpanStats| SpanTimes {
        count: span.lengths().count(),
        sum_ns: u64::try_from(span.lengths().sum()).unwrap(),
        min_ns: span.shortest().map_or(0, Nanos::get),
        max_ns: span.lengths().max().get(),
        ..SpanTimes::default()
    };
    let spans: Vec<SpanTimes> = stats.spans().iter().map(span).collect();
    (benchmark.result(&marks, &spans), stats)
}

fn rate(machine: &str, policy: &str, line: &str, kernel: &str) -> u64 {
    let (result, _) = run(machine, policy, line);
    let name = format!("bandwidth_{kernel}");
    result.values.iter().find(|(known, _)| *known == name).unwrap().1
}

/// MLC on two sockets: 424 GB/s in something like a triad on SPR, 320 on Ice Lake; within 10 and 3 %.
#[test]
fn all_cores_get_what_was_measured_of_the_machine() {
    for (machine, threads, range) in
        [("spr", 112, 382_000..=466_000), ("icelake", 64, 310_000..=330_000)]
    {
        let line =
            format!("stream --threads {threads} --array-size 64000000 --ntimes 3 --non-temporal");
        let found = rate(machine, "cfs", &line, "triad");
        assert!(range.contains(&found), "{machine}: {found}");
    }
}

/// A store to ordinary memory fetches its line first: three arrays move where STREAM counts two, and
/// four where it counts three.
#[test]
fn lines_that_are_fetched_to_be_overwritten_are_not_counted() {
    let line = "stream --threads 56 --array-size 64000000 --ntimes 2";
    let of = |line: &str, kernel: &str| rate("genoa", "cfs", line, kernel);
    let around = format!("{line} --non-temporal");
    for (kernel, counted, moved) in [("copy", 2, 3), ("add", 3, 4)] {
        let (found, whole) = (of(line, kernel), of(&around, kernel));
        assert!(found.abs_diff(whole * counted / moved) < whole / 30, "{kernel}: {found} {whole}");
    }
}

#[test]
fn it_prints_the_best_of_each_loop() {
    let (result, stats) =
        run("icelake", "cfs", "stream --threads 2 --array-size 4000000 --ntimes 4");
    let lines: Vec<&str> = result.text.lines().collect();
    assert_eq!(lines[0], "Function    Best Rate MB/s  Avg time     Min time     Max time");
    for (line, name) in lines[1..5].iter().zip(["Copy:", "Scale:", "Add:", "Triad:"]) {
        let words: Vec<&str> = line.split_whitespace().collect();
        assert_eq!((words[0], words.len()), (name, 5), "{line}");
        let [rate, avg, min, max] = [1, 2, 3, 4].map(|word| words[word].parse::<f64>().unwrap());
        assert!(min <= avg && avg <= max && rate > 0.0, "{line}");
    }
    // Two cores that load and store 13 GB/s each; of copy a third more is fetched than counted.
    let triad = result.values.iter().find(|(name, _)| *name == "bandwidth_triad").unwrap().1;
    assert!((25_000..=26_000).contains(&triad), "{triad}");
    assert_eq!(stats.spans().iter().map(|span| span.lengths().count()).sum::<u64>(), 4 * 3);
    let time = stats.total_cpu_time();
    assert!(time[Cost::Memory as usize] > 20 * time[Cost::User as usize]);
}
