//! STREAM as it is typed and as it prints.

use std::fmt::Write;

use simsched_core::{Seed, Stores, Workload};

use super::{KERNELS, Kernel, START, STOP, Stream};
use crate::args::{self, Given, OptionInfo};
use crate::benchmark::{BenchResult, Benchmark, LeastPart, MarkTimes, SpanTimes};
use crate::error::WorkloadError;

/// The name of the program, and of its tasks.
pub const NAME: &str = "stream";

/// The options: what the real one is told by macros when it is compiled, and by its environment.
pub const OPTIONS: &[OptionInfo] = &[
    OptionInfo::long(
        "threads",
        Some("N"),
        "the machine's CPUs",
        "how many threads (OMP_NUM_THREADS)",
    ),
    OptionInfo::long(
        "array-size",
        Some("N"),
        "10000000",
        "elements of 8 bytes of an array (STREAM_ARRAY_SIZE); make it four times the caches",
    ),
    OptionInfo::long(
        "ntimes",
        Some("N"),
        "10",
        "how often each loop is done (NTIMES); the first does not count",
    ),
    OptionInfo::long(
        "non-temporal",
        None,
        "off",
        "stores go around the caches, so that no line is fetched to be overwritten",
    ),
    OptionInfo::long("help", None, "", "print this list and do nothing else"),
];

/// The STREAM that these options mean on a machine of so many CPUs.
///
/// # Errors
/// One sentence that names the option and what is wrong with it.
pub fn parse(args: &[String], nr_cpus: usize) -> Result<Stream, WorkloadError> {
    let threads = u32::try_from(nr_cpus.max(1)).unwrap_or(u32::MAX);
    let mut stream =
        Stream { threads, array_size: 10_000_000, ntimes: 10, stores: Stores::Allocate };
    for given in args::parse(NAME, OPTIONS, args)? {
        match given.option.long.unwrap_or_default() {
            "threads" => stream.threads = number(given, 1)?,
            "array-size" => stream.array_size = number(given, 1)?,
            "ntimes" => stream.ntimes = number(given, 2)?,
            "non-temporal" => stream.stores = Stores::NonTemporal,
            _ => return Err(WorkloadError::Help { program: NAME }),
        }
    }
    stream.check().map(|()| stream)
}

fn number<T>(Given { option, value }: Given<'_>, least: u32) -> Result<T, WorkloadError>
where
    T: std::str::FromStr + PartialOrd + From<u32>,
{
    let found = value.parse::<T>().ok().filter(|number| *number >= T::from(least));
    found.ok_or_else(|| {
        let long = option.long.unwrap_or_default();
        let what = format!("--{long}: found '{value}', expected an integer >= {least}");
        WorkloadError::Usage { program: NAME, what }
    })
}

/// STREAM, to be run with a seed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    pub(crate) stream: Stream,
    pub(crate) seed: u64,
}

const LINE: &str = "-------------------------------------------------------------";

impl Benchmark for Run {
    fn command(&self) -> String {
        let Stream { threads, array_size, ntimes, stores } = self.stream;
        let plain =
            format!("{NAME} --threads {threads} --array-size {array_size} --ntimes {ntimes}");
        if stores == Stores::NonTemporal { format!("{plain} --non-temporal") } else { plain }
    }

    fn banner(&self) -> String {
        let Stream { threads, array_size, ntimes, .. } = self.stream;
        let bytes = self.stream.array_bytes();
        format!(
            "{LINE}\nSTREAM version $Revision: 5.10 $\n{LINE}\n\
             This system uses 8 bytes per array element.\n{LINE}\n\
             Array size = {array_size} (elements), Offset = 0 (elements)\n\
             Memory per array = {} MiB (= {} GiB).\n\
             Total memory required = {} MiB (= {} GiB).\n\
             Each kernel will be executed {ntimes} times.\n \
             The *best* time for each kernel (excluding the first iteration)\n \
             will be used to compute the reported bandwidth.\n{LINE}\n\
             Number of Threads requested = {threads}\nNumber of Threads counted = {threads}\n{LINE}",
            tenths(bytes, 20),
            tenths(bytes, 30),
            tenths(3 * bytes, 20),
            tenths(3 * bytes, 30),
        )
    }

    fn workload(&self) -> Box<dyn Workload + Send> {
        let programs = self.stream.build(Seed(self.seed));
        Box::new(programs.expect("the options were checked when they were read"))
    }

    /// The best of its loops, of which each counts.
    fn least_part(&self) -> LeastPart {
        LeastPart::Whole
    }

    fn result(&self, marks: &[MarkTimes], spans: &[SpanTimes]) -> BenchResult {
        let mark = |nth: usize| marks.get(nth).copied().unwrap_or_default();
        let (start, stop) = (mark(START.idx()), mark(STOP.idx()));
        let is_over = start.count > 0 && stop.count > 0;
        let mut values = vec![("threads", u64::from(self.stream.threads))];
        let mut text =
            String::from("Function    Best Rate MB/s  Avg time     Min time     Max time");
        let mut throughput_milli = None;
        for (kernel, name, span) in rows(spans) {
            let Some(rate_milli) = self.rate_milli(kernel, span.min_ns) else { continue };
            values.push((name, rate_milli / 1000));
            throughput_milli = Some(rate_milli);
            let label = format!("{}:", kernel.name);
            let _ = write!(
                text,
                "\n{label:<11}{:>12}  {:>11}  {:>11}  {:>11}",
                decimal(rate_milli / 100, 1),
                decimal(span.sum_ns / span.count / 1000, 6),
                decimal(span.min_ns / 1000, 6),
                decimal(span.max_ns / 1000, 6),
            );
        }
        let _ = write!(text, "\n{LINE}");
        if !is_over {
            text = "STREAM: not finished".to_owned();
        }
        let elapsed_ns = if is_over { stop.last_ns.saturating_sub(start.first_ns) } else { 0 };
        BenchResult { text, elapsed_ns, throughput_milli, values }
    }
}

/// The loops that were done, each with the name of its bandwidth.
fn rows(spans: &[SpanTimes]) -> impl Iterator<Item = (Kernel, &'static str, SpanTimes)> {
    let names = ["bandwidth_copy", "bandwidth_scale", "bandwidth_add", "bandwidth_triad"];
    let rows = KERNELS.into_iter().zip(names).zip(spans);
    rows.map(|((kernel, name), span)| (kernel, name, *span)).filter(|(.., span)| span.count > 0)
}

impl Run {
    /// The bytes that STREAM counts over a time, in thousandths of 10^6 in a second.
    fn rate_milli(&self, kernel: Kernel, ns: u64) -> Option<u64> {
        let bytes = u128::from(kernel.arrays() * self.stream.array_bytes());
        (bytes * 1_000_000).checked_div(u128::from(ns)).and_then(|rate| u64::try_from(rate).ok())
    }
}

/// Bytes in units of `2^shift`, with one place behind the point.
fn tenths(bytes: u64, shift: u32) -> String {
    decimal((bytes * 10 + (1 << (shift - 1))) >> shift, 1)
}

/// `number` in units of the last of so many places behind the point.
fn decimal(number: u64, places: u32) -> String {
    let unit = 10_u64.pow(places);
    format!("{}.{:0width$}", number / unit, number % unit, width = places as usize)
}
