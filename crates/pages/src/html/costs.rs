//! What CPU time was spent on.

use super::View;
use super::markup::{BarRow, bars, keys, note};
use crate::side::Side;
use crate::units::span_of;

/// Which are no work of anybody.
const IDLE: [&str; 2] = ["idle", "idle_exit"];

pub(super) fn of(view: &View<'_>) -> String {
    if !view.any("costs") {
        return String::new();
    }
    let mut names: Vec<String> = Vec::new();
    for name in view.sides.iter().flat_map(|side| side.names("costs")) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let mean = |side: &Side, name: &str| side.mean_in("costs", name);
    let most = |name: &str| view.sides.iter().map(|side| mean(side, name)).fold(0.0, f64::max);
    names.retain(|name| name != "idle" && most(name) > 0.0);
    names.sort_by(|a, b| most(b).total_cmp(&most(a)));
    let busy = |side: &Side| -> f64 {
        let work = names.iter().filter(|name| !IDLE.contains(&name.as_str()));
        work.map(|name| mean(side, name)).sum()
    };
    let row = |name: &String| {
        let value = |side: &&Side| {
            let (spent, all) = (mean(side, name), busy(side));
            let share = if IDLE.contains(&name.as_str()) || all <= 0.0 {
                String::new()
            } else {
                format!("{:.1} %", 100.0 * spent / all)
            };
            (spent, span_of(spent), share)
        };
        BarRow { label: name.replace('_', " "), values: view.sides.iter().map(value).collect() }
    };
    let rows: Vec<BarRow> = names.iter().map(row).collect();
    keys(&view.names)
        + &bars(&rows)
        + &note(
            "CPU time of all CPUs by what it was spent on, and its part of all that was not idle. \
             Waiting for cache lines has names of its own: rq lock, update cfs group, update load avg, \
             refill, message. The way out of idle states (idle exit) is idle time.",
        )
}
