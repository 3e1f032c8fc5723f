//! How many threads a file can have at most, and whether a run can hold them.

use super::config::{Config, Event, Phase, Task};

/// How often a task may be forked, as rt-app limits it.
pub(super) const FORKS: usize = 1024;

/// The most threads of a run, with those that may be forked. All are declared before it starts.
const MAX_THREADS: usize = 1 << 16;

/// The most timers that threads have for themselves, all together.
///
/// Guess: 16 for each thread of the largest run, some 24 MB.
const MAX_TIMERS: usize = 1 << 20;

/// What of the file is more than a run can hold, in words; none if nothing is.
pub(super) fn excess(config: &Config) -> Option<String> {
    let counts = fork_counts(config);
    let of_task = |task: &Task| {
        let forks = config.forks.iter().zip(&counts).filter(|(name, _)| **name == task.name);
        task.instances as usize + forks.map(|(_, count)| count).sum::<usize>()
    };
    let threads = config.tasks.iter().map(of_task).fold(0, usize::saturating_add);
    if threads > MAX_THREADS {
        let what = "threads that a run can hold, with those that may be forked";
        return Some(format!("{threads} threads are more than the {MAX_THREADS} {what}"));
    }
    let timers = config.tasks.iter().map(|task| of_task(task).saturating_mul(task.timers.len()));
    let timers = timers.fold(0, usize::saturating_add);
    let what =
        "that a run can hold: each thread has its own of those whose name begins with `unique`";
    (timers > MAX_TIMERS).then(|| format!("{timers} timers are more than the {MAX_TIMERS} {what}"))
}

/// The most threads that each fork of the file can start, up to the limit.
pub(super) fn fork_counts(config: &Config) -> Vec<usize> {
    let forkers = forkers(config);
    let mut counts = vec![0_usize; config.forks.len()];
    for round in 0_usize.. {
        let of_fork = |forkers: &Vec<Forker>| {
            let each = |forker: &Forker| {
                let forked = forker.fork.map_or(0, |fork| counts[fork]);
                forker.times.saturating_mul(forker.instances.saturating_add(forked))
            };
            forkers.iter().map(each).fold(0, usize::saturating_add).min(FORKS)
        };
        let mut next: Vec<usize> = forkers.iter().map(of_fork).collect();
        if next == counts {
            break;
        }
        if round > counts.len() {
            // What still grows is forked in a circle, and grows up to the limit.
            let grows = next.iter_mut().zip(&counts).filter(|(next, count)| next != count);
            grows.for_each(|(next, _)| *next = FORKS);
        }
        counts = next;
    }
    counts
}

/// A task that forks another one.
struct Forker {
    /// How often each of its threads does.
    times: usize,
    /// How many threads it has from the start on,
    instances: usize,
    /// and which fork makes more.
    fork: Option<usize>,
}

/// By fork: the tasks that have it.
fn forkers(config: &Config) -> Vec<Vec<Forker>> {
    let turns = |loops: i32| usize::try_from(loops).unwrap_or(FORKS + 1);
    let mut forkers: Vec<Vec<Forker>> = config.forks.iter().map(|_| Vec::new()).collect();
    for task in &config.tasks {
        let mut times = std::collections::BTreeMap::new();
        for Phase { loops, events, .. } in &task.phases {
            let loops = if *loops <= 0 { FORKS + 1 } else { turns(*loops) };
            for event in events {
                if let Event::Fork(fork) = event {
                    let times = times.entry(*fork).or_insert(0_usize);
                    *times = times.saturating_add(loops);
                }
            }
        }
        let of_task = config.forks.iter().position(|name| *name == task.name);
        for (fork, times) in times {
            forkers[fork].push(Forker {
                times: times.saturating_mul(turns(task.loops)),
                instances: task.instances as usize,
                fork: of_task,
            });
        }
    }
    forkers
}
