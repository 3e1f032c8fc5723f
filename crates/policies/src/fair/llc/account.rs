//! Where tasks have run, and which LLCs those prefer that are queued on a CPU.

use simsched_core::{ProcId, TaskId};
use simsched_topology::CpuId;

use super::state::OnRq;
use super::{CacheAware, MmId};

impl CacheAware {
    /// `task`, which is queued on `cpu` or has just left, has run there for `ns`.
    /// Source: `account_mm_sched()`.
    #[inline]
    pub(in crate::fair) fn account(
        &mut self,
        task: TaskId,
        on_rq: OnRq,
        cpu: CpuId,
        ns: u64,
    ) -> bool {
        let Some(mm) = self.processes.mm(task) else { return false };
        let epoch = self.occupancy.account(self.jiffies.now(), cpu, mm, ns);
        if self.procs[mm.idx()].cpu.get().is_some() {
            if self.is_silent(mm, epoch) || self.processes.nr_threads(mm) <= 1 {
                self.prefer(mm, None);
            } else {
                self.drops_preference(mm, cpu);
            }
        }
        let pref = self.pref_llc(task, mm);
        if self.processes.declared(mm) > 1 {
            self.counts.runtime += ns;
            match pref {
                Some(llc) if llc == self.ids.of(cpu) => self.counts.runtime_preferred += ns,
                Some(_) => {}
                None => self.counts.runtime_free += ns,
            }
        }
        if on_rq != OnRq::No && self.tasks[task.idx()].pref != pref {
            let delayed = on_rq == OnRq::Delayed;
            self.dequeue(task, cpu, delayed);
            self.tasks[task.idx()].pref = pref;
            self.enqueue(task, cpu, delayed);
        }
        true
    }

    /// Whether `mm` has not asked for a scan for so long that its preference is forgotten, in `epoch` of some
    /// CPU. A request in a later epoch than that is recent; in version 4, whose comparison is unsigned, it is old.
    /// Source: `account_mm_sched()`.
    #[inline]
    fn is_silent(&self, mm: MmId, epoch: u64) -> bool {
        let (silence, timeout) = (epoch.wrapping_sub(self.procs[mm.idx()].epoch), self.timeout());
        match self.is_merged() {
            true => silence.cast_signed() > timeout.cast_signed(),
            false => silence > timeout,
        }
    }

    /// The LLC that `mm` prefers, and `task` of it with it: not if the task prefers a NUMA node elsewhere.
    /// Source: `get_pref_llc()`.
    #[inline]
    fn pref_llc(&self, task: TaskId, mm: MmId) -> Option<u16> {
        let cpu = self.procs[mm.idx()].cpu.get().filter(|&cpu| !self.numa.conflicts(task, cpu))?;
        Some(self.ids.of(cpu))
    }

    /// Whether a task that is queued on its preferred LLC is counted there: since Linux 7.2 only while it is
    /// not delayed, in version 4 always. Source: `task_pref_llc_runnable()`.
    #[inline]
    fn is_counted(&self, delayed: bool) -> bool {
        !delayed || !self.is_merged()
    }

    /// `task` joins the queue of `cpu`; it may be delayed. Source: `account_llc_enqueue()`.
    #[inline]
    pub(in crate::fair) fn enqueue(&mut self, task: TaskId, cpu: CpuId, delayed: bool) {
        let is_counted = self.is_counted(delayed);
        let row = &mut self.tasks[task.idx()];
        let Some(pref) = row.pref else { return };
        row.pref_llc_queued = pref == self.ids.of(cpu);
        let rq = &mut self.rqs[cpu.idx()];
        rq.nr_llc_running += 1;
        rq.nr_pref_llc_running += u32::from(row.pref_llc_queued && is_counted);
        self.llc_counts[cpu.idx() * self.ids.len() + usize::from(pref)] += 1;
    }

    /// `task` leaves the queue of `cpu`; it may be delayed. Source: `account_llc_dequeue()`.
    #[inline]
    pub(in crate::fair) fn dequeue(&mut self, task: TaskId, cpu: CpuId, delayed: bool) {
        let is_counted = self.is_counted(delayed);
        let row = &mut self.tasks[task.idx()];
        let Some(pref) = row.pref else { return };
        let was_queued = std::mem::take(&mut row.pref_llc_queued);
        let rq = &mut self.rqs[cpu.idx()];
        rq.nr_llc_running -= 1;
        rq.nr_pref_llc_running -= u32::from(was_queued && is_counted);
        let count = &mut self.llc_counts[cpu.idx() * self.ids.len() + usize::from(pref)];
        *count = count.saturating_sub(1);
    }

    /// `task`, which is queued on `cpu` or has just left, begins to be delayed, or ends. One that has left
    /// was counted out by [`CacheAware::dequeue`]. Source: `set_delayed()`, `clear_delayed()`.
    #[inline]
    pub(in crate::fair) fn set_delayed(&mut self, task: TaskId, cpu: CpuId, delayed: bool) {
        if !self.is_merged() || !self.tasks[task.idx()].pref_llc_queued {
            return;
        }
        let rq = &mut self.rqs[cpu.idx()];
        if delayed {
            rq.nr_pref_llc_running -= 1;
        } else {
            rq.nr_pref_llc_running += 1;
        }
    }

    /// `child` of `parent` begins; its process, too, if it is the first thread. A new task has no
    /// preference; in version 4 it has that of its parent. Source: `mm_init_sched()`,
    /// `init_sched_mm()`.
    pub(in crate::fair) fn fork(&mut self, parent: Option<TaskId>, child: TaskId) {
        let inherited = parent.filter(|_| !self.is_merged()).map(|it| self.tasks[it.idx()].pref);
        self.tasks[child.idx()].pref = inherited.flatten();
        if let Some(mm) = self.processes.begin(child) {
            self.begin(mm);
        }
    }

    /// An address space begins: it prefers nothing and has run nowhere. Source: `mm_init_sched()`.
    fn begin(&mut self, mm: MmId) {
        self.prefer(mm, None);
        let (epoch, now) = (self.occupancy.begin(mm), self.jiffies.now());
        let proc = &mut self.procs[mm.idx()];
        (proc.epoch, proc.next_scan, proc.nr_running_avg) = (epoch, now, 0);
    }

    /// `task` has left its address space for that of `proc`. It keeps its preferred LLC and its counts on the
    /// runqueue until it is accounted the next time, and a scan that waits for its return to user mode is one of the
    /// new process. Source: `exec_mmap()`.
    pub(in crate::fair) fn exec(&mut self, task: TaskId, proc: ProcId) {
        if let Some(mm) = self.occupancy.exec(&mut self.processes, task, proc) {
            self.begin(mm);
        }
    }

    /// `task` has ended.
    pub(in crate::fair) fn exit(&mut self, task: TaskId) {
        self.processes.end(task);
    }

    /// Checks the counts of `cpu` against what is queued there: tasks, and whether each is delayed.
    ///
    /// # Errors
    /// The first that is wrong, in words.
    pub(in crate::fair) fn check(
        &self,
        cpu: CpuId,
        queued: impl Iterator<Item = (TaskId, bool)>,
    ) -> Result<(), String> {
        let own = self.ids.of(cpu);
        let (mut prefs, mut nr_pref) = (Vec::new(), 0);
        for (task, delayed) in queued {
            let Some(pref) = self.pref(task) else { continue };
            prefs.push(pref);
            nr_pref += u32::from(pref == own && self.is_counted(delayed));
        }
        for llc in (0..self.ids.len()).map(|llc| u16::try_from(llc).expect("few LLCs")) {
            let (known, nr) =
                (self.llc_count(cpu, llc), prefs.iter().filter(|it| **it == llc).count());
            if known as usize != nr {
                return Err(format!("cpu {cpu}: {nr} tasks prefer LLC {llc}, {known} counted"));
            }
        }
        let known = self.rq(cpu);
        if known.nr_llc_running as usize != prefs.len() || known.nr_pref_llc_running != nr_pref {
            return Err(format!("cpu {cpu}: {} tasks with a preference, {known:?}", prefs.len()));
        }
        Ok(())
    }
}
