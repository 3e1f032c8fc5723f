//! `Folder`: the results of runs as mmtests lays them out, for its `compare-mmtests.pl`.
//!
//! Below a folder for each name follow `iter-N/BENCHMARK/logs/` with what the program has printed. The
//! benchmarks' names, those of the files, and the lines that are looked for in them are those of
//! `shellpack_src/src/*` of mmtests (github.com/gormanm/mmtests, 2026).

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::output::{self, Whole};
use crate::report::{End, Report};

/// Where mmtests looks for the results of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Place {
    benchmark: String,
    /// The log of one run.
    file: String,
    extra: Extra,
}

/// What mmtests needs beside what the program prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Extra {
    Nothing,
    /// The time as `perf bench sched messaging` tells it, which is its hackbench.
    TotalTime,
    /// The line that ends each table of schbench; shorter runs than its interval have none.
    CurrentRps,
    /// A file that names the protocol of netperf.
    Protocol,
}

/// The results that are to be written.
pub(crate) struct Folder {
    dir: PathBuf,
    /// One for each policy.
    names: Vec<String>,
}

/// Ctrl-C: some iterations there are not. Says so, and that nothing is written.
pub(crate) fn stopped() -> Failure {
    output::say(
        "--mmtests: nothing is written: mmtests reads all iterations, and some were stopped",
    );
    Failure::Interrupted
}

/// One run: its report, and what its program has printed.
pub(crate) type Run<'a> = (&'a Report, &'a str);

impl Folder {
    /// Results of this command under these policies below `dir`, if that is given; nothing is written yet.
    ///
    /// # Errors
    /// One sentence about a folder that cannot be made, or that has such results already, or about a
    /// command that mmtests has no place for.
    pub(crate) fn of(
        dir: Option<&Path>,
        policies: &[&str],
        command: &str,
    ) -> Result<Option<Folder>, Failure> {
        let Some(dir) = dir else { return Ok(None) };
        let place = place_of(command)?;
        if dir.is_file() {
            let what = "found a file, expected a folder";
            return Err(Failure::Input(format!("--mmtests: {}: {what}", dir.display())));
        }
        fs::create_dir_all(dir).map_err(|error| Failure::file(dir, &error))?;
        let names = names_of(policies);
        for name in &names {
            let logs = place.logs(&dir.join(name), 0);
            output::temporary::sweep_folder(&logs);
            let log = logs.join(&place.file);
            if log.exists() {
                let (found, own) = (log.display(), dir.join(name));
                let text = "found results of an earlier run, perhaps of one that was cut off";
                let mend =
                    format!("expected none: delete {}, or name another folder", own.display());
                return Err(Failure::Input(format!("--mmtests: {found}: {text}, {mend}")));
            }
        }
        Ok(Some(Folder { dir: dir.to_owned(), names }))
    }

    /// Writes the runs of the policy at this place of the list, the first seed as the first iteration.
    ///
    /// # Errors
    /// What cannot be written; and a run that has not come to its end. Nothing of these runs is left then.
    pub(crate) fn write(&self, policy: usize, runs: &[Run<'_>]) -> Result<(), Failure> {
        let mut files = Vec::new();
        let written = self.write_all(policy, runs, &mut files);
        if written.is_err() {
            // What cannot be removed is found by the next run, which says so.
            files.iter().for_each(|file| drop(fs::remove_file(file)));
        }
        written
    }

    /// Writes the runs, and tells in `files` what was written.
    fn write_all(
        &self,
        policy: usize,
        runs: &[Run<'_>],
        files: &mut Vec<PathBuf>,
    ) -> Result<(), Failure> {
        for (nth, (report, text)) in runs.iter().enumerate() {
            if report.end != End::Finished {
                let seed = report.scenario.seed;
                let text = "was stopped before its end, and mmtests reads whole runs";
                return Err(Failure::Input(format!("--mmtests: the run with seed {seed} {text}")));
            }
            let place = place_of(&report.scenario.workload)?;
            let own = self.dir.join(&self.names[policy]);
            let logs = place.logs(&own, nth);
            fs::create_dir_all(&logs).map_err(|error| Failure::file(&logs, &error))?;
            let mut write = |file: PathBuf, text: &str| -> Result<(), Failure> {
                Whole::begin(&file)?.write(text)?;
                files.push(file);
                Ok(())
            };
            write(logs.join(&place.file), &place.log(report, text))?;
            if place.extra == Extra::Protocol {
                let protocol = place.file.split('-').next().unwrap_or_default();
                write(logs.join("protocols"), &format!("{protocol}\n"))?;
            }
            let times = timestamps(&place.benchmark, report);
            write(own.join(format!("iter-{nth}/tests-timestamp")), &times)?;
        }
        Ok(())
    }
}

impl Place {
    /// The folder of the logs of an iteration of what is in the folder `own`.
    fn logs(&self, own: &Path, iteration: usize) -> PathBuf {
        own.join(format!("iter-{iteration}")).join(&self.benchmark).join("logs")
    }

    fn log(&self, report: &Report, text: &str) -> String {
        let mut log = text.to_owned();
        match self.extra {
            Extra::TotalTime => {
                let elapsed = seconds(report.elapsed_ns.unwrap_or(0));
                let _ = writeln!(log, "\n     Total time: {elapsed} [sec]");
            }
            Extra::CurrentRps if !text.contains("current rps: ") => {
                let average = text.lines().find_map(|line| line.strip_prefix("average rps: "));
                let _ = writeln!(log, "current rps: {}", average.unwrap_or("0.00"));
            }
            _ => {}
        }
        log
    }
}

/// When the test ran, in seconds since the machine started, and what it took (`/usr/bin/time`).
fn timestamps(benchmark: &str, report: &Report) -> String {
    let (time, whole) = match &report.whole {
        Some(whole) => (&whole.cpu_time_ns, whole.simulated_ns),
        None => (&report.cpu_time_ns, report.simulated_ns),
    };
    let (user, system) = (seconds(time.user), seconds(time.system));
    let elapsed = seconds(whole);
    let end = whole.div_ceil(1_000_000_000);
    format!(
        "start :: 0\ntest begin :: {benchmark} 0\n\
         time :: {benchmark} {user} user {system} system {elapsed} elapsed\n\
         test end :: {benchmark} {end} 0\nfinish :: {end}\n"
    )
}

fn seconds(ns: u64) -> String {
    format!("{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000)
}

/// A policy as the name of a folder that `compare-mmtests.pl -n` takes, which splits at commas.
fn name_of(policy: &str) -> String {
    let plain = |c: char| if matches!(c, ',' | '/') || c.is_whitespace() { '_' } else { c };
    policy.chars().map(plain).collect()
}

/// A name for each policy. Of those that would share one, as a policy that is compared with itself, the
/// second is `NAME-2`, and so on.
fn names_of(policies: &[&str]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for policy in policies {
        let name = name_of(policy);
        let others = (2..).map(|nth| format!("{name}-{nth}"));
        let free = std::iter::once(name.clone()).chain(others).find(|name| !names.contains(name));
        names.push(free.unwrap_or(name));
    }
    names
}

/// Where the output of a command belongs, which names all options that matter.
fn place_of(command: &str) -> Result<Place, Failure> {
    let words: Vec<&str> = command.split_whitespace().collect();
    let has = |option: &str| words.contains(&option);
    let value = |option: &str| {
        let behind = words.iter().position(|word| *word == option).and_then(|at| words.get(at + 1));
        let joined = words.iter().find_map(|word| word.strip_prefix(option)?.strip_prefix('='));
        behind.copied().or(joined).unwrap_or("1")
    };
    let place = |benchmark: &str, file: String, extra| {
        Ok(Place { benchmark: benchmark.to_owned(), file, extra })
    };
    let refused = |why: &str| Err(Failure::Input(format!("--mmtests: `{command}`: {why}")));
    match words.first().copied().unwrap_or_default() {
        "hackbench" => {
            let mode = if has("-T") { "thread" } else { "process" };
            let channel = if has("-p") { "pipes" } else { "sockets" };
            let benchmark = format!("hackbench-{mode}-{channel}");
            place(&benchmark, format!("hackbench-{}", value("-g")), Extra::TotalTime)
        }
        "schbench" if has("-p") => refused("mmtests reads tables of requests, expected no -p"),
        "schbench" => place("schbench", format!("schbench-{}.log", value("-t")), Extra::CurrentRps),
        "netperf" if value("-n") != "1" => refused("mmtests runs one netperf, expected -n 1"),
        "netperf" => {
            let protocol = value("-t");
            // The send buffer, which the program does not let one choose, or a byte to and fro.
            let (benchmark, size) = match protocol {
                "TCP_RR" => ("netperf-ipv4-tcp-rr", "1"),
                "UDP_RR" => ("netperf-ipv4-udp-rr", "1"),
                _ => ("netperf-ipv4-tcp", "16384"),
            };
            place(benchmark, format!("{protocol}-{size}.1"), Extra::Protocol)
        }
        "stream" => place("stream", format!("benchlog-{}-_-1", value("--threads")), Extra::Nothing),
        "stress-ng" if !has("--metrics-brief") && !has("--metrics") => {
            refused("mmtests reads its table of operations, expected --metrics-brief")
        }
        "stress-ng" => {
            place("stressng", format!("stressng-{}-1.log", value("--cpu")), Extra::Nothing)
        }
        "sysbench" => {
            place("sysbench", format!("sysbench-raw-{}-1", value("--threads")), Extra::Nothing)
        }
        _ => refused(
            "mmtests has no place for it, expected hackbench, schbench, netperf, stream, stress-ng or sysbench",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(command: &str) -> (String, String) {
        let place = place_of(command).unwrap();
        (place.benchmark, place.file)
    }

    /// The names of `drivers/driver-*.sh` and of the logs of `shellpack_src/src/*/*-bench`.
    #[test]
    fn each_program_has_the_place_where_mmtests_looks() {
        let pairs = [
            ("hackbench -g 4 -f 20 -l 9 -s 100 -T -p", "hackbench-thread-pipes", "hackbench-4"),
            ("hackbench -g 1 -f 20 -l 9 -s 100 -P", "hackbench-process-sockets", "hackbench-1"),
            ("schbench -m 2 -t 16 -r 30", "schbench", "schbench-16.log"),
            ("netperf -t TCP_STREAM -n 1 -l 10", "netperf-ipv4-tcp", "TCP_STREAM-16384.1"),
            ("netperf -t UDP_RR -n 1 -l 10", "netperf-ipv4-udp-rr", "UDP_RR-1.1"),
            ("stream --threads 8 --ntimes 10", "stream", "benchlog-8-_-1"),
            ("stress-ng --cpu 2 --timeout 1 --metrics-brief", "stressng", "stressng-2-1.log"),
            ("sysbench oltp_read_write --threads=3 --time=1 run", "sysbench", "sysbench-raw-3-1"),
        ];
        for (command, benchmark, file) in pairs {
            assert_eq!(found(command), (benchmark.to_owned(), file.to_owned()), "{command}");
        }
    }

    #[test]
    fn what_mmtests_does_not_read_is_refused() {
        for (command, why) in [
            ("tbench 4 -t 10 --warmup 0", "has no place for it"),
            ("netperf -t TCP_RR -n 2 -l 10", "expected -n 1"),
            ("stress-ng --cpu 2 --timeout 1", "expected --metrics-brief"),
            ("schbench -m 1 -t 2 -r 1 -p 4096", "expected no -p"),
        ] {
            let refused = place_of(command).unwrap_err().to_string();
            assert!(refused.contains(why) && refused.contains(command), "{refused}");
        }
    }

    #[test]
    fn a_name_has_nothing_that_compare_mmtests_would_split() {
        assert_eq!(name_of("cfs@6.5+wakeup_bias_prev"), "cfs@6.5+wakeup_bias_prev");
        assert_eq!(name_of("cfs+a=1,2/3 x"), "cfs+a=1_2_3_x");
    }

    #[test]
    fn two_policies_never_share_a_name() {
        assert_eq!(names_of(&["cfs", "eevdf", "cfs", "cfs"]), ["cfs", "eevdf", "cfs-2", "cfs-3"]);
        assert_eq!(names_of(&["a=1,2", "a=1/2", "a=1_2-2"]), ["a=1_2", "a=1_2-2", "a=1_2-2-2"]);
    }
}
