//! `Outputs`: the files that the schedule of a run goes to.

use std::io::{self, BufWriter};
use std::path::Path;

use simsched_trace::{Ftrace, Sink, Threads, TraceDat};

use super::order::Item;
use crate::args::RunArgs;
use crate::failure::Failure;
use crate::output::{self, Whole};

/// How much is kept back of each file before it is written.
const BUFFER: usize = 1 << 18;

/// The files that were asked for, each with the writer of its format.
#[derive(Default)]
pub(crate) struct Outputs {
    all: Vec<Output>,
    /// The first thing that went wrong.
    failure: Option<Failure>,
}

/// One file.
struct Output {
    sink: Box<dyn Sink>,
    file: Whole,
    counts: bool,
}

impl Outputs {
    /// Those of these arguments, of a machine with so many CPUs; a file that cannot be written is found out before anything runs.
    ///
    /// # Errors
    /// One sentence about a file that cannot be written, or that is asked for twice, or options that
    /// run more than one schedule.
    pub(crate) fn of(args: &RunArgs, nr_cpus: usize) -> Result<Outputs, Failure> {
        let given = args.schedule.given();
        let Some((first, _)) = given.first() else { return Ok(Outputs::default()) };
        let several =
            [("--seeds", args.seeds.is_some()), ("--precision", args.precision.is_some())];
        if let Some((option, _)) = several.iter().find(|(_, given)| *given) {
            let text = "tells the schedule of one whole run, expected no";
            return Err(Failure::Input(format!("{first}: {text} {option}")));
        }
        let places: Vec<(&str, Option<&Path>)> =
            given.iter().map(|(o, p)| (*o, Some(*p))).collect();
        output::are_apart(&[&places[..], &[("--json", args.json.as_deref())]].concat())?;
        let mut outputs = Outputs::default();
        for (option, path) in given {
            outputs.open(option, path, nr_cpus)?;
        }
        Ok(outputs)
    }

    fn open(&mut self, option: &str, path: &Path, nr_cpus: usize) -> Result<(), Failure> {
        let file = Whole::begin(path)?;
        let target = BufWriter::with_capacity(BUFFER, file.writer()?);
        let sink: Box<dyn Sink> = match option {
            "--ftrace" => Box::new(Ftrace::new(target, nr_cpus)),
            "--trace-dat" => Box::new(TraceDat::new(target, file.scratch()?, nr_cpus)),
            _ => unreachable!("all options have a format"),
        };
        self.all.push(Output { counts: sink.wants_counters(), sink, file });
        Ok(())
    }

    /// Whether there is nobody to tell.
    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Whether somebody wants counters.
    pub(super) fn want_counters(&self) -> bool {
        self.all.iter().any(|output| output.counts)
    }

    /// Tells all of them, until something goes wrong.
    pub(super) fn tell(&mut self, threads: &Threads, item: &Item) {
        match item {
            Item::Event(event) => self.each(|sink, _| sink.event(threads, event)),
            Item::Counter { time, cpu, name, value } => {
                self.each(
                    |sink, counts| {
                        if counts { sink.counter(*time, *cpu, name, *value) } else { Ok(()) }
                    },
                )
            }
        }
    }

    fn each(&mut self, mut told: impl FnMut(&mut dyn Sink, bool) -> io::Result<()>) {
        if self.failure.is_some() {
            return;
        }
        for Output { sink, file, counts } in &mut self.all {
            if let Err(error) = told(sink.as_mut(), *counts) {
                self.failure = Some(Failure::file(file.path(), &error));
                return;
            }
        }
    }

    /// What has gone wrong.
    pub(super) fn failure(&self) -> Option<Failure> {
        self.failure.clone()
    }

    /// The schedule has ended at `time`: the files get their names.
    pub(super) fn finish(mut self, threads: &Threads, time: u64) -> Result<(), Failure> {
        self.each(|sink, _| sink.finish(threads, time));
        if let Some(failure) = self.failure {
            return Err(failure);
        }
        for Output { sink, file, .. } in self.all {
            drop(sink);
            file.complete()?;
        }
        Ok(())
    }
}
