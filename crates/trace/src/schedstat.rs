//! `/proc/schedstat`: what each CPU and each of its sched domains has counted, as a kernel prints it.
//!
//! The versions differ in the lines of the domains only. Sources: `show_schedstat()` of
//! `kernel/sched/stats.c` (15: 6.1, 16: 6.12) and `Documentation/scheduler/sched-stats.rst` (17: 6.14).

use std::fmt::Write as _;
use std::str::FromStr;

/// A version of the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    /// Kernels 2.6.30 to 6.9: idle, not idle, newly idle.
    V15,
    /// From 6.10 on: not idle, idle, newly idle.
    V16,
    /// From 6.14 on: the name of each domain, and its imbalances by what was to be made equal.
    V17,
}

impl Version {
    /// All of them, the oldest first.
    pub const ALL: [Version; 3] = [Version::V15, Version::V16, Version::V17];

    /// The number in the first line.
    #[must_use]
    pub fn number(self) -> u32 {
        match self {
            Version::V15 => 15,
            Version::V16 => 16,
            Version::V17 => 17,
        }
    }

    /// The order in which a line shows the kinds of balances, as indices of [`Domain::balances`].
    fn kinds(self) -> [usize; 3] {
        if self == Version::V15 { [0, 1, 2] } else { [1, 0, 2] }
    }
}

impl FromStr for Version {
    type Err = String;

    /// As `v15`; else what was expected.
    fn from_str(text: &str) -> Result<Version, String> {
        let found =
            Version::ALL.into_iter().find(|version| text == format!("v{}", version.number()));
        found.ok_or_else(|| "expected v15, v16 or v17".to_owned())
    }
}

/// All that `/proc/schedstat` tells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SchedStat {
    /// `jiffies`, the time in ticks.
    pub timestamp: u64,
    /// By CPU.
    pub cpus: Vec<Cpu>,
}

/// The counters of a runqueue.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cpu {
    /// Calls of `sched_yield()`.
    pub yld_count: u64,
    /// Calls of `schedule()`.
    pub sched_count: u64,
    /// Those that chose the idle task.
    pub sched_goidle: u64,
    /// Wakeups by this CPU,
    pub ttwu_count: u64,
    /// and those among them of tasks on this CPU.
    pub ttwu_local: u64,
    /// The time that tasks ran here, in ns.
    pub rq_cpu_time: u64,
    /// The time that tasks waited here, in ns.
    pub run_delay: u64,
    /// How often a task began to run here.
    pub pcount: u64,
    /// Its sched domains, bottom-up.
    pub domains: Vec<Domain>,
}

/// The counters of one sched domain of one CPU.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Domain {
    /// Its name, which version 17 shows.
    pub name: String,
    /// Its CPUs, in ascending order.
    pub span: Vec<u32>,
    /// Calls of `load_balance()` while the CPU was idle, not idle, newly idle.
    pub balances: [Balance; 3],
    /// Active balances, those that moved nothing, and tasks that were pushed.
    pub alb: [u64; 3],
    /// Wakeups on another CPU in this domain.
    pub ttwu_wake_remote: u64,
    /// Wakeups pulled to the waker's CPU as the affine one.
    pub ttwu_move_affine: u64,
    /// Wakeups moved by load.
    pub ttwu_move_balance: u64,
}

/// What `load_balance()` did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Balance {
    /// How often it was called.
    pub count: u64,
    /// How often it found nothing to do.
    pub balanced: u64,
    /// How often it found an imbalance and moved nothing.
    pub failed: u64,
    /// The sum of all imbalances (up to version 16),
    pub imbalance: u64,
    /// and those of load, utilization, number of tasks and misfit tasks (17).
    pub imbalance_of: [u64; 4],
    /// Tasks that were pulled.
    pub gained: u64,
    /// Tasks that were pulled although cache-hot.
    pub hot_gained: u64,
    /// How often there was no busiest queue.
    pub nobusyq: u64,
    /// How often there was no busiest group.
    pub nobusyg: u64,
}

impl Balance {
    /// The columns in the order of `version`.
    fn columns(&self, version: Version) -> Vec<u64> {
        let mut columns = vec![self.count, self.balanced, self.failed];
        if version == Version::V17 {
            columns.extend(self.imbalance_of);
        } else {
            columns.push(self.imbalance);
        }
        columns.extend([self.gained, self.hot_gained, self.nobusyq, self.nobusyg]);
        columns
    }
}

impl Domain {
    fn columns(&self, version: Version) -> Vec<u64> {
        let kinds = version.kinds().into_iter();
        let mut columns: Vec<u64> =
            kinds.flat_map(|kind| self.balances[kind].columns(version)).collect();
        columns.extend(self.alb);
        // `sbe_*` and `sbf_*`, which no kernel counts any more.
        columns.extend([0; 6]);
        columns.extend([self.ttwu_wake_remote, self.ttwu_move_affine, self.ttwu_move_balance]);
        columns
    }
}

impl Cpu {
    /// The columns; the second has been 0 since the array of expired tasks went away.
    fn columns(&self) -> [u64; 9] {
        let Cpu { yld_count, sched_count, sched_goidle, ttwu_count, ttwu_local, .. } = *self;
        let sched_info = [self.rq_cpu_time, self.run_delay, self.pcount];
        let [time, delay, pcount] = sched_info;
        [yld_count, 0, sched_count, sched_goidle, ttwu_count, ttwu_local, time, delay, pcount]
    }
}

impl SchedStat {
    /// The text of the file.
    #[must_use]
    pub fn to_text(&self, version: Version) -> String {
        let mut text = format!("version {}\ntimestamp {}\n", version.number(), self.timestamp);
        for (at, cpu) in self.cpus.iter().enumerate() {
            line(&mut text, &format!("cpu{at}"), &cpu.columns());
            for (level, domain) in cpu.domains.iter().enumerate() {
                let mask = mask(&domain.span, self.cpus.len());
                let start = match version {
                    Version::V17 => format!("domain{level} {} {mask}", domain.name),
                    _ => format!("domain{level} {mask}"),
                };
                line(&mut text, &start, &domain.columns(version));
            }
        }
        text
    }
}

fn line(text: &mut String, start: &str, columns: &[u64]) {
    text.push_str(start);
    for column in columns {
        // Writing to a string does not fail.
        let _ = write!(text, " {column}");
    }
    text.push('\n');
}

/// CPUs as the kernel prints a mask of `nr_cpus` bits (`%*pb`): 32 bits in each group, the highest CPUs
/// first, and in the first group no more digits than it has bits for.
fn mask(span: &[u32], nr_cpus: usize) -> String {
    let mut words = vec![0_u32; nr_cpus.div_ceil(32).max(1)];
    for cpu in span {
        let (word, bit) = (*cpu as usize / 32, cpu % 32);
        if let Some(word) = words.get_mut(word) {
            *word |= 1 << bit;
        }
    }
    let digits = match nr_cpus % 32 {
        0 => 8,
        bits => bits.div_ceil(4),
    };
    let last = words.len() - 1;
    let groups = words.iter().enumerate().rev().map(|(at, word)| {
        let digits = if at == last { digits } else { 8 };
        format!("{word:0digits$x}")
    });
    groups.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `%*pb` of the kernel: groups of 32 bits, `Documentation/core-api/printk-formats.rst`.
    #[test]
    fn a_mask_has_a_digit_for_each_four_cpus() {
        assert_eq!(mask(&[0, 1], 2), "3");
        assert_eq!(mask(&[0, 1], 5), "03");
        assert_eq!(mask(&[4, 5, 6, 7], 16), "00f0");
        assert_eq!(mask(&[31], 32), "80000000");
        assert_eq!(mask(&[0, 32, 35], 36), "9,00000001");
        assert_eq!(mask(&[95], 96), "80000000,00000000,00000000");
    }

    fn counted() -> SchedStat {
        let balance = |first: u64| Balance {
            count: first,
            balanced: first + 1,
            failed: first + 2,
            imbalance: first + 3,
            imbalance_of: [0, 0, first + 2, 1],
            gained: first + 4,
            hot_gained: first + 5,
            nobusyq: first + 6,
            nobusyg: first + 7,
        };
        let domain = Domain {
            name: "MC".to_owned(),
            span: vec![0, 1],
            balances: [balance(100), balance(200), balance(300)],
            alb: [1, 2, 3],
            ttwu_wake_remote: 4,
            ttwu_move_affine: 5,
            ttwu_move_balance: 6,
        };
        let cpu = Cpu {
            yld_count: 1,
            sched_count: 2,
            sched_goidle: 3,
            ttwu_count: 4,
            ttwu_local: 5,
            rq_cpu_time: 6,
            run_delay: 7,
            pcount: 8,
            domains: vec![domain],
        };
        SchedStat { timestamp: 4_294_892_546, cpus: vec![cpu.clone(), Cpu::default()] }
    }

    /// The order of the columns is that of `Documentation/scheduler/sched-stats.rst` of 6.1.
    #[test]
    fn version_15_shows_idle_before_not_idle() {
        let text = counted().to_text(Version::V15);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "version 15");
        assert_eq!(lines[1], "timestamp 4294892546");
        assert_eq!(lines[2], "cpu0 1 0 2 3 4 5 6 7 8");
        assert_eq!(
            lines[3],
            "domain0 3 100 101 102 103 104 105 106 107 200 201 202 203 204 205 206 207 \
             300 301 302 303 304 305 306 307 1 2 3 0 0 0 0 0 0 4 5 6"
        );
        assert_eq!(lines[4], "cpu1 0 0 0 0 0 0 0 0 0");
        assert_eq!(lines.len(), 5);
    }

    #[test]
    fn version_16_shows_not_idle_before_idle() {
        let text = counted().to_text(Version::V16);
        assert!(text.starts_with("version 16\n"));
        assert!(text.contains("\ndomain0 3 200 201 202 203 204 205 206 207 100 101 "), "{text}");
    }

    #[test]
    fn version_17_names_the_domain_and_splits_the_imbalance() {
        let text = counted().to_text(Version::V17);
        let line = text.lines().nth(3).unwrap_or_default();
        assert!(
            line.starts_with("domain0 MC 3 200 201 202 0 0 202 1 204 205 206 207 100 "),
            "{line}"
        );
        assert_eq!(line.split(' ').count(), 3 + 3 * 11 + 12);
    }

    #[test]
    fn a_version_is_v15_v16_or_v17() {
        assert_eq!("v16".parse(), Ok(Version::V16));
        for bad in ["", "15", "v14", "v18", "v150"] {
            let refused = bad.parse::<Version>().err().unwrap_or_default();
            assert_eq!(refused, "expected v15, v16 or v17");
        }
    }
}
