//! `Runtime`: who had the CPU, for how long, and how often.

use std::collections::BTreeMap;

use super::{float, millis};
use crate::results::TaskResult;
use crate::value::{Value, round};

/// The idle task of any CPU.
const IDLE: u32 = 0;

/// The times that tasks had a CPU without a switch.
#[derive(Clone, Debug, Default)]
pub(super) struct Runtime {
    /// Since when each task that runs has its CPU, in µs.
    since: BTreeMap<u32, u64>,
    /// The slices of each task in µs, in order.
    slices: BTreeMap<u32, Vec<u64>>,
}

impl Runtime {
    pub(super) fn switch(&mut self, us: u64, prev: u32, next: u32) {
        if let Some(since) = self.since.remove(&prev) {
            self.slices.entry(prev).or_default().push(us - since);
        }
        if next != IDLE {
            self.since.insert(next, us);
        }
    }

    fn total(&self, task: &TaskResult) -> u64 {
        self.slices.get(&task.pid).map_or(0, |slices| slices.iter().sum())
    }

    /// The part of `name(nice N)` in the CPU time of all `tasks`.
    pub(super) fn share(&self, name: &str, tasks: &[TaskResult]) -> Option<Value> {
        let named = |task: &&TaskResult| format!("{}(nice {})", task.name, task.nice) == name;
        let own = self.total(tasks.iter().find(named)?);
        let all: u64 = tasks.iter().map(|task| self.total(task)).sum();
        let share = round(float(own) / float(all.max(1)), 5);
        Some(round(share, 4).into())
    }

    /// The median slice of `name` in ms: of `n` in ascending order, that with the number `n / 2`.
    pub(super) fn slice(&self, name: &str, tasks: &[TaskResult]) -> Option<Value> {
        let task = tasks.iter().find(|task| task.name == name)?;
        let mut slices = self.slices.get(&task.pid)?.clone();
        slices.sort_unstable();
        let median = *slices.get(slices.len() / 2)?;
        Some(round(float(median) / 1000.0, 3).into())
    }
}

/// Standard deviation over mean of the CPU times that `tasks` tell, each in ms with three decimals.
pub(super) fn deviation(tasks: &[TaskResult]) -> Option<Value> {
    let times: Vec<f64> = tasks.iter().map(|task| millis(task.exec_ns)).collect();
    let count = float(times.len() as u64);
    let mean = times.iter().sum::<f64>() / count;
    let variance = times.iter().map(|time| (time - mean) * (time - mean)).sum::<f64>() / count;
    let mean = round(mean, 3);
    (mean > 0.0).then(|| round(round(variance.sqrt(), 3) / mean, 4).into())
}
