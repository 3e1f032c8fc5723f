//! `Fair` as a [`Report`]: its counters, its sched domains, its invariants.

use simsched_core::{Report, SdCounts, World};
use simsched_topology::{CpuId, CpuSet};

use super::Fair;

impl Report for Fair {
    fn domains(&self, cpu: CpuId, emit: &mut dyn FnMut(&'static str, &CpuSet, &SdCounts)) {
        for (at, sd) in Fair::domains(self).of(cpu).iter().enumerate() {
            emit(sd.name, &sd.span, &self.balance.sd(cpu, at).counts);
        }
    }

    fn util_avg(&self, cpu: CpuId) -> Option<u64> {
        Some(self.all.root(cpu).avg.util_avg)
    }

    fn metrics(&self, emit: &mut dyn FnMut(&'static str, u64)) {
        self.affine.metrics(emit);
        self.all.tg.metrics(emit);
        self.caches_metrics(emit);
    }

    fn check(&self, world: &World, cpu: CpuId) -> Result<(), String> {
        self.all.check(world, cpu)
    }
}
