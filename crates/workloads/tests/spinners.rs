//! The old schbench, stress-ng and verilator: what they print, against real ones, and what comes of them
//! on simulated machines.

use crate::common::told::{Told, masked, run};
use simsched_workloads::catalog;

/// Command lines of a real schbench of 2020-01 on a machine of 2 CPUs, and its output; the list of options
/// behind a complaint is left out.
const OLD: &str = include_str!("data/schbench-2020-01.txt");
/// The same of stress-ng 0.15.06.
const STRESS: &str = include_str!("data/stress-ng-0.15.06.txt");

fn runs(text: &'static str) -> impl Iterator<Item = (&'static str, &'static str)> {
    text.split("$ ").skip(1).map(|run| run.split_once('\n').expect("arguments, then output"))
}

fn error_of(line: &str) -> Option<String> {
    let argv: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    catalog::parse(&argv, 1, 2).err().map(|error| error.to_string())
}

/// Tables equal those of the real program but for the numbers, and complaints equal its own; how many.
fn check(program: &str, real: &'static str, is_table: impl Fn(&str) -> bool) -> [usize; 2] {
    let mut checked = [0; 2];
    for (args, output) in runs(real) {
        let line = format!("{program} {args}");
        if is_table(output) {
            let told = run("t16", &line);
            let text = [told.banner, told.result.text].join("\n");
            assert_eq!(masked(text.trim_start()), masked(output), "{line}");
            checked[0] += 1;
        } else {
            let message = error_of(&line).expect(&line);
            let said = message.split_once(": ").expect("the name of the program").1;
            let real = output.trim_end();
            let real =
                ["schbench: ", "stress-ng: "].iter().find_map(|name| real.strip_prefix(name));
            assert!(said.starts_with(real.unwrap_or(output.trim_end())), "{line}: {said}");
            checked[1] += 1;
        }
    }
    checked
}

#[test]
fn the_old_schbench_prints_and_complains_as_the_real_one() {
    assert_eq!(check("schbench-old", OLD, |output| output.contains("percentiles")), [3, 3]);
}

#[test]
fn stress_ng_prints_and_complains_as_the_real_one() {
    assert_eq!(check("stress-ng", STRESS, |output| output.contains("hogs")), [2, 4]);
}

#[test]
fn a_command_line_has_one_canonical_form() {
    for (line, command) in [
        ("schbench-old", "schbench-old -m 2 -t 16 -r 30 -s 30000 -c 30000"),
        ("schbench-old -p 9 -t4 -c 7", "schbench-old -m 2 -t 4 -r 30 -s 0 -c 7 -p 9"),
        ("stress-ng -c 0 -t 1m -M", "stress-ng --cpu 2 --timeout 60 --metrics"),
        (
            "verilator --threads 4",
            "verilator --threads 4 --cycles 10000 --state 17408 --lines 8 --lognormal 0",
        ),
    ] {
        let parse = |line: &str| {
            let argv: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            catalog::parse(&argv, 1, 2).expect(line)
        };
        assert_eq!(parse(line).command(), command);
        assert_eq!(parse(command).command(), command);
        assert_eq!(parse(command).workload().setup(), parse(line).workload().setup());
    }
}

/// A worker spins for 2 ms by the clock and then waits for its message thread, which sleeps for 4 ms and up
/// to a quarter more, by timers with a slack of 50 us: 6 to 7.1 ms for each loop, whatever the number of
/// workers on idle CPUs.
#[test]
fn a_loop_of_the_old_schbench_is_a_spin_and_a_sleep() {
    let told = run("spr", "schbench-old -m 1 -t 1 -s 4000 -c 2000 -r 1");
    let loops = told.value("requests");
    assert!((1_000_000 / 7_300..=1_000_000 / 6_000).contains(&loops), "{loops}");
}

/// Two workers for each CPU, each of which spins by the clock: time passes while it waits for a CPU, too.
#[test]
fn a_spin_by_the_clock_ends_though_others_had_the_cpu() {
    let cpu_ns = |told: &Told| told.stats.total_cpu_time()[0] / told.value("requests");
    let alone = run("t8", "schbench-old -m 1 -t 4 -s 1000 -c 20000 -r 0.5");
    let full = run("t8", "schbench-old -m 1 -t 24 -s 1000 -c 20000 -r 0.5");
    let [alone, full] = [alone, full].map(|told| cpu_ns(&told));
    assert!((19_500_000..20_500_000).contains(&alone), "{alone}");
    assert!(full < alone * 3 / 4, "{full} of {alone}");
}

/// 60 requests a second of 1 ms each on idle CPUs: latency less the spin is that of a wakeup.
#[test]
fn the_old_schbench_hands_out_as_many_requests_as_said() {
    let told = run("spr", "schbench-old -m 1 -t 6 -R 60 -c 1000 -r 1");
    let requests = told.value("requests");
    assert!((52..=64).contains(&requests), "{requests}");
    assert!((1..=300).contains(&told.value("wakeup_latency_p50_us")), "{}", told.result.text);
}

#[test]
fn the_old_schbench_is_the_same_again() {
    let line = "schbench-old -m 2 -t 4 -s 1000 -c 500 -r 0.1 --lognormal 30";
    assert_eq!(run("t16", line).digest, run("t16", line).digest);
}

/// One on each core runs at full speed, one on each thread at the share of the machine file, and two on
/// each thread no faster than that: 56 cores of 2 threads a socket, 0.6.
#[test]
fn bogo_operations_follow_the_cores_that_are_there() {
    let rate = |n: u32| run("spr", &format!("stress-ng --cpu {n} -t 0.5")).value("bogo_ops");
    let [cores, threads, twice] = [112, 224, 448].map(rate);
    assert!((115..=125).contains(&(threads * 100 / cores)), "{cores} {threads}");
    assert!((95..=105).contains(&(twice * 100 / threads)), "{threads} {twice}");
    let alone = run("t16", "stress-ng --cpu 1 -t 0.5").value("bogo_ops");
    assert!((740..=760).contains(&alone), "half a second of 665 us each: {alone}");
}

/// One thread computes its list and the serial part, and fetches nothing: 13.2 us.
#[test]
fn a_model_of_one_thread_takes_its_list_and_its_serial_part() {
    let told = run("t16", "verilator --threads 1 --cycles 1000 --state 0");
    let cycle = told.result.elapsed_ns / 1000;
    assert!((13_200..13_600).contains(&cycle), "{cycle} ns, ticks and all");
}

/// Eight threads need three times in a cycle what another has stored, one line after another: what that
/// takes is the distance of their cores, 57 ns in an LLC and 150 across.
#[test]
fn a_cycle_waits_for_the_lines_that_pass_between_threads() {
    let cycle = |lines: u32| {
        let line = format!("verilator --cycles 2000 --state 0 --lines {lines}");
        run("spr", &line).result.elapsed_ns / 2000
    };
    let [none, some] = [cycle(0), cycle(40)];
    let each = (some - none) / (3 * 40);
    assert!((40..=160).contains(&each), "{each} ns for a line, {none} ns for a cycle");
}

/// Whoever waits is awake: eight threads keep eight CPUs busy, and the kernel hardly sees them.
#[test]
fn threads_of_a_model_spin_and_do_not_sleep() {
    let told = run("spr", "verilator --cycles 2000");
    let busy = told.stats.total_cpu_time()[0] / told.result.elapsed_ns;
    assert!((7..=8).contains(&busy), "{busy} CPUs");
    assert!(told.stats.wakeups() < 100, "{} wakeups", told.stats.wakeups());
}

/// On Genoa an LLC has 32 MiB: a state of 64 times as much comes from memory, cycle by cycle.
#[test]
fn a_state_that_no_cache_holds_slows_its_model() {
    let cycle = |kib: u32| {
        let line = format!("verilator --cycles 2000 --lines 0 --state {kib}");
        run("genoa", &line).result.elapsed_ns / 2000
    };
    let [small, large] = [cycle(1 << 10), cycle(1 << 21)];
    assert!(large * 10 > small * 11, "{small} {large}");
}
