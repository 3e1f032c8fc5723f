//! tbench as it is typed and as it prints.

use simsched_core::{MarkId, Nanos, Seed, Workload};

use super::{FIRST_KIND, REPLY, START, STOP, Tbench, kind_mark, load};
use crate::args::{self, Given, OptionInfo};
use crate::benchmark::{BenchResult, Benchmark, MarkTimes, SpanTimes};
use crate::error::WorkloadError;
use crate::measured::{self, MAX_SECONDS, Measured, Points, latencies, typed};

/// The name of the program, and of its tasks.
pub const NAME: &str = "tbench";

/// The options; the number of clients is a word of its own.
pub const OPTIONS: &[OptionInfo] = &[
    option(
        Some('t'),
        "timelimit",
        Some("SECONDS"),
        "600",
        "seconds to measure; fractions are allowed",
    ),
    option(None, "warmup", Some("SECONDS"), "a fifth of --timelimit", "seconds to run before"),
    option(
        Some('?'),
        "help",
        None,
        "",
        "print this list and do nothing else; the number of clients is a word of its own, 1 if there is none",
    ),
];

const fn option(
    short: Option<char>,
    long: &'static str,
    value: Option<&'static str>,
    default: &'static str,
    doc: &'static str,
) -> OptionInfo {
    OptionInfo { short, long: Some(long), value, default, doc }
}

/// The tbench that these options mean.
///
/// # Errors
/// One sentence that names the option and what is wrong with it.
pub fn parse(args: &[String]) -> Result<Tbench, WorkloadError> {
    let mut tbench = Tbench { clients: 1, length: Nanos(600_000_000_000), warmup: None };
    let (options, words) = args::parse_with_words(NAME, OPTIONS, args)?;
    for given in options {
        match given.option.long.unwrap_or_default() {
            "timelimit" => tbench.length = seconds(given, 1)?,
            "warmup" => tbench.warmup = Some(seconds(given, 0)?),
            _ => return Err(WorkloadError::Help { program: NAME }),
        }
    }
    match words[..] {
        [] => {}
        [clients] | [clients, "localhost" | "127.0.0.1"] => {
            let number = clients.parse().ok().filter(|number| *number > 0);
            let expected = || format!("found '{clients}' clients, expected an integer > 0");
            tbench.clients = number.ok_or_else(|| usage(expected()))?;
        }
        [_, host] => {
            let what = format!(
                "found the server '{host}', expected localhost: only loopback can be simulated"
            );
            return Err(usage(what));
        }
        [_, _, word, ..] => return Err(usage(format!("unexpected argument '{word}'"))),
    }
    tbench.check().map(|()| tbench)
}

fn seconds(Given { option, value }: Given<'_>, least_ns: u64) -> Result<Nanos, WorkloadError> {
    let length = measured::seconds(value).filter(|length| length.get() >= least_ns);
    length.ok_or_else(|| {
        let long = option.long.unwrap_or_default();
        let more = if least_ns > 0 { "more than 0 and " } else { "" };
        usage(format!("--{long}: found '{value}', expected seconds, {more}at most {MAX_SECONDS}"))
    })
}

fn usage(what: String) -> WorkloadError {
    WorkloadError::Usage { program: NAME, what }
}

/// tbench, to be run with a seed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    pub(crate) tbench: Tbench,
    pub(crate) seed: u64,
}

impl Benchmark for Run {
    fn command(&self) -> String {
        let Tbench { clients, length, .. } = self.tbench;
        format!("{NAME} {clients} -t {} --warmup {}", typed(length), typed(self.tbench.warmup()))
    }

    fn banner(&self) -> String {
        format!(
            "Running for {} seconds with load 'client.txt' and minimum warmup {} secs\n\
             Waiting for child processes to finish setup.\nReleasing clients",
            typed(self.tbench.length),
            typed(self.tbench.warmup()),
        )
    }

    fn lasts(&self) -> Option<Nanos> {
        Some(Nanos(self.tbench.warmup().get() + self.tbench.length.get()))
    }

    fn workload(&self) -> Box<dyn Workload + Send> {
        let programs = self.tbench.build(Seed(self.seed));
        Box::new(programs.expect("the options were checked when they were read"))
    }

    fn result(&self, marks: &[MarkTimes], spans: &[SpanTimes]) -> BenchResult {
        let clients = self.tbench.clients;
        let points = Points { start: START, apart: false, stop: STOP, parties: 1 };
        let measured = Measured::of(marks, points, &[REPLY]);
        let Measured { elapsed_ns, count, .. } = measured;
        let bytes = bytes(marks);
        // 10^6 bytes per second, as dbench counts them.
        let rate = u128::from(bytes) * 1_000_000;
        let throughput_milli = rate
            .checked_div(u128::from(measured.span_ns))
            .and_then(|milli| u64::try_from(milli).ok());
        let mut values =
            vec![("clients", u64::from(clients)), ("exchanges", count), ("bytes", bytes)];
        let rate = measured.rate_milli(1);
        values.extend(rate.map(|milli| ("exchanges_per_second", milli / 1000)));
        values.extend(latencies(spans));
        let text = match throughput_milli {
            Some(milli) if elapsed_ns > 0 => format!(
                "Throughput {} MB/sec  {clients} clients  {clients} procs  max_latency={} ms",
                six_digits(milli),
                thousandths(spans.first().map_or(0, |span| span.max_ns / 1000)),
            ),
            _ => "Throughput: not finished".to_owned(),
        };
        BenchResult { text, elapsed_ns, throughput_milli, values }
    }
}

/// All data that was moved, in bytes.
fn bytes(marks: &[MarkTimes]) -> u64 {
    let of = |(kind, exchange): (usize, &load::Exchange)| {
        let mark: MarkId = kind_mark(kind);
        debug_assert!(mark >= FIRST_KIND);
        marks.get(mark.idx()).map_or(0, |mark| mark.count * u64::from(exchange.data))
    };
    load::EXCHANGES.iter().enumerate().map(of).sum()
}

fn thousandths(milli: u64) -> String {
    format!("{}.{:03}", milli / 1000, milli % 1000)
}

/// Thousandths as `%g` prints their number where it has no exponent: six digits, and no zeros at
/// the end.
fn six_digits(milli: u64) -> String {
    let whole = (milli / 1000).to_string();
    let places = 6_usize.saturating_sub(whole.len()).min(3);
    let unit = 10_u64.pow(3 - u32::try_from(places).unwrap_or(3));
    let rounded = milli.saturating_add(unit / 2) / unit * unit;
    let text = thousandths(rounded);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn six_digits_are_printed_as_by_percent_g() {
        for (milli, text) in [
            (1_234_567, "1234.57"),
            (500_000, "500"),
            (12_345_678, "12345.7"),
            (123_456_789, "123457"),
            (1_500, "1.5"),
            (42, "0.042"),
        ] {
            assert_eq!(six_digits(milli), text);
        }
    }
}
