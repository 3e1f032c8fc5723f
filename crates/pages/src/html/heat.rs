//! How busy CPUs and LLCs are: on the whole, and over time.

use serde_json::{Map, Value};

use super::View;
use super::machine::{Llc, llcs};
use super::markup::{BarRow, bars, esc, keys, note, num, pct, ramp};
use super::plot::{Curve, Plot, round_ticks};
use crate::document::at;
use crate::measure::{number, tidy};
use crate::side::Side;
use crate::units::span_of;

pub(super) fn of(view: &View<'_>) -> String {
    let mut text = String::new();
    if view.any("cpu_time_ns") {
        text += &keys(&view.names);
        text += &bars(&parts(view));
    }
    if view.sides.is_empty() {
        return text;
    }
    text += "<h3>Over time</h3>\n";
    let has_series = view.any("series.cpu_busy_pct");
    if !has_series && !view.any("llc.series.utilisation") {
        return text
            + &note(
                "These runs kept nothing over time. With --series a run keeps how busy each CPU is \
                 (with --llc-interval, each LLC).",
            );
    }
    text += &start_note(view);
    if has_series {
        text += &busy_plot(view);
    }
    let mut is_some = false;
    for (side, name) in view.sides.iter().zip(&view.names) {
        let drawn = maps(side, name);
        is_some |= !drawn.is_empty();
        text += &drawn;
    }
    if is_some {
        text += &ramp("0 %", "100 % of the time busy");
    }
    text
}

/// Numbers are without the start of a program, and what follows is over the whole run: when it was over.
fn start_note(view: &View<'_>) -> String {
    let ends: Vec<f64> =
        view.sides.iter().filter_map(|side| side.values("start_ns")).flatten().collect();
    let (least, most) = (
        ends.iter().copied().fold(f64::INFINITY, f64::min),
        ends.iter().copied().fold(0.0, f64::max),
    );
    let when = match (span_of(least), span_of(most)) {
        _ if ends.is_empty() => return String::new(),
        (least, most) if least == most => format!("after {least}"),
        (least, most) => format!("after {least} to {most}"),
    };
    note(&format!(
        "These are whole runs: the start of the program, which all other numbers leave out, is over {when} \
         (the dashed line of a map)."
    ))
}

/// What the CPUs did on the whole.
fn parts(view: &View<'_>) -> Vec<BarRow> {
    let mean = |side: &Side, name: &str| side.mean_in("cpu_time_ns", name);
    let all = |side: &Side| ["user", "system", "idle"].iter().map(|n| mean(side, n)).sum::<f64>();
    let value = |side: &Side, part: f64| {
        let share = 100.0 * part / all(side).max(1.0);
        (share, format!("{share:.1} %"), span_of(part))
    };
    let row = |label: &str, part: &dyn Fn(&Side) -> f64| BarRow {
        label: label.to_owned(),
        values: view.sides.iter().map(|side| value(side, part(side))).collect(),
    };
    let rows = vec![
        row("user", &|side| mean(side, "user")),
        row("system", &|side| mean(side, "system")),
        row("idle", &|side| mean(side, "idle")),
        row("idle while tasks waited", &|side| side.mean("idle_while_waiting_ns")),
    ];
    let is_some = |row: &BarRow| row.values.iter().any(|(share, ..)| *share > 0.0);
    rows.into_iter().filter(is_some).collect()
}

/// Numbers by interval, then by CPU or LLC.
fn rows(run: &Map<String, Value>, key: &str) -> Vec<Vec<f64>> {
    let rows = at(run, key).and_then(Value::as_array).into_iter().flatten();
    let numbers = |row: &Value| -> Vec<f64> {
        row.as_array().into_iter().flatten().filter_map(Value::as_f64).collect()
    };
    rows.map(numbers).collect()
}

/// The first run of a side that counts and has something there.
fn with<'a>(side: &'a Side, key: &str) -> Option<&'a Map<String, Value>> {
    side.counted().into_iter().find(|run| at(run, key).is_some())
}

/// How long a run was, all of it: series are those of the whole run.
fn length_of(run: &Map<String, Value>) -> Option<f64> {
    number(run, "whole.simulated_ns").or_else(|| number(run, "simulated_ns"))
}

/// How many CPUs are busy, all sides in one frame.
#[expect(clippy::cast_precision_loss, reason = "intervals are few")]
fn busy_plot(view: &View<'_>) -> String {
    let mut curves = Vec::new();
    let (mut last, mut most) = (0.0_f64, 1.0_f64);
    for (idx, side) in view.sides.iter().enumerate() {
        let Some(run) = with(side, "series.cpu_busy_pct") else { continue };
        let length = number(run, "series.interval_ns").unwrap_or(1.0);
        let end = length_of(run).unwrap_or(0.0);
        let mut points = Vec::new();
        for (at, row) in rows(run, "series.cpu_busy_pct").iter().enumerate() {
            let busy = row.iter().sum::<f64>() / 100.0;
            let (from, to) = (at as f64 * length, ((at + 1) as f64 * length).min(end));
            points.push((from, busy));
            points.push((to.max(from), busy));
            most = most.max(busy);
            last = last.max(to);
        }
        curves.push(Curve { side: idx, name: view.names[idx].clone(), points });
    }
    let ticks = round_ticks(most);
    let top = most.max(*ticks.last().unwrap_or(&most));
    for curve in &mut curves {
        for (x, y) in &mut curve.points {
            (*x, *y) = (*x / last.max(1.0), *y / top);
        }
    }
    let x = round_ticks(last).into_iter().map(|tick| (tick / last.max(1.0), time(tick)));
    let plot = Plot {
        x: x.collect(),
        y: ticks.into_iter().map(|tick| (tick / top, tidy(tick))).collect(),
        title: "CPUs that run a task".to_owned(),
        curves,
        is_low: true,
    };
    plot.html()
}

/// A tick of an axis of time.
fn time(nanos: f64) -> String {
    if nanos <= 0.0 {
        return "0".to_owned();
    }
    let span = span_of(nanos);
    let (number, unit) = span.split_once(' ').unwrap_or((&span, ""));
    let number = if number.contains('.') {
        number.trim_end_matches('0').trim_end_matches('.')
    } else {
        number
    };
    format!("{number} {unit}")
}

/// A row of a map: what it is, and how busy it is in each interval, 0 to 1.
struct Line {
    name: String,
    /// At the left of the first row of a group; nothing for the others.
    label: String,
    parts: Vec<f64>,
    /// How many gaps there are above.
    gaps: f64,
}

/// The maps of one side.
fn maps(side: &Side, name: &str) -> String {
    let seed = |run: &Map<String, Value>| {
        let many = side.runs.len() > 1;
        let seed = at(run, "scenario.seed").and_then(Value::as_u64).filter(|_| many);
        seed.map_or_else(String::new, |seed| format!(", seed {seed}"))
    };
    let caption = |what: &str, run: &Map<String, Value>, length: f64| {
        let (name, seed) = (esc(name), seed(run));
        format!(
            "<div class=\"cap\">{name}{seed}: {what} in intervals of {}</div>\n",
            span_of(length)
        )
    };
    if let Some(run) = with(side, "series.cpu_busy_pct") {
        let (table, llcs) = (rows(run, "series.cpu_busy_pct"), llcs(side));
        let length = number(run, "series.interval_ns").unwrap_or(1.0);
        if llcs.is_empty() || table.is_empty() {
            return String::new();
        }
        let by_cpu = cpu_lines(&llcs, &table);
        let mut text = String::new();
        if llcs.len() > 1 {
            text += &caption("LLCs", run, length);
            text += &map(&llc_lines(&llcs, &table), length, run, 0.6);
        }
        let drawn = map(&by_cpu, length, run, if by_cpu.len() > 64 { 0.14 } else { 0.5 });
        let open = if llcs.len() > 1 { "" } else { " open=\"open\"" };
        let nr = by_cpu.len();
        text += &format!(
            "<details{open}><summary>each of the {nr} CPUs of {}</summary>\n{drawn}</details>\n",
            esc(name)
        );
        return text;
    }
    let Some(run) = with(side, "llc.series.utilisation") else { return String::new() };
    let table = rows(run, "llc.series.utilisation");
    let length = number(run, "llc.interval_ns").unwrap_or(1.0);
    let nr = table.iter().map(Vec::len).max().unwrap_or(0);
    let seats = llcs(side);
    let line = |llc: usize| Line {
        name: format!("LLC {llc}"),
        label: label(&seats, llc),
        parts: table.iter().map(|row| row.get(llc).copied().unwrap_or(0.0)).collect(),
        gaps: gaps(&seats, llc),
    };
    let lines: Vec<Line> = (0..nr).map(line).collect();
    caption("LLCs", run, length) + &map(&lines, length, run, 0.6)
}

/// Whether another node begins with this LLC.
fn is_apart(llcs: &[Llc], llc: usize) -> bool {
    let seat = |llc: usize| llcs.get(llc).map(|llc| (llc.package, llc.node));
    llc > 0 && seat(llc) != seat(llc - 1)
}

/// Between nodes there is a gap, between sockets there are two.
fn gaps(llcs: &[Llc], llc: usize) -> f64 {
    let package = |llc: usize| llcs.get(llc).map(|llc| llc.package);
    match is_apart(llcs, llc) {
        false => 0.0,
        true if package(llc) == package(llc - 1) => 1.0,
        true => 2.0,
    }
}

/// Where a socket or a node begins, its name; a few of the others have their number.
fn label(llcs: &[Llc], llc: usize) -> String {
    if let Some(of) = llcs.get(llc).filter(|_| llc == 0 || is_apart(llcs, llc)) {
        let has_many = llcs.iter().any(|other| other.package != of.package);
        let begins = llc == 0 || llcs[llc - 1].package != of.package;
        let socket =
            if has_many && begins { format!("socket {}, ", of.package) } else { String::new() };
        return format!("{socket}node {}, LLC {llc}", of.node);
    }
    if llc.is_multiple_of(4) && !is_apart(llcs, llc + 1) {
        format!("LLC {llc}")
    } else {
        String::new()
    }
}

#[expect(clippy::cast_precision_loss, reason = "CPUs are few")]
fn llc_lines(llcs: &[Llc], table: &[Vec<f64>]) -> Vec<Line> {
    let line = |(idx, llc): (usize, &Llc)| {
        let cpus: Vec<usize> = llc.cpus().collect();
        let mean = |row: &Vec<f64>| {
            let busy = cpus.iter().filter_map(|cpu| row.get(*cpu)).sum::<f64>();
            busy / 100.0 / cpus.len().max(1) as f64
        };
        Line {
            name: format!("LLC {idx}"),
            label: label(llcs, idx),
            parts: table.iter().map(mean).collect(),
            gaps: gaps(llcs, idx),
        }
    };
    llcs.iter().enumerate().map(line).collect()
}

fn cpu_lines(llcs: &[Llc], table: &[Vec<f64>]) -> Vec<Line> {
    let mut lines = Vec::new();
    for (idx, llc) in llcs.iter().enumerate() {
        for (place, cpu) in llc.cpus().enumerate() {
            let part = |row: &Vec<f64>| row.get(cpu).copied().unwrap_or(0.0) / 100.0;
            lines.push(Line {
                name: format!("CPU {cpu}"),
                label: if place == 0 { label(llcs, idx) } else { String::new() },
                parts: table.iter().map(part).collect(),
                gaps: if place == 0 && idx > 0 { gaps(llcs, idx).max(1.0) } else { 0.0 },
            });
        }
    }
    lines
}

/// Strengths of the colour.
const LEVELS: usize = 8;

/// A map of lines `height` rem high each; what is idle is not drawn.
#[expect(clippy::cast_precision_loss, reason = "lines and intervals are few")]
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to LEVELS")]
fn map(lines: &[Line], length: f64, run: &Map<String, Value>, height: f64) -> String {
    let nr = lines.iter().map(|line| line.parts.len()).max().unwrap_or(0);
    let gap = if lines.len() > 64 { 2.0 } else { 0.4 };
    let mut levels = vec![String::new(); LEVELS + 1];
    let (mut top, mut labels) = (0.0, Vec::new());
    for line in lines {
        top += gap * line.gaps;
        let level = |part: f64| (part.clamp(0.0, 1.0) * LEVELS as f64).ceil() as usize;
        let mut from = 0;
        while from < line.parts.len() {
            let strength = level(line.parts[from]);
            let same =
                line.parts[from..].iter().take_while(|part| level(**part) == strength).count();
            if strength > 0 {
                levels[strength] += &format!("M{from} {}h{same}", num(top + 0.5));
            }
            from += same;
        }
        if !line.label.is_empty() {
            labels.push((top + 0.5, line));
        }
        top += 1.0;
    }
    let mut svg = String::new();
    for (level, path) in levels.iter().enumerate().filter(|(_, path)| !path.is_empty()) {
        let strength = num(level as f64 / LEVELS as f64);
        svg += &format!("<path class=\"level\" stroke-opacity=\"{strength}\" d=\"{path}\"/>");
    }
    let wide = if lines.iter().any(|line| line.label.starts_with("socket")) { " wide" } else { "" };
    let mut text = format!(
        "<div class=\"cells{wide}\" style=\"height:{}rem\"><svg viewBox=\"0 0 {} {}\" \
         preserveAspectRatio=\"none\" role=\"img\" shape-rendering=\"crispEdges\">{svg}</svg>",
        num(top * height),
        nr.max(1),
        num(top.max(1.0))
    );
    for (place, line) in labels {
        let place = pct(place / top);
        text += &format!(
            "<span class=\"r\" style=\"top:{place}\" title=\"{}\">{}</span>",
            esc(&line.name),
            esc(&line.label)
        );
    }
    let all = nr as f64 * length;
    let end = length_of(run).unwrap_or(all).min(all);
    for tick in round_ticks(end).into_iter().filter(|tick| tick / all.max(1.0) <= 0.72) {
        let class = if tick == 0.0 { "x start" } else { "x" };
        text += &format!(
            "<span class=\"{class}\" style=\"left:{}\">{}</span>",
            pct(tick / all.max(1.0)),
            time(tick)
        );
    }
    if let Some(start) = number(run, "start_ns").filter(|start| *start < all) {
        text += &format!("<span class=\"from\" style=\"left:{}\"></span>", pct(start / all));
    }
    text + &format!("<span class=\"x end\" style=\"left:100%\">{}</span></div>\n", time(end))
}
