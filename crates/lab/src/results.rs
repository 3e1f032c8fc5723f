//! What the programs of the lab measure themselves: `NAME.json` of a scenario, and the output of
//! hackbench under the lab's counters.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde::Deserialize;

use crate::error::LabError;
use crate::event::{Comm, Task};

/// What a scenario tells of itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Results {
    /// From before the first fork to after the last wait, in ns.
    pub elapsed_ns: u64,
    /// Who counts in the metrics.
    pub counted: Counted,
}

/// The tasks that count in the metrics of a scenario.
#[derive(Clone, Debug, PartialEq)]
pub enum Counted {
    /// These tasks, which tell of themselves; not the one that forked them.
    Tasks(Vec<TaskResult>),
    /// All tasks of this name, the first one included: a program of somebody else's (hackbench).
    Named(String),
}

impl Counted {
    /// What the tasks tell of themselves, if they do.
    #[must_use]
    pub fn tasks(&self) -> &[TaskResult] {
        match self {
            Counted::Tasks(tasks) => tasks,
            Counted::Named(_) => &[],
        }
    }

    /// To ask of many tasks whether they count.
    pub(crate) fn counts(&self) -> Counts {
        Counts {
            pids: self.tasks().iter().map(|task| task.pid).collect(),
            name: match self {
                Counted::Named(name) => Some(Comm::new(name)),
                Counted::Tasks(_) => None,
            },
        }
    }
}

/// Who counts.
pub(crate) struct Counts {
    pids: BTreeSet<u32>,
    name: Option<Comm>,
}

impl Counts {
    pub(crate) fn has(&self, task: &Task) -> bool {
        self.pids.contains(&task.pid) || self.name == Some(task.comm)
    }
}

/// What a task tells of itself at its end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct TaskResult {
    /// The name it has given itself.
    pub name: String,
    /// Its id.
    pub pid: u32,
    /// Its nice value.
    pub nice: i8,
    /// Its CPU time in ns as `/proc/self/schedstat` shows it: as of the last tick or switch.
    pub exec_ns: u64,
    /// The median of the latencies it measured, in ns; 0 if it measured none.
    pub lat_p50_ns: u64,
    /// Their 99th percentile.
    pub lat_p99_ns: u64,
    /// The longest.
    pub lat_max_ns: u64,
}

impl TaskResult {
    /// Whether it has measured latencies.
    #[must_use]
    pub fn has_latencies(&self) -> bool {
        self.lat_max_ns > 0
    }

    /// Takes the quantiles of these latencies, in any order: of `n` in ascending order, the one
    /// with the number `n * percent / 100`, counted from 0.
    pub fn set_latencies(&mut self, latencies: &[u64]) {
        let mut sorted = latencies.to_vec();
        sorted.sort_unstable();
        let at = |percent: usize| sorted.get(sorted.len() * percent / 100).copied().unwrap_or(0);
        (self.lat_p50_ns, self.lat_p99_ns) = (at(50), at(99));
        self.lat_max_ns = sorted.last().copied().unwrap_or(0);
    }
}

/// The length in the description of the program, such as 1500 of `procs-1500ms-release0ms 4:hog`.
fn length_of(scenario: &str) -> Option<u64> {
    scenario.split(['-', ' ']).find_map(|word| word.strip_suffix("ms")?.parse().ok())
}

/// How long the tasks of a scenario were to run, in ms, by its `NAME.json`; none if it does not say.
///
/// # Errors
/// When it cannot be read.
pub(crate) fn length_ms(path: &Path) -> Result<Option<u64>, LabError> {
    let text = fs::read_to_string(path).map_err(|error| LabError::read(path, error))?;
    let described = serde_json::from_str::<Described>(&text).ok();
    Ok(described.and_then(|described| length_of(&described.scenario)))
}

#[derive(Deserialize)]
struct Described {
    scenario: String,
}

#[derive(Deserialize)]
struct Own {
    elapsed_ns: u64,
    tasks: Vec<TaskResult>,
}

/// A run of hackbench under the lab's counters.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Bench {
    /// Its command line.
    pub cmd: String,
    /// From before its start to after its end, in ns.
    pub elapsed_ns: u64,
    /// How often its tasks left a CPU while they were alive.
    pub context_switches: u64,
    /// How often its tasks ran on another CPU than before.
    pub cpu_migrations: u64,
    /// The CPU time of its tasks in ns.
    pub task_clock_ns: u64,
}

impl Bench {
    /// The command line without the folder of the program.
    #[must_use]
    pub fn command(&self) -> &str {
        let program = self.cmd.split(' ').next().unwrap_or(&self.cmd);
        &self.cmd[program.rfind('/').map_or(0, |at| at + 1)..]
    }
}

/// Reads `NAME.json`.
///
/// # Errors
/// When it is neither what the lab's tasks tell of themselves nor the output of hackbench.
pub fn read(path: &Path) -> Result<Results, LabError> {
    let text = fs::read_to_string(path).map_err(|error| LabError::read(path, error))?;
    if let Ok(own) = serde_json::from_str::<Own>(&text) {
        return Ok(Results { elapsed_ns: own.elapsed_ns, counted: Counted::Tasks(own.tasks) });
    }
    let bench = benches_of(&text, path)?.into_iter().next();
    let bench = bench.ok_or_else(|| {
        let expected = "`elapsed_ns` and `tasks`, or a line of JSON with `cmd` and its counters";
        LabError::content(path, "neither", expected)
    })?;
    let command = bench.command();
    let name = command.split(' ').next().unwrap_or(command);
    Ok(Results { elapsed_ns: bench.elapsed_ns, counted: Counted::Named(name.to_owned()) })
}

/// Reads `hackbench.json`: the program's own lines, and a line of JSON for each run.
///
/// # Errors
/// When it cannot be read, or a line of JSON lacks a counter.
pub fn read_benches(path: &Path) -> Result<Vec<Bench>, LabError> {
    let text = fs::read_to_string(path).map_err(|error| LabError::read(path, error))?;
    benches_of(&text, path)
}

fn benches_of(text: &str, path: &Path) -> Result<Vec<Bench>, LabError> {
    let lines = text.lines().enumerate().filter(|(_, line)| line.starts_with('{'));
    let bench = |(at, line)| {
        let parsed = serde_json::from_str(line);
        parsed.map_err(|error| LabError::line(path, at + 1, line, format!("a run ({error})")))
    };
    lines.map(bench).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quantiles_are_those_of_the_labs_own_program() {
        let mut task = TaskResult::default();
        // 190 latencies: the 99th percentile is the last but one, as in the runs of 190 periods.
        task.set_latencies(&(1..=190).rev().collect::<Vec<_>>());
        assert_eq!((task.lat_p50_ns, task.lat_p99_ns, task.lat_max_ns), (96, 189, 190));
        task.set_latencies(&[7]);
        assert_eq!((task.lat_p50_ns, task.lat_p99_ns, task.lat_max_ns), (7, 7, 7));
        task.set_latencies(&[]);
        assert!(!task.has_latencies());
    }

    #[test]
    fn the_length_of_a_scenario_is_the_first_number_of_milliseconds() {
        for (text, expected) in [
            ("procs-1500ms-release0ms 4:hog", Some(1_500)),
            ("pc-1x4-500ms-prod200us-cons400us", Some(500)),
            ("hogs-15-1000ms-0-free", Some(1_000)),
            ("pingpong-1pairs-300iters-0us", None),
        ] {
            assert_eq!(length_of(text), expected, "{text}");
        }
    }

    #[test]
    fn a_command_goes_without_its_folder() {
        let text = "Time: 0.1\n{\"cmd\":\"/bin/hackbench -T -g 1\",\"elapsed_ns\":4,\
                    \"context_switches\":3,\"cpu_migrations\":2,\"task_clock_ns\":1}\n";
        let benches = benches_of(text, Path::new("x")).unwrap();
        assert_eq!(benches[0].command(), "hackbench -T -g 1");
        assert_eq!((benches[0].elapsed_ns, benches[0].task_clock_ns), (4, 1));
    }

    #[test]
    fn a_broken_run_is_named_by_its_line() {
        let error = benches_of("Time: 1\n{\"cmd\":1}\n", Path::new("hb")).unwrap_err().to_string();
        assert!(error.starts_with("hb:2: found '{\"cmd\":1}', expected a run"), "{error}");
    }
}
