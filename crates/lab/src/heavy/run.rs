//! `Pair`: one command line on the simulator, with the patch off and on.

use std::collections::BTreeMap;

use simsched_core::observe::Stats;
use simsched_core::{Cause, Launcher, Seed, Workload};
use simsched_workloads::hackbench;
use simsched_workloads::lab::{self, WithKthreads};

use super::groups::rates;
use super::{BRANCHES, Counts, changes};
use crate::error::LabError;
use crate::folder::Recorded;
use crate::once::Once;
use crate::recorder::Recorder;
use crate::run::Bed;
use crate::value::{Value, Values};

/// The simulated machine with the patch off and on.
#[derive(Clone, Debug)]
pub struct Pair {
    /// Off.
    pub off: Bed,
    /// On.
    pub on: Bed,
}

/// What is compared, by the names of the metrics.
struct Changes(Vec<(String, f64)>);

impl Values for Changes {
    fn value(&self, metric: &str) -> Option<Value> {
        let (_, value) = self.0.iter().find(|(name, _)| name == metric)?;
        Some(Value::from(*value))
    }
}

impl Pair {
    /// Runs a command line with this seed on both sides; none if `stop` says so before it is over.
    ///
    /// # Errors
    /// When it is not known, a policy does not exist, or a run cannot go on.
    pub fn run(
        &self,
        command: &str,
        seed: u64,
        stop: &dyn Fn() -> bool,
    ) -> Result<Option<Recorded>, LabError> {
        let Some(off) = count(&self.off, command, seed, stop)? else { return Ok(None) };
        let Some(on) = count(&self.on, command, seed, stop)? else { return Ok(None) };
        let rows = changes(&off, &on).into_iter().map(|(name, _, value)| (name, value));
        Ok(Some(Recorded { events: Vec::new(), values: Box::new(Changes(rows.collect())) }))
    }
}

/// Runs a scenario inside task groups, `group=container[+FEATURE...] COMMAND`, with this seed; none
/// if `stop` says so before it is over.
///
/// # Errors
/// When the command is not known, the policy does not exist, or the run cannot go on.
pub fn count_groups(
    bed: &Bed,
    scenario: &str,
    seed: u64,
    stop: &dyn Fn() -> bool,
) -> Result<Option<Recorded>, LabError> {
    let (added, command) = scenario.split_once(' ').unwrap_or((scenario, ""));
    let policy = format!("{}+{added}", bed.policy);
    let bed = Bed { policy, chains: Once::default(), ..bed.clone() };
    let Some(counts) = count(&bed, command, seed, stop)? else { return Ok(None) };
    let of = |name: &str| counts.told.get(name).copied().unwrap_or(0);
    let rates = rates(&counts, &of, added.contains("tg_ratelimit"));
    Ok(Some(Recorded { events: Vec::new(), values: Box::new(Changes(rates)) }))
}

/// How often the first process of such a run has changed whom it wakes (`wakee_flips`), which hackbench's
/// tasks inherit: counted in the lab's kernel 6.1.176 on one LLC of 16 CPUs, they begin with 62 to 66 two
/// seconds after the boot, and the first wakeup of the next second halves that. In the folder's own run of
/// `-g 2 -f 4` a sender is asked for 552 placements until its counts are 16 times as many (`wa_calls`, 4,419
/// of eight senders): with 0.95 flips for each, 35.
const WAKEE_FLIPS: u32 = 32;

fn count(
    bed: &Bed,
    command: &str,
    seed: u64,
    stop: &dyn Fn() -> bool,
) -> Result<Option<Counts>, LabError> {
    let mut bed = bed.clone();
    bed.config.launcher = bed.config.launcher.or(Some(Launcher::Flips(WAKEE_FLIPS)));
    let args: Vec<String> = command.split(' ').skip(1).map(str::to_owned).collect();
    let programs = lab::timed(&hackbench::parse(&args)?, Seed(seed))?;
    let programs = WithKthreads::new(programs, &bed.untraced, Seed(seed));
    let setup = programs.setup();
    let stats = Stats::new(&bed.untraced, setup.tasks.len(), setup.marks.len());
    let recorder = Recorder::new(&setup, bed.untraced.nr_cpus()).without_events();
    let observer = (recorder, stats);
    let Some(run) = bed.simulate(command, &bed.untraced, programs, observer, seed, stop)? else {
        return Ok(None);
    };
    let names = run.reasons();
    let (world, policy, _, (recorder, stats)) = run.into_parts();
    let record = recorder.finish(&world, names);
    let by_reason = stats.wakeups_by_reason();
    let of = |reasons: &[&str]| {
        let rows = names.iter().zip(by_reason).filter(|(name, _)| reasons.contains(name));
        rows.map(|(_, count)| count).sum()
    };
    let by_cause = stats.migrations_by_cause();
    // `lb_gained`, which leaves out what stoppers push.
    let balancers = [Cause::Periodic, Cause::NewIdle, Cause::Nohz];
    let mut told = BTreeMap::new();
    policy.metrics(&mut |name, value| {
        // The kernel's counters of refusals have another name.
        let name = if name == "tg_limited" { "tg_ratelimited" } else { name };
        told.insert(name.to_owned(), value);
    });
    Ok(Some(Counts {
        told,
        switches: record.context_switches,
        migrations: record.cpu_migrations,
        pulled: balancers.iter().map(|cause| by_cause[*cause as usize]).sum(),
        wakeups: stats.wakeups(),
        placed: BRANCHES.map(|(_, reasons, _)| of(reasons)),
    }))
}
