//! The old schbench as it is typed and as it prints.

use std::fmt::Write;

use simsched_core::{Nanos, Seed, Workload};

use super::program::{DONE, START, STOP, Threads};
use super::{MAX_THREADS, SchbenchOld};
use crate::args::{self, Given, OptionInfo, number};
use crate::benchmark::{BenchResult, Benchmark, LeastPart, MarkTimes, SpanTimes};
use crate::buckets::Buckets;
use crate::error::WorkloadError;
use crate::measured::{self, MAX_SECONDS, Measured, Points, pretty, typed};

/// The name by which it is known here; its tasks are called `schbench`.
pub const NAME: &str = "schbench-old";

/// The options, in the order of the program's own help.
pub const OPTIONS: &[OptionInfo] = &[
    number('m', "message-threads", "N", "2", "message threads"),
    number('t', "threads", "N", "16", "worker threads of each message thread"),
    number('r', "runtime", "SECONDS", "30", "how long to run; fractions are allowed"),
    number('s', "sleeptime", "USEC", "30000", "how long a message thread sleeps before it answers"),
    number('c', "cputime", "USEC", "30000", "how long a worker spins"),
    OptionInfo {
        short: Some('a'),
        long: Some("auto"),
        value: None,
        default: "off",
        doc: "run again with more threads until latencies hurt; cannot be simulated",
    },
    number('p', "pipe", "BYTES", "0", "hand so much to and fro; no sleep and no spin unless given"),
    number('R', "rps", "N", "0", "requests a second that message threads hand out; 0 is off"),
    OptionInfo::long(
        "lognormal",
        Some("PERCENT"),
        "0",
        "standard deviation of sleeps and spins; not in the real one",
    ),
    OptionInfo::long("help", None, "", "print this list and do nothing else"),
];

/// The most bytes of `-p`.
const MAX_PIPE: u32 = 1 << 20;

/// The old schbench that these options mean.
///
/// # Errors
/// One sentence that names the option and what is wrong with it.
pub(crate) fn parse(args: &[String]) -> Result<Run, WorkloadError> {
    let usual = Nanos::from_millis(30);
    let mut old = SchbenchOld {
        messengers: 2,
        workers: 16,
        runtime: Nanos::from_secs(30),
        sleep: usual,
        cpu: usual,
        pipe: 0,
        rps: 0,
        lognormal: 0,
    };
    let (mut sleep, mut cpu, mut note) = (None, None, String::new());
    let micros = |given| integer(given, 0).map(|us| Some(Nanos::from_micros(u64::from(us))));
    let (given, words) = args::parse_with_words(NAME, OPTIONS, args)?;
    for given in given {
        match given.option.short.or(given.option.long.and_then(|long| long.chars().next())) {
            Some('m') => old.messengers = integer(given, 1)?,
            Some('t') => old.workers = integer(given, 1)?,
            Some('r') => {
                let length = measured::seconds(given.value).filter(|length| length.get() > 0);
                let wanted = format!("seconds, more than 0 and at most {MAX_SECONDS}");
                old.runtime = length.ok_or_else(|| expected(given, &wanted))?;
            }
            Some('s') => sleep = micros(given)?,
            Some('c') => cpu = micros(given)?,
            Some('p') => {
                old.pipe = integer(given, 0)?;
                (old.sleep, old.cpu) = (Nanos::ZERO, Nanos::ZERO);
                if old.pipe > MAX_PIPE {
                    note = format!("pipe size too big, using {MAX_PIPE}");
                    old.pipe = MAX_PIPE;
                }
            }
            Some('R') => old.rps = integer(given, 0)?,
            Some('l') => old.lognormal = integer(given, 0)?.min(1000),
            Some('a') => {
                return Err(usage("--auto|-a cannot be simulated: it is many runs".into()));
            }
            _ => return Err(WorkloadError::Help { program: NAME }),
        }
    }
    if let Some(word) = words.first() {
        return Err(usage(format!("Error Extra arguments '{word}'")));
    }
    (old.sleep, old.cpu) = (sleep.unwrap_or(old.sleep), cpu.unwrap_or(old.cpu));
    old.check()?;
    Ok(Run { old, seed: 0, note })
}

impl SchbenchOld {
    fn check(&self) -> Result<(), WorkloadError> {
        let count = u64::from(self.messengers) * (u64::from(self.workers) + 1);
        if count > MAX_THREADS {
            return Err(WorkloadError::TooMany { what: "threads", count, limit: MAX_THREADS });
        }
        // The real one divides by these.
        if self.rps > 0 && (self.workers < 2 || self.rps < self.messengers) {
            return Err(usage("-R: two thirds of the workers, or a share of it, are none".into()));
        }
        if self.sleep > Nanos::ZERO && self.sleep < Nanos::from_micros(4) {
            return Err(usage("-s: a quarter of it is nothing".into()));
        }
        Ok(())
    }
}

fn integer(given: Given<'_>, least: u32) -> Result<u32, WorkloadError> {
    let number = given.value.parse().ok().filter(|number| *number >= least);
    number
        .filter(|number| *number <= i32::MAX as u32)
        .ok_or_else(|| expected(given, &format!("an integer >= {least}")))
}

fn expected(Given { option, value }: Given<'_>, what: &str) -> WorkloadError {
    let name = match option.short {
        Some(short) => format!("-{short}"),
        None => format!("--{}", option.long.unwrap_or_default()),
    };
    usage(format!("{name}: found '{value}', expected {what}"))
}

fn usage(what: String) -> WorkloadError {
    WorkloadError::Usage { program: NAME, what }
}

/// The percentiles that it prints.
const PERCENTS: [f64; 7] = [50.0, 75.0, 90.0, 95.0, 99.0, 99.5, 99.9];
const P95: usize = 3;
const P99: usize = 4;

/// Its table. The least is 0 whatever there was: all begin with that.
pub(super) fn table(of: &Buckets) -> String {
    let mut text = String::from("Latency percentiles (usec)");
    for (row, (percent, at)) in PERCENTS.iter().zip(of.percentiles(PERCENTS)).enumerate() {
        let star = if row == P99 { "*" } else { "" };
        let _ = write!(text, "\n\t{star}{percent:.1}th: {}", at.value);
    }
    text + &format!("\n\tmin=0, max={}", of.most())
}

/// The line of `-p`, for so many hundredths of a loop a second.
pub(super) fn transfers(rate: u128, bytes: u32) -> String {
    let size = pretty(rate * u128::from(bytes));
    format!("\navg worker transfer: {}.{:02} ops/sec {size}/s", rate / 100, rate % 100)
}

/// The line of `-R`, for so many hundredths of a request a second.
pub(super) fn rates(rate: u128, of: &Buckets, cpu: Nanos) -> String {
    let found = of.percentiles(PERCENTS);
    let micros = u64::max(cpu.get() / 1000, 1);
    let [p95, p99] = [P95, P99].map(|row| u64::from(found[row].value));
    let part = |us: u64| {
        let hundredths = (us * 10_000 + micros / 2) / micros;
        format!("{}.{:02}%", hundredths / 100, hundredths % 100)
    };
    format!(
        "\nrps: {}.{:02} p95 (usec) {p95} p99 (usec) {p99} p95/cputime {} p99/cputime {}",
        rate / 100,
        rate % 100,
        part(p95),
        part(p99),
    )
}

/// Its percentiles by name.
pub(super) fn values(of: &Buckets) -> Vec<(&'static str, u64)> {
    if of.samples() == 0 {
        return Vec::new();
    }
    let [p50, _, p90, _, p99, _, p99_9] = of.percentiles(PERCENTS).map(|at| u64::from(at.value));
    vec![
        ("wakeup_latency_p50_us", p50),
        ("wakeup_latency_p90_us", p90),
        ("wakeup_latency_p99_us", p99),
        ("wakeup_latency_p99_9_us", p99_9),
    ]
}

/// The old schbench, to be run with a seed.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    pub(crate) old: SchbenchOld,
    pub(crate) seed: u64,
    /// What it says at its start.
    note: String,
}

impl Run {
    /// The same with this seed.
    pub(crate) fn seeded(self, seed: u64) -> Run {
        Run { seed, ..self }
    }
}

impl Benchmark for Run {
    fn command(&self) -> String {
        let SchbenchOld { messengers, workers, runtime, sleep, cpu, pipe, rps, lognormal } =
            self.old;
        let micros = |span: Nanos| span.get() / 1000;
        let mut text = format!("{NAME} -m {messengers} -t {workers} -r {}", typed(runtime));
        let _ = write!(text, " -s {} -c {}", micros(sleep), micros(cpu));
        for (name, value) in [("-p", pipe), ("-R", rps), ("--lognormal", lognormal)] {
            if value > 0 {
                let _ = write!(text, " {name} {value}");
            }
        }
        text
    }

    fn banner(&self) -> String {
        self.note.clone()
    }

    fn lasts(&self) -> Option<Nanos> {
        Some(self.old.runtime)
    }

    fn workload(&self) -> Box<dyn Workload + Send> {
        Box::new(Threads::new(self.old, Seed(self.seed)))
    }

    /// As much as its successor takes for its percentiles.
    fn least_part(&self) -> LeastPart {
        if self.old.pipe == 0 { LeastPart::Span(Nanos::from_secs(10)) } else { LeastPart::Any }
    }

    fn result(&self, marks: &[MarkTimes], _: &[SpanTimes]) -> BenchResult {
        let SchbenchOld { messengers, workers, .. } = self.old;
        let points = Points { start: START, apart: false, stop: STOP, parties: 1 };
        let measured = Measured::of(marks, points, &[DONE]);
        let throughput_milli = measured.rate_milli(1);
        let workers = u64::from(messengers) * u64::from(workers);
        let mut values = vec![("workers", workers), ("requests", measured.count)];
        values.extend(throughput_milli.map(|milli| ("requests_per_second", milli / 1000)));
        let text = "schbench: not finished".to_owned();
        BenchResult { text, elapsed_ns: measured.elapsed_ns, throughput_milli, values }
    }
}
