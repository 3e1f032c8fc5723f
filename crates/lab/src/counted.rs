//! The runs of hackbench under counters: what each of a chain of them has come to.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use simsched_core::MarkId;
use simsched_workloads::hackbench::Hackbench;
use simsched_workloads::lab::CountedRun;

use crate::recorder::{Counters, Passed, Record};
use crate::results::Bench;

/// A run of these options, and what its counters have shown.
pub(crate) type Chain = Vec<(Hackbench, Bench)>;

/// The chains that were run already, by their seeds: all runs of a chain come from one simulation.
///
/// Clones share them. A machine, a policy and its settings must not change between two uses.
#[derive(Clone, Debug, Default)]
pub struct Chains(Arc<Mutex<BTreeMap<u64, Slot>>>);

/// A chain, or that it is yet to be run; whoever runs it holds the lock.
type Slot = Arc<Mutex<Option<Arc<Chain>>>>;

impl Chains {
    /// The chain of this seed, run by `run` if it is not known. None if `run` has not come to its end.
    pub(crate) fn of<E>(
        &self,
        seed: u64,
        run: impl FnOnce() -> Result<Option<Chain>, E>,
    ) -> Result<Option<Arc<Chain>>, E> {
        let slot = {
            let mut slots = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(slots.entry(seed).or_default())
        };
        let mut chain = slot.lock().unwrap_or_else(PoisonError::into_inner);
        if chain.is_none() {
            *chain = run()?.map(Arc::new);
        }
        Ok(chain.clone())
    }
}

/// What the counters of the lab's program have shown of one of these runs: those of hackbench's tasks, from
/// its own first instruction to the end of each.
pub(crate) fn bench(command: &str, run: CountedRun, record: &Record) -> Option<Bench> {
    let passed = |mark: MarkId| record.passed.iter().find(|passed| passed.mark == mark);
    let Passed { counters: before, .. } = passed(run.executed)?;
    let ended = record.passed.iter().filter(|passed| passed.mark == run.ended);
    let ended: Vec<&Counters> = ended.map(|passed| &passed.counters).collect();
    if ended.len() != run.nr_tasks as usize {
        return None;
    }
    let sum = |of: fn(&Counters) -> u64| {
        ended.iter().map(|counters| of(counters)).sum::<u64>() - of(before)
    };
    Some(Bench {
        cmd: command.to_owned(),
        elapsed_ns: passed(run.stop)?.at.since(passed(run.start)?.at).0,
        context_switches: sum(|counters| counters.switches),
        cpu_migrations: sum(|counters| counters.migrations),
        task_clock_ns: sum(|counters| counters.clock),
    })
}
