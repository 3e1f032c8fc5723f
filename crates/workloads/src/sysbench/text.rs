//! sysbench as it is typed and as it prints.

use simsched_core::{Nanos, Seed, Workload};

use super::{Class, DONE, START, STOP, Sysbench, per_transaction};
use crate::args::{self, Given, OptionInfo};
use crate::benchmark::{BenchResult, Benchmark, MarkTimes, SpanTimes};
use crate::error::WorkloadError;
use crate::measured::{self, MAX_SECONDS, Measured, Points, latencies, two_places, typed};

/// The name of the program, and of its tasks.
pub const NAME: &str = "sysbench";

/// The options; the test and the command are words of their own.
pub const OPTIONS: &[OptionInfo] = &[
    OptionInfo::long("threads", Some("N"), "1", "threads that run transactions"),
    OptionInfo::long("time", Some("SECONDS"), "10", "seconds to run; fractions are allowed"),
    OptionInfo::long(
        "help",
        None,
        "",
        "print this list and do nothing else; the words are oltp_read_write and run",
    ),
];

/// The sysbench that these options mean.
///
/// # Errors
/// One sentence that names the option and what is wrong with it.
pub fn parse(args: &[String]) -> Result<Sysbench, WorkloadError> {
    let mut sysbench = Sysbench::default();
    let (options, words) = args::parse_with_words(NAME, OPTIONS, args)?;
    for given in options {
        match given.option.long.unwrap_or_default() {
            "threads" => {
                let number = given.value.parse().ok().filter(|number| *number > 0);
                sysbench.threads = number.ok_or_else(|| expected(given, "an integer > 0"))?;
            }
            "time" => {
                let length = measured::seconds(given.value).filter(|length| length.get() > 0);
                let wanted = format!("seconds, more than 0 and at most {MAX_SECONDS}");
                sysbench.length = length.ok_or_else(|| expected(given, &wanted))?;
            }
            _ => return Err(WorkloadError::Help { program: NAME }),
        }
    }
    check_words(&words)?;
    sysbench.check().map(|()| sysbench)
}

fn check_words(words: &[&str]) -> Result<(), WorkloadError> {
    let what = match words {
        [] | ["oltp_read_write"] | ["oltp_read_write", "run"] => return Ok(()),
        ["oltp_read_write", "run", word, ..] => format!("unexpected argument '{word}'"),
        ["oltp_read_write", word, ..] => format!("found the command '{word}', expected run"),
        [word, ..] => format!("found the test '{word}', expected oltp_read_write"),
    };
    Err(usage(what))
}

fn expected(Given { option, value }: Given<'_>, what: &str) -> WorkloadError {
    usage(format!("--{}: found '{value}', expected {what}", option.long.unwrap_or_default()))
}

fn usage(what: String) -> WorkloadError {
    WorkloadError::Usage { program: NAME, what }
}

/// sysbench, to be run with a seed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    pub(crate) sysbench: Sysbench,
    pub(crate) seed: u64,
}

impl Run {
    fn text(&self, measured: Measured, spans: &[SpanTimes]) -> String {
        let count = measured.count;
        let of = |class| count * per_transaction(class);
        let [reads, writes, other] = [Class::Read, Class::Write, Class::Other].map(of);
        let queries = reads + writes + other;
        let per_second = |each| two_places(measured.rate_milli(each).unwrap_or(0));
        let milliseconds = |ns: u64| two_places(ns / 1000);
        let span = spans.first().copied().unwrap_or_default();
        let mean = span.sum_ns.checked_div(span.count).unwrap_or(0);
        let threads = u64::from(self.sysbench.threads);
        let ten_thousandths = measured.elapsed_ns / 100_000;
        let (seconds, rest) = (ten_thousandths / 10_000, ten_thousandths % 10_000);
        let events = u128::from(measured.in_span) * 10_000_000_000_000;
        let eps = events / u128::from(measured.span_ns.max(1));
        format!(
            "SQL statistics:\n    queries performed:\n        \
             read:                            {reads}\n        \
             write:                           {writes}\n        \
             other:                           {other}\n        \
             total:                           {queries}\n    \
             transactions:                        {count:<6} ({} per sec.)\n    \
             queries:                             {queries:<6} ({} per sec.)\n    \
             ignored errors:                      {:<6} (0.00 per sec.)\n    \
             reconnects:                          {:<6} (0.00 per sec.)\n\n\
             Throughput:\n    \
             events/s (eps):                      {}.{:04}\n    \
             time elapsed:                        {seconds}.{rest:04}s\n    \
             total number of events:              {count}\n\n\
             Latency (ms):\n         min: {:>39}\n         avg: {:>39}\n         max: {:>39}\n        \
             {:>3}th percentile: {:>27}\n         sum: {:>39}\n\n\
             Threads fairness:\n    events (avg):                  {}.{:04}",
            per_second(1),
            per_second(queries.checked_div(count).unwrap_or(0)),
            0,
            0,
            eps / 10_000,
            eps % 10_000,
            milliseconds(span.min_ns),
            milliseconds(mean),
            milliseconds(span.max_ns),
            95,
            milliseconds(span.p95_ns),
            milliseconds(span.sum_ns),
            count / threads,
            count % threads * 10_000 / threads,
        )
    }
}

impl Benchmark for Run {
    fn command(&self) -> String {
        let Sysbench { threads, length } = self.sysbench;
        format!("{NAME} oltp_read_write --threads={threads} --time={} run", typed(length))
    }

    fn banner(&self) -> String {
        format!(
            "Running the test with following options:\nNumber of threads: {}\n\
             Initializing random number generator from seed ({})\n\n\n\
             Initializing worker threads...\n\nThreads started!\n",
            self.sysbench.threads, self.seed,
        )
    }

    fn lasts(&self) -> Option<Nanos> {
        Some(self.sysbench.length)
    }

    fn workload(&self) -> Box<dyn Workload + Send> {
        let programs = self.sysbench.build(Seed(self.seed));
        Box::new(programs.expect("the options were checked when they were read"))
    }

    fn result(&self, marks: &[MarkTimes], spans: &[SpanTimes]) -> BenchResult {
        let threads = u64::from(self.sysbench.threads);
        let points = Points { start: START, apart: false, stop: STOP, parties: threads };
        let measured = Measured::of(marks, points, &[DONE]);
        let throughput_milli = measured.rate_milli(1);
        let mut values = vec![("threads", threads), ("transactions", measured.count)];
        values.extend(throughput_milli.map(|milli| ("transactions_per_second", milli / 1000)));
        values.extend(latencies(spans));
        let text = match measured.elapsed_ns {
            0 => "SQL statistics: not finished".to_owned(),
            _ => self.text(measured, spans),
        };
        BenchResult { text, elapsed_ns: measured.elapsed_ns, throughput_milli, values }
    }
}
