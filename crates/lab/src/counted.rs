//! The runs of hackbench under counters: what each of a chain of them has come to.

use simsched_core::MarkId;
use simsched_workloads::hackbench::Hackbench;
use simsched_workloads::lab::CountedRun;

use crate::recorder::{Counters, Passed, Record};
use crate::results::Bench;

/// A run of these options, and what its counters have shown.
pub(crate) type Chain = Vec<(Hackbench, Bench)>;

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
