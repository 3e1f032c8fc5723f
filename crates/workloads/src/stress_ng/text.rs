//! stress-ng as it is typed and as it prints.

use std::fmt::Write;

use simsched_core::{Nanos, Seed, Workload};

use super::{DONE, Metrics, START, STOP, StressNg};
use crate::args::{self, Given, OptionInfo};
use crate::benchmark::{BenchResult, Benchmark, MarkTimes, Ran, SpanTimes};
use crate::error::WorkloadError;
use crate::measured::{self, MAX_SECONDS, Measured, Points, two_places, typed};

/// The name of the program, and of its first process.
pub const NAME: &str = "stress-ng";

/// The options.
pub const OPTIONS: &[OptionInfo] = &[
    option('c', "cpu", Some("N"), "none", "start N processes that compute; 0 is one for each CPU"),
    option(
        't',
        "timeout",
        Some("T"),
        "86400",
        "stop after T seconds, or with a unit of s, m, h or d; fractions are allowed",
    ),
    option('M', "metrics", None, "off", "tell bogo operations and times, and CPU for each process"),
    OptionInfo::long("metrics-brief", None, "off", "tell bogo operations and times"),
    option('h', "help", None, "", "print this list and do nothing else"),
];

const fn option(
    short: char,
    long: &'static str,
    value: Option<&'static str>,
    default: &'static str,
    doc: &'static str,
) -> OptionInfo {
    OptionInfo { short: Some(short), long: Some(long), value, default, doc }
}

/// How long it runs unless it is told: a day.
const DEFAULT: Nanos = Nanos::from_secs(86_400);

/// The stress-ng that these options mean on a machine of so many CPUs.
///
/// # Errors
/// One sentence that names what is wrong.
pub fn parse(args: &[String], nr_cpus: usize) -> Result<StressNg, WorkloadError> {
    let (mut cpus, mut length, mut metrics) = (None, DEFAULT, Metrics::None);
    let (given, words) = args::parse_with_words(NAME, OPTIONS, args)?;
    for given in given {
        match given.option.long.unwrap_or_default() {
            "cpu" => cpus = Some(stressors(given, nr_cpus)?),
            "timeout" => length = timeout(given)?,
            "metrics" => metrics = Metrics::Full,
            "metrics-brief" => metrics = Metrics::Brief,
            _ => return Err(WorkloadError::Help { program: NAME }),
        }
    }
    if let Some(word) = words.first() {
        return Err(usage(format!("Error: unrecognised option: {word}")));
    }
    let cpus = cpus.ok_or_else(|| usage("No stress workers invoked".to_owned()))?;
    let stress = StressNg { cpus, length, metrics };
    stress.check().map(|()| stress)
}

fn stressors(Given { value, .. }: Given<'_>, nr_cpus: usize) -> Result<u32, WorkloadError> {
    let digits = value.strip_prefix('-').unwrap_or(value);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(usage(format!("Value {value} contains non-numeric: '{value}'")));
    }
    let number: i64 = value.parse().map_err(|_| usage(format!("Value {value} is out of range")))?;
    // As many as there are CPUs online for 0, and configured below.
    let number = if number <= 0 { nr_cpus.max(1) as u64 } else { number.unsigned_abs() };
    Ok(u32::try_from(number).unwrap_or(u32::MAX))
}

fn timeout(Given { value, .. }: Given<'_>) -> Result<Nanos, WorkloadError> {
    let units = [('s', 1), ('m', 60), ('h', 3600), ('d', 86_400)];
    let unit = units.iter().find(|(unit, _)| value.ends_with(*unit));
    let number = unit.map_or(value, |(unit, _)| value.trim_end_matches(*unit));
    let span = measured::seconds(number).ok_or_else(|| usage(format!("Invalid number {value}")))?;
    let span = Nanos(span.get() * unit.map_or(1, |(_, seconds)| *seconds));
    match span.get() {
        0 => Err(usage("--timeout 0 cannot be simulated: it runs for ever".to_owned())),
        ns if ns > MAX_SECONDS * 1_000_000_000 => {
            Err(usage(format!("Invalid number {value}: at most {MAX_SECONDS} seconds")))
        }
        _ => Ok(span),
    }
}

fn usage(what: String) -> WorkloadError {
    WorkloadError::Usage { program: NAME, what }
}

/// A length in words, as version 0.15 says it before a run.
fn in_words(length: Nanos) -> String {
    let seconds = length.get() / 1_000_000_000;
    let mut text = format!("{} second", typed(length));
    if seconds < 60 {
        return text;
    }
    let mut parts = String::new();
    for (unit, size, wrap) in [("day", 86_400, u64::MAX), ("hour", 3600, 24), ("min", 60, 60)] {
        let count = seconds / size % wrap;
        if count > 0 {
            let plural = if count > 1 { "s" } else { "" };
            let _ = write!(parts, "{count} {unit}{plural}, ");
        }
    }
    let milli = length.get() / 1_000_000 % 60_000;
    let _ = write!(text, " ({parts}{} secs)", two_places(milli));
    text
}

/// stress-ng, to be run with a seed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    pub(crate) stress: StressNg,
    pub(crate) seed: u64,
}

/// The beginning of a line; the process has the number 1 here.
fn line(kind: &str, rest: &str) -> String {
    format!("{NAME}: {kind} [1] {rest}")
}

impl Run {
    fn measured(marks: &[MarkTimes]) -> Measured {
        Measured::of(marks, Points { start: START, apart: false, stop: STOP, parties: 1 }, &[DONE])
    }

    /// The table, of processes that have used so much CPU time.
    fn table(&self, measured: Measured, [user, system]: [u64; 2]) -> Vec<String> {
        let seconds = |ns: u64| two_places(ns / 1_000_000);
        let rate = |ns: u64| {
            let milli = u128::from(measured.count) * 1_000_000_000_000;
            two_places(u64::try_from(milli / u128::from(ns.max(1))).unwrap_or(u64::MAX))
        };
        let real = measured.elapsed_ns;
        let used = u128::from(user + system) * 100_000;
        let each = used / u128::from(real.max(1)) / u128::from(self.stress.cpus);
        let each = two_places(u64::try_from(each).unwrap_or(u64::MAX));
        let mut rows = [
            format!(
                "{:<13} {:>9.9} {:>9.9} {:>9.9} {:>9.9} {:>12} {:>14}",
                "stressor",
                "bogo ops",
                "real time",
                "usr time",
                "sys time",
                "bogo ops/s",
                "bogo ops/s",
            ),
            format!(
                "{:<13} {:>9.9} {:>9.9} {:>9.9} {:>9.9} {:>12} {:>14}",
                "", "", "(secs) ", "(secs) ", "(secs) ", "(real time)", "(usr+sys time)",
            ),
            format!(
                "{:<13} {:>9} {:>9} {:>9} {:>9} {:>12} {:>14}",
                "cpu",
                measured.count,
                seconds(real),
                seconds(user),
                seconds(system),
                rate(real),
                rate(user + system),
            ),
        ];
        if self.stress.metrics == Metrics::Full {
            // There is no memory, so nothing is resident.
            for (row, more) in rows.iter_mut().zip([
                format!(" {:>12.12} {:>13.13}", "CPU used per", "RSS Max"),
                format!(" {:>12} {:>13}", "instance (%)", "(KB)"),
                format!(" {each:>12} {:>13}", 0),
            ]) {
                row.push_str(&more);
            }
        }
        rows.map(|row| line("metrc:", &row)).to_vec()
    }
}

impl Benchmark for Run {
    fn command(&self) -> String {
        let StressNg { cpus, length, metrics } = self.stress;
        let table = match metrics {
            Metrics::None => "",
            Metrics::Brief => " --metrics-brief",
            Metrics::Full => " --metrics",
        };
        format!("{NAME} --cpu {cpus} --timeout {}{table}", typed(length))
    }

    fn banner(&self) -> String {
        let StressNg { cpus, length, .. } = self.stress;
        let action = if length == DEFAULT { "defaulting" } else { "setting" };
        let length = format!("{action} to a {} run per stressor", in_words(length));
        let hogs = format!("dispatching hogs: {cpus} cpu");
        [length, hogs].map(|rest| line("info: ", &rest)).join("\n")
    }

    fn lasts(&self) -> Option<Nanos> {
        Some(self.stress.length)
    }

    fn workload(&self) -> Box<dyn Workload + Send> {
        let programs = self.stress.build(Seed(self.seed));
        Box::new(programs.expect("the options were checked when they were read"))
    }

    fn result(&self, marks: &[MarkTimes], _: &[SpanTimes]) -> BenchResult {
        let measured = Run::measured(marks);
        let throughput_milli = measured.rate_milli(1);
        let mut values =
            vec![("stressors", u64::from(self.stress.cpus)), ("bogo_ops", measured.count)];
        values.extend(throughput_milli.map(|milli| ("bogo_ops_per_second", milli / 1000)));
        let text = "stress-ng: not finished".to_owned();
        BenchResult { text, elapsed_ns: measured.elapsed_ns, throughput_milli, values }
    }

    fn result_of(&self, ran: &Ran<'_>) -> BenchResult {
        let measured = Run::measured(ran.marks);
        let mut result = self.result(ran.marks, ran.spans);
        if measured.elapsed_ns > 0 {
            let mut lines = match self.stress.metrics {
                Metrics::None => Vec::new(),
                _ => self.table(measured, ran.cpu_ns),
            };
            let length = two_places(measured.elapsed_ns / 1_000_000);
            lines.push(line("info: ", &format!("successful run completed in {length}s")));
            result.text = lines.join("\n");
        }
        result
    }
}
