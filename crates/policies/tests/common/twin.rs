//! The slow obvious twin of `select_idle_sibling`: the rules of the fast path, one CPU after another.

use simsched_policies::fair::patches::wakeup_bias_prev;
use simsched_policies::fair::reason;
use simsched_topology::Topology;

/// What is true of one CPU.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cpu {
    /// 0 idle, 1 busy, 2 idle with a hand-off pending, 3 only `SCHED_IDLE` tasks, 4 idle task
    /// current but a task queued.
    pub(crate) state: u8,
    pub(crate) nr_running: u32,
    pub(crate) util_est: u32,
    pub(crate) allowed: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) cpus: Vec<Cpu>,
    pub(crate) waker: usize,
    pub(crate) prev: usize,
    pub(crate) recent: usize,
    pub(crate) sync: bool,
    pub(crate) pinned: bool,
    pub(crate) bias: bool,
    pub(crate) sis_util: bool,
    /// With the expected idle time of the waker's CPU and what a scan costs, in ns.
    pub(crate) sis_prop: Option<(u64, u64)>,
    pub(crate) scan: Vec<u32>,
    pub(crate) idle_cores: Vec<bool>,
}

/// The twin's machine: tables of plain numbers.
pub(crate) struct Shape {
    pub(crate) llc: Vec<usize>,
    pub(crate) core: Vec<usize>,
}

impl Shape {
    pub(crate) fn of(topology: &Topology) -> Shape {
        let cpus = || topology.cpus().iter();
        Shape {
            llc: cpus().map(|cpu| topology.llc_of(cpu).idx()).collect(),
            core: cpus().map(|cpu| topology.core_of(cpu).idx()).collect(),
        }
    }

    pub(crate) fn threads(&self, cpu: usize) -> Vec<usize> {
        (0..self.core.len()).filter(|&other| self.core[other] == self.core[cpu]).collect()
    }

    pub(crate) fn has_smt(&self) -> bool {
        (0..self.core.len()).any(|cpu| self.threads(cpu).len() > 1)
    }
}

pub(crate) struct Twin<'a> {
    pub(crate) shape: &'a Shape,
    pub(crate) case: &'a Case,
    pub(crate) recent_used_cpu: usize,
    pub(crate) idle_cores: Vec<bool>,
    pub(crate) sis_prop: Option<(u64, u64)>,
    pub(crate) scanned: usize,
    /// Looks at threads of the waker's core among these.
    pub(crate) same_core: usize,
}

impl Twin<'_> {
    fn look(&mut self, cpu: usize) {
        self.scanned += 1;
        self.same_core += usize::from(self.shape.core[cpu] == self.shape.core[self.case.waker]);
    }

    pub(crate) fn is_idle(&self, cpu: usize) -> bool {
        self.case.cpus[cpu].state == 0
    }

    pub(crate) fn only_idle_policy(&self, cpu: usize) -> bool {
        self.case.cpus[cpu].state == 3
    }

    pub(crate) fn is_free(&self, cpu: usize) -> bool {
        self.is_idle(cpu) || self.only_idle_policy(cpu)
    }

    pub(crate) fn shares_cache(&self, a: usize, b: usize) -> bool {
        self.shape.llc[a] == self.shape.llc[b]
    }

    pub(crate) fn allowed(&self, cpu: usize) -> bool {
        !self.case.pinned || self.case.cpus[cpu].allowed
    }

    /// Spec 05, section 3.2, stage IDLE; the stage WEIGHT is switched off.
    pub(crate) fn target(&self) -> usize {
        let Case { waker, prev, sync, .. } = *self.case;
        if waker == prev || !self.allowed(waker) {
            return prev;
        }
        if self.is_idle(waker) && self.shares_cache(waker, prev) {
            return if self.is_idle(prev) { prev } else { waker };
        }
        if sync && self.case.cpus[waker].nr_running == 1 {
            return waker;
        }
        prev
    }

    /// Spec 05, sections 4 and 8.
    pub(crate) fn select(&mut self, target: usize) -> (usize, simsched_core::Reason) {
        let prev = self.case.prev;
        let near = self.shares_cache(prev, target);
        if self.case.bias && near {
            if self.is_free(prev) {
                return (prev, wakeup_bias_prev::IDLE);
            }
            if self.case.cpus[prev].util_est <= 768 {
                return (prev, wakeup_bias_prev::SPARE);
            }
        }
        if self.is_free(target) {
            return (target, reason::TARGET);
        }
        if !self.case.bias && prev != target && near && self.is_free(prev) {
            return (prev, reason::PREV);
        }
        let recent = std::mem::replace(&mut self.recent_used_cpu, prev);
        if recent != prev
            && recent != target
            && self.shares_cache(recent, target)
            && self.is_free(recent)
            && self.allowed(recent)
        {
            return (recent, reason::RECENT);
        }
        let span = (0..self.shape.llc.len()).filter(|&cpu| self.shares_cache(cpu, target)).count();
        if span > 1
            && let Some(found) = self.search_llc(target, near)
        {
            return found;
        }
        if self.case.bias && prev != target && near {
            return (prev, wakeup_bias_prev::FALLBACK);
        }
        (target, reason::NONE_IDLE)
    }

    pub(crate) fn search_llc(
        &mut self,
        target: usize,
        near: bool,
    ) -> Option<(usize, simsched_core::Reason)> {
        let prev = self.case.prev;
        let has_core = self.shape.has_smt() && self.idle_cores[self.shape.llc[target]];
        if self.shape.has_smt() && !has_core && near {
            for cpu in self.shape.threads(prev) {
                if cpu != prev && self.allowed(cpu) && self.shares_cache(cpu, target) {
                    self.look(cpu);
                    if self.is_free(cpu) {
                        return Some((cpu, reason::SIBLING));
                    }
                }
            }
        }
        self.scan(target, has_core)
    }

    /// Spec 05, section 4.1.
    pub(crate) fn scan(
        &mut self,
        target: usize,
        has_core: bool,
    ) -> Option<(usize, simsched_core::Reason)> {
        let nr_cpus = self.shape.llc.len();
        let near: Vec<bool> = (0..nr_cpus).map(|cpu| self.shares_cache(cpu, target)).collect();
        let mut mask: Vec<bool> = (0..nr_cpus).map(|cpu| near[cpu] && self.allowed(cpu)).collect();
        let before = self.scanned;
        let mut budget = u32::MAX;
        if let Some((idle, cost)) = self.sis_prop
            && !has_core
        {
            let span = near.iter().filter(|&&near| near).count() as u64;
            budget = 4;
            if span * idle > 4 * (cost + 1) {
                budget = u32::try_from(span * idle / (cost + 1)).unwrap();
            }
        }
        if self.case.sis_util {
            budget = self.case.scan[self.shape.llc[target]] + 1;
            if budget == 1 {
                return None;
            }
        }
        let mut remembered = None;
        for cpu in (target + 1..nr_cpus).chain(0..=target) {
            if !mask[cpu] {
                continue;
            }
            if has_core {
                if self.is_idle_core(cpu, &mut mask, &mut remembered) {
                    return Some((cpu, reason::IDLE_CORE));
                }
                continue;
            }
            budget -= 1;
            if budget == 0 {
                return None;
            }
            self.look(cpu);
            if self.is_free(cpu) {
                self.pay((self.scanned - before) as u64);
                return Some((cpu, reason::IDLE_CPU));
            }
        }
        if !has_core {
            self.pay((self.scanned - before) as u64);
        }
        if has_core {
            self.idle_cores[self.shape.llc[target]] = false;
        }
        remembered.map(|cpu| (cpu, reason::IDLE_CPU))
    }

    /// Spec 05, section 4.3, at 35 ns for each CPU.
    pub(crate) fn pay(&mut self, scanned: u64) {
        if let Some((idle, cost)) = &mut self.sis_prop {
            let time = 35 * scanned;
            *idle -= time.min(*idle);
            *cost = cost.wrapping_add_signed((time.cast_signed() - cost.cast_signed()) / 8);
        }
    }

    /// Spec 05, section 4.2.
    pub(crate) fn is_idle_core(
        &mut self,
        cpu: usize,
        mask: &mut [bool],
        remembered: &mut Option<usize>,
    ) -> bool {
        let mut idle = true;
        for thread in self.shape.threads(cpu) {
            self.look(thread);
            if !self.is_idle(thread) {
                idle = false;
                if remembered.is_some() {
                    break;
                }
                if self.only_idle_policy(thread) && mask[thread] {
                    *remembered = Some(thread);
                    break;
                }
            } else if remembered.is_none() && mask[thread] {
                *remembered = Some(thread);
            }
        }
        if !idle {
            for thread in self.shape.threads(cpu) {
                mask[thread] = false;
            }
        }
        idle
    }
}
