//! The same for a kernel that told which branch of its search decided, with `WAKEUP_BIAS_PREV` and
//! without it.

use std::collections::BTreeMap;
use std::fmt;

use simsched_core::Reason;
use simsched_policies::catalog::FairSpec;
use simsched_policies::fair::patches::wakeup_bias_prev;
use simsched_policies::fair::{Features, reason};
use simsched_topology::{CpuId, Topology};

use crate::common;
use crate::common::patched;
use crate::decisions::hidden::{Answer, Rig};
use crate::decisions::history::History;
use crate::decisions::row::Row;

/// The kernel's name of the branch behind an answer; the last one is told by where the wakee goes.
fn branch(answer: &Answer, prev: CpuId) -> &'static str {
    const NAMES: [(Reason, &str); 9] = [
        (reason::TARGET, "target_idle"),
        (reason::PREV, "prev_idle"),
        (reason::RECENT, "recent"),
        (reason::SIBLING, "smt"),
        (reason::IDLE_CORE, "scan_core"),
        (reason::IDLE_CPU, "scan_cpu"),
        (wakeup_bias_prev::IDLE, "bias_prev_idle"),
        (wakeup_bias_prev::SPARE, "bias_prev_spare"),
        (wakeup_bias_prev::FALLBACK, "bias_fallback"),
    ];
    match NAMES.iter().find(|(why, _)| *why == answer.reason) {
        Some((_, name)) => name,
        None if answer.cpu == prev => "fallback_same",
        None => "fallback_mig",
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Count {
    rows: u32,
    /// CPU and branch of the kernel are among the answers.
    right: u32,
    /// There is one answer.
    single: u32,
    single_right: u32,
}

impl Count {
    fn add(&mut self, is_right: bool, is_single: bool) {
        self.rows += 1;
        self.right += u32::from(is_right);
        self.single += u32::from(is_single);
        self.single_right += u32::from(is_single && is_right);
    }

    fn agrees(self) -> bool {
        100 * self.right >= 99 * self.rows && 100 * self.single_right >= 99 * self.single
    }
}

/// By the kernel's branch.
#[derive(Default)]
struct Branches {
    all: Count,
    by_name: BTreeMap<String, Count>,
}

impl fmt::Display for Branches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "all {:?}", self.all)?;
        self.by_name.iter().try_for_each(|(name, count)| writeln!(f, "{name} {count:?}"))
    }
}

/// Asks for all placements of a recording whose branch the kernel told.
fn replay(file: &str, class: impl Into<FairSpec>) -> Branches {
    let topology = Topology::builtin("t16", None).unwrap();
    let mut rig = Rig::new(topology.clone(), class);
    let mut branches = Branches::default();
    let (mut history, mut scenario) = (History::new(*topology.cpus()), String::new());
    for line in common::lines(file) {
        let row = Row::parse(&line);
        if row.scenario != scenario {
            scenario.clone_from(&row.scenario);
            history = History::new(*topology.cpus());
        }
        history.before(&row);
        if row.on_rq || row.is_pinned() {
            continue;
        }
        history.record_wakee(&row);
        let Some(seen) = row.seen.clone() else { continue };
        let answers = rig.answers(&row, &mut history).unwrap_or_default();
        let mut told: Vec<_> = answers.iter().map(|a| (a.cpu, branch(a, row.prev))).collect();
        told.dedup();
        let is_right = told.contains(&(row.chosen, seen.branch.as_str()));
        branches.all.add(is_right, told.len() == 1);
        branches.by_name.entry(seen.branch).or_default().add(is_right, told.len() == 1);
        history.after(&row, &answers);
    }
    branches
}

fn bias() -> FairSpec {
    patched(Features::default(), &["wakeup_bias_prev"])
}

#[test]
fn placements_with_the_bias_take_the_branch_of_the_kernel() {
    let branches = replay("lab/t16-bias-on.jsonl", bias());
    assert!(branches.all.rows > 16_000 && branches.all.agrees(), "{branches}");
    for name in ["bias_prev_idle", "bias_prev_spare"] {
        let count = branches.by_name[name];
        assert!(count.agrees() && 3 * count.single >= 2 * count.rows, "{name}: {branches}");
    }
}

#[test]
fn placements_without_it_take_the_branch_of_the_kernel() {
    let branches = replay("lab/t16-bias-off.jsonl", Features::default());
    assert!(branches.all.rows > 16_000 && branches.all.agrees(), "{branches}");
    for name in ["target_idle", "prev_idle", "fallback_same"] {
        let count = branches.by_name[name];
        assert!(count.agrees() && 3 * count.single >= 2 * count.rows, "{name}: {branches}");
    }
}

/// The recordings tell the two policies from each other, and from a patch that takes no busy CPU.
#[test]
fn the_branches_tell_the_bias_from_its_absence() {
    let agrees = |file: &str, class: FairSpec| replay(file, class).all.agrees();
    assert!(!agrees("lab/t16-bias-on.jsonl", Features::default().into()));
    assert!(!agrees("lab/t16-bias-off.jsonl", bias()));
    let mut idle_only = bias();
    idle_only.features.util_est = false;
    assert!(!agrees("lab/t16-bias-on.jsonl", idle_only));
}
