//! netperf as it is typed and as it prints.

use simsched_core::{Nanos, Seed, Workload};

use super::{DONE, Netperf, START, STOP, STREAM_BYTES, Test};
use crate::args::{self, Given, OptionInfo};
use crate::benchmark::{BenchResult, Benchmark, MarkTimes, SpanTimes};
use crate::error::WorkloadError;
use crate::loopback::{TCP_RCVBUF, TCP_WMEM, UDP_BUF};
use crate::measured::{self, MAX_SECONDS, Measured, Points, latencies, two_places, typed};

/// The name of the program, and of its tasks.
pub const NAME: &str = "netperf";

/// The options.
pub const OPTIONS: &[OptionInfo] = &[
    option('t', Some("testname"), "TCP_STREAM", "TCP_STREAM, TCP_RR or UDP_RR"),
    option(
        'n',
        Some("number"),
        "1",
        "netperfs that run at once, each with a netserver; the real one runs one and takes a number of CPUs here",
    ),
    option(
        'l',
        Some("testlen"),
        "10",
        "seconds to run; fractions are allowed, a number of transactions is not",
    ),
    option(
        'H',
        Some("name"),
        "localhost",
        "the host of the netserver: only loopback can be simulated",
    ),
    option('h', None, "", "print this list and do nothing else"),
];

const fn option(
    short: char,
    value: Option<&'static str>,
    default: &'static str,
    doc: &'static str,
) -> OptionInfo {
    OptionInfo { short: Some(short), long: None, value, default, doc }
}

const TESTS: [(&str, Test); 3] =
    [("TCP_STREAM", Test::TcpStream), ("TCP_RR", Test::TcpRr), ("UDP_RR", Test::UdpRr)];

/// The netperf that these options mean.
///
/// # Errors
/// One sentence that names the option and what is wrong with it.
pub fn parse(args: &[String]) -> Result<Netperf, WorkloadError> {
    let mut netperf = Netperf::default();
    for given in args::parse(NAME, OPTIONS, args)? {
        match given.option.short.unwrap_or_default() {
            't' => netperf.test = test(given)?,
            'n' => netperf.pairs = pairs(given)?,
            'l' => {
                let length = measured::seconds(given.value).filter(|length| length.get() > 0);
                netperf.length = length.ok_or_else(|| {
                    expected(given, &format!("seconds, more than 0 and at most {MAX_SECONDS}"))
                })?;
            }
            'H' if is_loopback(given.value) => {}
            'H' => return Err(expected(given, "localhost: only loopback can be simulated")),
            _ => return Err(WorkloadError::Help { program: NAME }),
        }
    }
    netperf.check().map(|()| netperf)
}

fn is_loopback(host: &str) -> bool {
    host == "localhost" || host == "::1" || host.starts_with("127.")
}

fn test(given: Given<'_>) -> Result<Test, WorkloadError> {
    let known = TESTS.iter().find(|(name, _)| name.eq_ignore_ascii_case(given.value));
    known.map(|(_, test)| *test).ok_or_else(|| expected(given, "TCP_STREAM, TCP_RR or UDP_RR"))
}

fn pairs(given: Given<'_>) -> Result<u32, WorkloadError> {
    let number = given.value.parse().ok().filter(|number| *number > 0);
    number.ok_or_else(|| expected(given, "an integer > 0"))
}

fn expected(Given { option, value }: Given<'_>, what: &str) -> WorkloadError {
    let short = option.short.unwrap_or_default();
    let what = format!("-{short}: found '{value}', expected {what}");
    WorkloadError::Usage { program: NAME, what }
}

/// netperf, to be run with a seed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    pub(crate) netperf: Netperf,
    pub(crate) seed: u64,
}

impl Run {
    fn test_name(&self) -> &'static str {
        TESTS.iter().find(|(_, test)| *test == self.netperf.test).map_or("", |(name, _)| name)
    }

    /// Thousandths of what one client prints as its throughput.
    fn throughput_milli(&self, measured: Measured) -> Option<u64> {
        let pairs = u64::from(self.netperf.pairs);
        match self.netperf.test {
            // 10^6 bits per second.
            Test::TcpStream => {
                Some(measured.rate_milli(8 * u64::from(STREAM_BYTES))? / 1_000_000 / pairs)
            }
            Test::TcpRr | Test::UdpRr => Some(measured.rate_milli(1)? / pairs),
        }
    }

    fn table(&self, elapsed_ns: u64, throughput_milli: u64) -> String {
        let seconds = two_places(elapsed_ns / 1_000_000);
        let rate = two_places(throughput_milli);
        let size = |bytes: u32| bytes.to_string();
        let [send, recv] = match self.netperf.test {
            Test::UdpRr => [size(UDP_BUF), size(UDP_BUF)],
            Test::TcpRr | Test::TcpStream => [size(TCP_WMEM), size(TCP_RCVBUF)],
        };
        match self.netperf.test {
            Test::TcpStream => format!(
                "Recv   Send    Send                          \n\
                 Socket Socket  Message  Elapsed              \n\
                 Size   Size    Size     Time     Throughput  \n\
                 bytes  bytes   bytes    secs.    10^6bits/sec  \n\n\
                 {recv:>6} {send:>6} {STREAM_BYTES:>6}    {seconds:<6}   {rate:>7}   "
            ),
            Test::TcpRr | Test::UdpRr => format!(
                "Local /Remote\n\
                 Socket Size   Request  Resp.   Elapsed  Trans.\n\
                 Send   Recv   Size     Size    Time     Rate         \n\
                 bytes  Bytes  bytes    bytes   secs.    per sec   \n\n\
                 {send:<6} {recv:<6} {:<6}   {:<6}  {seconds:<6}   {rate:>7}   \n{send:<6} {recv:<6}",
                1, 1
            ),
        }
    }
}

impl Benchmark for Run {
    fn command(&self) -> String {
        let Netperf { pairs, length, .. } = self.netperf;
        format!("{NAME} -t {} -n {pairs} -l {}", self.test_name(), typed(length))
    }

    fn banner(&self) -> String {
        let (title, end) = match self.netperf.test {
            Test::TcpStream => ("TCP STREAM", ""),
            Test::TcpRr => ("TCP REQUEST/RESPONSE", " : first burst 0"),
            Test::UdpRr => ("UDP REQUEST/RESPONSE", " : first burst 0"),
        };
        format!(
            "MIGRATED {title} TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to localhost (127.0.0.1) \
             port 0 AF_INET : demo{end}"
        )
    }

    fn lasts(&self) -> Option<Nanos> {
        Some(self.netperf.length)
    }

    fn workload(&self) -> Box<dyn Workload + Send> {
        let programs = self.netperf.build(Seed(self.seed));
        Box::new(programs.expect("the options were checked when they were read"))
    }

    fn result(&self, marks: &[MarkTimes], spans: &[SpanTimes]) -> BenchResult {
        let pairs = u64::from(self.netperf.pairs);
        let points = Points { start: START, apart: true, stop: STOP, parties: pairs };
        let measured = Measured::of(marks, points, &[DONE]);
        let Measured { elapsed_ns, count, .. } = measured;
        let throughput_milli = self.throughput_milli(measured);
        let mut values = vec![("netperfs", pairs)];
        if self.netperf.is_stream() {
            values.extend([("sends", count), ("bytes", count * u64::from(STREAM_BYTES))]);
            let bytes = measured.rate_milli(u64::from(STREAM_BYTES));
            values.extend(bytes.map(|milli| ("bytes_per_second", milli / 1000)));
        } else {
            values.push(("transactions", count));
            let rate = measured.rate_milli(1);
            values.extend(rate.map(|milli| ("transactions_per_second", milli / 1000)));
            values.extend(latencies(spans));
        }
        let mut text = match throughput_milli {
            Some(milli) if elapsed_ns > 0 => self.table(elapsed_ns, milli),
            _ => "netperf: not finished".to_owned(),
        };
        if pairs > 1 && elapsed_ns > 0 {
            text += &format!("\n(the mean of {pairs} netperfs)");
        }
        BenchResult { text, elapsed_ns, throughput_milli, values }
    }
}
