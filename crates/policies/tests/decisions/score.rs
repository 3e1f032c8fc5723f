//! Counts of agreement.

use std::collections::BTreeMap;
use std::fmt;

use simsched_policies::fair::{Patches, Version};
use simsched_topology::{CpuSet, Topology};

use crate::decisions::hidden::Answer;
use crate::decisions::row::Row;

/// Counts of one kind of placements.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    rows: u32,
    /// The kernel's CPU is one of the answers.
    right: u32,
    /// There is one answer.
    single: u32,
    single_right: u32,
    /// All answers are in one LLC.
    one_llc: u32,
    one_llc_right: u32,
    /// Sum of the numbers of CPUs in the answers.
    sizes: u32,
}

/// How a policy agrees with the kernel: by kind, by whether the task moved, and by reason.
#[derive(Clone, Debug, Default)]
pub(crate) struct Score {
    counts: BTreeMap<String, Count>,
    /// Placements where nobody chose, and those of them where the task stayed.
    not_chosen: u32,
    stayed: u32,
    /// Too much changed in the moment of the decision.
    pub(crate) unjudged: u32,
}

/// Whether `part` is at least this share of `all`, in percent.
fn is_share(part: u32, all: u32, percent: u32) -> bool {
    100 * part >= percent * all
}

impl Score {
    pub(crate) fn not_chosen(&mut self, row: &Row) {
        self.not_chosen += 1;
        self.stayed += u32::from(row.chosen == row.prev);
    }

    pub(crate) fn count(&mut self, topology: &Topology, row: &Row, answers: &[Answer]) {
        let cpus: CpuSet = answers.iter().map(|answer| answer.cpu).collect();
        let right = answers.iter().find(|answer| answer.cpu == row.chosen);
        let llc = topology.llc_of(answers[0].cpu);
        let is_one_llc = cpus.iter().all(|cpu| topology.llc_of(cpu) == llc);
        let is_llc = is_one_llc && llc == topology.llc_of(row.chosen);
        let is_single = cpus.len() == 1;
        let why = reasons()[usize::from(right.unwrap_or(&answers[0]).reason.0)];
        let kind = if row.is_fork { "fork" } else { "wake" };
        let moves = if row.chosen == row.prev { "stays" } else { "moves" };
        for key in [kind.to_owned(), format!("{kind} {moves}"), format!("{kind} {why}")] {
            let count = self.counts.entry(key).or_default();
            count.rows += 1;
            count.right += u32::from(right.is_some());
            count.single += u32::from(is_single);
            count.single_right += u32::from(is_single && right.is_some());
            count.one_llc += u32::from(is_one_llc);
            count.one_llc_right += u32::from(is_llc);
            count.sizes += cpus.len() as u32;
        }
    }

    fn of(&self, key: &str) -> Count {
        self.counts.get(key).copied().unwrap_or_default()
    }

    pub(crate) fn rows(&self, key: &str) -> u32 {
        self.of(key).rows
    }

    pub(crate) fn right(&self, key: &str) -> u32 {
        self.of(key).right
    }

    pub(crate) fn single(&self, key: &str) -> u32 {
        self.of(key).single
    }

    /// Wakeups and forks that were judged, and placements where nobody chose.
    pub(crate) fn assert_rows(&self, rows: [u32; 3]) {
        assert_eq!([self.rows("wake"), self.rows("fork"), self.not_chosen], rows, "{self}");
        assert_eq!(self.unjudged, 0, "{self}");
    }

    /// At least 99 of 100 placements agree, also of those alone that moved a task: where there is
    /// one answer, where there is one LLC, and among the possible answers. For each reason 9 of 10
    /// do. And the answers are few: two thirds of the wakeups have one, and 1.5 is the average.
    pub(crate) fn meets_the_bar(&self) -> bool {
        let is_reason = |key: &str| {
            let name = key.split_once(' ').map(|(_, name)| name);
            name.is_some_and(|name| reasons().contains(&name))
        };
        let agrees = |(key, count): (&String, &Count)| {
            let percent = if is_reason(key) { 90 } else { 99 };
            is_share(count.right, count.rows, percent)
                && is_share(count.single_right, count.single, percent)
                && is_share(count.one_llc_right, count.one_llc, percent)
        };
        let wake = self.of("wake");
        self.counts.iter().all(agrees)
            && is_share(wake.single, wake.rows, 66)
            && 2 * wake.sizes <= 3 * wake.rows
            && is_share(self.stayed, self.not_chosen, 99)
    }
}

impl fmt::Display for Score {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "right of rows; of those with one answer; of those in one LLC; mean answers")?;
        for (key, c) in &self.counts {
            let mean_100 = 100 * c.sizes / c.rows;
            write!(
                f,
                "{key:15} {:5} of {:5}; {:5} of {:5}; ",
                c.right, c.rows, c.single_right, c.single
            )?;
            write!(
                f,
                "{:5} of {:5}; {}.{:02}",
                c.one_llc_right,
                c.one_llc,
                mean_100 / 100,
                mean_100 % 100
            )?;
            writeln!(f)?;
        }
        let Score { stayed, not_chosen, unjudged, .. } = self;
        writeln!(f, "nobody chose: {stayed} of {not_chosen} stayed; not judged: {unjudged}")
    }
}

/// The names of the reasons, by number.
fn reasons() -> &'static [&'static str] {
    Patches::of(Version::default()).reasons()
}
