//! Where the schedule of a run is written, and in which form.

use std::path::{Path, PathBuf};

use clap::Args;

/// Under which these options are listed.
const HEADING: &str = "Schedule of the run, event by event";

/// The outputs that tell the schedule of one run, event by event.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct ScheduleArgs {
    /// Write a Perfetto trace, for ui.perfetto.dev and its SQL: events, and how many tasks each CPU has
    #[arg(long, help_heading = HEADING, value_name = "FILE.pftrace")]
    pub(crate) trace: Option<PathBuf>,

    /// Write the scheduler's events as `trace-cmd report -N` prints them
    #[arg(long, help_heading = HEADING, value_name = "FILE|-")]
    pub(crate) ftrace: Option<PathBuf>,

    /// Write them as trace.dat, for `trace-cmd report`, KernelShark and LISA
    #[arg(long, help_heading = HEADING, value_name = "FILE")]
    pub(crate) trace_dat: Option<PathBuf>,

    /// Tell each time that a task had a CPU, as `perf sched timehist` does
    #[arg(long, help_heading = HEADING, value_name = "FILE|-", num_args = 0..=1)]
    #[arg(default_missing_value = "-", require_equals = true)]
    pub(crate) timehist: Option<PathBuf>,

    /// Tell how long tasks waited for a CPU, as `perf sched latency` does
    #[arg(long, help_heading = HEADING, value_name = "FILE|-", num_args = 0..=1)]
    #[arg(default_missing_value = "-", require_equals = true)]
    pub(crate) latency: Option<PathBuf>,

    /// Tell who runs on which CPU at each switch, as `perf sched map` does
    #[arg(long, help_heading = HEADING, value_name = "FILE|-", num_args = 0..=1)]
    #[arg(default_missing_value = "-", require_equals = true)]
    pub(crate) map: Option<PathBuf>,
}

/// A form in which a schedule is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// A Perfetto trace.
    Perfetto,
    /// The text of ftrace.
    Ftrace,
    /// trace.dat.
    TraceDat,
    /// `perf sched timehist`.
    Timehist,
    /// `perf sched latency`.
    Latency,
    /// `perf sched map`.
    Map,
}

impl Form {
    /// The option that asks for it.
    pub(crate) fn option(self) -> &'static str {
        match self {
            Form::Perfetto => "--trace",
            Form::Ftrace => "--ftrace",
            Form::TraceDat => "--trace-dat",
            Form::Timehist => "--timehist",
            Form::Latency => "--latency",
            Form::Map => "--map",
        }
    }

    /// Whether it can be printed.
    pub(crate) fn is_text(self) -> bool {
        !matches!(self, Form::TraceDat | Form::Perfetto)
    }

    /// Whether all of it is written at the end.
    pub(crate) fn is_late(self) -> bool {
        matches!(self, Form::Latency)
    }
}

impl ScheduleArgs {
    /// Those that are asked for.
    pub(crate) fn given(&self) -> Vec<(Form, &Path)> {
        let all = [
            (Form::Perfetto, &self.trace),
            (Form::Ftrace, &self.ftrace),
            (Form::TraceDat, &self.trace_dat),
            (Form::Timehist, &self.timehist),
            (Form::Latency, &self.latency),
            (Form::Map, &self.map),
        ];
        all.into_iter().filter_map(|(form, path)| Some((form, path.as_deref()?))).collect()
    }
}
