//! The type of a sched group: from "has spare CPUs" to "overloaded", by what runs in it.

/// How busy a sched group is; a higher type is busier (`enum group_type`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum GroupType {
    /// It can run more tasks.
    #[default]
    HasSpare,
    /// It is fully used, and its tasks do not compete.
    FullyBusy,
    /// A task does not fit its CPU.
    MisfitTask,
    /// The threads of one core share it while another core is idle (6.6 and later).
    SmtBalance,
    /// A preferred CPU is idle elsewhere.
    AsymPacking,
    /// Affinity kept a lower domain from balancing.
    Imbalanced,
    /// Some of its tasks prefer the LLC of the destination (`cache_aware`).
    LlcBalance,
    /// Its tasks wait for each other.
    Overloaded,
}

/// How busy a NUMA node is (`enum numa_type`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NumaType {
    /// It can run more tasks.
    HasSpare,
    /// It is fully used, and its tasks do not compete.
    FullyBusy,
    /// Its tasks wait for each other.
    Overloaded,
}

/// The sums over the CPUs of a group that its type depends on (part of `struct sg_lb_stats`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GroupStats {
    /// Runnable tasks of all classes.
    pub nr_running: u32,
    /// Runnable fair tasks.
    pub h_nr_running: u32,
    /// CPUs on which nothing runs.
    pub idle_cpus: u32,
    /// CPUs of the group.
    pub weight: u32,
    /// Their capacity: 1024 is one big core.
    pub capacity: u64,
    /// Their load.
    pub load: u64,
    /// Their estimated utilization.
    pub util: u64,
    /// Their runnable average.
    pub runnable: u64,
    /// The load of a task that does not fit, or 0.
    pub misfit_load: u64,
    /// Whether a lower domain could not balance because of affinity.
    pub imbalanced: bool,
    /// Whether tasks should be packed elsewhere.
    pub asym_packing: bool,
    /// Whether the group is a core with more than one task, seen from an idle CPU (6.6 and later).
    pub smt_balance: bool,
    /// Its tasks that prefer the LLC of the destination and are behind another one (`cache_aware`).
    pub nr_pref_dst_llc: u32,
    /// Whether those should go there.
    pub llc_balance: bool,
}

impl GroupStats {
    /// Whether the group can run more. Source: `group_has_capacity()`.
    #[must_use]
    pub fn has_capacity(&self, imbalance_pct: u32) -> bool {
        let pct = u64::from(imbalance_pct);
        if self.nr_running < self.weight {
            return true;
        }
        self.capacity * pct >= self.runnable * 100 && self.capacity * 100 > self.util * pct
    }

    /// Whether tasks of the group wait for each other. Source: `group_is_overloaded()`.
    #[must_use]
    pub fn is_overloaded(&self, imbalance_pct: u32) -> bool {
        let pct = u64::from(imbalance_pct);
        self.nr_running > self.weight
            && (self.capacity * 100 < self.util * pct || self.capacity * pct < self.runnable * 100)
    }

    /// Source: `group_classify()`.
    #[must_use]
    pub fn classify(&self, imbalance_pct: u32) -> GroupType {
        if self.is_overloaded(imbalance_pct) {
            GroupType::Overloaded
        } else if self.llc_balance {
            GroupType::LlcBalance
        } else if self.imbalanced {
            GroupType::Imbalanced
        } else if self.asym_packing {
            GroupType::AsymPacking
        } else if self.smt_balance {
            GroupType::SmtBalance
        } else if self.misfit_load != 0 {
            GroupType::MisfitTask
        } else if !self.has_capacity(imbalance_pct) {
            GroupType::FullyBusy
        } else {
            GroupType::HasSpare
        }
    }

    /// The class of the group as a NUMA node, where equality is spare; it does not know of
    /// special cases. Source: `numa_classify()`.
    #[must_use]
    pub fn numa_classify(&self, imbalance_pct: u32) -> NumaType {
        let pct = u64::from(imbalance_pct);
        let (capacity, util, runnable) = (self.capacity, self.util, self.runnable);
        let is_over = capacity * 100 < util * pct || capacity * pct < runnable * 100;
        if self.nr_running > self.weight && is_over {
            return NumaType::Overloaded;
        }
        let is_under = capacity * 100 > util * pct && capacity * pct > runnable * 100;
        if self.nr_running < self.weight || is_under {
            return NumaType::HasSpare;
        }
        NumaType::FullyBusy
    }

    /// Load per capacity. Source: `avg_load` in `update_sg_wakeup_stats()`.
    #[must_use]
    pub fn avg_load(&self) -> u64 {
        self.load * 1024 / self.capacity
    }
}

/// A group as a candidate for a new task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Its type.
    pub group_type: GroupType,
    /// Its load per capacity, where the type makes that matter.
    pub avg_load: u64,
    /// CPUs on which nothing runs.
    pub idle_cpus: u32,
    /// Its estimated utilization.
    pub util: u64,
    /// The capacity of its biggest CPU.
    pub max_capacity: u64,
}

impl Candidate {
    /// Worse than any group. Source: the initial `idlest_sgs` of `find_idlest_group()`.
    pub const WORST: Candidate = Candidate {
        group_type: GroupType::Overloaded,
        avg_load: u64::MAX,
        idle_cpus: 0,
        util: 0,
        max_capacity: 0,
    };

    /// Whether this group is the better place than `best`; of equals the first stays.
    /// Source: `update_pick_idlest()`.
    #[must_use]
    pub fn is_idler_than(&self, best: &Candidate) -> bool {
        if self.group_type != best.group_type {
            return self.group_type < best.group_type;
        }
        match self.group_type {
            GroupType::Overloaded | GroupType::FullyBusy => self.avg_load < best.avg_load,
            GroupType::Imbalanced
            | GroupType::LlcBalance
            | GroupType::AsymPacking
            | GroupType::SmtBalance => false,
            GroupType::MisfitTask => self.max_capacity > best.max_capacity,
            GroupType::HasSpare => {
                self.idle_cpus > best.idle_cpus
                    || (self.idle_cpus == best.idle_cpus && self.util < best.util)
            }
        }
    }
}
