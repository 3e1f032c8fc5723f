//! replay as it is typed, and what a run of one says.

use std::sync::Arc;

use simsched_core::{Launcher, Workload};

use super::{Affinity, DONE, END, Ends, Options, Players, Recording, Shared, Timers, lower};
use crate::args::{self, OptionInfo};
use crate::benchmark::{BenchResult, Benchmark, MarkTimes, SpanTimes};
use crate::error::WorkloadError;

/// How it is called.
pub const NAME: &str = "replay";

/// Its options.
pub const OPTIONS: &[OptionInfo] = &[
    OptionInfo::long(
        "timers",
        Some("absolute|relative"),
        "absolute",
        "sleeps that no thread ended last until the instant of the recording, or as long as there",
    ),
    OptionInfo::long(
        "affinity",
        Some("inferred|known|seen"),
        "inferred",
        "threads may run everywhere but where what they did tells otherwise, or but kernel threads of \
         one CPU, or only where they ran",
    ),
    OptionInfo::long(
        "recorded-on",
        Some("MACHINE|unknown"),
        "this machine, if it has as many CPUs as the recording",
        "what busy siblings and slower clocks took of its threads' times on that machine is taken out of them",
    ),
    OptionInfo::long(
        "max-input",
        Some("SIZE"),
        "2G",
        "the text of the recording, unpacked, has at most so many bytes (K, M and G are 2^10, 2^20 and \
         2^30 of them)",
    ),
];

/// What a command line says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Named<'a> {
    /// The file with the recording.
    pub file: &'a str,
    /// The machine on which it was made, as `--topo` takes it, or `unknown`; none if nothing is said.
    pub recorded_on: Option<&'a str>,
    /// The rest.
    pub options: Options,
}

/// What a command line says of a recording.
///
/// # Errors
/// One sentence that names the option or what is missing.
pub fn parse(args: &[String]) -> Result<Named<'_>, WorkloadError> {
    let (given, words) = args::parse_with_words(NAME, OPTIONS, args)?;
    let mut options = Options::default();
    let mut recorded_on = None;
    for given in given {
        let wrong = |expected| {
            let name = given.option.long.unwrap_or_default();
            let what = format!("--{name}: found '{}', expected {expected}", given.value);
            Err(WorkloadError::Usage { program: NAME, what })
        };
        match (given.option.long, given.value) {
            (Some("timers"), "absolute") => options.timers = Timers::Absolute,
            (Some("timers"), "relative") => options.timers = Timers::Relative,
            (Some("timers"), _) => return wrong("absolute or relative"),
            (Some("max-input"), value) => match size(value) {
                Some(size) => options.max_input = size,
                None => return wrong("a number of bytes such as 4G"),
            },
            (Some("recorded-on"), machine) => recorded_on = Some(machine),
            (_, "inferred") => options.affinity = Affinity::Inferred,
            (_, "known") => options.affinity = Affinity::Known,
            (_, "seen") => options.affinity = Affinity::Seen,
            _ => return wrong("inferred, known or seen"),
        }
    }
    match words[..] {
        [file] => Ok(Named { file, recorded_on, options }),
        [] => Err(usage("found no file, expected the text of `perf script` or `trace-cmd report`")),
        [_, word, ..] => Err(usage(&format!("unexpected argument '{word}'"))),
    }
}

/// A number of bytes, which may end in K, M or G.
fn size(text: &str) -> Option<u64> {
    let unit = ["K", "M", "G"].iter().position(|unit| text.ends_with(unit));
    let digits = unit.map_or(text, |_| &text[..text.len() - 1]);
    let shift = unit.map_or(0, |unit| 10 * (unit + 1));
    let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
    let number = if is_number { digits.parse::<u64>().ok()? } else { return None };
    number.checked_mul(1 << shift).filter(|size| *size > 0)
}

fn usage(what: &str) -> WorkloadError {
    WorkloadError::Usage { program: NAME, what: what.to_owned() }
}

/// A recording, to be replayed.
#[derive(Clone, Debug)]
pub struct Replay {
    file: String,
    recorded_on: Option<String>,
    options: Options,
    span: u64,
    lowered: Shared,
    ends: Option<Ends>,
}

impl Replay {
    /// A recording as a command line names it, with the options that hold, for a machine of so many CPUs with ticks of `tick` ns.
    ///
    /// # Errors
    /// When a run cannot hold it.
    pub fn new(
        named: Named<'_>,
        recording: &Recording,
        options: Options,
        nr_cpus: usize,
        tick: u64,
    ) -> Result<Replay, WorkloadError> {
        let lowered = Arc::new(lower(recording, &options, nr_cpus, tick)?);
        let (file, recorded_on) = (named.file.to_owned(), named.recorded_on.map(str::to_owned));
        Ok(Replay { file, recorded_on, options, span: recording.span, lowered, ends: None })
    }

    /// The same, and its one run tells when its tasks come to their ends.
    #[must_use]
    pub fn telling(self, ends: Ends) -> Replay {
        Replay { ends: Some(ends), ..self }
    }

    /// Its programs.
    #[must_use]
    pub fn lowered(&self) -> &super::Lowered {
        &self.lowered
    }
}

impl Benchmark for Replay {
    /// Its threads are born when they were.
    fn begins_with_births(&self) -> bool {
        false
    }

    fn command(&self) -> String {
        let mut command = format!("{NAME} {}", self.file);
        if self.options.timers == Timers::Relative {
            command += " --timers relative";
        }
        match self.options.affinity {
            Affinity::Inferred => {}
            Affinity::Known => command += " --affinity known",
            Affinity::Seen => command += " --affinity seen",
        }
        if let Some(machine) = &self.recorded_on {
            command += &format!(" --recorded-on {machine}");
        }
        if self.options.max_input != Options::default().max_input {
            command += &format!(" --max-input {}", self.options.max_input);
        }
        command
    }

    fn banner(&self) -> String {
        let threads = self.lowered.players.len();
        let us = self.span / 1_000;
        format!("replay of {}: {threads} threads, {}.{:03} ms", self.file, us / 1_000, us % 1_000)
    }

    /// What its tasks do was recorded, and by whom they were started not.
    fn launcher(&self) -> Launcher {
        Launcher::None
    }

    fn has_kthreads(&self) -> bool {
        true
    }

    fn workload(&self) -> Box<dyn Workload + Send> {
        Box::new(Players::new(Arc::clone(&self.lowered), self.ends.clone()))
    }

    fn result(&self, marks: &[MarkTimes], _: &[SpanTimes]) -> BenchResult {
        let of = |mark: simsched_core::MarkId| marks.get(mark.idx()).copied().unwrap_or_default();
        let (done, end) = (of(DONE), of(END));
        let values = vec![
            ("threads", self.lowered.players.len() as u64),
            ("recorded_ns", self.span),
            ("awake_at_end", done.count),
        ];
        let is_over = end.count > 0;
        let elapsed_ns = if is_over { end.last_ns.saturating_sub(self.lowered.lead) } else { 0 };
        let us = elapsed_ns / 1_000;
        let text = if is_over {
            format!("elapsed_ms: {}.{:03}", us / 1_000, us % 1_000)
        } else {
            "elapsed: not finished".to_owned()
        };
        BenchResult { text, elapsed_ns, throughput_milli: None, values }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<(String, Options), String> {
        let args: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        parse(&args).map(|it| (it.file.to_owned(), it.options)).map_err(|e| e.to_string())
    }

    #[test]
    fn options_stand_before_or_behind_the_file() {
        let options =
            Options { timers: Timers::Relative, affinity: Affinity::Seen, ..Options::default() };
        for line in
            ["a.txt --timers relative --aff=seen", "--timers=relative --affinity seen a.txt"]
        {
            assert_eq!(parsed(line), Ok(("a.txt".to_owned(), options)), "{line}");
        }
        assert_eq!(parsed("a.txt"), Ok(("a.txt".to_owned(), Options::default())));
    }

    #[test]
    fn what_is_wrong_is_named_with_what_was_expected() {
        let told = |line: &str| parsed(line).unwrap_err();
        assert!(told("").contains("found no file"));
        assert!(told("a b").contains("unexpected argument 'b'"));
        assert_eq!(
            told("a --timers soon"),
            "replay: --timers: found 'soon', expected absolute or relative"
        );
        assert!(told("a --timer").contains("requires an argument"));
    }
}
