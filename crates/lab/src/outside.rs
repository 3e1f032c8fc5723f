//! `Outside`: what tasks that do not belong to a scenario did to it while a kernel ran it.
//!
//! A kernel has threads of its own (`rcu_preempt`, `kworker`, `ksoftirqd`), and a system other
//! programs. A metric that we miss because of them is no fault of a rule or a price; this shows how
//! often they came between. A stopper (`migration/N`) belongs to the balancer, and is no outsider.

use std::collections::BTreeMap;

use crate::event::{Event, Task, What};
use crate::results::Results;
use crate::tracefs;

/// What outsiders did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outside {
    /// All switches from or to a task that counts.
    pub switches: u64,
    /// Those of them that are between such a task and an outsider.
    pub with_outsiders: u64,
    /// How many of these each outsider has, by name and without the number of its CPU.
    pub by_name: BTreeMap<String, u64>,
    /// The first of these switches, as the tracer shows it.
    pub first: Option<String>,
}

impl Outside {
    /// What outsiders did in a run of which this is known.
    #[must_use]
    pub fn of(events: &[Event], results: &Results) -> Outside {
        let counts = results.counted.counts();
        let parents: Vec<u32> = events.iter().filter_map(parent).collect();
        let is_outsider = |task: &Task| {
            let own = counts.has(task) || parents.contains(&task.pid);
            !(own || task.is_idle() || task.comm.as_str().starts_with("migration/"))
        };
        let (switches, with_outsiders, by_name) = (0, 0, BTreeMap::new());
        let mut outside = Outside { switches, with_outsiders, by_name, first: None };
        for event in events {
            let What::Switch { prev, next, .. } = &event.what else { continue };
            if !(counts.has(prev) || counts.has(next)) {
                continue;
            }
            outside.switches += 1;
            if let Some(outsider) = [prev, next].into_iter().find(|task| is_outsider(task)) {
                outside.with_outsiders += 1;
                *outside.by_name.entry(kind(outsider)).or_insert(0) += 1;
                outside.first.get_or_insert_with(|| tracefs::line(event));
            }
        }
        outside
    }
}

/// Who forks a task of the scenario.
fn parent(event: &Event) -> Option<u32> {
    match event.what {
        What::Fork { parent, .. } => Some(parent.pid),
        _ => None,
    }
}

/// The name of a task without what tells it from others of its kind.
fn kind(task: &Task) -> String {
    let name = task.comm.as_str();
    name.split('/').next().unwrap_or(name).to_owned()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::results::{Counted, TaskResult};

    const LINES: &str = "\
             lab-9       [000] .....     1.000000: sched_process_fork: comm=lab pid=9 child_comm=lab child_pid=10
             lab-9       [000] .....     1.000010: sched_switch: prev_comm=lab prev_pid=9 prev_prio=120 prev_state=S ==> next_comm=hog00 next_pid=10 next_prio=120
           hog00-10      [000] .....     1.000020: sched_switch: prev_comm=hog00 prev_pid=10 prev_prio=120 prev_state=R ==> next_comm=kworker/0:1 next_pid=30 next_prio=120
     kworker/0:1-30      [000] .....     1.000030: sched_switch: prev_comm=kworker/0:1 prev_pid=30 prev_prio=120 prev_state=I ==> next_comm=hog00 next_pid=10 next_prio=120
           hog00-10      [000] .....     1.000040: sched_switch: prev_comm=hog00 prev_pid=10 prev_prio=120 prev_state=R ==> next_comm=migration/0 next_pid=12 next_prio=0
     rcu_preempt-16      [001] .....     1.000050: sched_switch: prev_comm=rcu_preempt prev_pid=16 prev_prio=120 prev_state=I ==> next_comm=swapper/1 next_pid=0 next_prio=120
";

    #[test]
    fn only_switches_between_a_task_and_an_outsider_count() {
        let events = tracefs::read(LINES, Path::new("x")).unwrap();
        let hog = TaskResult { name: "hog00".to_owned(), pid: 10, ..TaskResult::default() };
        let results = Results { elapsed_ns: 1, counted: Counted::Tasks(vec![hog]) };
        let outside = Outside::of(&events, &results);
        assert_eq!((outside.switches, outside.with_outsiders), (4, 2));
        assert_eq!(outside.by_name, BTreeMap::from([("kworker".to_owned(), 2)]));
        let first = outside.first.unwrap();
        assert!(first.contains("1.000020: sched_switch: prev_comm=hog00"), "{first}");
    }
}
