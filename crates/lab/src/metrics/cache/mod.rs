//! Metrics of processes of several threads: behind which LLC their threads are, and who moved them there.
//!
//! The table of the metrics is that of [`metrics`](crate::metrics).

mod crossing;
mod gathering;
mod places;
mod scans;

use std::collections::BTreeMap;

use super::Run;
use crate::results::TaskResult;
use crate::shape::Shape;
use crate::value::{Value, round};

use crossing::Crossing;
use gathering::{Gathering, Times};
use places::Places;
use scans::Scans;

/// The metrics of the processes of a scenario.
#[derive(Clone, Debug)]
pub(super) struct Cache {
    crossing: Crossing,
    procs: Vec<Proc>,
}

/// A process.
#[derive(Clone, Debug)]
struct Proc {
    name: String,
    threads: usize,
    gathering: Option<Gathering>,
    scans: Option<Scans>,
}

/// Which process each thread belongs to, by pid.
#[derive(Clone, Debug, Default)]
struct Threads {
    /// In the order of their text, as the lab's program has them.
    names: Vec<String>,
    of: BTreeMap<u32, usize>,
}

impl Threads {
    fn new(tasks: &[TaskResult]) -> Threads {
        let named: Vec<(u32, &str)> =
            tasks.iter().map(|task| (task.pid, process_of(&task.name))).collect();
        let mut names: Vec<String> = named.iter().map(|(_, name)| (*name).to_owned()).collect();
        names.sort();
        names.dedup();
        let place = |name: &str| names.iter().position(|known| known == name).unwrap_or(0);
        let of = named.iter().map(|(pid, name)| (*pid, place(name))).collect();
        Threads { names, of }
    }

    /// The process of the thread with this pid; none of who belongs to none.
    fn proc(&self, pid: u32) -> Option<usize> {
        self.of.get(&pid).copied()
    }

    fn count(&self, proc: usize) -> usize {
        self.of.values().filter(|other| **other == proc).count()
    }
}

/// `pN` of a thread that is called `pNtM`.
fn process_of(thread: &str) -> &str {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let found = thread.strip_prefix('p').and_then(|rest| rest.split_once('t'));
    let begins = |text: &str| text.bytes().next().is_some_and(|b| b.is_ascii_digit());
    match found {
        Some((number, rest)) if digits(number) && begins(rest) => &thread[..=number.len()],
        _ => "p0",
    }
}

impl Cache {
    pub(super) fn of(shape: &Shape, run: Run<'_>) -> Cache {
        let (threads, probes) = (Threads::new(run.results.counted.tasks()), run.probes);
        let mut places = Places::new(shape, &threads);
        let mut crossing = Crossing::new(shape, &threads);
        let mut movers = probes.movers.iter();
        for event in run.events {
            places.see(event);
            crossing.see(event, &mut movers);
        }
        // Where threads of a process end one by one, all times with at least two of them count.
        let dies = run.scenario.starts_with("life");
        let times = Times {
            begun: probes.begun,
            start: places.released().unwrap_or(probes.begun),
            ended: probes.ended,
        };
        let proc = |(nth, name): (usize, &String)| Proc {
            name: name.clone(),
            threads: threads.count(nth),
            gathering: Gathering::of(places.history(nth), times, dies),
            scans: Scans::of(probes, |pid| threads.proc(pid) == Some(nth), shape),
        };
        Cache { crossing, procs: threads.names.iter().enumerate().map(proc).collect() }
    }

    pub(super) fn value(&self, metric: &str) -> Option<Value> {
        if let Some(mover) = metric.strip_prefix("xllc_migrations ") {
            return Some(self.crossing.by(mover).into());
        }
        match metric {
            "xllc_migrations" => return Some(self.crossing.all().into()),
            "xllc_wakeups_per_wakeup" => return self.crossing.wakeups(),
            "gathered_procs" => return Some((self.gathered().count() as u64).into()),
            "distinct_gather_llcs" => {
                let mut llcs: Vec<usize> = self.gathered().map(|(llc, _)| llc).collect();
                llcs.sort_unstable();
                llcs.dedup();
                return Some((llcs.len() as u64).into());
            }
            "end_per_llc_sorted" => return Some(self.ends()),
            "mean_max_threads_in_llc" => {
                let means = self.all().map(Gathering::mean_max);
                return Some(round(means.sum::<f64>(), 3).into());
            }
            _ => {}
        }
        let (metric, proc) = match metric.rsplit_once(' ') {
            Some((metric, name)) => (metric, self.procs.iter().find(|proc| proc.name == name)?),
            None => match &self.procs[..] {
                [only] => (metric, only),
                _ => return None,
            },
        };
        proc.value(metric)
    }

    fn all(&self) -> impl Iterator<Item = &Gathering> {
        self.procs.iter().filter_map(|proc| proc.gathering.as_ref())
    }

    /// LLC and instant of each process of several threads that has gathered.
    fn gathered(&self) -> impl Iterator<Item = (usize, u64)> {
        let several = self.procs.iter().filter(|proc| proc.threads > 1);
        several.filter_map(|proc| proc.gathering.as_ref()?.gathered())
    }

    fn ends(&self) -> Value {
        let sorted = |gathering: &Gathering| {
            let mut counts = gathering.end().to_vec();
            counts.sort_unstable();
            counts
        };
        let mut ends: Vec<Vec<u64>> = self.all().map(sorted).collect();
        ends.sort();
        Value::Vector(ends.concat())
    }
}

impl Proc {
    fn value(&self, metric: &str) -> Option<Value> {
        let gathering = self.gathering.as_ref();
        // A process of one thread never has a preference.
        let scans = || self.scans.as_ref().filter(|_| self.threads > 1);
        Some(match metric {
            "gather_ms" => gathering?.gather_ms()?,
            "gather_after_start_ms" => gathering?.gather_after_start_ms()?,
            "gathered_share_of_time" => gathering?.share()?,
            "scans" => scans()?.count.into(),
            "pref_changes" => scans()?.changes.into(),
            "nr_running_avg_max" => scans()?.nr_running_avg_max.into(),
            _ => return None,
        })
    }
}
