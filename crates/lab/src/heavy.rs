//! Heavy hackbench with a patch off and on: `hackbench-off-X` and `hackbench-on-X`.
//!
//! Such runs are too long to trace; the kernel counted. What its counts are depends on how hackbench's
//! pipes fall into step, and two runs of one kernel are far apart; how much the patch changes them
//! depends on that less. So three counts are compared as ratios, on over off, and where wakees were
//! placed as parts of all placements.

mod groups;
mod run;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::error::LabError;
use crate::reference::{Metric, Scenario};
use crate::value::Value;
use crate::verdict::Class;

pub(crate) use groups::read as read_groups;
pub use run::{Pair, count_groups};

/// How the labels begin whose runs have the patch off, and on.
const LABELS: [&str; 2] = ["hackbench-off-", "hackbench-on-"];

/// What a label holds: a line of JSON for each run.
const RUNS: &str = "hb.jsonl";

/// Where a wakee was placed: our reasons, and the kernel's counters of the same.
const BRANCHES: [(&str, &[&str], &[&str]); 7] = [
    ("bias_prev_idle", &["bias_prev_idle"], &["sis_bias_prev_idle"]),
    ("bias_prev_spare", &["bias_prev_spare"], &["sis_bias_prev_spare"]),
    ("bias_prev_fallback", &["bias_prev_fallback"], &["sis_bias_fallback"]),
    ("target", &["target"], &["sis_target_idle"]),
    ("prev", &["prev"], &["sis_prev_idle", "sis_kthread"]),
    (
        "searched",
        &["recent", "sibling", "idle_core", "idle_cpu"],
        &["sis_recent", "sis_smt", "sis_scan_core", "sis_scan_cpu"],
    ),
    ("none_idle", &["none_idle"], &["sis_fallback_same", "sis_fallback_mig"]),
];

/// What was counted in one run.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Counts {
    /// Switches of hackbench's tasks, as perf counts them.
    switches: u64,
    /// Their moves, as perf counts them.
    migrations: u64,
    /// Of these, those by balancers.
    pulled: u64,
    /// Wakeups of all tasks.
    wakeups: u64,
    /// Placements by branch, in the order of [`BRANCHES`].
    placed: [u64; BRANCHES.len()],
    /// What the policy itself has counted, by the names of the kernel's counters.
    told: BTreeMap<String, u64>,
}

/// A line of `hb.jsonl`.
#[derive(Deserialize)]
struct Line {
    run: String,
    #[serde(default)]
    bias: u32,
    #[serde(default)]
    ratelimit: u32,
    g: u32,
    f: u32,
    l: u64,
    switches: u64,
    migrations: u64,
    pulled: u64,
    ttwu: u64,
    c: BTreeMap<String, u64>,
}

impl Line {
    fn command(&self) -> String {
        format!("hackbench -T -p -g {} -f {} -l {}", self.g, self.f, self.l)
    }

    fn counts(&self) -> Counts {
        let count = |names: &[&str]| names.iter().filter_map(|name| self.c.get(*name)).sum();
        Counts {
            switches: self.switches,
            migrations: self.migrations,
            pulled: self.pulled,
            wakeups: self.ttwu,
            placed: BRANCHES.map(|(_, _, counters)| count(counters)),
            told: BTreeMap::new(),
        }
    }
}

/// Whether the folder at `path` has pairs of runs.
pub(crate) fn has_pairs(path: &Path) -> bool {
    pairs(path).next().is_some()
}

/// Whether the folder at `path` has runs inside task groups.
pub(crate) fn has_groups(path: &Path) -> bool {
    !groups::files(path).is_empty()
}

/// The labels of `path` that have the patch off, and those that belong to them.
fn pairs(path: &Path) -> impl Iterator<Item = [PathBuf; 2]> {
    let mut off: Vec<PathBuf> = fs::read_dir(path)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path().join(RUNS))
        .filter(|runs| runs.is_file())
        .collect();
    off.sort();
    off.into_iter().filter_map(|off| {
        let label = off.parent()?;
        let set = label.file_name()?.to_str()?.strip_prefix(LABELS[0])?;
        let on = label.with_file_name(format!("{}{set}", LABELS[1])).join(RUNS);
        on.is_file().then_some([off, on])
    })
}

/// What the patch changed in each command line that was recorded with it off and on; one value for
/// each time that it was.
pub(crate) fn read(path: &Path) -> Result<Vec<Scenario>, LabError> {
    let mut scenarios: Vec<Scenario> = Vec::new();
    for files in pairs(path) {
        let [off, on] = [runs(&files[0])?, runs(&files[1])?];
        for (command, off) in off {
            let Some((_, on)) = on.iter().find(|(other, _)| *other == command) else { continue };
            let changed = metrics(&off, on);
            match scenarios.iter_mut().find(|scenario| scenario.name == command) {
                None => scenarios.push(Scenario::new(&command, changed)),
                Some(known) => known.metrics.iter_mut().zip(changed).for_each(|(known, more)| {
                    known.values.extend(more.values);
                }),
            }
        }
    }
    Ok(scenarios)
}

fn runs(path: &Path) -> Result<Vec<(String, Counts)>, LabError> {
    let lines = read_lines(path)?;
    Ok(lines.iter().map(|line| (line.command(), line.counts())).collect())
}

fn read_lines(path: &Path) -> Result<Vec<Line>, LabError> {
    let text = fs::read_to_string(path).map_err(|error| LabError::read(path, error))?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let parse = |(at, line): (usize, &str)| {
        serde_json::from_str(line).map_err(|error| {
            LabError::line(path, at + 1, line, format!("counts of a run ({error})"))
        })
    };
    lines.map(parse).collect()
}

/// The metrics of a pair of runs, with the patch off and on.
fn metrics(off: &Counts, on: &Counts) -> Vec<Metric> {
    let metric = |(name, class, value): (String, Class, f64)| Metric {
        name,
        class,
        values: vec![Value::from(value)],
    };
    changes(off, on).into_iter().map(metric).collect()
}

/// Name, class and value of what is compared.
#[expect(clippy::cast_precision_loss, reason = "counts of a run stay below 2^53")]
pub(crate) fn changes(off: &Counts, on: &Counts) -> Vec<(String, Class, f64)> {
    let woken = |counts: &Counts| counts.migrations.saturating_sub(counts.pulled);
    // A run without any move counts as one with a single move.
    let ratio = |count: fn(&Counts) -> u64| count(on) as f64 / count(off).max(1) as f64;
    let mut rows = vec![
        ("migrations on/off".to_owned(), Class::Ratio, ratio(|counts| counts.migrations)),
        (
            "wakeup migrations on/off".to_owned(),
            Class::Ratio,
            woken(on) as f64 / woken(off).max(1) as f64,
        ),
        ("switches on/off".to_owned(), Class::Ratio, ratio(|counts| counts.switches)),
    ];
    for (counts, side) in [(off, "off"), (on, "on")] {
        let placed: u64 = counts.placed.iter().sum();
        let percent = |part: u64, all: u64| 100.0 * part as f64 / all.max(1) as f64;
        let unplaced = counts.wakeups.saturating_sub(placed);
        let unplaced = percent(unplaced, counts.wakeups);
        rows.push((format!("% of wakeups not placed, {side}"), Class::Points, unplaced));
        for ((name, ..), part) in BRANCHES.iter().zip(counts.placed) {
            let is_biased = name.starts_with("bias");
            if side == "on" || !is_biased {
                rows.push((
                    format!("% placed {name}, {side}"),
                    Class::Points,
                    percent(part, placed),
                ));
            }
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_lab_gives_the_shares_that_its_text_tells() {
        // `hb-g4f8r1` of hackbench-off-a; BIAS.md: 73,557 placements, of them 86.6 % with nothing idle
        // where the target is the previous CPU and 4.1 % where it is not, 7.6 and 0.5 % idle target and
        // previous CPU, 1.1 % found by search; 94,060 wakeups.
        let line: Line = serde_json::from_str(
            r#"{"run": "hb-g4f8r1", "g": 4, "f": 8, "l": 6000, "switches": 127128, "migrations": 5263, "pulled": 2293,
                "ttwu": 94065, "c": {"sis_target_idle": 5620, "sis_prev_idle": 375, "sis_kthread": 1,
                "sis_recent": 216, "sis_smt": 216, "sis_scan_cpu": 232, "sis_fallback_same": 63722,
                "sis_fallback_mig": 3035, "sis_scan_core": 140, "wa_calls": 24878}}"#,
        )
        .unwrap();
        assert_eq!(line.command(), "hackbench -T -p -g 4 -f 8 -l 6000");
        let off = line.counts();
        assert_eq!(off.placed.iter().sum::<u64>(), 73_557);
        let rows = changes(&off, &Counts { migrations: 2_832, pulled: 1_738, ..off.clone() });
        let value = |name: &str| rows.iter().find(|row| row.0 == name).unwrap().2;
        assert!((value("% placed none_idle, off") - 90.7).abs() < 0.1);
        assert!((value("% placed target, off") - 7.6).abs() < 0.1);
        assert!((value("% placed prev, off") - 0.5).abs() < 0.1);
        assert!((value("% placed searched, off") - 1.1).abs() < 0.1);
        assert!((value("migrations on/off") - 0.54).abs() < 0.01, "-46 %");
        assert!((value("wakeup migrations on/off") - 0.37).abs() < 0.01, "-63 %");
    }
}
