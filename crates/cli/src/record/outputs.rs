//! `Outputs`: the files that the schedule of a run goes to.

use std::io::{self, BufWriter, Write};
use std::path::Path;

use simsched_trace::perf_sched::{Latency, Map, Timehist};
use simsched_trace::perfetto::PerfettoWriter;
use simsched_trace::{Ftrace, Sink, Threads, TraceDat};

use super::order::Item;
use crate::args::{Form, RunArgs};
use crate::failure::Failure;
use crate::output::{self, Whole};

/// How much is kept back of each file before it is written.
const BUFFER: usize = 1 << 18;

/// The files that were asked for, each with the writer of its format.
#[derive(Default)]
pub(crate) struct Outputs {
    all: Vec<Output>,
    /// Who is told without a file.
    listener: Option<Box<dyn Sink>>,
    /// The first thing that went wrong.
    failure: Option<Failure>,
}

/// One file, or stdout.
struct Output {
    sink: Box<dyn Sink>,
    file: Option<Whole>,
    counts: bool,
}

impl Outputs {
    /// Those of these arguments, of a machine with so many CPUs; a file that cannot be written is found out
    /// before anything runs.
    ///
    /// # Errors
    /// One sentence about a file that cannot be written, or that is asked for twice, or options that
    /// run more than one schedule.
    pub(crate) fn of(
        args: &RunArgs,
        nr_cpus: usize,
        kernel: Option<&str>,
    ) -> Result<Outputs, Failure> {
        let given = args.schedule.given();
        let Some((first, _)) = given.first() else { return Ok(Outputs::default()) };
        let several =
            [("--seeds", args.seeds.is_some()), ("--precision", args.precision.is_some())];
        if let Some((option, _)) = several.iter().find(|(_, given)| *given) {
            return Err(Failure::Input(format!(
                "{} tells the schedule of one whole run: found {option} beside it, expected only one of them",
                first.option()
            )));
        }
        let json = args.json.as_deref();
        // What is printed at the end may follow other text, but JSON is to stand alone.
        let follows = |form: Form, path: &Path| {
            form.is_late() && is_stdout(path) && !json.is_some_and(is_stdout)
        };
        let places = given.iter().filter(|(form, path)| !follows(*form, path));
        let mut places: Vec<(&str, Option<&Path>)> =
            places.map(|(form, path)| (form.option(), Some(*path))).collect();
        places.push(("--json", json));
        output::are_apart(&places)?;
        let mut outputs = Outputs::default();
        for (form, path) in given {
            outputs.all.push(Output::open(form, path, nr_cpus, kernel)?);
        }
        Ok(outputs)
    }

    /// No file, but somebody who listens.
    pub(crate) fn to(listener: Box<dyn Sink>) -> Outputs {
        Outputs { listener: Some(listener), ..Outputs::default() }
    }

    /// Whether there is nobody to tell.
    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty() && self.listener.is_none()
    }

    /// Whether somebody wants counters.
    pub(crate) fn want_counters(&self) -> bool {
        self.all.iter().any(|output| output.counts)
    }

    /// Tells all of them, until something goes wrong.
    pub(super) fn tell(&mut self, threads: &Threads, item: &Item) {
        match item {
            Item::Event(event) => {
                if let Some(listener) = &mut self.listener {
                    // It has nowhere to write, so nothing can fail.
                    let _ = listener.event(threads, event);
                }
                self.each(|sink, _| sink.event(threads, event));
            }
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
        for output in &mut self.all {
            if let Err(error) = told(output.sink.as_mut(), output.counts) {
                self.failure = Some(output.failure(&error));
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
        if let Some(listener) = &mut self.listener {
            let _ = listener.finish(threads, time);
        }
        self.each(|sink, _| sink.finish(threads, time));
        if let Some(failure) = self.failure {
            return Err(failure);
        }
        for Output { sink, file, .. } in self.all {
            drop(sink);
            file.map_or(Ok(()), Whole::complete)?;
        }
        Ok(())
    }
}

impl Output {
    fn open(
        form: Form,
        path: &Path,
        nr_cpus: usize,
        kernel: Option<&str>,
    ) -> Result<Output, Failure> {
        if is_stdout(path) && !form.is_text() {
            return Err(Failure::Input(format!(
                "{}: found '-', expected a file, as the text of the run goes to stdout",
                form.option()
            )));
        }
        let file = if is_stdout(path) { None } else { Some(Whole::begin(path)?) };
        let target: Box<dyn Write> = match &file {
            Some(file) => Box::new(BufWriter::with_capacity(BUFFER, file.writer()?)),
            None => Box::new(BufWriter::with_capacity(BUFFER, io::stdout())),
        };
        let sink: Box<dyn Sink> = match (form, &file) {
            (Form::TraceDat, Some(file)) => {
                Box::new(TraceDat::new(target, file.scratch()?, nr_cpus))
            }
            (Form::Perfetto, _) => Box::new(PerfettoWriter::new(target, &release(kernel))),
            (Form::Ftrace | Form::TraceDat, _) => Box::new(Ftrace::new(target, nr_cpus)),
            (Form::Timehist, _) => Box::new(Timehist::new(target)),
            (Form::Latency, _) => Box::new(Latency::new(target)),
            (Form::Map, _) => Box::new(Map::new(target, nr_cpus)),
        };
        Ok(Output { counts: sink.wants_counters(), sink, file })
    }

    fn failure(&self, error: &io::Error) -> Failure {
        match &self.file {
            Some(file) => Failure::file(file.path(), error),
            None if error.kind() == io::ErrorKind::BrokenPipe => Failure::NobodyReads,
            None => Failure::file(Path::new("stdout"), error),
        }
    }
}

/// Whether an option asks for stdout.
fn is_stdout(path: &Path) -> bool {
    path == Path::new("-")
}

/// The release of the kernel that a policy stands for, as `uname -r` prints it.
fn release(kernel: Option<&str>) -> String {
    format!("{}.0", kernel.unwrap_or("6.1"))
}
