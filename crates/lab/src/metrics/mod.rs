//! The metrics of a scenario, from its events and from what its tasks tell of themselves.
//!
//! They are computed alike for a kernel and for the simulator, and the definitions are those of the
//! lab: each of them gives the lab's own value, to the last printed digit, for every scenario and
//! seed of its recordings.
//!
//! | metric | meaning |
//! | --- | --- |
//! | `switches` | changes of a CPU's task from or to a task that counts |
//! | `migrations` | moves of tasks that count, by wakeups and by balancers; a fork is none |
//! | `elapsed_ms` | what the parent measures, before its first fork to after its last wait (`schbench`, `sb`: before its first wait) |
//! | `fork_per_llc_sorted`, `fork_distinct_cpus`, `fork_distinct_cores` | where new tasks are queued first |
//! | `wakeups` | wakeups of tasks that count, without the first one of a new task |
//! | `frac_wake_on_prev`, `frac_wake_within_llc_of_prev` | wakeups that leave the task on its CPU, or within its LLC |
//! | `migrations_per_wakeup` | all migrations over all wakeups |
//! | `lat_p50_us` | the median over the tasks of their median latencies |
//! | `lat_p99_us` | the worst of the tasks' 99th percentiles |
//! | `share X(nice N)` | the part of X in the CPU time of all, by switches |
//! | `slice_p50_ms X` | the median of the times that X had the CPU without a switch |
//! | `idle_cpus@T`, `max_per_cpu@T`, `busy_cores@T`, `per_llc_sorted@T`, `per_node_sorted@T` | where the tasks are T ms after the start |
//! | `all_cpus_used_at_ms` | when all tasks have been forked, and first as many CPUs have a task as can |
//! | `exec_sd_over_mean` | standard deviation over mean of the CPU times that the tasks see at their ends |
//!
//! The start is the release of the herd if there is one, else the first event.
//!
//! Of processes of several threads, by which last-level cache (LLC) their threads are behind and who moved them there:
//!
//! | metric | meaning |
//! | --- | --- |
//! | `gather_ms` | the first instant from which 9 of 10 threads of a process are in one LLC for 100 ms, in ms after the launcher's mark |
//! | `gather_after_start_ms` | the same after the process' last birth, or the release of its threads |
//! | `gathered_share_of_time` | how much of the time since then 9 of 10 threads are in one LLC |
//! | `gathered_procs` | processes of several threads that have gathered |
//! | `distinct_gather_llcs` | in how many LLCs they have |
//! | `end_per_llc_sorted` | threads of each process in each LLC at last, in ascending order, process by process |
//! | `mean_max_threads_in_llc` | threads in the fullest LLC of each process, as a mean over time, of all processes together |
//! | `xllc_migrations` | moves between LLCs |
//! | `xllc_migrations MOVER` | those of one [`Mover`](crate::probes::Mover) |
//! | `xllc_wakeups_per_wakeup` | of 20 wakeups or more by threads of the scenario the part that chooses a CPU in another LLC than the waker's |
//! | `scans` | entries of `task_cache_work()` |
//! | `pref_changes` | how often one finds another LLC preferred than the one before it |
//! | `nr_running_avg_max` | the greatest average of running threads that one finds |
//!
//! Of several processes those of one of them have its name behind them: `gather_ms p1`. The threads of process
//! `pN` are called `pNtM`; any other name belongs to `p0`.

mod cache;
mod runtime;
mod spread;
mod wakeups;

use crate::event::{Event, What};
use crate::probes::Probes;
use crate::results::{Counts, Results};
use crate::shape::{Shape, touched};
use crate::value::{Value, Values, round};
use cache::Cache;
use runtime::Runtime;
use spread::Spread;
use wakeups::Wakeups;

/// All that the metrics of a scenario are read off.
#[derive(Clone, Debug)]
pub struct Measures {
    shape: Shape,
    results: Results,
    switches: u64,
    migrations: u64,
    /// Where the new tasks were queued first, in the order of their starts.
    forks: Vec<u32>,
    wakeups: Wakeups,
    spread: Spread,
    runtime: Runtime,
    cache: Cache,
}

/// A run that is over, as the metrics see it.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    /// The name of the scenario.
    pub scenario: &'a str,
    /// The events of the tracer.
    pub events: &'a [Event],
    /// What was watched beside them.
    pub probes: &'a Probes,
    /// What its tasks say of themselves.
    pub results: &'a Results,
}

impl Measures {
    /// Measures a run on a machine of this shape.
    #[must_use]
    pub fn of(shape: &Shape, run: Run<'_>) -> Measures {
        let Run { events, results, .. } = run;
        let start = events.iter().find(|event| event.what == What::Release).or(events.first());
        let mut measures = Measures {
            shape: shape.clone(),
            results: results.clone(),
            switches: 0,
            migrations: 0,
            forks: Vec::new(),
            wakeups: Wakeups::default(),
            spread: Spread::new(start.map_or(0, |event| event.us)),
            runtime: Runtime::default(),
            cache: Cache::of(shape, run),
        };
        let counts = results.counted.counts();
        for event in events {
            measures.see(event, &counts);
        }
        measures
    }

    fn see(&mut self, event: &Event, counts: &Counts) {
        match event.what {
            What::Switch { prev, next, .. } if counts.has(&prev) || counts.has(&next) => {
                self.switches += 1;
                self.runtime.switch(event.us, prev.pid, next.pid);
            }
            What::Waking { wakee, target } if counts.has(&wakee) => {
                self.wakeups.waking(wakee.pid, target);
            }
            What::Wakeup { wakee, target } if counts.has(&wakee) => {
                self.wakeups.wakeup(wakee.pid, target, &self.shape);
                self.spread.place(event.us, wakee.pid, target);
            }
            What::WakeupNew { wakee, target } if counts.has(&wakee) => {
                self.forks.push(target);
                self.spread.place(event.us, wakee.pid, target);
            }
            What::Migrate { task, to, .. } if counts.has(&task) => {
                self.migrations += 1;
                self.spread.place(event.us, task.pid, to);
            }
            _ => {}
        }
    }

    fn plain(&self, metric: &str) -> Option<Value> {
        Some(match metric {
            "switches" => self.switches.into(),
            "migrations" => self.migrations.into(),
            "elapsed_ms" => round(millis(self.results.elapsed_ns), 4).into(),
            "fork_per_llc_sorted" => Value::sorted(self.shape.per_llc(self.forks())),
            "fork_distinct_cpus" => touched(&self.shape.per_cpu(self.forks())).into(),
            "fork_distinct_cores" => self.shape.touched_cores(self.forks()).into(),
            "wakeups" => self.wakeups.all.into(),
            "frac_wake_on_prev" => self.wakeups.part(self.wakeups.on_prev)?,
            "frac_wake_within_llc_of_prev" => self.wakeups.part(self.wakeups.within_llc)?,
            "migrations_per_wakeup" => self.wakeups.part(self.migrations)?,
            "lat_p50_us" => round(self.latency(50)?, 4).into(),
            "lat_p99_us" => round(self.latency(99)?, 3).into(),
            "exec_sd_over_mean" => runtime::deviation(self.results.counted.tasks())?,
            "all_cpus_used_at_ms" => {
                let all = self.results.counted.tasks().len();
                self.spread.all_used_at(all, &self.shape)?
            }
            _ => return None,
        })
    }

    fn forks(&self) -> impl Iterator<Item = u32> + '_ {
        self.forks.iter().copied()
    }

    /// The median of the tasks' median latencies, or the worst 99th percentile, in µs.
    fn latency(&self, percent: u8) -> Option<f64> {
        let tasks = self.results.counted.tasks().iter().filter(|task| task.has_latencies());
        match percent {
            50 => {
                let mut medians: Vec<u64> = tasks.map(|task| task.lat_p50_ns).collect();
                medians.sort_unstable();
                let (low, high) = (medians.get((medians.len().max(1) - 1) / 2)?, medians.len() / 2);
                Some(float(low + medians.get(high)?) / 2.0 / 1000.0)
            }
            _ => tasks.map(|task| task.lat_p99_ns).max().map(|ns| float(ns) / 1000.0),
        }
    }
}

impl Values for Measures {
    fn value(&self, metric: &str) -> Option<Value> {
        if let Some((what, at)) = metric.split_once('@') {
            return self.spread.at(at.parse().ok()?, what, &self.shape);
        }
        if let Some(task) = metric.strip_prefix("share ") {
            return self.runtime.share(task, self.results.counted.tasks());
        }
        if let Some(task) = metric.strip_prefix("slice_p50_ms ") {
            return self.runtime.slice(task, self.results.counted.tasks());
        }
        self.plain(metric).or_else(|| self.cache.value(metric))
    }
}

/// A count or a time as a number to divide by.
#[expect(clippy::cast_precision_loss, reason = "counts and times of a run stay below 2^53")]
fn float(count: u64) -> f64 {
    count as f64
}

fn millis(ns: u64) -> f64 {
    float(ns) / 1e6
}
