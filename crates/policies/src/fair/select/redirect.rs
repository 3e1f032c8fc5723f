//! `cache_aware_wakeup`: a wakee is looked for a CPU in the LLC that its process prefers, then where it
//! was.

use simsched_core::{Placement, TaskId, World};
use simsched_topology::CpuId;

use super::idle_sibling::Sibling;
use super::reason;
use crate::fair::{Fair, LlcAvg};

impl Fair {
    /// The CPU that is taken for the previous one of `task`.
    #[inline]
    pub(super) fn redirect(&mut self, world: &World, task: TaskId, prev: CpuId) -> CpuId {
        if self.all.cas.is_none() { prev } else { self.redirect_now(world, task, prev) }
    }

    fn redirect_now(&mut self, world: &World, task: TaskId, prev: CpuId) -> CpuId {
        let Some(cas) = &mut self.all.cas else { return prev };
        let pref = cas.redirect(world, task, prev);
        if !cas.shares_cache(prev, pref) && cas.is_guarded(task) {
            let now = self.llc_avg_now(world, pref);
            if let Some(cas) = &mut self.all.cas {
                cas.admitted(pref, now);
            }
        }
        pref
    }

    /// The search from where the wakee was, if it has been redirected to another LLC and `found` nothing
    /// idle there; what `wake_affine()` had to say is lost. An LLC of one CPU is not searched, and there is
    /// no second search then. Source: `select_idle_sibling()` of the patch (spec 07 section 4).
    pub(super) fn retried(
        &mut self,
        world: &World,
        ask: Sibling,
        found: Placement,
    ) -> Option<Placement> {
        let Sibling { prev, own_prev, target, .. } = ask;
        let cas = self.all.cas.as_mut()?;
        if cas.shares_cache(prev, own_prev) {
            return None;
        }
        let is_searched = cas.span(target).len() > 1;
        if found.reason != reason::NONE_IDLE || !is_searched {
            cas.landed(prev, found.cpu);
            return None;
        }
        cas.retried();
        let again = Sibling { prev: own_prev, target: own_prev, ..ask };
        Some(self.select_idle_sibling(world, again))
    }

    /// What a balancer would find now of the LLC of `cpu`.
    fn llc_avg_now(&self, world: &World, cpu: CpuId) -> LlcAvg {
        let Some(cas) = &self.all.cas else { return LlcAvg::default() };
        let (mut util_avg, mut nr_avg) = (0, 0);
        for cpu in cas.span(cpu).iter() {
            util_avg += self.all.root(cpu).util().min(u64::from(self.all.capacity(cpu)));
            nr_avg += i64::from(world.rq(cpu).nr_running);
        }
        LlcAvg { util_avg, nr_avg }
    }

    /// What is known of the LLC of `cpu`, on which `task` has just been queued, and of that which its
    /// process prefers, becomes new, by the rule by which a periodic balance does it.
    pub(in crate::fair) fn refresh_at_enqueue(&mut self, world: &World, cpu: CpuId, task: TaskId) {
        let pref = self.all.cas.as_ref().and_then(|cas| cas.pref_cpu(task));
        let other = pref.filter(|pref| !self.shares_cache(world, cpu, *pref));
        for cpu in [Some(cpu), other].into_iter().flatten() {
            let LlcAvg { util_avg, nr_avg } = self.llc_avg_now(world, cpu);
            if let Some(cas) = &mut self.all.cas {
                cas.refresh(cpu, util_avg, u32::try_from(nr_avg).unwrap_or(u32::MAX));
            }
        }
    }
}
