//! `Tunables`: the fair class's numbers, with the kernel's defaults.

use std::ops::RangeInclusive;

use super::features::Version;

/// The numbers of the fair class. Times are in ns of real time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tunables {
    /// The period in which all runnable tasks run once, while they are few.
    pub latency_ns: u64,
    /// The shortest slice.
    pub min_granularity_ns: u64,
    /// The shortest slice of a `SCHED_IDLE` task beside others.
    pub idle_min_granularity_ns: u64,
    /// How far behind the running task a wakee must be to preempt it.
    pub wakeup_granularity_ns: u64,
    /// The request of a task that asks for none of its own (EEVDF).
    pub base_slice_ns: u64,
    /// The same on one CPU (`normalized_sysctl_sched_base_slice`).
    pub normalized_base_slice_ns: u64,
    /// What a migration is thought to cost: it tells cache-hot tasks, and bounds the expected idle
    /// time.
    pub migration_cost_ns: u64,
    /// How much rarer a busy CPU balances its domains than an idle one.
    pub busy_factor: u64,
    /// What `SIS_PROP` takes one CPU's idle check to cost.
    pub sis_prop_cpu_ns: u64,
}

/// A tunable as it is listed and set.
#[derive(Clone, Debug)]
pub struct Setting {
    /// Its name, as in `/sys/kernel/debug/sched` where the kernel has it.
    pub key: &'static str,
    /// What it does, in one line.
    pub doc: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// The values that it takes.
    pub range: RangeInclusive<u64>,
    /// Its value on one CPU.
    pub default: u64,
    /// Whether the default grows with the number of CPUs.
    pub scaled: bool,
    /// Where it comes from.
    pub source: &'static str,
    field: fn(&mut Tunables) -> &mut u64,
}

impl Setting {
    /// Whether the discipline of this version has it.
    #[must_use]
    pub fn is_of(&self, version: Version) -> bool {
        !(if version.is_eevdf() { OF_CFS } else { OF_EEVDF }).contains(&self.key)
    }
}

/// Tunables that went with CFS.
const OF_CFS: &[&str] = &[
    "latency_ns",
    "min_granularity_ns",
    "idle_min_granularity_ns",
    "wakeup_granularity_ns",
    "sis_prop_cpu_ns",
];

/// Tunables that came with EEVDF.
const OF_EEVDF: &[&str] = &["base_slice_ns"];

/// All tunables of the fair class.
pub const SETTINGS: &[Setting] = &[
    Setting {
        key: "latency_ns",
        doc: "period in which all runnable tasks run once, while there are few",
        unit: "ns",
        range: 100_000..=1_000_000_000,
        default: 6_000_000,
        scaled: true,
        source: "sysctl_sched_latency, Linux 6.1",
        field: |tunables| &mut tunables.latency_ns,
    },
    Setting {
        key: "min_granularity_ns",
        doc: "shortest slice, and the time for which the tick leaves a task alone",
        unit: "ns",
        range: 100_000..=1_000_000_000,
        default: 750_000,
        scaled: true,
        source: "sysctl_sched_min_granularity, Linux 6.1",
        field: |tunables| &mut tunables.min_granularity_ns,
    },
    Setting {
        key: "idle_min_granularity_ns",
        doc: "shortest slice of a SCHED_IDLE task beside others",
        unit: "ns",
        range: 100_000..=1_000_000_000,
        default: 750_000,
        scaled: false,
        source: "sysctl_sched_idle_min_granularity, Linux 6.1",
        field: |tunables| &mut tunables.idle_min_granularity_ns,
    },
    Setting {
        key: "wakeup_granularity_ns",
        doc: "how far ahead of a wakee the running task must be to be preempted",
        unit: "ns",
        range: 0..=1_000_000_000,
        default: 1_000_000,
        scaled: true,
        source: "sysctl_sched_wakeup_granularity, Linux 6.1",
        field: |tunables| &mut tunables.wakeup_granularity_ns,
    },
    Setting {
        key: "base_slice_ns",
        doc: "request of a task: how long it runs until its deadline moves",
        unit: "ns",
        range: 100_000..=1_000_000_000,
        default: 700_000,
        scaled: true,
        source: "sysctl_sched_base_slice, Linux 6.12.117 (6.6: 750000)",
        field: |tunables| &mut tunables.base_slice_ns,
    },
    Setting {
        key: "migration_cost_ns",
        doc: "assumed cost of a migration: a balancer leaves a task that ran more recently, and a newly \
              idle CPU that expects less does not age others; twice that bounds the expected idle time",
        unit: "ns",
        range: 0..=1_000_000_000,
        default: 500_000,
        scaled: false,
        source: "sysctl_sched_migration_cost, Linux 6.1",
        field: |tunables| &mut tunables.migration_cost_ns,
    },
    Setting {
        key: "busy_factor",
        doc: "how much rarer a busy CPU balances its domains than an idle one, in all domains",
        unit: "",
        range: 1..=1024,
        default: 16,
        scaled: false,
        source: "sd_init(), Linux 5.10 (32 before)",
        field: |tunables| &mut tunables.busy_factor,
    },
    Setting {
        key: "sis_prop_cpu_ns",
        doc: "time that SIS_PROP takes the idle check of one CPU to need (the kernel measures it); \
              matters only with SIS_PROP while SIS_UTIL is off",
        unit: "ns",
        range: 1..=10_000,
        default: 35,
        scaled: false,
        source: "Guess: the order of a read in the same LLC",
        field: |tunables| &mut tunables.sis_prop_cpu_ns,
    },
];

/// The base slice on one CPU up to 6.14. Source: `sysctl_sched_base_slice`, Linux 6.6.
const BASE_SLICE_6_6_NS: u64 = 750_000;

/// What was set by hand, by the index in [`SETTINGS`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Overrides([Option<u64>; SETTINGS.len()]);

impl Overrides {
    /// Sets the tunable of this index, which holds its final value: it is not scaled.
    ///
    /// # Panics
    /// When there is no such tunable.
    pub fn set(&mut self, idx: usize, value: u64) {
        self.0[idx] = Some(value);
    }

    /// What was set, with its name.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let keyed = SETTINGS.iter().zip(self.0);
        keyed.filter_map(|(setting, value)| value.map(|value| (setting.key, value)))
    }
}

impl Default for Tunables {
    /// The defaults of eight CPUs and more.
    fn default() -> Tunables {
        Tunables::new(8, &Overrides::default())
    }
}

impl Tunables {
    /// The values on a machine of `nr_cpus`: what was set, and the defaults of the rest.
    #[must_use]
    pub fn new(nr_cpus: usize, overrides: &Overrides) -> Tunables {
        let mut tunables = Tunables {
            latency_ns: 0,
            min_granularity_ns: 0,
            idle_min_granularity_ns: 0,
            wakeup_granularity_ns: 0,
            base_slice_ns: 0,
            normalized_base_slice_ns: 0,
            migration_cost_ns: 0,
            busy_factor: 0,
            sis_prop_cpu_ns: 0,
        };
        for (setting, value) in SETTINGS.iter().zip(overrides.0) {
            let factor = if setting.scaled { scaling_factor(nr_cpus) } else { 1 };
            *(setting.field)(&mut tunables) = value.unwrap_or(setting.default * factor);
        }
        tunables.normalized_base_slice_ns = tunables.base_slice_ns / scaling_factor(nr_cpus);
        tunables
    }

    /// The same for this version: 6.6 has a longer base slice.
    #[must_use]
    pub fn of(version: Version, nr_cpus: usize, overrides: &Overrides) -> Tunables {
        let mut tunables = Tunables::new(nr_cpus, overrides);
        let is_set = overrides.iter().any(|(key, _)| key == "base_slice_ns");
        if version == Version::V6_6 && !is_set {
            tunables.normalized_base_slice_ns = BASE_SLICE_6_6_NS;
            tunables.base_slice_ns = BASE_SLICE_6_6_NS * scaling_factor(nr_cpus);
        }
        tunables
    }
}

/// By how much time spans grow with the machine: `1 + floor(log2(min(nr_cpus, 8)))`.
/// Source: `get_update_sysctl_factor()`, logarithmic scaling.
#[must_use]
pub fn scaling_factor(nr_cpus: usize) -> u64 {
    1 + u64::from(nr_cpus.clamp(1, 8).ilog2())
}
