//! `Inside`: what a policy must show of itself to be compared with the kernel's functions.

use simsched_core::{Policy, TaskId, World};
use simsched_policies::fair::features::Version;
use simsched_policies::fair::{CfsRq, Fair, Features, GroupId};
use simsched_topology::CpuId;

use crate::library::KernelSettings;

/// What a policy keeps of a task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TaskNumbers {
    /// How long it has run, in ns.
    pub runtime: u64,
    /// Its virtual time.
    pub vruntime: u64,
    /// Its utilization.
    pub util_avg: u64,
    /// Its load.
    pub load_avg: u64,
}

/// What a policy keeps of the runqueue of a CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueNumbers {
    /// Its utilization.
    pub util_avg: u64,
    /// Its load.
    pub load_avg: u64,
    /// The floor of its virtual time, if it keeps one.
    pub floor: Option<u64>,
    /// How long the CPU is expected to be idle.
    pub avg_idle: u64,
    /// The load that it stood for when a task of it was weighed first in a jiffy, and that jiffy.
    pub weighed: [u64; 2],
    /// What an update of the averages of this queue and of those of the groups below it changes, each summed up over them
    /// modulo 2^64: the time of the last one, the sums of load, runnable time and utilization, and how many tasks that
    /// have left are to be subtracted.
    pub age: [u64; 5],
}

/// A policy that shows what it keeps, so that it can be compared.
pub trait Inside: Policy {
    /// What it keeps of a task that has begun.
    fn task_numbers(&self, task: TaskId) -> TaskNumbers;

    /// What it keeps of a CPU.
    fn queue_numbers(&self, cpu: CpuId) -> QueueNumbers;

    /// How often a task has changed whom it wakes, and the tick in which that was halved last.
    fn flips(&self, task: TaskId) -> (u32, u64);

    /// How many CPUs a search for an idle one may look at behind the LLC of `cpu`; none where nothing limits it so
    /// (`SIS_UTIL`).
    fn idle_scan(&self, world: &World, cpu: CpuId) -> Option<u32>;

    /// Whether affinity has kept the group of `cpu`, in the domain of this level above it, from balancing; none past
    /// the last domain.
    fn is_imbalanced(&self, cpu: CpuId, level: usize) -> Option<bool>;

    /// How a kernel is set up that is to answer alike.
    ///
    /// # Errors
    /// What of it no kernel has.
    fn kernel_settings(&self) -> Result<KernelSettings, String>;
}

impl Inside for Fair {
    fn task_numbers(&self, task: TaskId) -> TaskNumbers {
        let entity = self.entity(task);
        TaskNumbers {
            runtime: entity.sum_exec_runtime,
            vruntime: entity.vruntime,
            util_avg: entity.avg.util_avg,
            load_avg: entity.avg.load_avg,
        }
    }

    fn queue_numbers(&self, cpu: CpuId) -> QueueNumbers {
        let queue = self.cfs_rq(cpu);
        let avg = &queue.avg;
        QueueNumbers {
            util_avg: avg.util_avg,
            load_avg: avg.load_avg,
            floor: self.cfs_order(GroupId::ROOT, cpu).map(|order| order.min_vruntime),
            avg_idle: self.idle_stats(cpu).avg_idle,
            weighed: [queue.h_load, queue.last_h_load_update],
            age: self.cfs_rqs(cpu).fold([0; 5], |sums, queue| {
                let CfsRq { avg, removed_nr, .. } = queue;
                let parts = [
                    avg.last_update_time,
                    avg.load_sum,
                    avg.runnable_sum,
                    u64::from(avg.util_sum),
                    u64::from(*removed_nr),
                ];
                std::array::from_fn(|nth| sums[nth].wrapping_add(parts[nth]))
            }),
        }
    }

    fn flips(&self, task: TaskId) -> (u32, u64) {
        let wakee = self.wakee(task);
        (wakee.flips, wakee.flip_decay_ts)
    }

    fn idle_scan(&self, world: &World, cpu: CpuId) -> Option<u32> {
        self.features().sis_util.then(|| self.llc_shared(world, cpu).nr_idle_scan)
    }

    fn is_imbalanced(&self, cpu: CpuId, level: usize) -> Option<bool> {
        Fair::is_imbalanced(self, cpu, level)
    }

    fn kernel_settings(&self) -> Result<KernelSettings, String> {
        let (ours, theirs) = (self.features(), &Features::of(self.features().version));
        if !matches!(ours.version, Version::V6_1 | Version::V6_12 | Version::V7_2 | Version::V7_3) {
            let name = ours.version.name();
            return Err(format!(
                "found version {name} of the policy, expected 6.1, 6.12, 7.2 or 7.3"
            ));
        }
        let named = [
            ("GENTLE_FAIR_SLEEPERS", ours.gentle_fair_sleepers, theirs.gentle_fair_sleepers),
            ("START_DEBIT", ours.start_debit, theirs.start_debit),
            ("NEXT_BUDDY", ours.next_buddy, theirs.next_buddy),
            ("LAST_BUDDY", ours.last_buddy, theirs.last_buddy),
            ("WAKEUP_PREEMPTION", ours.wakeup_preemption, theirs.wakeup_preemption),
            ("ALT_PERIOD", ours.alt_period, theirs.alt_period),
            ("BASE_SLICE", ours.base_slice, theirs.base_slice),
            ("SIS_UTIL", ours.sis_util, theirs.sis_util),
            ("WA_IDLE", ours.wa_idle, theirs.wa_idle),
            ("WA_WEIGHT", ours.wa_weight, theirs.wa_weight),
            ("WA_BIAS", ours.wa_bias, theirs.wa_bias),
            ("UTIL_EST", ours.util_est, theirs.util_est),
            ("UTIL_EST_FASTUP", ours.util_est_fastup, theirs.util_est_fastup),
            ("ATTACH_AGE_LOAD", ours.attach_age_load, theirs.attach_age_load),
            ("PLACE_LAG", ours.place_lag, theirs.place_lag),
            ("PLACE_DEADLINE_INITIAL", ours.place_deadline_initial, theirs.place_deadline_initial),
            ("PLACE_REL_DEADLINE", ours.place_rel_deadline, theirs.place_rel_deadline),
            ("RUN_TO_PARITY", ours.run_to_parity, theirs.run_to_parity),
            ("PREEMPT_SHORT", ours.preempt_short, theirs.preempt_short),
            ("PICK_BUDDY", ours.pick_buddy, theirs.pick_buddy),
            ("DELAY_DEQUEUE", ours.delay_dequeue, theirs.delay_dequeue),
            ("DELAY_ZERO", ours.delay_zero, theirs.delay_zero),
            ("HRTICK", ours.hrtick, theirs.hrtick),
            ("NI_RATE", ours.ni_rate, theirs.ni_rate),
        ];
        let changed = named.into_iter().filter(|(_, ours, theirs)| ours != theirs);
        let features = changed
            .map(|(name, ours, _)| format!("{}{name}", if ours { "" } else { "NO_" }))
            .collect();
        let knob = |(name, value): (&str, u64)| {
            let value = u32::try_from(value).map_err(|_| format!("{name}: found {value}"))?;
            Ok((name.to_owned(), value))
        };
        let mut knobs = self.overrides().iter().map(knob).collect::<Result<Vec<_>, String>>()?;
        if ours.version >= Version::V7_2 {
            let changed = self.patches().changed().map(|(it, value)| (it.key(), value));
            let files = changed.filter(|(key, _)| key.starts_with("llc_balancing."));
            knobs.extend(files.map(knob).collect::<Result<Vec<_>, String>>()?);
            // There it is on by default.
            if !self.patches().is_on("cache_aware") {
                knobs.push(("llc_balancing.enabled".to_owned(), 0));
            }
        }
        Ok(KernelSettings { features, knobs, grouping: ours.grouping })
    }
}

#[cfg(test)]
mod tests {
    use simsched_policies::catalog;

    use super::*;

    /// What the kernel's own code is set to beside the policy of this expression.
    fn knobs(expr: &str) -> Vec<(String, u32)> {
        let spec = catalog::parse(expr, &[]).unwrap().fair().unwrap();
        spec.fair_class().kernel_settings().unwrap().knobs
    }

    #[test]
    fn the_kernel_has_the_numbers_of_cache_aware_scheduling_that_are_set() {
        let set = "+llc_balancing.epoch_period=5+llc_balancing.imb_pct=0+migration_cost_ns=7";
        let mut knobs = knobs(&format!("cache_aware@7.3{set}"));
        knobs.sort();
        let of = |name: &str, value| (name.to_owned(), value);
        let epoch = of("llc_balancing.epoch_period", 5);
        assert_eq!(knobs, [epoch, of("llc_balancing.imb_pct", 0), of("migration_cost_ns", 7)]);
    }

    #[test]
    fn cache_aware_scheduling_is_off_there_where_it_is_off_here() {
        let off = [("llc_balancing.enabled".to_owned(), 0)];
        assert_eq!(knobs("eevdf@7.3"), off);
        assert_eq!(knobs("cache_aware@7.3+llc_balancing.enabled=0"), off);
        assert_eq!(knobs("eevdf@7.3+cache_aware"), []);
        assert_eq!(knobs("eevdf@6.12"), []);
    }
}
