//! The model as it is typed, and what it prints.

use simsched_core::{MarkId, Nanos, Seed, Workload};

use super::program::{DONE, Model, START, STOP};
use super::{MAX_THREADS, Verilator};
use crate::args::{self, Given, OptionInfo};
use crate::benchmark::{BenchResult, Benchmark, LeastPart, MarkTimes, SpanTimes};
use crate::error::WorkloadError;
use crate::measured::{Measured, Points};

/// The name of the program.
pub const NAME: &str = "verilator";

/// The options; the real model is told most of this when it is compiled.
pub const OPTIONS: &[OptionInfo] = &[
    option("threads", "N", "8", "threads of the model"),
    option("cycles", "N", "10000", "cycles of the circuit"),
    option("state", "KIB", "17408", "the state of the model, of which each thread has a part"),
    option("lines", "N", "8", "cache lines that one task needs of another thread"),
    option("lognormal", "PERCENT", "0", "standard deviation of the tasks of a cycle"),
    OptionInfo::long("help", None, "", "print this list and do nothing else"),
];

const fn option(
    long: &'static str,
    value: &'static str,
    default: &'static str,
    doc: &'static str,
) -> OptionInfo {
    OptionInfo::long(long, Some(value), default, doc)
}

/// The model that these options mean.
///
/// # Errors
/// One sentence that names the option and what is wrong with it.
pub fn parse(args: &[String]) -> Result<Verilator, WorkloadError> {
    let mut model = Verilator::default();
    for given in args::parse(NAME, OPTIONS, args)? {
        match given.option.long.unwrap_or_default() {
            "threads" => model.threads = number(given, 1, MAX_THREADS)?,
            "cycles" => model.cycles = number(given, 1, i32::MAX as u32)?,
            "state" => model.state_kib = number(given, 0, 1 << 22)?,
            "lines" => model.lines = number(given, 0, 1 << 16)?,
            "lognormal" => model.lognormal = number(given, 0, 1000)?,
            _ => return Err(WorkloadError::Help { program: NAME }),
        }
    }
    Ok(model)
}

fn number(given: Given<'_>, least: u32, most: u32) -> Result<u32, WorkloadError> {
    let Given { option, value } = given;
    let found = value.parse().ok().filter(|number| (least..=most).contains(number));
    found.ok_or_else(|| {
        let long = option.long.unwrap_or_default();
        let what = format!("--{long}: found '{value}', expected {least} to {most}");
        WorkloadError::Usage { program: NAME, what }
    })
}

/// The model, to be run with a seed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    pub(crate) verilator: Verilator,
    pub(crate) seed: u64,
}

impl Benchmark for Run {
    fn command(&self) -> String {
        let Verilator { threads, cycles, state_kib, lines, lognormal } = self.verilator;
        format!(
            "{NAME} --threads {threads} --cycles {cycles} --state {state_kib} --lines {lines} \
             --lognormal {lognormal}"
        )
    }

    fn banner(&self) -> String {
        format!("emu: a model of {} threads", self.verilator.threads)
    }

    fn workload(&self) -> Box<dyn Workload + Send> {
        Box::new(Model::new(self.verilator, Seed(self.seed)))
    }

    /// Who spins is moved by an active balance only, which a domain tries after more than two failures
    /// beyond `cache_nice_tries`, one in as many milliseconds as it has CPUs: 1 s on some 200 CPUs.
    fn least_part(&self) -> LeastPart {
        LeastPart::After(Nanos::from_secs(1))
    }

    fn rounds(&self) -> Option<(MarkId, u64)> {
        Some((DONE, u64::from(self.verilator.cycles)))
    }

    fn result(&self, marks: &[MarkTimes], _: &[SpanTimes]) -> BenchResult {
        let points = Points { start: START, apart: false, stop: STOP, parties: 1 };
        let measured = Measured::of(marks, points, &[DONE]);
        let throughput_milli = measured.rate_milli(1);
        let mut values =
            vec![("threads", u64::from(self.verilator.threads)), ("cycles", measured.count)];
        values.extend(throughput_milli.map(|milli| ("cycles_per_second", milli / 1000)));
        let text = match measured.elapsed_ns {
            0 => "emu: not finished".to_owned(),
            ns => format!(
                "Guest cycle spent: {}\nHost time spent: {}ms",
                measured.count,
                ns / 1_000_000
            ),
        };
        BenchResult { text, elapsed_ns: measured.elapsed_ns, throughput_milli, values }
    }
}
