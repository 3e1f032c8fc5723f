//! What programs that run for a time make of their marks: seconds, counts, rates, latencies.

use simsched_core::{MarkId, Nanos};

use crate::benchmark::{MarkTimes, SpanTimes};

/// Where a program that runs for a time puts its marks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Points {
    /// All are ready and begin, or one is.
    pub(crate) start: MarkId,
    /// Each begins by itself and takes its own time, which for all is that of the last.
    pub(crate) apart: bool,
    /// One has come to its end.
    pub(crate) stop: MarkId,
    /// How many have to.
    pub(crate) parties: u64,
}

/// What was done in which time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Measured {
    /// From the start to the end, in ns; 0 if the end was not reached.
    pub(crate) elapsed_ns: u64,
    /// What was done.
    pub(crate) count: u64,
    /// In how long, in ns. If only a part of the run was seen, between the first and the last.
    pub(crate) span_ns: u64,
    /// What was done in that time.
    pub(crate) in_span: u64,
}

impl Measured {
    /// Reads it off the marks; `done` is passed whenever something is.
    pub(crate) fn of(marks: &[MarkTimes], points: Points, done: &[MarkId]) -> Measured {
        let mark = |id: MarkId| marks.get(id.idx()).copied().unwrap_or_default();
        let passed = || done.iter().map(|id| mark(*id)).filter(|mark| mark.count > 0);
        let count = passed().map(|mark| mark.count).sum::<u64>();
        let (start, stop) = (mark(points.start), mark(points.stop));
        let last = passed().map(|mark| mark.last_ns).max().unwrap_or(0);
        let first = passed().map(|mark| mark.first_ns).min().unwrap_or(0);
        let (begin, in_span) = match start.count {
            0 => (first, count.saturating_sub(1)),
            _ => (start.first_ns, count),
        };
        let is_over = start.count > 0 && stop.count >= points.parties;
        let begin = if is_over && points.apart { start.last_ns } else { begin };
        let end = if is_over { stop.last_ns } else { last };
        let span_ns = end.saturating_sub(begin);
        Measured { elapsed_ns: if is_over { span_ns } else { 0 }, count, span_ns, in_span }
    }

    /// How many thousandths of `each` are done in a second.
    pub(crate) fn rate_milli(self, each: u64) -> Option<u64> {
        let all = u128::from(self.in_span) * u128::from(each) * 1_000_000_000_000;
        all.checked_div(u128::from(self.span_ns)).and_then(|rate| u64::try_from(rate).ok())
    }
}

/// The latencies of a program's requests by the names that metrics have.
pub(crate) fn latencies(spans: &[SpanTimes]) -> Vec<(&'static str, u64)> {
    let Some(span) = spans.first().filter(|span| span.count > 0) else { return Vec::new() };
    vec![
        ("request_latency_mean_ns", span.sum_ns / span.count),
        ("request_latency_p50_ns", span.p50_ns),
        ("request_latency_p90_ns", span.p90_ns),
        ("request_latency_p95_ns", span.p95_ns),
        ("request_latency_p99_ns", span.p99_ns),
        ("request_latency_p99_9_ns", span.p99_9_ns),
        ("request_latency_max_ns", span.max_ns),
    ]
}

/// Seconds as the real programs take them, and fractions of one.
pub(crate) fn seconds(text: &str) -> Option<Nanos> {
    let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole) || !digits(part) || part.len() > 9 {
        return None;
    }
    let part: u64 = format!("{part:0<9}").parse().ok()?;
    let whole = whole.parse::<u64>().ok().filter(|whole| *whole <= MAX_SECONDS)?;
    Some(Nanos(whole * 1_000_000_000 + part))
}

/// The longest time that a program may be told to run.
pub(crate) const MAX_SECONDS: u64 = 86_400;

/// Nanoseconds as they are typed: the shortest text that [`seconds`] reads back.
pub(crate) fn typed(span: Nanos) -> String {
    let (whole, part) = (span.get() / 1_000_000_000, span.get() % 1_000_000_000);
    let text = format!("{whole}.{part:09}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// `number` thousandths with two places behind the point.
pub(crate) fn two_places(milli: u64) -> String {
    let cents = milli.saturating_add(5) / 10;
    format!("{}.{:02}", cents / 100, cents % 100)
}

/// So many hundredths of a byte in the largest unit of 1024 that leaves at least one.
pub(crate) fn pretty(hundredths: u128) -> String {
    const UNITS: [&str; 7] = ["B", "KB", "MB", "GB", "TB", "PB", "EB"];
    let (mut size, mut unit) = (hundredths, 0);
    while size >= 102_400 && unit < UNITS.len() - 1 {
        (size, unit) = (size / 1024, unit + 1);
    }
    format!("{}.{:02}{}", size / 100, size % 100, UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_read_with_their_fraction() {
        for (text, ns) in
            [("10", 10_000_000_000), ("0.05", 50_000_000), ("1.000000001", 1_000_000_001)]
        {
            assert_eq!(seconds(text), Some(Nanos(ns)));
            assert_eq!(typed(Nanos(ns)), text);
        }
        for text in ["", ".5", "1.", "-1", "1e3", "1.0000000001", "86401", "+1"] {
            assert_eq!(seconds(text), None, "{text}");
        }
    }

    const POINTS: Points = Points { start: MarkId(0), apart: false, stop: MarkId(1), parties: 2 };

    fn mark(count: u64, first_ns: u64, last_ns: u64) -> MarkTimes {
        MarkTimes { count, first_ns, last_ns }
    }

    /// 30 in 3 us are 10 million a second.
    #[test]
    fn a_rate_is_a_count_over_the_time_that_was_measured() {
        let marks = [mark(2, 1_000, 1_100), mark(2, 3_900, 4_000), mark(30, 1_200, 3_950)];
        let whole = Measured::of(&marks, POINTS, &[MarkId(2)]);
        assert_eq!((whole.elapsed_ns, whole.count), (3_000, 30));
        assert_eq!(whole.rate_milli(1), Some(10_000_000_000));
    }

    /// Two that take 3 us each, the second from 2 us after the first: 30 in the time of one.
    #[test]
    fn those_who_begin_apart_take_their_own_time() {
        let marks = [mark(2, 1_000, 3_000), mark(2, 4_000, 6_000), mark(30, 1_200, 5_950)];
        let whole = Measured::of(&marks, Points { apart: true, ..POINTS }, &[MarkId(2)]);
        assert_eq!((whole.elapsed_ns, whole.rate_milli(1)), (3_000, Some(10_000_000_000)));
    }

    /// What is seen of the middle of a run: 10 intervals between 11 marks, in 1 us.
    #[test]
    fn a_part_of_a_run_has_a_rate_and_no_time() {
        let marks = [mark(0, 0, 0), mark(0, 0, 0), mark(11, 500, 1_500)];
        let part = Measured::of(&marks, POINTS, &[MarkId(2)]);
        assert_eq!((part.elapsed_ns, part.rate_milli(1)), (0, Some(10_000_000_000)));
        let one = Measured::of(&[mark(2, 0, 0), mark(1, 9, 9)], POINTS, &[MarkId(2)]);
        assert_eq!((one.elapsed_ns, one.count, one.rate_milli(1)), (0, 0, None));
    }
}
