//! schbench as it is typed and as it prints.

use simsched_core::{Nanos, Seed, Workload};
use simsched_topology::{CpuId, CpuSet, Topology};

use super::program::{DONE, START, STOP, Threads};
use super::{MAX_THREADS, Schbench};
use crate::args::{self, Given, OptionInfo, number, switch};
use crate::benchmark::{BenchResult, Benchmark, LeastPart, MarkTimes, SpanTimes};
use crate::error::WorkloadError;
use crate::measured::{self, MAX_SECONDS, Measured, Points, latencies, typed};

/// The name of the program, and of its main thread.
pub const NAME: &str = "schbench";

/// The options, in the order of the program's own help.
pub const OPTIONS: &[OptionInfo] = &[
    switch('C', "calibrate", "off", "requests are measured without their sleep; no locks"),
    switch('L', "no-locking", "off", "no spinlocks during CPU work"),
    number('m', "message-threads", "N", "1", "message threads"),
    number(
        'M',
        "message-cpus",
        "CPUS",
        "none",
        "pin message threads to these CPUs, one after the other; or auto",
    ),
    number('W', "worker-cpus", "CPUS", "none", "pin workers to these CPUs; or auto"),
    number(
        't',
        "threads",
        "N",
        "the machine's CPUs over -m",
        "worker threads of each message thread",
    ),
    number('r', "runtime", "SECONDS", "30", "how long to run; fractions are allowed"),
    number('F', "cache_footprint", "KB", "256", "cache footprint of a worker"),
    number('n', "operations", "N", "5", "multiplications of a request"),
    number('s', "sleep_usec", "USEC", "100", "sleep of a request"),
    number('A', "auto-rps", "PERCENT", "none", "grow RPS with the load; cannot be simulated"),
    number('p', "pipe", "BYTES", "0", "hand so much to and fro and compute nothing"),
    number('R', "rps", "N", "0", "requests a second that message threads hand out; 0 is off"),
    number(
        'w',
        "warmuptime",
        "SECONDS",
        "0",
        "forget what was counted by then, if -r is at least 30",
    ),
    number('i', "intervaltime", "SECONDS", "10", "show latencies so often"),
    number('z', "zerotime", "SECONDS", "never", "forget latencies so often"),
    number('j', "json", "FILE", "none", "write JSON; cannot be simulated"),
    number('J', "jobname", "NAME", "none", "a name for the JSON; cannot be simulated"),
    OptionInfo::long(
        "split",
        Some("PERCENT"),
        "all, and undivided",
        "how much of the footprint is a worker's own",
    ),
    OptionInfo::long(
        "lognormal",
        Some("PERCENT"),
        "2 of multiplications",
        "standard deviation of sleeps and multiplications; not in the real one",
    ),
    OptionInfo::long("help", None, "", "print this list and do nothing else"),
];

/// The most bytes of `-p`.
const MAX_PIPE: u32 = 1 << 20;

const fn seconds(number: u64) -> Nanos {
    Nanos::from_secs(number)
}

/// The schbench that these options mean on a machine of so many CPUs.
///
/// # Errors
/// One sentence that names the option and what is wrong with it.
pub(crate) fn parse(args: &[String], nr_cpus: usize) -> Result<Run, WorkloadError> {
    let mut run = Run::default();
    let mut pins = Pins::default();
    let (given, words) = args::parse_with_words(NAME, OPTIONS, args)?;
    for given in given {
        run.take(&mut pins, given)?;
    }
    if let Some(word) = words.first() {
        return Err(usage(format!("Error Extra arguments '{word}'")));
    }
    let schbench = &mut run.schbench;
    if schbench.workers == 0 {
        let nr_cpus = u32::try_from(nr_cpus.max(1)).unwrap_or(u32::MAX);
        schbench.workers = nr_cpus.div_ceil(schbench.messengers);
        run.notes.push(format!("setting worker threads to {}", schbench.workers));
    }
    pins.set(schbench, nr_cpus, &mut run.notes)?;
    schbench.skip_locking |= schbench.calibrate;
    if schbench.runtime < seconds(30) {
        schbench.warmup = Nanos::ZERO;
    }
    if let Some(percent) = schbench.split {
        run.notes.extend(split_notes(schbench, percent));
    }
    schbench.check()?;
    Ok(run)
}

fn split_notes(schbench: &Schbench, percent: u32) -> [String; 2] {
    let part = |percent| u64::from(schbench.footprint_kib) * u64::from(percent) / 100;
    let (private, shared) = (part(percent), part(100 - percent));
    let matrices = schbench.matrices();
    [
        format!(
            "split mode: {percent}% private ({private} KB per thread), {}% shared ({shared} KB total)",
            100 - percent
        ),
        format!("matrix sizes: private={}, shared={}", matrices.private, matrices.shared),
    ]
}

impl Default for Schbench {
    fn default() -> Schbench {
        Schbench {
            messengers: 1,
            workers: 0,
            runtime: seconds(30),
            warmup: Nanos::ZERO,
            interval: seconds(10),
            zero: Nanos::ZERO,
            footprint_kib: 256,
            operations: 5,
            sleep: Nanos::from_micros(100),
            rps: 0,
            pipe: 0,
            split: None,
            skip_locking: false,
            calibrate: false,
            message_cpus: None,
            worker_cpus: None,
            lognormal: None,
        }
    }
}

impl Schbench {
    fn check(&self) -> Result<(), WorkloadError> {
        let count = u64::from(self.messengers) * (u64::from(self.workers) + 1);
        if count > MAX_THREADS {
            return Err(WorkloadError::TooMany { what: "threads", count, limit: MAX_THREADS });
        }
        if self.rps > 0 && self.rps < self.messengers {
            return Err(usage("-R: a message thread has less than one request".to_owned()));
        }
        Ok(())
    }
}

/// Where threads are pinned, as given.
#[derive(Default)]
struct Pins {
    message: Option<CpuSet>,
    worker: Option<CpuSet>,
    auto: bool,
}

impl Pins {
    /// With `auto` each message thread has a CPU, and workers have all: the loop of the real one that
    /// would take those away begins anew.
    fn set(
        self,
        schbench: &mut Schbench,
        nr_cpus: usize,
        notes: &mut Vec<String>,
    ) -> Result<(), WorkloadError> {
        (schbench.message_cpus, schbench.worker_cpus) = (self.message, self.worker);
        if self.auto {
            notes.push("auto pinning message and worker threads".to_owned());
            let first = CpuSet::first_n(nr_cpus.min(schbench.messengers as usize));
            schbench.message_cpus = Some(first);
            schbench.worker_cpus = Some(CpuSet::first_n(nr_cpus));
        }
        let machine = CpuSet::first_n(nr_cpus);
        let pins = [('M', schbench.message_cpus), ('W', schbench.worker_cpus)];
        let unknown = pins.iter().find(|(_, cpus)| cpus.is_some_and(|c| !c.is_subset(&machine)));
        match unknown {
            Some((short, _)) => {
                Err(usage(format!("-{short}: the machine has the CPUs 0 to {}", nr_cpus - 1)))
            }
            None => Ok(()),
        }
    }
}

/// A list such as `0-3,8`, as `parse_cpuset()` reads it.
fn cpuset(given: Given<'_>) -> Result<CpuSet, WorkloadError> {
    let failed = || usage("failed to parse cpuset information".to_owned());
    let mut cpus = CpuSet::default();
    for part in given.value.split(',').filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let number = |text: &str| text.parse::<usize>().ok().filter(|cpu| *cpu < 1024);
        let (first, last) = number(first).zip(number(last)).ok_or_else(failed)?;
        if last < first {
            return Err(failed());
        }
        for cpu in first..=last {
            cpus.insert(CpuId::new(cpu));
        }
    }
    if cpus.first().is_some() { Ok(cpus) } else { Err(failed()) }
}

/// schbench, to be run with a seed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Run {
    pub(crate) schbench: Schbench,
    pub(crate) seed: u64,
    /// What it says at its start.
    pub(crate) notes: Vec<String>,
}

impl Run {
    fn take(&mut self, pins: &mut Pins, given: Given<'_>) -> Result<(), WorkloadError> {
        let schbench = &mut self.schbench;
        let auto = given.value == "auto";
        match given.option.short.or(given.option.long.and_then(|long| long.chars().next())) {
            Some('C') => schbench.calibrate = true,
            Some('L') => schbench.skip_locking = true,
            Some('m') => schbench.messengers = integer(given, 1)?,
            Some('M' | 'W') if auto => pins.auto = true,
            Some('M') => pins.message = Some(cpuset(given)?),
            Some('W') => pins.worker = Some(cpuset(given)?),
            Some('t') => schbench.workers = integer(given, 0)?,
            Some('r') => schbench.runtime = span(given).and_then(|span| positive(given, span))?,
            Some('F') => schbench.footprint_kib = integer(given, 0)?,
            Some('n') => schbench.operations = integer(given, 0)?,
            Some('s') if given.option.long == Some("sleep_usec") => {
                schbench.sleep = Nanos::from_micros(u64::from(integer(given, 0)?));
            }
            Some('p') => {
                schbench.pipe = integer(given, 0)?;
                if schbench.pipe > MAX_PIPE {
                    self.notes.push(format!("pipe size too big, using {MAX_PIPE}"));
                    schbench.pipe = MAX_PIPE;
                }
            }
            Some('R') => schbench.rps = integer(given, 0)?,
            Some('w') => schbench.warmup = span(given)?,
            Some('i') => schbench.interval = span(given)?,
            Some('z') => schbench.zero = span(given)?,
            Some('s') => {
                let percent = integer(given, 0).ok().filter(|percent| *percent <= 100);
                let wrong = || usage("split must be between 0 and 100".to_owned());
                schbench.split = Some(percent.ok_or_else(wrong)?);
            }
            Some('l') => {
                let percent = integer(given, 0)?;
                if percent > 1000 {
                    return Err(expected(given, "at most 1000 percent"));
                }
                schbench.lognormal = Some(percent);
            }
            Some('A') => return Err(refused("--auto-rps|-A", "there is no /proc/stat")),
            Some('j' | 'J') => {
                return Err(refused("--json|-j", "ask simsched for --json instead"));
            }
            _ => return Err(WorkloadError::Help { program: NAME }),
        }
        Ok(())
    }
}

fn refused(option: &str, why: &str) -> WorkloadError {
    usage(format!("{option} cannot be simulated: {why}"))
}

fn integer(given: Given<'_>, least: u32) -> Result<u32, WorkloadError> {
    let number = given.value.parse().ok().filter(|number| *number >= least);
    number
        .filter(|number| *number <= i32::MAX as u32)
        .ok_or_else(|| expected(given, &format!("an integer >= {least}")))
}

fn span(given: Given<'_>) -> Result<Nanos, WorkloadError> {
    let wanted = format!("seconds, at most {MAX_SECONDS}");
    measured::seconds(given.value).ok_or_else(|| expected(given, &wanted))
}

fn positive(given: Given<'_>, span: Nanos) -> Result<Nanos, WorkloadError> {
    match span {
        Nanos::ZERO => Err(expected(given, "more than 0: it would run for ever")),
        _ => Ok(span),
    }
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

impl Benchmark for Run {
    fn command(&self) -> String {
        let of = &self.schbench;
        let usual = Schbench::default();
        let mut text =
            format!("{NAME} -m {} -t {} -r {}", of.messengers, of.workers, typed(of.runtime));
        let mut option = |name: &str, value: String, usual: String| {
            if value != usual {
                text.push_str(&format!(" {name} {value}"));
            }
        };
        let micros = |span: Nanos| (span.get() / 1000).to_string();
        option("-F", of.footprint_kib.to_string(), usual.footprint_kib.to_string());
        option("-n", of.operations.to_string(), usual.operations.to_string());
        option("-s", micros(of.sleep), micros(usual.sleep));
        option("-p", of.pipe.to_string(), usual.pipe.to_string());
        option("-R", of.rps.to_string(), usual.rps.to_string());
        option("-w", typed(of.warmup), typed(usual.warmup));
        option("-i", typed(of.interval), typed(usual.interval));
        option("-z", typed(of.zero), typed(usual.zero));
        option(
            "--lognormal",
            of.lognormal.map_or_else(String::new, |p| p.to_string()),
            String::new(),
        );
        for (name, cpus) in [("-M", of.message_cpus), ("-W", of.worker_cpus)] {
            option(name, cpus.map_or_else(String::new, |cpus| cpus.to_string()), String::new());
        }
        option("--split", of.split.map_or_else(String::new, |p| p.to_string()), String::new());
        match (of.calibrate, of.skip_locking) {
            (true, _) => text + " -C",
            (false, true) => text + " -L",
            _ => text,
        }
    }

    fn banner(&self) -> String {
        self.notes.join("\n")
    }

    fn lasts(&self) -> Option<Nanos> {
        Some(self.schbench.runtime)
    }

    fn workload(&self) -> Box<dyn Workload + Send> {
        Box::new(Threads::new(&self.schbench, Seed(self.seed), None))
    }

    fn workload_on(&self, topology: &Topology) -> Box<dyn Workload + Send> {
        Box::new(Threads::new(&self.schbench, Seed(self.seed), Some(topology)))
    }

    /// Its percentiles are those of an interval, and it counts requests once a second.
    fn least_part(&self) -> LeastPart {
        match self.schbench.pipe {
            0 => {
                let span = self.schbench.interval.max(seconds(1));
                match self.schbench.zero {
                    Nanos::ZERO => LeastPart::Span(span),
                    after => LeastPart::SpanAfter { after, span },
                }
            }
            _ => LeastPart::Any,
        }
    }

    fn result(&self, marks: &[MarkTimes], spans: &[SpanTimes]) -> BenchResult {
        let Schbench { messengers, workers, .. } = self.schbench;
        let points = Points { start: START, apart: false, stop: STOP, parties: 1 };
        let measured = Measured::of(marks, points, &[DONE]);
        let throughput_milli = measured.rate_milli(1);
        let threads = u64::from(messengers) * u64::from(workers);
        let mut values = vec![("workers", threads), ("requests", measured.count)];
        values.extend(throughput_milli.map(|milli| ("requests_per_second", milli / 1000)));
        values.extend(latencies(spans));
        let text = "schbench: not finished".to_owned();
        BenchResult { text, elapsed_ns: measured.elapsed_ns, throughput_milli, values }
    }
}
