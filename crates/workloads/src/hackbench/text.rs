//! hackbench as it is typed and as it prints.

use simsched_core::{Seed, Workload};

use super::{Channel, Hackbench, Mode, START, STOP};
use crate::args::{self, Given, OptionInfo, number, switch};
use crate::benchmark::{BenchResult, Benchmark, MarkTimes, SpanTimes, Teams};
use crate::error::WorkloadError;

/// The name of the program, and of its tasks.
pub const NAME: &str = "hackbench";

/// The options, in the order and with the text of the program's own help.
pub const OPTIONS: &[OptionInfo] = &[
    number('f', "fds", "NUM", "20", "senders, and receivers, of a group"),
    switch('F', "fifo", "off", "SCHED_FIFO for the main thread; cannot be simulated"),
    number('g', "groups", "NUM", "10", "number of groups"),
    switch('h', "help", "", "print this list and do nothing else"),
    number('l', "loops", "LOOPS", "100", "messages that each sender sends to each receiver"),
    switch('p', "pipe", "off", "send over pipes and not over AF_UNIX stream sockets"),
    switch('i', "inet", "off", "send over TCP; cannot be simulated"),
    number('s', "datasize", "SIZE", "100", "size of a message in bytes"),
    switch('T', "threads", "off", "the workers are threads of one process"),
    switch('P', "process", "on", "each worker is a process of its own"),
];

/// The hackbench that these options mean.
///
/// # Errors
/// One sentence that names the option and what is wrong with it.
pub fn parse(args: &[String]) -> Result<Hackbench, WorkloadError> {
    let mut hackbench = Hackbench::default();
    for given in args::parse(NAME, OPTIONS, args)? {
        match given.option.short.unwrap_or_default() {
            'f' => hackbench.fds = positive(given)?,
            'g' => hackbench.groups = positive(given)?,
            'l' => hackbench.loops = positive(given)?,
            's' => hackbench.bytes = positive(given)?,
            'p' => hackbench.channel = Channel::Pipe,
            'T' => hackbench.mode = Mode::Threads,
            'P' => hackbench.mode = Mode::Processes,
            'F' => return Err(usage("--fifo|-F cannot be simulated: there is no real-time class")),
            'i' => {
                return Err(usage(
                    "--inet|-i cannot be simulated: its connections are not modelled",
                ));
            }
            _ => return Err(WorkloadError::Help { program: NAME }),
        }
    }
    // What a run cannot hold is said now, and not when it starts.
    hackbench.check().map(|()| hackbench)
}

/// The program takes any number that does not begin with a zero; here it must be one, and fit.
fn positive(given: Given<'_>) -> Result<u32, WorkloadError> {
    let Given { option, value } = given;
    let number = value.parse().ok().filter(|number| (1..=i32::MAX as u32).contains(number));
    number.ok_or_else(|| {
        let (long, short) = (option.long.unwrap_or_default(), option.short.unwrap_or_default());
        let (most, found) = (i32::MAX, format!("found '{value}'"));
        usage(&format!("--{long}|-{short} requires an integer > 0, {found}, expected 1..={most}"))
    })
}

fn usage(what: &str) -> WorkloadError {
    WorkloadError::Usage { program: NAME, what: what.to_owned() }
}

/// hackbench, to be run with a seed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    pub(crate) hackbench: Hackbench,
    pub(crate) seed: u64,
}

impl Benchmark for Run {
    fn command(&self) -> String {
        let Hackbench { groups, fds, loops, bytes, mode, channel } = self.hackbench;
        let mode = match mode {
            Mode::Threads => "-T",
            Mode::Processes => "-P",
        };
        let channel = match channel {
            Channel::Pipe => " -p",
            Channel::Socket => "",
        };
        format!("{NAME} -g {groups} -f {fds} -l {loops} -s {bytes} {mode}{channel}")
    }

    fn banner(&self) -> String {
        let Hackbench { groups, fds, loops, bytes, mode, .. } = self.hackbench;
        let mode = match mode {
            Mode::Threads => "threaded",
            Mode::Processes => "process",
        };
        format!(
            "Running in {mode} mode with {groups} groups using {} file descriptors each \
             (== {} tasks)\nEach sender will pass {loops} messages of {bytes} bytes",
            2 * u64::from(fds),
            self.hackbench.workers(),
        )
    }

    fn workload(&self) -> Box<dyn Workload + Send> {
        let programs = self.hackbench.build(Seed(self.seed));
        Box::new(programs.expect("the options were checked when they were read"))
    }

    fn teams(&self) -> Option<Teams> {
        let Hackbench { groups: count, fds: each, .. } = self.hackbench;
        Some(Teams { first: 1, count, each, messages: self.hackbench.messages() })
    }

    fn result(&self, marks: &[MarkTimes], _: &[SpanTimes]) -> BenchResult {
        let mark = |id: simsched_core::MarkId| marks.get(id.idx()).filter(|mark| mark.count > 0);
        let values =
            vec![("messages", self.hackbench.messages()), ("tasks", self.hackbench.workers())];
        let (Some(start), Some(stop)) = (mark(START), mark(STOP)) else {
            return BenchResult {
                text: "Time: not finished".to_owned(),
                elapsed_ns: 0,
                throughput_milli: None,
                values,
            };
        };
        let elapsed_ns = stop.last_ns.saturating_sub(start.first_ns);
        let ms = elapsed_ns / 1_000_000;
        let text = format!("Time: {}.{:03}", ms / 1000, ms % 1000);
        BenchResult {
            text,
            elapsed_ns,
            throughput_milli: None,
            values: with_rate(values, elapsed_ns),
        }
    }
}

/// Adds the messages per second of the whole run.
fn with_rate(mut values: Vec<(&'static str, u64)>, elapsed_ns: u64) -> Vec<(&'static str, u64)> {
    let messages = u128::from(values[0].1);
    if let Some(rate) = (messages * 1_000_000_000).checked_div(u128::from(elapsed_ns)) {
        values.push(("messages_per_second", u64::try_from(rate).unwrap_or(u64::MAX)));
    }
    values
}
