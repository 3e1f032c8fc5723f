//! Where the schedule of a run is written, and in which form.

use std::path::{Path, PathBuf};

use clap::Args;

/// The outputs that tell the schedule of one run, event by event.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Schedule (of one run; see docs/traces.md)")]
pub(crate) struct ScheduleArgs {
    /// Write the scheduler's events as `trace-cmd report` prints them
    #[arg(long, value_name = "FILE")]
    pub(crate) ftrace: Option<PathBuf>,

    /// Write them as trace.dat, for `trace-cmd report`, KernelShark and LISA
    #[arg(long, value_name = "FILE")]
    pub(crate) trace_dat: Option<PathBuf>,
}

impl ScheduleArgs {
    /// Those that are asked for, with the names of their options.
    pub(crate) fn given(&self) -> Vec<(&'static str, &Path)> {
        let all = [("--ftrace", &self.ftrace), ("--trace-dat", &self.trace_dat)];
        all.into_iter().filter_map(|(option, path)| Some((option, path.as_deref()?))).collect()
    }
}
