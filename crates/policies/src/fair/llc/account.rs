//! Where tasks have run, and how many of those that are queued would rather be elsewhere.

use simsched_core::TaskId;
use simsched_topology::CpuId;

use super::CacheAware;

impl CacheAware {
    /// `task`, which is queued on `cpu` or has just left, has run there for `ns`.
    /// Source: `account_mm_sched()`.
    #[inline]
    pub(in crate::fair) fn account(&mut self, task: TaskId, is_queued: bool, cpu: CpuId, ns: u64) {
        let Some(mm) = self.processes.mm(task) else { return };
        let epoch = self.occupancy.account(self.jiffies.now(), cpu, mm, ns);
        let proc = &self.procs[mm.idx()];
        if proc.cpu.get().is_some() {
            let is_silent = epoch.wrapping_sub(proc.epoch) > self.timeout();
            let is_single = self.processes.nr_threads(mm) <= 1;
            if is_silent || is_single {
                self.prefer(mm, None);
            } else {
                self.drops_preference(mm, cpu);
            }
        }
        let pref = self.procs[mm.idx()].cpu.get().map(|cpu| self.ids.of(cpu));
        if self.processes.declared(mm) > 1 {
            self.counts.runtime += ns;
            match pref {
                Some(llc) if llc == self.ids.of(cpu) => self.counts.runtime_preferred += ns,
                Some(_) => {}
                None => self.counts.runtime_free += ns,
            }
        }
        if is_queued && self.tasks[task.idx()].pref != pref {
            self.dequeue(task, cpu);
            self.tasks[task.idx()].pref = pref;
            self.enqueue(task, cpu);
        }
    }

    /// `task` joins the queue of `cpu`. Source: `account_llc_enqueue()`.
    #[inline]
    pub(in crate::fair) fn enqueue(&mut self, task: TaskId, cpu: CpuId) {
        let row = &mut self.tasks[task.idx()];
        let Some(pref) = row.pref else { return };
        row.is_home = pref == self.ids.of(cpu);
        let rq = &mut self.rqs[cpu.idx()];
        rq.nr_llc_running += 1;
        rq.nr_pref_llc_running += u32::from(row.is_home);
        self.llc_counts[cpu.idx() * self.ids.len() + usize::from(pref)] += 1;
    }

    /// `task` leaves the queue of `cpu`. Source: `account_llc_dequeue()`.
    #[inline]
    pub(in crate::fair) fn dequeue(&mut self, task: TaskId, cpu: CpuId) {
        let row = &mut self.tasks[task.idx()];
        let Some(pref) = row.pref else { return };
        let rq = &mut self.rqs[cpu.idx()];
        rq.nr_llc_running -= 1;
        rq.nr_pref_llc_running -= u32::from(std::mem::take(&mut row.is_home));
        let count = &mut self.llc_counts[cpu.idx() * self.ids.len() + usize::from(pref)];
        *count = count.saturating_sub(1);
    }

    /// `child` of `parent` begins; its process, too, if it is the first thread. A new task has no
    /// preference; in version 4 it has that of its parent. Source: `mm_init_sched()`,
    /// `init_sched_mm()`.
    pub(in crate::fair) fn fork(&mut self, parent: Option<TaskId>, child: TaskId) {
        let inherited = parent.filter(|_| !self.is_merged()).map(|it| self.tasks[it.idx()].pref);
        self.tasks[child.idx()].pref = inherited.flatten();
        if let Some(mm) = self.processes.begin(child) {
            self.prefer(mm, None);
            self.procs[mm.idx()].epoch = self.occupancy.begin(mm);
        }
    }

    /// `task` has ended.
    pub(in crate::fair) fn exit(&mut self, task: TaskId) {
        self.processes.end(task);
    }

    /// Checks the counts of `cpu` against what is queued there.
    ///
    /// # Errors
    /// The first that is wrong, in words.
    pub(in crate::fair) fn check(
        &self,
        cpu: CpuId,
        queued: impl Iterator<Item = TaskId>,
    ) -> Result<(), String> {
        let prefs: Vec<u16> = queued.filter_map(|task| self.pref(task)).collect();
        for llc in (0..self.ids.len()).map(|llc| u16::try_from(llc).expect("few LLCs")) {
            let (known, nr) =
                (self.llc_count(cpu, llc), prefs.iter().filter(|it| **it == llc).count());
            if known as usize != nr {
                return Err(format!("cpu {cpu}: {nr} tasks prefer LLC {llc}, {known} counted"));
            }
        }
        let home = self.llc_count(cpu, self.ids.of(cpu));
        let known = self.rq(cpu);
        if known.nr_llc_running as usize != prefs.len() || known.nr_pref_llc_running != home {
            return Err(format!("cpu {cpu}: {} tasks with a preference, {known:?}", prefs.len()));
        }
        Ok(())
    }
}
