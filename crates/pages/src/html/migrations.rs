//! Who moves tasks, how far, why, and from which LLC to which.

use serde_json::Value;

use super::View;
use super::markup::{BarRow, bars, esc, keys, note, num, pct, ramp};
use crate::document::at;
use crate::measure::tidy;
use crate::side::{Side, whole};

/// Reasons that are listed.
const MOST: usize = 10;

/// More LLCs than any machine has.
const MOST_LLCS: usize = 1024;

pub(super) fn of(view: &View<'_>) -> String {
    if !view.any("migrations") {
        return String::new();
    }
    let mut text = keys(&view.names) + "<div class=\"two\">\n";
    for (title, key, by_size) in [
        ("By cause", "migrations.by_cause", false),
        ("By distance", "migrations.by_distance", false),
        ("By reason for the new CPU", "migrations.by_reason", true),
    ] {
        let rows = rows(view, key, by_size);
        if !rows.is_empty() {
            text += &format!("<div><h3>{title}</h3>\n{}</div>\n", bars(&rows));
        }
    }
    text += "</div>\n";
    if view.sides.iter().any(|side| side.runs.len() > 1) {
        text += &note("Means over the seeds.");
    }
    if view.any("cpu_migrations") {
        text += &note(
            "Each change of a CPU counts, those of a fork included. The CPU migrations among the figures are \
             those of perf stat: a task that was moved several times before it ran counts once.",
        );
    }
    text + &matrices(view)
}

/// The counts below a key of which any side has some.
fn rows(view: &View<'_>, key: &str, by_size: bool) -> Vec<BarRow> {
    let mut names: Vec<String> = Vec::new();
    for name in view.sides.iter().flat_map(|side| side.names(key)) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let most = |name: &str| view.sides.iter().map(|s| s.mean_in(key, name)).fold(0.0, f64::max);
    names.retain(|name| most(name) > 0.0);
    let mut rest = Vec::new();
    if by_size {
        names.sort_by(|a, b| most(b).total_cmp(&most(a)));
        // One of two that are left takes no more room than both together.
        if names.len() > MOST + 1 {
            rest = names.split_off(MOST);
        }
    }
    let row = |names: &[String], label: String| {
        let value = |side: &&Side| {
            let part = names.iter().map(|name| side.mean_in(key, name)).sum::<f64>();
            let all = side.mean("migrations.total");
            let share =
                if all > 0.0 { format!("{:.1} %", 100.0 * part / all) } else { String::new() };
            (part, tidy(part), share)
        };
        BarRow { values: view.sides.iter().map(value).collect(), label }
    };
    let one = |name: &String| row(std::slice::from_ref(name), name.replace('_', " "));
    let mut rows: Vec<BarRow> = names.iter().map(one).collect();
    if !rest.is_empty() {
        rows.push(row(&rest, format!("{} others", rest.len())));
    }
    rows
}

/// A heat map for each side: rows are the LLCs that tasks leave, columns those that they enter.
fn matrices(view: &View<'_>) -> String {
    let mut text = "<h3>From LLC to LLC</h3>\n".to_owned();
    if !view.any("migrations_by_llc") {
        return text
            + &note(
                "These files do not tell between which LLCs tasks moved: they were written by an \
                 older simsched. Run the commands of the summary again to get it.",
            );
    }
    let sums: Vec<Vec<(usize, usize, f64)>> = view.sides.iter().map(|side| cells(side)).collect();
    let most = sums.iter().flatten().map(|(.., count)| *count).fold(0.0, f64::max);
    text += "<div class=\"mats\">\n";
    for (idx, side) in view.sides.iter().enumerate() {
        text += &matrix(side, &view.names[idx], &sums[idx], most);
    }
    text += "</div>\n";
    let runs = if view.sides.iter().any(|side| side.runs.len() > 1) {
        ", means over the seeds"
    } else {
        ""
    };
    text += &ramp(
        "1",
        &format!(
            "{} migrations, on a log scale{runs}. Rows are the LLCs that tasks left, columns those that they entered; the diagonal is within an LLC",
            tidy(most)
        ),
    );
    text
}

/// The mean counts of the whole work, by the LLC that is left and the one that is entered.
#[expect(clippy::cast_precision_loss, reason = "runs are few")]
fn cells(side: &Side) -> Vec<(usize, usize, f64)> {
    let mut all: Vec<(usize, usize, f64)> = Vec::new();
    let runs = side.counted();
    for run in &runs {
        let rows = at(run, "migrations_by_llc").and_then(Value::as_array);
        for row in rows.into_iter().flatten() {
            let of = |k: usize| row.get(k).and_then(Value::as_u64);
            let (Some(from), Some(to), Some(count)) = (of(0), of(1), of(2)) else { continue };
            let place = (usize::try_from(from), usize::try_from(to));
            let (Ok(from), Ok(to)) = place else { continue };
            // A file may say what it likes: nobody draws a million columns.
            if from.max(to) >= MOST_LLCS {
                continue;
            }
            all.push((from, to, count as f64 * whole(run) / runs.len() as f64));
        }
    }
    all.sort_by_key(|(from, to, _)| (*from, *to));
    all.dedup_by(|next, kept| {
        let is_same = (next.0, next.1) == (kept.0, kept.1);
        if is_same {
            kept.2 += next.2;
        }
        is_same
    });
    all
}

#[expect(clippy::cast_precision_loss, reason = "LLCs are few")]
fn matrix(side: &Side, name: &str, cells: &[(usize, usize, f64)], most: f64) -> String {
    let told = at(side.first(), "scenario.nr_llcs").and_then(Value::as_u64).unwrap_or(1);
    let told = usize::try_from(told).unwrap_or(1).clamp(1, MOST_LLCS);
    let seen = cells.iter().map(|(from, to, _)| from.max(to) + 1).max().unwrap_or(1);
    let nr = told.max(seen);
    let mut svg = String::new();
    for (from, to, count) in cells {
        let strength = if most > 1.0 {
            0.12 + 0.88 * libm::log(count.max(1.0)) / libm::log(most)
        } else {
            1.0
        };
        svg += &format!(
            "<rect class=\"hot\" x=\"{to}\" y=\"{from}\" width=\"1\" height=\"1\" \
             fill-opacity=\"{}\"><title>LLC {from} to LLC {to}: {}</title></rect>",
            num(strength),
            tidy(*count)
        );
    }
    for border in borders(side, nr) {
        svg += &format!(
            "<path class=\"split\" d=\"M{border} 0V{nr}M0 {border}H{nr}\" fill=\"none\"/>"
        );
    }
    let step =
        [1, 2, 4, 8, 16, 32, 64, 128, 256].into_iter().find(|step| nr / step <= 8).unwrap_or(256);
    let labels: String = (0..nr)
        .step_by(step)
        .map(|llc| {
            let place = pct((llc as f64 + 0.5) / nr as f64);
            format!(
                "<span class=\"f\" style=\"top:{place}\">{llc}</span>\
                 <span class=\"t\" style=\"left:{place}\">{llc}</span>"
            )
        })
        .collect();
    let total: f64 = cells.iter().map(|(.., count)| count).sum();
    let within: f64 =
        cells.iter().filter(|(from, to, _)| from == to).map(|(.., count)| count).sum();
    let part = if total > 0.0 { 100.0 * (total - within) / total } else { 0.0 };
    format!(
        "<div class=\"mat\"><div class=\"cap\">{}: {} of {} between LLCs ({part:.1} %)</div>\
         <div class=\"frame\"><svg viewBox=\"0 0 {nr} {nr}\" role=\"img\" \
         shape-rendering=\"crispEdges\">{svg}</svg>{labels}</div></div>\n",
        esc(name),
        tidy(total - within),
        tidy(total)
    )
}

/// The LLCs with which another node begins.
fn borders(side: &Side, nr: usize) -> Vec<usize> {
    let llcs = super::machine::llcs(side);
    let seats: Vec<(u64, u64)> = llcs.iter().map(|llc| (llc.package, llc.node)).collect();
    (1..nr.min(seats.len())).filter(|llc| seats[*llc] != seats[*llc - 1]).collect()
}
