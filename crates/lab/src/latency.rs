//! The latencies that the lab's tasks measure themselves, from the marks that ours have passed.

use simsched_core::TaskId;
use simsched_workloads::lab::{Lab, Latency};

use crate::recorder::Record;

/// The latencies of each task in ns, in the order in which it measured them.
pub(crate) fn latencies(lab: &Lab, record: &Record) -> Vec<Vec<u64>> {
    let mut found = vec![Vec::new(); record.tasks.len()];
    match lab.latency() {
        None => {}
        Some(Latency::RoundTrip { from, to }) => {
            let mut asked = vec![None; found.len()];
            for passed in &record.passed {
                let nth = passed.task.idx();
                if passed.mark == from {
                    asked[nth] = Some(passed.at);
                } else if passed.mark == to {
                    let asked: Option<simsched_core::SimTime> = asked[nth].take();
                    found[nth].extend(asked.map(|asked| passed.at.since(asked).0));
                }
            }
        }
        Some(Latency::Timer { run }) => {
            for passed in record.passed.iter().filter(|passed| passed.mark == run) {
                let turns = &mut found[passed.task.idx()];
                if let Some(due) = lab.due(passed.task, turns.len() as u64) {
                    turns.push(passed.at.since(record.started + due).0);
                }
            }
        }
        Some(Latency::Wake { wakes, run }) => {
            let wakee = |mark| wakes.iter().find(|(wake, _)| *wake == mark).map(|(_, task)| *task);
            let mut woken = vec![None; found.len()];
            for passed in &record.passed {
                if passed.mark == run {
                    let nth = passed.task.idx();
                    let woken: Option<simsched_core::SimTime> = woken[nth].take();
                    found[nth].extend(woken.map(|woken| passed.at.since(woken).0));
                } else if let Some(TaskId(wakee)) = wakee(passed.mark) {
                    woken[wakee as usize] = Some(passed.at);
                }
            }
        }
    }
    found
}
