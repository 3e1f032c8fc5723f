//! `OwnBenchmark`: any [`Workload`] as a benchmark, under a name of the caller's.

use std::sync::{Mutex, PoisonError};

use simsched_core::Workload;

use crate::benchmark::{BenchResult, Benchmark, MarkTimes, SpanTimes};
use crate::error::WorkloadError;
use crate::measured;

/// Makes a workload, before its start.
type New = Box<dyn Fn() -> Result<Box<dyn Workload + Send>, WorkloadError> + Send + Sync>;

/// A benchmark that prints nothing and whose workload is made by the caller.
///
/// Of the spans of its setup it reports the latencies of the first as those of its requests
/// (`request_latency_p99_ns` and the like).
pub struct OwnBenchmark {
    name: String,
    /// The workload that was made first; the first run takes it.
    made: Mutex<Option<Box<dyn Workload + Send>>>,
    new: New,
}

impl OwnBenchmark {
    /// The benchmark `name`, which stands for its command line wherever that is shown. `new` is called at
    /// once, and again for each further run; it must not fail then.
    ///
    /// # Errors
    /// That of `new`.
    pub fn new(
        name: &str,
        new: impl Fn() -> Result<Box<dyn Workload + Send>, WorkloadError> + Send + Sync + 'static,
    ) -> Result<OwnBenchmark, WorkloadError> {
        let made = new()?;
        let (made, new) = (Mutex::new(Some(made)), Box::new(new));
        Ok(OwnBenchmark { name: name.to_owned(), made, new })
    }
}

impl Benchmark for OwnBenchmark {
    /// Nobody knows when it starts its tasks.
    fn begins_with_births(&self) -> bool {
        false
    }

    fn command(&self) -> String {
        self.name.clone()
    }

    fn banner(&self) -> String {
        String::new()
    }

    fn workload(&self) -> Box<dyn Workload + Send> {
        let made = self.made.lock().unwrap_or_else(PoisonError::into_inner).take();
        made.unwrap_or_else(|| (self.new)().expect("a workload that was made before"))
    }

    fn result(&self, _: &[MarkTimes], spans: &[SpanTimes]) -> BenchResult {
        BenchResult {
            text: String::new(),
            elapsed_ns: 0,
            throughput_milli: None,
            values: measured::latencies(spans),
        }
    }
}
