//! Command lines and text, held against what the real programs print.

use simsched_workloads::catalog::{self, Benchmark, ENTRIES, MarkTimes, SpanTimes};

const REAL: &str = include_str!("data/hackbench-2.4.txt");

fn parse(line: &str) -> Result<Box<dyn Benchmark>, String> {
    let argv: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    catalog::parse(&argv, 1, 16).map_err(|error| error.to_string())
}

fn error_of(line: &str) -> String {
    parse(line).err().unwrap_or_else(|| panic!("{line} is taken"))
}

/// The captured runs: arguments, and the lines that were printed.
fn real_runs() -> Vec<(&'static str, Vec<&'static str>)> {
    let runs = REAL.split("$ ").skip(1).map(|run| {
        let (args, output) = run.split_once('\n').expect("arguments, then output");
        (args, output.lines().collect())
    });
    runs.collect()
}

#[test]
fn hackbench_prints_what_the_real_one_prints() {
    let mut checked = 0;
    for (args, output) in real_runs().into_iter().filter(|(_, output)| output.len() == 3) {
        let benchmark = parse(&format!("hackbench {args}")).unwrap();
        assert_eq!(benchmark.banner(), output[..2].join("\n"), "{args}");
        let ms: u64 = output[2]
            .trim_start_matches("Time: 0.")
            .trim_start_matches("Time: 1.")
            .parse()
            .unwrap();
        let seconds = u64::from(output[2].starts_with("Time: 1."));
        let stop_ns = 5_000 + (seconds * 1000 + ms) * 1_000_000 + 999_999;
        let mark = |ns| MarkTimes { count: 1, first_ns: ns, last_ns: ns };
        assert_eq!(benchmark.result(&[mark(5_000), mark(stop_ns)], &[]).text, output[2], "{args}");
        checked += 1;
    }
    assert_eq!(checked, 16);
}

#[test]
fn hackbench_complains_as_the_real_one_does() {
    let mut checked = 0;
    for (args, output) in real_runs().into_iter().filter(|(_, output)| output.len() == 1) {
        let message = error_of(&format!("hackbench {args}"));
        assert!(message.starts_with(output[0]), "{args}: {message}");
        checked += 1;
    }
    assert_eq!(checked, 12);
}

#[test]
fn what_cannot_be_simulated_is_refused_in_a_sentence() {
    let refused = [
        ("hackbench -F", "hackbench: --fifo|-F cannot be simulated: there is no real-time class"),
        (
            "hackbench --inet",
            "hackbench: --inet|-i cannot be simulated: its connections are not modelled",
        ),
        ("hackbench -h", "hackbench: see `simsched workloads hackbench` for its options"),
        (
            "hackbench -g 1x",
            "hackbench: --groups|-g requires an integer > 0, found '1x', expected 1..=2147483647",
        ),
        (
            "hackbench -l -1",
            "hackbench: --loops|-l requires an integer > 0, found '-1', expected 1..=2147483647",
        ),
        (
            "hackbench -s 2147483648",
            "hackbench: --datasize|-s requires an integer > 0, found '2147483648', expected 1..=2147483647",
        ),
        ("hackbench 5", "hackbench: unexpected argument '5'"),
        ("hackbench -T -", "hackbench: unexpected argument '-'"),
        (
            "hackbench -g 999999 -f 999999",
            "workers: 1999996000002 are more than the 1048576 that a run can hold",
        ),
        (
            "hackbench --grops 3",
            "hackbench: unrecognized option '--grops'; did you mean `--groups`?",
        ),
        (
            "hackbensh",
            "there is no workload `hackbensh` (known: hackbench, netperf, tbench, sysbench, stream, rt-app, schbench, schbench-old, stress-ng, verilator, replay, lab:NAME); did you mean `hackbench`?",
        ),
        (
            "xyz",
            "there is no workload `xyz` (known: hackbench, netperf, tbench, sysbench, stream, rt-app, schbench, schbench-old, stress-ng, verilator, replay, lab:NAME)",
        ),
    ];
    for (line, message) in refused {
        assert_eq!(error_of(line), message, "{line}");
    }
}

/// The command that a benchmark names gives the same benchmark again.
fn check_command(line: &str, command: &str) {
    let benchmark = parse(line).expect(line);
    assert_eq!(benchmark.command(), command, "{line}");
    let again = parse(command).expect(command);
    assert_eq!(again.command(), command);
    assert_eq!(again.banner(), benchmark.banner());
    assert_eq!(again.workload().setup(), benchmark.workload().setup());
}

#[test]
fn a_command_line_has_one_canonical_form() {
    check_command("", "hackbench -g 10 -f 20 -l 100 -s 100 -T -p");
    check_command("hackbench", "hackbench -g 10 -f 20 -l 100 -s 100 -P");
    check_command("hackbench -pT", "hackbench -g 10 -f 20 -l 100 -s 100 -T -p");
    check_command("hackbench --proc -f3 --loops=7", "hackbench -g 10 -f 3 -l 7 -s 100 -P");
    check_command("hackbench -g 2 -g 1 -s 5 -T -P -p", "hackbench -g 1 -f 20 -l 100 -s 5 -P -p");
}

#[test]
fn a_scenario_of_the_lab_is_a_command_too() {
    check_command("lab:hogs-herd-16", "lab:hogs-herd-16");
    check_command("lab:pingpong-H-w20", "lab:pingpong-H-w20");
    check_command("lab:hackbench -T -p -g 1 -f 2 -l 500", "lab:hackbench -T -p -g 1 -f 2 -l 500");
    assert_eq!(
        parse("lab:pingpong-H-w20").unwrap().banner(),
        "pingpong-H-w20 on 16 CPUs, 17 tasks: pairs over pipes: 8, 60 round trips each, 20 us of work"
    );
    for (name, what) in [
        ("forkstorm-2N", "32 children of 5 ms each, 0 us between two forks"),
        ("periodic-N", "tasks with timers: 16, 2000 us every 10000, for 300 ms"),
        (
            "hogper-1-1-n5-0",
            "on CPU 0, hogs of nice 5: 1; of nice 0, tasks with timers: 1, 500 us every 5000, for 1000 ms",
        ),
        (
            "schbench-2xH",
            "message threads: 2, with 8 workers each, which think for 200 us, for 60 ms",
        ),
        ("hogs-herd-16", "hogs: 16, for 1000 ms, in a herd on CPU 0 for the first 100"),
        ("hackbench-g1f4l10", "160 messages of 100 bytes"),
    ] {
        let banner = parse(&format!("lab:{name}")).unwrap().banner();
        assert!(banner.ends_with(&format!(" tasks: {what}")), "{banner}");
    }
    assert_eq!(
        error_of("lab:hogs-herd16"),
        "there is no scenario `hogs-herd16` (see `simsched workloads lab:NAME`); \
         did you mean `lab:hogs-herd-16`?"
    );
    assert_eq!(error_of("lab:share-0-5 -v"), "lab:NAME: unexpected argument '-v'");
    let marks =
        [1_000_000, 1_001_313_000_999].map(|ns| MarkTimes { count: 1, first_ns: ns, last_ns: ns });
    let result = parse("lab:hogs-free-4").unwrap().result(&marks, &[]);
    assert_eq!(
        (result.text.as_str(), result.elapsed_ns),
        ("elapsed_ms: 1001312.000", 1_001_312_000_999)
    );
    assert_eq!(result.values, [("tasks", 5)]);
}

/// 10 * 20 * 20 * 100 messages in 2 s are 200,000 each second.
#[test]
fn a_result_has_its_numbers() {
    let benchmark = parse("").unwrap();
    let marks = [
        MarkTimes { count: 1, first_ns: 1_000_000, last_ns: 1_000_000 },
        MarkTimes { count: 1, first_ns: 2_001_999_999, last_ns: 2_001_999_999 },
    ];
    let result = benchmark.result(&marks, &[]);
    assert_eq!((result.text.as_str(), result.elapsed_ns), ("Time: 2.000", 2_000_999_999));
    let values = [("messages", 400_000), ("tasks", 400), ("messages_per_second", 199_900)];
    assert_eq!(result.values, values);
    let cut = benchmark.result(&[marks[0], MarkTimes::default()], &[]);
    assert_eq!((cut.text.as_str(), cut.elapsed_ns), ("Time: not finished", 0));
    assert_eq!(benchmark.result(&[], &[]).values, values[..2]);
}

#[test]
fn every_entry_says_what_it_is() {
    for entry in ENTRIES {
        assert!(!entry.doc.is_empty());
        assert_eq!(catalog::find(entry.name).unwrap().name, entry.name);
        let has_one_name = entry.names.is_empty();
        // Those that do nothing without being told what.
        let has_defaults = has_one_name && !["stress-ng", "replay", "rt-app"].contains(&entry.name);
        assert_eq!(parse(entry.name).is_ok(), has_defaults, "its own defaults are taken");
        for option in entry.options {
            let names = (option.short, option.long);
            assert!(!option.doc.is_empty(), "{names:?}");
            if names == (None, None) {
                assert!(option.value.is_some(), "an operand says what it is");
                continue;
            }
            assert_eq!(option.default.is_empty(), option.doc.starts_with("print"), "{names:?}");
            let is_switch = ["on", "off", ""].contains(&option.default);
            assert_eq!(option.value.is_none(), is_switch, "{names:?}");
        }
    }
}

#[test]
fn programs_that_run_for_a_time_have_one_canonical_form_too() {
    check_command("netperf", "netperf -t TCP_STREAM -n 1 -l 10");
    check_command(
        "netperf -t udp_rr -n96 -l 0.250 -H 127.0.0.1",
        "netperf -t UDP_RR -n 96 -l 0.25",
    );
    check_command("tbench 8", "tbench 8 -t 600 --warmup 120");
    check_command("tbench --warm=0 -t 1.5 3 localhost", "tbench 3 -t 1.5 --warmup 0");
    check_command("sysbench", "sysbench oltp_read_write --threads=1 --time=10 run");
    check_command(
        "stream --threads=16 --array 128000000 --non",
        "stream --threads 16 --array-size 128000000 --ntimes 10 --non-temporal",
    );
    check_command(
        "sysbench --threads=96 oltp_read_write --time=0.5 run",
        "sysbench oltp_read_write --threads=96 --time=0.5 run",
    );
}

#[test]
fn their_options_are_refused_in_a_sentence() {
    for (line, message) in [
        (
            "netperf -t TCP_CRR",
            "netperf: -t: found 'TCP_CRR', expected TCP_STREAM, TCP_RR or UDP_RR",
        ),
        ("netperf -n 0", "netperf: -n: found '0', expected an integer > 0"),
        (
            "netperf -l -100",
            "netperf: -l: found '-100', expected seconds, more than 0 and at most 86400",
        ),
        (
            "netperf -H 10.0.0.1",
            "netperf: -H: found '10.0.0.1', expected localhost: only loopback can be simulated",
        ),
        ("netperf -x", "netperf: invalid option -- 'x'"),
        ("netperf 5", "netperf: unexpected argument '5'"),
        ("stream --threads 0", "stream: --threads: found '0', expected an integer >= 1"),
        ("stream --ntimes 1", "stream: --ntimes: found '1', expected an integer >= 2"),
        (
            "stream --threads 99999 --array-size 8",
            "threads: 99999 are more than the 65536 that a run can hold",
        ),
        ("tbench x", "tbench: found 'x' clients, expected an integer > 0"),
        (
            "tbench 4 host",
            "tbench: found the server 'host', expected localhost: only loopback can be simulated",
        ),
        ("tbench 4 localhost 5", "tbench: unexpected argument '5'"),
        (
            "tbench 4 -t 0",
            "tbench: --timelimit: found '0', expected seconds, more than 0 and at most 86400",
        ),
        ("tbench 99999999", "clients: 99999999 are more than the 65536 that a run can hold"),
        (
            "sysbench oltp_insert run",
            "sysbench: found the test 'oltp_insert', expected oltp_read_write",
        ),
        ("sysbench oltp_read_write prepare", "sysbench: found the command 'prepare', expected run"),
        ("sysbench --threads=many", "sysbench: --threads: found 'many', expected an integer > 0"),
        ("sysbench --thread", "sysbench: option '--threads' requires an argument"),
        ("sysbench --help", "sysbench: see `simsched workloads sysbench` for its options"),
    ] {
        assert_eq!(error_of(line), message, "{line}");
    }
}

fn passed(count: u64, first_ns: u64, last_ns: u64) -> MarkTimes {
    MarkTimes { count, first_ns, last_ns }
}

/// 400,000 transactions of 4 clients in 2 s are 50,000 a second for each.
#[test]
fn netperf_prints_what_the_real_one_prints() {
    let marks = [
        passed(4, 1_000, 1_000),
        passed(4, 2_000_000_000, 2_000_001_000),
        passed(400_000, 0, 0),
        passed(400_000, 0, 0),
    ];
    let result = parse("netperf -t UDP_RR -n 4 -l 2").unwrap().result(&marks, &[]);
    let lines: Vec<&str> = result.text.lines().collect();
    assert_eq!(lines[..2], ["Local /Remote", "Socket Size   Request  Resp.   Elapsed  Trans."]);
    assert_eq!(lines[5], "212992 212992 1        1       2.00     50000.00   ");
    assert_eq!(result.throughput_milli, Some(50_000_000));
    // 16,384 bytes each: 400,000 in 2 s are 26,214.40 * 10^6 bits a second.
    let one = [
        passed(1, 1_000, 1_000),
        passed(1, 2_000_001_000, 2_000_001_000),
        passed(0, 0, 0),
        passed(400_000, 0, 0),
    ];
    let result = parse("netperf -l 2").unwrap().result(&one, &[]);
    assert_eq!(result.text.lines().last(), Some("131072  16384  16384    2.00     26214.40   "));
    assert_eq!(result.throughput_milli, Some(26_214_400));
}

/// 100 writes of 64 KiB in 10 ms are 655.36 million bytes a second.
#[test]
fn tbench_prints_what_the_real_one_prints() {
    let mut marks = vec![passed(0, 0, 0); 5 + 23];
    (marks[0], marks[1]) = (passed(1, 5_000, 5_000), passed(1, 10_005_000, 10_005_000));
    (marks[3], marks[5 + 7]) = (passed(100, 6_000, 9_000), passed(100, 6_000, 9_000));
    let spans = [SpanTimes { count: 100, max_ns: 1_234_567, ..SpanTimes::default() }];
    let result = parse("tbench 8 -t 0.01").unwrap().result(&marks, &spans);
    assert_eq!(result.text, "Throughput 655.36 MB/sec  8 clients  8 procs  max_latency=1.234 ms");
    assert_eq!((result.throughput_milli, result.elapsed_ns), (Some(655_360), 10_000_000));
}

/// 32 million bytes in 2 ms are 16,000 MB/s, 48 million in 4 ms 12,000.
#[test]
fn stream_prints_what_the_real_one_prints() {
    let marks = [passed(1, 5_000, 5_000), passed(1, 105_000, 105_000)];
    let span = |min_ns| SpanTimes {
        count: 2,
        sum_ns: 2 * min_ns,
        min_ns,
        max_ns: 5_000_000,
        ..SpanTimes::default()
    };
    let spans = [2_000_000, 2_000_000, 4_000_000, 4_000_000].map(span);
    let stream = parse("stream --array-size 2000000 --threads 4").unwrap();
    assert!(stream.banner().contains("\nMemory per array = 15.3 MiB (= 0.0 GiB).\n"));
    assert!(stream.banner().contains("\nEach kernel will be executed 10 times.\n"));
    let result = stream.result(&marks, &spans);
    let lines: Vec<&str> = result.text.lines().collect();
    assert_eq!(
        lines[..3],
        [
            "Function    Best Rate MB/s  Avg time     Min time     Max time",
            "Copy:           16000.0     0.002000     0.002000     0.005000",
            "Scale:          16000.0     0.002000     0.002000     0.005000",
        ]
    );
    assert!(result.values.contains(&("bandwidth_triad", 12_000)));
    assert_eq!((result.throughput_milli, result.elapsed_ns), (Some(12_000_000), 100_000));
    let unfinished = stream.result(&[], &[]);
    assert_eq!(
        (unfinished.text.as_str(), unfinished.throughput_milli),
        ("STREAM: not finished", None)
    );
}

#[test]
fn sysbench_prints_what_the_real_one_prints() {
    let marks = [
        passed(2, 0, 100),
        passed(2, 1_900_000_000, 2_000_000_000),
        passed(1000, 0, 0),
        passed(1000, 0, 0),
    ];
    let spans = [SpanTimes {
        count: 1000,
        sum_ns: 4_000_000_000,
        min_ns: 1_230_000,
        max_ns: 9_000_000,
        p95_ns: 6_500_000,
        ..SpanTimes::default()
    }];
    let result = parse("sysbench --threads=2 --time=2").unwrap().result(&marks, &spans);
    for line in [
        "        read:                            14000",
        "        total:                           20000",
        "    transactions:                        1000   (500.00 per sec.)",
        "    queries:                             20000  (10000.00 per sec.)",
        "    events/s (eps):                      500.0000",
        "    time elapsed:                        2.0000s",
        "         avg:                                    4.00",
        &format!("         95th percentile: {:>27}", "6.50"),
        "    events (avg):                  500.0000",
    ] {
        assert!(result.text.lines().any(|found| found == line), "{line}\n{}", result.text);
    }
    assert_eq!(result.throughput_milli, Some(500_000));
    assert!(result.values.contains(&("request_latency_mean_ns", 4_000_000)));
}
