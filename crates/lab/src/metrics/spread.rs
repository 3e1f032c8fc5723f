//! `Spread`: where the tasks are, at any time.

use std::collections::BTreeMap;

use super::float;
use crate::shape::{Shape, touched};
use crate::value::{Value, round};

/// The CPU of every task over time.
///
/// A task is where it was queued or moved to last; one that has ended stays where it was.
#[derive(Clone, Debug)]
pub(super) struct Spread {
    /// When time starts, in µs.
    start: u64,
    /// Time in µs, task and its new CPU, in order.
    moves: Vec<(u64, u32, u32)>,
}

impl Spread {
    pub(super) fn new(start: u64) -> Spread {
        Spread { start, moves: Vec::new() }
    }

    pub(super) fn place(&mut self, us: u64, pid: u32, cpu: u32) {
        self.moves.push((us, pid, cpu));
    }

    /// `what` at `ms` after the start.
    pub(super) fn at(&self, ms: u64, what: &str, shape: &Shape) -> Option<Value> {
        let end = self.start + ms * 1000;
        let mut places = BTreeMap::new();
        for (_, pid, cpu) in self.moves.iter().take_while(|(us, ..)| *us <= end) {
            places.insert(*pid, *cpu);
        }
        let cpus = || places.values().copied();
        let per_cpu = shape.per_cpu(cpus());
        Some(match what {
            "idle_cpus" => (shape.nr_cpus() as u64 - touched(&per_cpu)).into(),
            "max_per_cpu" => per_cpu.iter().copied().max().unwrap_or(0).into(),
            "busy_cores" => shape.touched_cores(cpus()).into(),
            "per_llc_sorted" => Value::sorted(shape.per_llc(cpus())),
            "per_node_sorted" => Value::sorted(shape.per_node(cpus())),
            _ => return None,
        })
    }

    /// When all `tasks` are there and first as many CPUs have one as can, in ms after the start.
    pub(super) fn all_used_at(&self, tasks: usize, shape: &Shape) -> Option<Value> {
        let wanted = tasks.min(shape.nr_cpus()) as u64;
        let mut places = BTreeMap::new();
        for (us, pid, cpu) in &self.moves {
            places.insert(*pid, *cpu);
            let all = places.len() == tasks && *us >= self.start;
            if all && touched(&shape.per_cpu(places.values().copied())) == wanted {
                return Some(round(float(us - self.start) / 1000.0, 3).into());
            }
        }
        None
    }
}
