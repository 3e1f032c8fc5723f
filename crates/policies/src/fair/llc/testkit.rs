//! For tests (feature `testkit`): the state of cache-aware load balancing, to change.

use simsched_core::{TaskId, World};
use simsched_topology::{CpuId, CpuSet};

use super::{CacheAware, LlcStats, MmId, Occupancy, Processes, RqLlc};

impl CacheAware {
    /// The process of `task` should run behind the LLC of this CPU, has asked for its last scan in `epoch`,
    /// has no other before the jiffy `next_scan`, and so many threads run at once.
    ///
    /// # Panics
    /// When the task has no process.
    pub fn set_process(&mut self, task: TaskId, cpu: Option<CpuId>, numbers: [u64; 3]) {
        let mm = self.mm(task);
        let proc = &mut self.procs[mm.idx()];
        proc.cpu.set(cpu);
        [proc.epoch, proc.next_scan, proc.nr_running_avg] = numbers;
    }

    /// `epoch`, `next_scan` and `nr_running_avg` of the process of `task`.
    ///
    /// # Panics
    /// When the task has no process.
    #[must_use]
    pub fn process(&self, task: TaskId) -> [u64; 3] {
        let proc = &self.procs[self.mm(task).idx()];
        [proc.epoch, proc.next_scan, proc.nr_running_avg]
    }

    /// So many threads of the process of `task` live.
    pub fn set_nr_threads(&mut self, task: TaskId, nr_threads: u32) {
        let mm = self.mm(task);
        self.processes.set_nr_threads(mm, nr_threads);
    }

    /// `task` is a thread of the kernel.
    pub fn set_kernel_thread(&mut self, task: TaskId) {
        self.processes.mms[task.idx()] = None;
        self.processes.declared_mms[task.idx()] = None;
    }

    /// `llc_aggr_tolerance`.
    pub fn set_aggr_tolerance(&mut self, tolerance: u64) {
        self.limits.aggr_tolerance = tolerance;
    }

    /// All LLCs have so many bytes.
    pub fn set_llc_bytes(&mut self, bytes: u64) {
        self.cpus.iter_mut().for_each(|cpu| cpu.llc_bytes = bytes);
    }

    /// The preferred LLC of `task`, and whether it was queued there.
    pub fn set_pref(&mut self, task: TaskId, pref: Option<u16>, pref_llc_queued: bool) {
        let row = &mut self.tasks[task.idx()];
        (row.pref, row.pref_llc_queued) = (pref, pref_llc_queued);
    }

    /// `p->pref_llc_queued`.
    #[must_use]
    pub fn pref_llc_queued(&self, task: TaskId) -> bool {
        self.tasks[task.idx()].pref_llc_queued
    }

    /// How many tasks with a preferred LLC are queued on `cpu`.
    pub fn set_rq(&mut self, cpu: CpuId, rq: RqLlc) {
        self.rqs[cpu.idx()] = rq;
    }

    /// How many tasks that prefer `llc` are queued on `cpu`.
    pub fn set_llc_count(&mut self, cpu: CpuId, llc: u16, count: u32) {
        let at = cpu.idx() * self.ids.len() + usize::from(llc);
        self.llc_counts[at] = count;
    }

    /// What the balancer has recorded of `llc`.
    pub fn set_stats(&mut self, llc: u16, stats: LlcStats) {
        self.stats[usize::from(llc)] = stats;
    }

    /// The epochs of CPUs and processes.
    #[must_use]
    pub fn occupancy(&self) -> &Occupancy {
        &self.occupancy
    }

    /// The epochs of CPUs and processes, to be set.
    pub fn occupancy_mut(&mut self) -> &mut Occupancy {
        &mut self.occupancy
    }

    /// `task_cache_work()` of `task` on `cpu`: the CPUs of the LLCs that it visits.
    pub fn task_cache_work(&mut self, world: &World, cpu: CpuId, task: TaskId) -> CpuSet {
        self.enter(world.sched_clock());
        self.scan(world, cpu, task)
    }

    /// The address space of `task`.
    ///
    /// # Panics
    /// When it has none.
    #[must_use]
    pub fn mm(&self, task: TaskId) -> MmId {
        self.processes.mm(task).expect("a task with an address space")
    }
}

impl Processes {
    /// So many threads of `mm` live.
    pub fn set_nr_threads(&mut self, mm: MmId, nr_threads: u32) {
        self.threads[mm.idx()] = nr_threads;
    }
}

impl Occupancy {
    /// The epoch of `cpu`, the jiffy after which the next one begins, and its runtime in ns.
    #[must_use]
    pub fn cpu(&self, cpu: CpuId) -> [u64; 3] {
        let epochs = &self.cpus[cpu.idx()];
        [epochs.all.epoch, epochs.next, epochs.all.runtime]
    }

    /// Sets the epoch of `cpu`, the jiffy after which the next one begins, and its runtime in ns.
    pub fn set_cpu(&mut self, cpu: CpuId, numbers: [u64; 3]) {
        let epochs = &mut self.cpus[cpu.idx()];
        [epochs.all.epoch, epochs.next, epochs.all.runtime] = numbers;
    }

    /// The epoch of `mm` on `cpu`, and its runtime there in ns.
    ///
    /// # Panics
    /// When its runtime is not kept.
    #[must_use]
    pub fn part(&self, cpu: CpuId, mm: MmId) -> [u64; 2] {
        let part = &self.parts[self.rows[mm.idx()].expect("a process with a row") + cpu.idx()];
        [part.epoch, part.runtime]
    }

    /// Sets the epoch of `mm` on `cpu`, and its runtime there in ns.
    ///
    /// # Panics
    /// When its runtime is not kept.
    pub fn set_part(&mut self, cpu: CpuId, mm: MmId, numbers: [u64; 2]) {
        let row = self.rows[mm.idx()].expect("a process with a row");
        let part = &mut self.parts[row + cpu.idx()];
        [part.epoch, part.runtime] = numbers;
    }
}
