//! What the program of a run prints and reports.

use simsched_core::Nanos;
use simsched_core::observe::SpanStats;
use simsched_workloads::catalog::{Benchmark, MarkTimes, Ran, SpanTimes};

use crate::meter::ROUNDS;
use crate::report::{self, End};
use crate::run::{Measured, Told};

/// What the program prints: its last words only if it has come to its end.
pub(crate) fn tell<P: ?Sized>(benchmark: &dyn Benchmark, measured: &Measured<P>) -> Told {
    let Measured { notes, end, sampled, .. } = measured;
    // A program that was stopped tells of the sample, as one that was cut does of the span.
    let of_sample = sampled.as_ref().filter(|sampled| sampled.is_stopped());
    let of_sample = of_sample.and_then(|sampled| sampled.stats.as_ref());
    let of_whole = measured.whole.as_ref().map(|whole| &whole.stats);
    let stats = of_sample.or(of_whole).unwrap_or(&measured.stats);
    let at = |at: u64| sampled.as_ref().map_or(at, |sampled| sampled.stretched(at));
    let marks = stats.marks().iter().map(|mark| MarkTimes {
        count: mark.count,
        first_ns: if mark.count > 0 { at(mark.first.get()) } else { mark.first.get() },
        last_ns: at(mark.last.get()),
    });
    let spans: Vec<SpanTimes> = stats.spans().iter().map(span_times).collect();
    let marks: Vec<MarkTimes> = marks.collect();
    let spent = report::CpuTime::of(stats);
    let cpu_ns = [spent.user, spent.system];
    let ran = Ran { marks: &marks, spans: &spans, notes, cpu_ns };
    let result = benchmark.result_of(&ran);
    let banner = benchmark.banner();
    let mut text = if banner.is_empty() { banner } else { banner + "\n" };
    if *end == End::Finished {
        text += &(result.text + "\n");
    }
    let elapsed = Some(Nanos(result.elapsed_ns)).filter(|elapsed| elapsed.get() > 0);
    let mut numbers = report::named(result.values.into_iter());
    numbers.extend(notes.by_task.iter().map(|(name, number)| (name.clone(), (*number).into())));
    if let Some((_, rounds)) = benchmark.rounds() {
        numbers.insert(ROUNDS.to_owned(), rounds.into());
    }
    if let Some(milli) = result.throughput_milli {
        numbers.insert("throughput".to_owned(), thousandths(milli).into());
    }
    Told { text, elapsed, numbers }
}

#[expect(clippy::cast_precision_loss, reason = "below 2^52 thousandths in any run that ends")]
fn thousandths(milli: u64) -> f64 {
    milli as f64 / 1000.0
}

fn span_times(span: &SpanStats) -> SpanTimes {
    let lengths = span.lengths();
    let point = |num| lengths.quantile(num, 1000).get();
    SpanTimes {
        count: lengths.count(),
        sum_ns: u64::try_from(lengths.sum()).unwrap_or(u64::MAX),
        min_ns: span.shortest().map_or(0, Nanos::get),
        max_ns: lengths.max().get(),
        p50_ns: point(500),
        p90_ns: point(900),
        p95_ns: point(950),
        p99_ns: point(990),
        p99_9_ns: point(999),
    }
}
