//! `Metric`: what a claim may speak of.

use std::fmt;

use simsched_topology::nearest;

use crate::claim::Better;

/// What is measured, without its part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Family {
    /// What the program prints as its time.
    Time,
    /// The program's operations per second.
    Throughput,
    /// Memory bandwidth of STREAM's kernels.
    Bandwidth,
    /// Requests per second.
    Rps,
    /// The wakeup latency that the program measures and prints itself, as schbench does.
    ReportedWakeupLatency,
    /// From the waking call to the first instruction of the wakee, of all wakeups.
    WakeupLatency,
    /// From a request to its answer.
    RequestLatency,
    /// Switches away from a task: `context-switches` of `perf stat`.
    TaskSwitches,
    /// Switches away from a task for each second of busy CPU time.
    TaskSwitchesPerCpuSecond,
    /// Tasks that are switched in on another CPU than before: `cpu-migrations` of `perf stat`.
    CpuMigrations,
    /// `cpu-migrations` of `perf stat` for each second of busy CPU time.
    CpuMigrationsPerCpuSecond,
    /// How many CPUs are busy on average.
    BusyCpus,
    /// The part of one kernel function in the busy CPU time, in percent.
    Share,
    /// The part of the busy CPU time in which the core waits for data, in percent.
    Stalled,
    /// `imb_numa_nr` of a sched domain: no run is needed.
    ImbNumaNr,
    /// The value of a setting of the policy: no run is needed.
    Setting,
}

/// Which parts a family has.
enum Parts {
    None,
    OneOf(&'static [&'static str]),
    /// Any name, of this.
    Name(&'static str),
}

const TIMES: &[(&str, f64)] = &[
    ("s", 1.0),
    ("sec", 1.0),
    ("seconds", 1.0),
    ("min", 60.0),
    ("ms", 1e-3),
    ("us", 1e-6),
    ("usec", 1e-6),
    ("ns", 1e-9),
];

const LATENCY_UNITS: &[(&str, f64)] = &[
    ("us", 1.0),
    ("usec", 1.0),
    ("usecs", 1.0),
    ("ms", 1e3),
    ("msec", 1e3),
    ("s", 1e6),
    ("ns", 1e-3),
];

const BANDWIDTHS: &[(&str, f64)] =
    &[("MB/s", 1.0), ("GB/s", 1e3), ("MiB/s", 1.048_576), ("GiB/s", 1_073.741_824)];

const PERCENTS: &[(&str, f64)] = &[("%", 1.0), ("% cycles", 1.0), ("percent", 1.0)];

const LATENCIES: &[&str] = &["p50", "p90", "p99", "p99.9"];

const FAMILIES: [(&str, Family, Parts); 16] = [
    ("time", Family::Time, Parts::None),
    ("throughput", Family::Throughput, Parts::None),
    ("bandwidth", Family::Bandwidth, Parts::OneOf(&["copy", "scale", "add", "triad"])),
    ("rps", Family::Rps, Parts::OneOf(&["p20", "p50", "p90", "mean"])),
    ("reported_wakeup_latency", Family::ReportedWakeupLatency, Parts::OneOf(LATENCIES)),
    ("wakeup_latency", Family::WakeupLatency, Parts::OneOf(LATENCIES)),
    ("request_latency", Family::RequestLatency, Parts::OneOf(LATENCIES)),
    ("task_switches", Family::TaskSwitches, Parts::None),
    ("task_switches_per_cpu_second", Family::TaskSwitchesPerCpuSecond, Parts::None),
    ("cpu_migrations", Family::CpuMigrations, Parts::None),
    ("cpu_migrations_per_cpu_second", Family::CpuMigrationsPerCpuSecond, Parts::None),
    ("busy_cpus", Family::BusyCpus, Parts::None),
    ("share", Family::Share, Parts::OneOf(&["update_cfs_group", "update_load_avg"])),
    ("stalled", Family::Stalled, Parts::OneOf(&["backend"])),
    ("imb_numa_nr", Family::ImbNumaNr, Parts::Name("a sched domain, such as NUMA-A")),
    ("setting", Family::Setting, Parts::Name("a setting of the policy")),
];

/// A family with its part, and the node if it is of one only: `share:update_cfs_group:node0`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Metric {
    /// What is measured.
    pub family: Family,
    /// Which of it; empty where there is only one.
    pub part: String,
    /// On which node; all of them together if none.
    pub node: Option<usize>,
}

/// What is wrong with the name of a metric.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownMetric {
    /// What would be right.
    pub expected: String,
    /// Names that are close.
    pub nearest: Vec<String>,
}

impl Family {
    fn entry(self) -> &'static (&'static str, Family, Parts) {
        &FAMILIES[self as usize]
    }

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.entry().0
    }

    /// Whether it is computed without a run.
    #[must_use]
    pub fn is_parameter(self) -> bool {
        matches!(self, Family::ImbNumaNr | Family::Setting)
    }

    /// The units in which it may be published, each with how many of ours it is; none if any text
    /// may stand for a unit that only the program knows.
    #[must_use]
    pub fn units(self) -> Option<&'static [(&'static str, f64)]> {
        match self {
            Family::Time => Some(TIMES),
            latency if latency.is_latency() => Some(LATENCY_UNITS),
            Family::Bandwidth => Some(BANDWIDTHS),
            Family::Share | Family::Stalled => Some(PERCENTS),
            _ => None,
        }
    }

    /// How many of our units one of `unit` is; none if that is not known. An empty one is ours.
    #[must_use]
    pub fn unit_scale(self, unit: &str) -> Option<f64> {
        match self.units() {
            _ if unit.is_empty() => Some(1.0),
            Some(units) => units.iter().find(|(name, _)| *name == unit).map(|(_, scale)| *scale),
            None => Some(1.0),
        }
    }

    /// In which direction it is good by its nature; none if that is a matter of what is asked.
    #[must_use]
    pub fn good(self) -> Option<Better> {
        match self {
            Family::Time => Some(Better::Lower),
            latency if latency.is_latency() => Some(Better::Lower),
            Family::Throughput | Family::Bandwidth | Family::Rps => Some(Better::Higher),
            _ => None,
        }
    }

    /// Our unit, as it is printed beside a value; that of a throughput is the program's own.
    #[must_use]
    pub fn unit(self) -> &'static str {
        match self {
            Family::Time => "s",
            Family::Bandwidth => "MB/s",
            Family::Rps => "requests/s",
            Family::ReportedWakeupLatency | Family::WakeupLatency | Family::RequestLatency => "us",
            Family::TaskSwitchesPerCpuSecond | Family::CpuMigrationsPerCpuSecond => "1/(CPU s)",
            Family::BusyCpus => "CPUs",
            Family::Share | Family::Stalled => "%",
            Family::TaskSwitches
            | Family::CpuMigrations
            | Family::Throughput
            | Family::ImbNumaNr
            | Family::Setting => "",
        }
    }

    /// Whether it is a latency.
    #[must_use]
    pub fn is_latency(self) -> bool {
        use Family::{ReportedWakeupLatency, RequestLatency, WakeupLatency};
        matches!(self, ReportedWakeupLatency | WakeupLatency | RequestLatency)
    }
}

/// Every metric by its full name, but for those whose part may be any name.
fn names() -> Vec<String> {
    let of = |(name, _, parts): &(&str, Family, Parts)| match parts {
        Parts::None => vec![(*name).to_owned()],
        Parts::OneOf(parts) => parts.iter().map(|part| format!("{name}:{part}")).collect(),
        Parts::Name(_) => Vec::new(),
    };
    FAMILIES.iter().flat_map(of).collect()
}

impl Metric {
    /// The metric of this name.
    ///
    /// # Errors
    /// When there is none; with the names that are close.
    pub fn parse(text: &str) -> Result<Metric, UnknownMetric> {
        let mut pieces = text.split(':');
        let name = pieces.next().unwrap_or_default();
        let rest: Vec<&str> = pieces.collect();
        let Some((_, family, parts)) = FAMILIES.iter().find(|(known, ..)| *known == name) else {
            return Err(unknown(text));
        };
        let metric = |part: &str, node| Metric { family: *family, part: part.to_owned(), node };
        match (parts, rest.as_slice()) {
            (Parts::None, []) => Ok(metric("", None)),
            (Parts::OneOf(known), [part]) if known.contains(part) => Ok(metric(part, None)),
            (Parts::OneOf(known), [part, node])
                if *family == Family::Share && known.contains(part) =>
            {
                let node = node.strip_prefix("node").and_then(|node| node.parse().ok());
                node.map(|node| metric(part, Some(node))).ok_or_else(|| UnknownMetric {
                    expected: format!("{name}:{part}:nodeN with the number of a node"),
                    nearest: Vec::new(),
                })
            }
            (Parts::Name(_), [part]) if !part.is_empty() => Ok(metric(part, None)),
            (Parts::OneOf(known), _) => Err(UnknownMetric {
                expected: format!("{name}:{}", known.join("|")),
                nearest: close(text),
            }),
            (Parts::Name(what), _) => {
                let expected = format!("{name}:NAME with {what}");
                Err(UnknownMetric { expected, nearest: Vec::new() })
            }
            (Parts::None, _) => {
                Err(UnknownMetric { expected: name.to_owned(), nearest: close(text) })
            }
        }
    }
}

fn close(text: &str) -> Vec<String> {
    let names = names();
    nearest(text, names.iter().map(String::as_str)).into_iter().map(str::to_owned).collect()
}

fn unknown(text: &str) -> UnknownMetric {
    let known: Vec<&str> = FAMILIES.iter().map(|(name, ..)| *name).collect();
    let family = text.split(':').next().unwrap_or_default();
    let mut close = close(text);
    if close.is_empty() {
        close = nearest(family, known.iter().copied()).into_iter().map(str::to_owned).collect();
    }
    UnknownMetric { expected: format!("a metric ({})", known.join(", ")), nearest: close }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.family.name())?;
        if !self.part.is_empty() {
            write!(f, ":{}", self.part)?;
        }
        self.node.map_or(Ok(()), |node| write!(f, ":node{node}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_the_order_of_the_families() {
        for (idx, (_, family, _)) in FAMILIES.iter().enumerate() {
            assert_eq!(*family as usize, idx);
        }
    }

    #[test]
    fn a_metric_is_written_as_it_is_read() {
        let more = ["share:update_cfs_group:node1", "imb_numa_nr:NUMA-A", "setting:hz"];
        let all = names().into_iter().chain(more.map(str::to_owned));
        for name in all {
            assert_eq!(Metric::parse(&name).unwrap().to_string(), name);
        }
    }

    #[test]
    fn a_slip_is_answered_with_the_nearest_name() {
        for (slip, right) in [
            ("wakeup_latency:p95", "wakeup_latency:p90"),
            ("cpu_migration", "cpu_migrations"),
            ("tiem", "time"),
            ("share:update_cfs_gruop", "share:update_cfs_group"),
            ("bandwith:copy", "bandwidth:copy"),
        ] {
            let error = Metric::parse(slip).unwrap_err();
            assert!(error.nearest.iter().any(|name| name == right), "{slip}: {error:?}");
        }
    }

    #[test]
    fn a_part_too_many_or_too_few_is_refused() {
        for text in ["time:p50", "share", "rps", "share:update_cfs_group:0", "imb_numa_nr:", ""] {
            assert!(Metric::parse(text).is_err(), "{text}");
        }
    }
}
