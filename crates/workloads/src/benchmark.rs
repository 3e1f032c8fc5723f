//! The trait `Benchmark`: a program as one would run it, the text that it prints, and its workload.

use simsched_core::{Launcher, MarkId, Nanos, Notes, Workload};
use simsched_topology::Topology;

/// A program with its options, ready to be run any number of times.
pub trait Benchmark: Send + Sync {
    /// The command line that gives the same again, in its shortest full form.
    fn command(&self) -> String;

    /// What the real program prints when it starts: lines separated by `\n`, none at the end.
    fn banner(&self) -> String;

    /// A new workload, before its start.
    fn workload(&self) -> Box<dyn Workload + Send>;

    /// The same on this machine: with what belongs to the machine and runs there too.
    fn workload_on(&self, topology: &Topology) -> Box<dyn Workload + Send> {
        let _ = topology;
        self.workload()
    }

    /// What its input says and what changes nothing that is simulated: a line for each.
    fn without_effect(&self) -> Vec<String> {
        Vec::new()
    }

    /// How long a part of its run must be, so that what it reports of that part can stand for the
    /// whole.
    fn least_part(&self) -> LeastPart {
        LeastPart::Any
    }

    /// What it does a fixed number of, if that is not messages: the mark that it passes each time, and
    /// how often it does in all.
    fn rounds(&self) -> Option<(MarkId, u64)> {
        None
    }

    /// How long it runs once all of its tasks are started, if it runs for a fixed time.
    fn lasts(&self) -> Option<Nanos> {
        None
    }

    /// Whether all its tasks are started as it begins. Its start is over then when all of them are there and it
    /// has started its own clock (its mark `start`), otherwise with the clock alone.
    fn begins_with_births(&self) -> bool {
        true
    }

    /// Who starts it, unless somebody is named: a script.
    fn launcher(&self) -> Launcher {
        Launcher::Script
    }

    /// Whether the threads of the machine's kernel are among its tasks already, or were where it was recorded.
    fn has_kthreads(&self) -> bool {
        false
    }

    /// How its tasks share a fixed number of messages, if they send one.
    fn teams(&self) -> Option<Teams> {
        None
    }

    /// What the real program would report of a run in which the marks, by their ids, were passed
    /// at these times, and the spans of its setup took these.
    fn result(&self, marks: &[MarkTimes], spans: &[SpanTimes]) -> BenchResult;

    /// The same of a run of which more is known: a program that measures itself has printed its own
    /// text.
    fn result_of(&self, ran: &Ran<'_>) -> BenchResult {
        let mut result = self.result(ran.marks, ran.spans);
        if !ran.notes.text.is_empty() {
            result.text.clone_from(&ran.notes.text);
        }
        result.values.extend(&ran.notes.values);
        result
    }
}

/// Tasks in teams: all senders of a team send to all of its receivers in turn, round after round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Teams {
    /// The number of the first task of the first team. In each team the receivers come first.
    pub first: u32,
    /// How many teams there are.
    pub count: u32,
    /// How many receivers, and how many senders, a team has.
    pub each: u32,
    /// All messages of all teams.
    pub messages: u64,
}

/// How long a part of a run must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeastPart {
    /// Its rates are as good in any.
    Any,
    /// It takes samples, of which so much time gives enough.
    Span(Nanos),
    /// The same, and what was before so much time it forgets itself.
    SpanAfter {
        /// When it begins to count.
        after: Nanos,
        /// For how long.
        span: Nanos,
    },
    /// Any, but not before so much time: its tasks hardly ever sleep, so that only balancers move them.
    After(Nanos),
    /// It reports what only a whole run has.
    Whole,
}

/// A run as its program can know it.
#[derive(Clone, Copy, Debug)]
pub struct Ran<'a> {
    /// The marks, by their ids.
    pub marks: &'a [MarkTimes],
    /// The spans of its setup.
    pub spans: &'a [SpanTimes],
    /// What the workload has written.
    pub notes: &'a Notes,
    /// CPU time of its tasks in user space and in the kernel, in ns.
    pub cpu_ns: [u64; 2],
}

/// When a mark was passed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MarkTimes {
    /// How often.
    pub count: u64,
    /// The first time, in ns since the start of the run; meaningless while `count` is 0.
    pub first_ns: u64,
    /// The last time, in ns since the start of the run; meaningless while `count` is 0.
    pub last_ns: u64,
}

/// How long the spans between two marks were, in ns; all 0 while there was none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SpanTimes {
    /// How many there were.
    pub count: u64,
    /// All of them together.
    pub sum_ns: u64,
    /// The shortest.
    pub min_ns: u64,
    /// The longest.
    pub max_ns: u64,
    /// The median,
    pub p50_ns: u64,
    /// and other quantiles.
    pub p90_ns: u64,
    /// 95 % are not longer.
    pub p95_ns: u64,
    /// 99 % are not longer.
    pub p99_ns: u64,
    /// 99.9 % are not longer.
    pub p99_9_ns: u64,
}

/// What a program reports at its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BenchResult {
    /// What the real program prints at its end, without a `\n` at the end.
    pub text: String,
    /// The time that it measured, in ns; 0 if it did not come to its end.
    pub elapsed_ns: u64,
    /// What it reports as its throughput, in thousandths of the unit in which it does; none if it
    /// reports none, or did nothing. A run that was stopped has it too.
    pub throughput_milli: Option<u64>,
    /// What can be counted or divided, by name.
    pub values: Vec<(&'static str, u64)>,
}
