//! The head of the page, a card for each side, and the foot.

use serde_json::Value;

use super::View;
use super::markup::{colour, esc};
use crate::command;
use crate::document::at;
use crate::measure::{named, number, tidy};
use crate::side::{Side, text};
use crate::units::span_of;

/// The name of the page.
pub(super) fn title(view: &View<'_>) -> String {
    let (workload, machine) = subject(view);
    format!("{workload} on {machine}")
}

/// What was run, and where.
fn subject(view: &View<'_>) -> (String, String) {
    if let Some(side) = view.sides.first() {
        return (side.workload().to_owned(), side.machine());
    }
    let top = view.documents.iter().find_map(|document| document.comparison.as_ref());
    let of = |key: &str| top.map_or("", |top| text(top, key));
    (of("workload").to_owned(), format!("{}@{}", of("topology"), of("mode")))
}

pub(super) fn top(view: &View<'_>) -> String {
    let (workload, machine) = subject(view);
    let size = view.sides.first().map_or_else(String::new, |side| size(side));
    let more = |what: &str, differs: bool| {
        if differs { format!(" and other {what}") } else { String::new() }
    };
    let first = view.sides.first();
    let differs = |of: &dyn Fn(&Side) -> String| {
        first.is_some_and(|first| view.sides.iter().any(|side| of(side) != of(first)))
    };
    let workloads = more("workloads", differs(&|side| side.workload().to_owned()));
    let machines = more("machines", differs(&Side::machine));
    format!(
        "<header class=\"top\">\n<p class=\"over\">simsched report</p>\n<h1>{}</h1>\n\
         <p class=\"sub\">on {}{}</p>\n</header>\n",
        esc(&(workload + &workloads)),
        esc(&(machine + &machines)),
        esc(&size)
    )
}

/// `: 384 CPUs, 24 LLCs, 2 nodes`.
fn size(side: &Side) -> String {
    let parts = [("nr_cpus", "CPU"), ("nr_llcs", "LLC"), ("nr_nodes", "node")];
    let told = parts.into_iter().filter_map(|(key, what)| {
        let nr = number(side.first(), &format!("scenario.{key}"))?;
        Some(format!("{} {what}{}", tidy(nr), if nr == 1.0 { "" } else { "s" }))
    });
    let told: Vec<String> = told.collect();
    if told.is_empty() { String::new() } else { format!(": {}", told.join(", ")) }
}

/// A card for each side, and one for each comparison.
pub(super) fn cards(view: &View<'_>) -> String {
    let mut cards = String::new();
    let mut idx = 0;
    for document in view.documents {
        for side in &document.sides {
            cards += &card(side, &view.names[idx], idx, document.comparison.is_some());
            idx += 1;
        }
        if let Some(top) = &document.comparison {
            let file = document.sides.first().map_or("", |side| side.file.as_str());
            cards += &format!(
                "<div class=\"card\" style=\"--c:var(--soft)\">\n<h3>The comparison{}</h3>\n{}</div>\n",
                if file.is_empty() { String::new() } else { format!(" {}", esc(file)) },
                repeat(&command::of_comparison(top))
            );
        }
    }
    format!("<div class=\"cards\">\n{cards}</div>\n")
}

fn card(side: &Side, name: &str, idx: usize, is_compared: bool) -> String {
    let run = side.first();
    let mut rows: Vec<(&str, String)> = vec![
        ("policy", side.text("scenario.policy_full").to_owned()),
        ("machine", format!("{} ({})", side.machine(), side.text("scenario.topology_file"))),
        ("workload", side.workload().to_owned()),
    ];
    let settings = at(run, "scenario.settings").and_then(Value::as_object);
    let settings: Vec<String> = settings
        .into_iter()
        .flatten()
        .map(|(key, value)| format!("{key}={}", crate::side::plain(value)))
        .collect();
    if !settings.is_empty() {
        rows.push(("settings", settings.join(" ")));
    }
    rows.push((if side.runs.len() == 1 { "seed" } else { "seeds" }, side.seeds_told()));
    if let Some(time) = named("time").and_then(|measure| Some((measure, measure.spread(side)?))) {
        rows.push(("time", time.0.shown(time.1.mean)));
    }
    let whole = side.values("whole.simulated_ns");
    if let Some(simulated) = whole.as_ref().or(side.values("simulated_ns").as_ref()) {
        let told = span_of(crate::student::Spread::of(simulated).mean);
        let events = side.values("events").map(|events| tidy(events.iter().sum()));
        let events = events.map_or_else(String::new, |events| format!(" in {events} events"));
        let each = if side.runs.len() > 1 { " each" } else { "" };
        rows.push(("simulated", format!("{told}{each}{events}")));
    }
    if let Some(measured) = side.values("simulated_ns").filter(|_| whole.is_some()) {
        let told = span_of(crate::student::Spread::of(&measured).mean);
        rows.push(("measured", format!("{told} without the start of the program")));
    }
    rows.push(("end", ends(side)));
    let digests: Vec<&str> = side.runs.iter().take(4).map(|run| text(run, "digest")).collect();
    let more = if side.runs.len() > 4 {
        format!(" and {} more", side.runs.len() - 4)
    } else {
        String::new()
    };
    rows.push((if side.runs.len() == 1 { "digest" } else { "digests" }, digests.join(" ") + &more));
    rows.push(("file", side.file.clone()));
    let mono = ["policy", "workload", "digest", "digests", "settings", "file"];
    let list: String = rows
        .iter()
        .map(|(what, value)| {
            let class = if mono.contains(what) { " class=\"mono\"" } else { "" };
            format!("<dt>{what}</dt><dd{class}>{}</dd>\n", esc(value))
        })
        .collect();
    // A comparison has a command of its own.
    let command = if is_compared { String::new() } else { repeat(&command::of_side(side)) };
    format!(
        "<div class=\"card\" style=\"{}\">\n<h3>{}</h3>\n<dl>\n{list}</dl>\n{command}</div>\n",
        colour(idx),
        esc(name)
    )
}

/// How the runs ended, and how many of them.
fn ends(side: &Side) -> String {
    let mut ends: Vec<(&str, usize)> = Vec::new();
    for run in &side.runs {
        let end = text(run, "end");
        match ends.iter_mut().find(|(known, _)| *known == end) {
            Some((_, nr)) => *nr += 1,
            None => ends.push((end, 1)),
        }
    }
    let told = ends.iter().map(|(end, nr)| {
        if side.runs.len() == 1 { (*end).to_owned() } else { format!("{nr} {end}") }
    });
    told.collect::<Vec<_>>().join(", ")
}

fn repeat(command: &str) -> String {
    // Lines break between words only, and not behind the dashes of an option.
    let words: Vec<String> =
        command.split(' ').map(|word| format!("<span>{}</span>", esc(word))).collect();
    format!("<div class=\"cmd\"><pre><code>{}</code></pre></div>\n", words.join(" "))
}

pub(super) fn foot(view: &View<'_>) -> String {
    let mut files: Vec<&str> = view.sides.iter().map(|side| side.file.as_str()).collect();
    files.dedup();
    format!(
        "<footer><p>Made by simsched {} from {}. Times are those of the simulated machine. Intervals \
         are 95 % intervals of Student&#39;s t over the seeds, of differences pair by pair where the \
         seeds are the same; those of one seed are what the run itself tells. The same command gives the same numbers, and the digest tells whether \
         it did.</p></footer>\n",
        env!("CARGO_PKG_VERSION"),
        esc(&files.join(", "))
    )
}
