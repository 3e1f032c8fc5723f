//! `Counters`: the software counters of perf, as they count.

use simsched_core::{Cause, Observer, TaskId, Tracepoint, World};

/// What `perf stat` counts since the start of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counters {
    /// Switches away from a task (`context-switches`).
    pub(crate) task_switches: u64,
    /// `cpu-migrations`: how often a task was switched in after its CPU had changed, however often
    /// that was since it last ran (`perf_event_task_migrate()` sets a mark that
    /// `perf_event_task_sched_in()` counts and takes away; 6.1). The first CPU of a new task is set
    /// by `__set_task_cpu()`, which leaves no mark.
    pub(crate) cpu_migrations: u64,
    /// The mark, by task.
    migrated: Vec<bool>,
}

impl Counters {
    fn migrated(&mut self, task: TaskId) -> &mut bool {
        if self.migrated.len() <= task.idx() {
            self.migrated.resize(task.idx() + 1, false);
        }
        &mut self.migrated[task.idx()]
    }
}

impl Observer for Counters {
    #[inline(always)]
    fn on(&mut self, _: &World, tracepoint: Tracepoint) {
        match tracepoint {
            Tracepoint::Switch { prev, next, .. } => {
                self.task_switches += u64::from(prev.is_some());
                if let Some(next) = next {
                    self.cpu_migrations += u64::from(std::mem::take(self.migrated(next)));
                }
            }
            Tracepoint::Migrate { task, cause, .. } if cause != Cause::Fork => {
                *self.migrated(task) = true;
            }
            _ => {}
        }
    }
}
