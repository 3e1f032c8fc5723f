//! rt-app as it is typed and as it prints.

use std::sync::Arc;

use simsched_core::Workload;
use simsched_topology::Topology;

use super::config::Config;
use super::program::{Program, START, STOP};
use super::read::{Reading, read};
use super::tree::File;
use crate::args::{self, OptionInfo, number, switch};
use crate::benchmark::{BenchResult, Benchmark, LeastPart, MarkTimes, SpanTimes};
use crate::error::WorkloadError;

/// The name of the program.
pub const NAME: &str = "rt-app";

/// The options.
pub const OPTIONS: &[OptionInfo] = &[
    OptionInfo {
        short: None,
        long: None,
        value: Some("FILE"),
        default: "",
        doc: "the file that describes the tasks; `-` is the standard input",
    },
    OptionInfo::long(
        "workgen",
        None,
        "off",
        "read the file as workgen does: repeated keys are kept",
    ),
    OptionInfo::long(
        "release",
        Some("1.0|head"),
        "head",
        "1.0 repeats a task without `phases` for ever, whatever its `loop`",
    ),
    number('l', "log", "LEVEL", "50", "how much it prints; no effect here"),
    switch('h', "help", "", "print this list and do nothing else"),
];

/// How the command line was given.
struct Given<'a> {
    file: &'a str,
    reading: Reading,
}

fn given(args: &[String]) -> Result<Given<'_>, WorkloadError> {
    let (given, words) = args::parse_with_words(NAME, OPTIONS, args)?;
    let mut reading = Reading::default();
    for given in given {
        match (given.option.long.unwrap_or_default(), given.value) {
            ("workgen", _) => reading.workgen = true,
            ("release", "1.0") => reading.is_1_0 = true,
            ("release", "head") => reading.is_1_0 = false,
            ("release", other) => {
                return Err(usage(format!("--release: expected 1.0 or head, found `{other}`")));
            }
            ("log", level) if level.parse::<i32>().is_ok() => {}
            ("log", level) => {
                return Err(usage(format!("--log: expected an integer, found `{level}`")));
            }
            _ => return Err(WorkloadError::Help { program: NAME }),
        }
    }
    match words[..] {
        [file] => Ok(Given { file, reading }),
        [] => Err(usage("expected a JSON file, as in `rt-app tasks.json`".to_owned())),
        [_, more, ..] => Err(usage(format!("unexpected argument '{more}'"))),
    }
}

/// The name of the file that these options name; `-` is the standard input.
///
/// # Errors
/// One sentence that names what is wrong.
pub fn file(args: &[String]) -> Result<&str, WorkloadError> {
    given(args).map(|given| given.file)
}

/// The rt-app that these options mean on this machine, where the file has this text.
///
/// # Errors
/// One sentence that names the option, or file, line and column.
pub fn parse(
    args: &[String],
    text: &str,
    topology: &Topology,
) -> Result<Box<dyn Benchmark>, WorkloadError> {
    let Given { file, reading } = given(args)?;
    let name = if file == "-" { "standard input" } else { file };
    let line_ends: Vec<usize> = text.match_indices('\n').map(|(at, _)| at).collect();
    let source = File { name, text, line_ends: &line_ends };
    let config = read(source, reading, topology).map_err(usage)?;
    let mut command = NAME.to_owned();
    for (is_given, option) in [(reading.workgen, " --workgen"), (reading.is_1_0, " --release 1.0")]
    {
        if is_given {
            command += option;
        }
    }
    let command = format!("{command} {file}");
    Ok(Box::new(Run { config: Arc::new(config), command, cpus: *topology.cpus() }))
}

fn usage(what: String) -> WorkloadError {
    WorkloadError::Usage { program: NAME, what }
}

/// rt-app, to be run.
struct Run {
    config: Arc<Config>,
    command: String,
    cpus: simsched_topology::CpuSet,
}

impl Benchmark for Run {
    /// Tasks may start others in any phase.
    fn begins_with_births(&self) -> bool {
        false
    }

    fn command(&self) -> String {
        self.command.clone()
    }

    fn banner(&self) -> String {
        String::new()
    }

    fn workload(&self) -> Box<dyn Workload + Send> {
        Box::new(Program::new(&self.config, self.cpus))
    }

    fn least_part(&self) -> LeastPart {
        LeastPart::Whole
    }

    fn without_effect(&self) -> Vec<String> {
        self.config.notes.clone()
    }

    fn result(&self, marks: &[MarkTimes], _: &[SpanTimes]) -> BenchResult {
        let [start, stop] =
            [START, STOP].map(|mark| marks.get(mark.idx()).copied().unwrap_or_default());
        let elapsed_ns = if stop.count > 0 { stop.last_ns - start.first_ns } else { 0 };
        let threads = self.config.tasks.iter().map(|task| u64::from(task.instances)).sum();
        let values = vec![("threads", threads)];
        BenchResult { text: String::new(), elapsed_ns, throughput_milli: None, values }
    }
}
