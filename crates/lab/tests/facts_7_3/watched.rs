//! A run with the lab's probes: who scanned, who moved, and where the threads of each process were.

use std::collections::BTreeMap;
use std::sync::Arc;

use simsched_core::{Seed, Workload};
use simsched_lab::event::What;
use simsched_lab::probes::Mover;
use simsched_lab::recorder::Record;
use simsched_lab::run::Bed;
use simsched_topology::CpuId;
use simsched_workloads::lab::Lab;

/// A scenario that has been run.
pub(super) struct Watched {
    pub(super) record: Arc<Record>,
    /// Process and place in it, by pid.
    threads: BTreeMap<u32, String>,
    /// The LLC of each CPU.
    llcs: Vec<usize>,
}

/// A thread of the scenario goes to another LLC.
#[derive(Clone, Copy, Debug)]
pub(super) struct Move {
    /// After the launcher's mark.
    pub(super) ms: f64,
    pub(super) pid: u32,
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) by: Mover,
}

/// What an entry of `task_cache_work()` finds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scanned {
    /// After the launcher's mark.
    pub(super) ms: f64,
    /// The LLC that the process prefers so far.
    pub(super) preferred: Option<usize>,
    pub(super) nr_running_avg: i64,
}

/// How many ms `us` is after `begun`.
fn ms(us: u64, begun: u64) -> f64 {
    f64::from(u32::try_from(us.saturating_sub(begun)).unwrap()) / 1000.0
}

impl Watched {
    pub(super) fn new(bed: &Bed, scenario: &str, seed: u64) -> Watched {
        let topology = &bed.topology;
        let lab = Lab::new(scenario, topology.nr_cpus()).unwrap().on(topology);
        let record = bed.watch(&super::scenario(bed, scenario), seed, &|| false).unwrap().unwrap();
        let setup = lab.build(Seed(0)).unwrap().setup();
        let named = record.tasks.iter().zip(&setup.tasks);
        let threads = named.map(|(task, spec)| (task.pid, spec.name.clone()));
        let threads = threads.filter(|(_, name)| name.starts_with('p')).collect();
        let llcs = (0..topology.nr_cpus()).map(|cpu| topology.llc_of(CpuId::new(cpu)).idx());
        Watched { threads, llcs: llcs.collect(), record }
    }

    fn is_of(&self, pid: u32, process: &str) -> bool {
        self.threads.get(&pid).is_some_and(|name| name.split('t').next() == Some(process))
    }

    fn llc(&self, cpu: u32) -> usize {
        self.llcs[cpu as usize]
    }

    /// The scans by threads of a process.
    pub(super) fn scans(&self, process: &str) -> Vec<Scanned> {
        let probes = &self.record.probes;
        let own = probes.scans.iter().filter(|scan| self.is_of(scan.pid, process));
        let scanned = own.map(|scan| Scanned {
            ms: ms(scan.us, probes.begun),
            preferred: scan.preferred.map(|cpu| self.llc(cpu)),
            nr_running_avg: scan.nr_running_avg,
        });
        scanned.collect()
    }

    /// When scans find another LLC preferred than before, and which.
    pub(super) fn preferences(&self, process: &str) -> Vec<(f64, Option<usize>)> {
        let mut found: Vec<(f64, Option<usize>)> = Vec::new();
        for scan in self.scans(process) {
            if found.last().is_none_or(|last| last.1 != scan.preferred) {
                found.push((scan.ms, scan.preferred));
            }
        }
        found
    }

    /// The moves between LLCs of threads of a process.
    pub(super) fn moves(&self, process: &str) -> Vec<Move> {
        let begun = self.record.probes.begun;
        let mut movers = self.record.probes.movers.iter();
        let mut moves = Vec::new();
        for event in &self.record.events {
            if let What::Migrate { task, from, to } = event.what {
                let by = *movers.next().unwrap();
                let (from, to) = (self.llc(from), self.llc(to));
                if self.is_of(task.pid, process) && from != to {
                    moves.push(Move { ms: ms(event.us, begun), pid: task.pid, from, to, by });
                }
            }
        }
        moves
    }

    /// When the threads of a process were born, and on which LLC each was.
    pub(super) fn births(&self, process: &str) -> Vec<(f64, usize)> {
        let begun = self.record.probes.begun;
        let born = self.record.events.iter().filter_map(|event| match event.what {
            What::WakeupNew { wakee, target } if self.is_of(wakee.pid, process) => {
                Some((ms(event.us, begun), self.llc(target)))
            }
            _ => None,
        });
        born.collect()
    }

    /// How many threads of a process that never sleep are in each LLC so many ms after the mark.
    pub(super) fn places(&self, process: &str, ms: f64) -> Vec<usize> {
        let mut counts = vec![0; self.llcs.iter().max().unwrap() + 1];
        for (_, llc) in self.births(process).iter().filter(|(born, _)| *born <= ms) {
            counts[*llc] += 1;
        }
        for moved in self.moves(process).iter().filter(|moved| moved.ms <= ms) {
            counts[moved.from] -= 1;
            counts[moved.to] += 1;
        }
        counts
    }

    /// When the threads of a process end.
    pub(super) fn exits(&self, process: &str) -> Vec<f64> {
        let begun = self.record.probes.begun;
        let ended = self.record.events.iter().filter_map(|event| match event.what {
            What::Exit { task } if self.is_of(task.pid, process) => Some(ms(event.us, begun)),
            _ => None,
        });
        ended.collect()
    }
}
