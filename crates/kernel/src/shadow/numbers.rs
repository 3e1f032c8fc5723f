//! What both keep of tasks and CPUs, compared behind a question and shown with the first difference.

use simsched_core::{Preempt, TaskId};
use simsched_topology::CpuId;

use super::ask::Ask;
use super::compare::Kind;
use super::inside::Inside;
use crate::library::{Library, number};

impl<P: Inside> Ask<'_, P> {
    /// Compares what both ask of the current task of `cpu`, beyond what it is to do already: the kernel says nothing
    /// where nothing changes, and ours may say it again.
    pub(super) fn resched(
        &mut self,
        kind: Kind,
        cpu: CpuId,
        both: [Preempt; 2],
        tasks: &[TaskId],
        question: impl FnOnce() -> String,
    ) {
        let rq = self.world.rq(cpu);
        let is_new = |answer| match answer {
            Preempt::No => false,
            Preempt::Lazy => !rq.need_resched && !rq.need_resched_lazy,
            Preempt::Hard => !rq.need_resched,
        };
        let both = both.map(|answer| if is_new(answer) { answer } else { Preempt::No });
        self.compare(kind, both, tasks, &[cpu], question);
    }

    /// How many tasks both count.
    pub(super) fn running(&mut self, cpu: CpuId) {
        let nr = [i64::from(self.world.rq(cpu).nr_tasks()), self.library.nr_tasks(cpu)];
        self.compare(Kind::Running, nr, &[], &[cpu], || format!("CPU {cpu}"));
    }

    /// What both keep of `cpu` and of its task.
    pub(super) fn numbers(&mut self, cpu: CpuId, task: Option<TaskId>) {
        let question = |what: &'static str| move || format!("{what} {task:?} on CPU {cpu}");
        let queue = (self.inner.queue_numbers(cpu), self.library.class.cpu(number(cpu)));
        if let Some(task) = task
            && let Ok(id) = self.library.id(task)
            && let Some(kernel) = self.library.class.task(id)
        {
            let ours = self.inner.task_numbers(task);
            self.compare(
                Kind::Runtime,
                [ours.runtime, kernel.runtime],
                &[task],
                &[cpu],
                question("task"),
            );
            let vruntime = [ours.vruntime, kernel.vruntime.cast_unsigned()];
            self.compare(Kind::Vruntime, vruntime, &[task], &[cpu], question("task"));
            self.compare(
                Kind::TaskUtil,
                [ours.util_avg, kernel.util_avg],
                &[task],
                &[cpu],
                question("task"),
            );
            self.compare(
                Kind::TaskLoad,
                [ours.load_avg, kernel.load_avg],
                &[task],
                &[cpu],
                question("task"),
            );
        }
        let tasks: Vec<TaskId> = task.into_iter().collect();
        self.compare(
            Kind::QueueUtil,
            [queue.0.util_avg, queue.1.util_avg],
            &tasks,
            &[cpu],
            question("queue of"),
        );
        self.compare(
            Kind::QueueLoad,
            [queue.0.load_avg, queue.1.load_avg],
            &tasks,
            &[cpu],
            question("queue of"),
        );
        self.compare(
            Kind::HLoad,
            [queue.0.weighed[0], queue.1.h_load],
            &tasks,
            &[cpu],
            question("queue of"),
        );
        if let Some(floor) = queue.0.floor {
            let floors = [floor, queue.1.mean_vruntime.cast_unsigned()];
            self.compare(Kind::Floor, floors, &tasks, &[cpu], question("queue of"));
        }
    }

    pub(super) fn compare<T: PartialEq + std::fmt::Debug>(
        &mut self,
        kind: Kind,
        both: [T; 2],
        tasks: &[TaskId],
        cpus: &[CpuId],
        question: impl FnOnce() -> String,
    ) {
        let (inner, library) = (self.inner, &mut *self.library);
        self.seen.count(self.world.now(), kind, both, || {
            (question(), state(inner, library, tasks, cpus))
        });
    }
}

/// What both keep of these tasks and CPUs, in words.
fn state(inner: &impl Inside, library: &mut Library, tasks: &[TaskId], cpus: &[CpuId]) -> String {
    let mut words = Vec::new();
    for &task in tasks {
        let kernel = library.id(task).ok().and_then(|id| library.class.task(id));
        words.push(format!("task {task}: {:?}, kernel {kernel:?}", inner.task_numbers(task)));
    }
    for &cpu in cpus {
        let kernel = library.class.cpu(number(cpu));
        words.push(format!("CPU {cpu}: {:?}, kernel {kernel:?}", inner.queue_numbers(cpu)));
    }
    words.join("; ")
}
