//! What differs between two sides, in the few sentences that a person would write: what changed,
//! through what, and what did not.
//!
//! The rules look at numbers only. A difference counts if its 95 % interval leaves out zero and it is
//! at least 1 %, or, where one seed tells no interval, if it is at least 3 %. Within each part the
//! largest comes first.

mod causes;
mod words;

use crate::document::Document;
use crate::error::PageError;
use crate::measure::{MEASURES, Verdict, named};
use crate::paired::FEWEST;
use crate::side::{Side, text};
use words::{Said, group};
pub(crate) use words::{nobreak, signed};

/// What differs between two sides.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Explanation {
    /// The two sides, and what they have in common.
    pub head: Vec<String>,
    /// Why the rest should be read with care.
    pub cautions: Vec<String>,
    /// What changed.
    pub changed: Vec<String>,
    /// Through what.
    pub causes: Vec<String>,
    /// What did not change.
    pub same: Vec<String>,
}

/// What differs between the results of two files.
///
/// # Errors
/// When the files hold runs of different machines or workloads, unless they are compared `anyway`, and
/// when one of them is a comparison.
pub fn explain(base: &Document, other: &Document, anyway: bool) -> Result<Explanation, PageError> {
    let (base, other) = (only_side(base)?, only_side(other)?);
    let apart = apart(base, other);
    if let Some((what, found)) = apart.first().filter(|_| !anyway) {
        return Err(PageError::Apart {
            base: base.file.clone(),
            other: other.file.clone(),
            what,
            found: found.clone(),
        });
    }
    Ok(sides(base, other))
}

/// In what two sides differ that should be one, and how.
pub(crate) fn apart(base: &Side, other: &Side) -> Vec<(&'static str, String)> {
    let pairs = [
        ("machine", base.machine(), other.machine()),
        ("workload", base.workload().to_owned(), other.workload().to_owned()),
    ];
    let differ = pairs.into_iter().filter(|(_, a, b)| a != b);
    differ.map(|(what, a, b)| (what, format!("{a} and {b}"))).collect()
}

fn only_side(document: &Document) -> Result<&Side, PageError> {
    match document.sides.as_slice() {
        [side] if document.comparison.is_none() => Ok(side),
        _ => Err(PageError::Kind {
            file: document.sides.first().map_or_else(String::new, |side| side.file.clone()),
            found: "a comparison".to_owned(),
            expected: "what `run --json` writes; `simsched report` explains a comparison",
        }),
    }
}

/// What differs between two sides, whatever they are.
pub(crate) fn sides(base: &Side, other: &Side) -> Explanation {
    let mut told = Explanation { head: head(base, other), ..Explanation::default() };
    let digests = |side: &Side| -> Vec<String> {
        side.counted().iter().map(|run| text(run, "digest").to_owned()).collect()
    };
    let parts = |side: &Side| [measures_whole(side), measures_part(side)];
    let is_same_run = digests(base) == digests(other) && base.seeds() == other.seeds();
    if is_same_run && parts(base) == parts(other) {
        told.changed.push("Nothing: the digests are equal, so these are the same runs.".to_owned());
        return told;
    }
    told.cautions = cautions(base, other);
    // Where a program has a time, its throughput says the same again.
    let has_time = named("time").is_some_and(|time| time.change(base, other).is_some());
    let groups = GROUPS.iter().filter(|group| !(has_time && group.measures == ["throughput"]));
    let mut said: Vec<Said> = groups.filter_map(|g| group(g, base, other)).collect();
    // What the program tells comes first, then whatever changed most.
    said.sort_by(|a, b| {
        (!a.is_outcome, b.weight)
            .partial_cmp(&(!b.is_outcome, a.weight))
            .unwrap_or(std::cmp::Ordering::Equal)
    });
    told.changed = said.into_iter().map(|said| said.sentence).collect();
    let has_changed = !told.changed.is_empty();
    if !has_changed {
        let text =
            "Nothing that is measured can be told to differ: it is within 3 % or within chance.";
        told.changed.push(text.to_owned());
    }
    // Where seeds tell that nothing has changed, a difference inside, which has no interval, is no cause.
    if has_changed || base.seeds().len().min(other.seeds().len()) == 1 {
        let mut causes = causes::of(base, other);
        causes.sort_by(|a, b| b.weight.total_cmp(&a.weight));
        told.causes = causes.into_iter().map(|said| said.sentence).collect();
    }
    told.same = same(base, other);
    told
}

/// Measures that are told together.
pub(crate) struct Group {
    /// How a sentence about them begins.
    title: &'static str,
    measures: &'static [&'static str],
    is_outcome: bool,
}

const GROUPS: [Group; 8] = [
    Group { title: "The time of the program", measures: &["time"], is_outcome: true },
    Group { title: "The throughput", measures: &["throughput"], is_outcome: true },
    Group {
        title: "The request latency",
        measures: &["request_p50", "request_p99"],
        is_outcome: true,
    },
    Group {
        title: "The wakeup latency",
        measures: &["wakeup_mean", "wakeup_p50", "wakeup_p90", "wakeup_p99", "wakeup_p99_9"],
        is_outcome: false,
    },
    Group {
        title: "The time that tasks wait on a runqueue",
        measures: &["wait_mean", "wait_p99"],
        is_outcome: false,
    },
    Group {
        title: "The number of context switches",
        measures: &["context_switches"],
        is_outcome: false,
    },
    Group { title: "The number of preemptions", measures: &["preemptions"], is_outcome: false },
    Group { title: "The number of migrations", measures: &["migrations"], is_outcome: false },
];

fn head(base: &Side, other: &Side) -> Vec<String> {
    let line = |what: &str, side: &Side| {
        format!("{what}: {} ({}, {})", side.name(), side.file, seeds_of(side))
    };
    let mut head = vec![line("base", base), line("other", other)];
    if apart(base, other).is_empty() {
        head.push(format!("both: {} on {}", base.workload(), base.machine()));
    }
    head
}

fn seeds_of(side: &Side) -> String {
    let seeds = side.seeds();
    let what = if seeds.len() == 1 { "seed" } else { "seeds" };
    format!("{what} {}", side.seeds_told())
}

/// What makes a comparison of two sides doubtful.
fn cautions(base: &Side, other: &Side) -> Vec<String> {
    let mut found: Vec<String> = apart(base, other)
        .into_iter()
        .map(|(what, how)| format!("The {what} differs: {how}; numbers may differ by that alone."))
        .collect();
    let (from, to) = (base.seeds(), other.seeds());
    if from.len() == 1 && to.len() == 1 {
        let said = "One seed on each side tells no interval, so a small difference may be chance";
        let own = base.has("precision") || base.has("cut");
        found.push(if own {
            format!("{said}.")
        } else {
            format!("{said}: run with --seeds 5 to know.")
        });
    } else if from.len() == 1 || to.len() == 1 {
        found.push("One side has one seed, so there are no intervals.".to_owned());
    } else if from != to {
        found.push("The seeds differ, so that runs cannot be compared pair by pair.".to_owned());
    }
    let [a, b] = [base, other].map(|side| (measures_whole(side), measures_part(side)));
    if (a.0 && b.1) || (a.1 && b.0) {
        found.push(
            "Runs are measured with the start of the program and without it (--whole, --precision, or stopped in \
             it): numbers differ by that alone."
                .to_owned(),
        );
    }
    let fewest = from.len().min(to.len());
    if (2..FEWEST).contains(&fewest) {
        found
            .push(format!("With {fewest} seeds no difference is sure: run with --seeds {FEWEST}."));
    }
    for side in [base, other] {
        found.extend(doubts(side).into_iter().map(|doubt| format!("{}: {doubt}", side.name())));
    }
    found
}

/// Whether some run of a side is measured with the start of its program, or has none.
fn measures_whole(side: &Side) -> bool {
    side.counted().iter().any(|run| run.get("start_ns").is_none() && run.get("cut").is_none())
}

/// Whether some run of a side is measured without the start of its program.
fn measures_part(side: &Side) -> bool {
    side.counted().iter().any(|run| run.get("start_ns").is_some())
}

/// What is doubtful about the numbers of one side.
pub(crate) fn doubts(side: &Side) -> Vec<String> {
    let runs = &side.runs;
    let nr = |end: &str| runs.iter().filter(|run| text(run, "end") == end).count();
    let all = runs.len();
    let flag = |key: &str, want: bool| {
        let is = |run: &&_| crate::document::at(run, key).and_then(|v| v.as_bool()) == Some(want);
        runs.iter().filter(is).count()
    };
    let of =
        |nr: usize| if all == 1 { "the run".to_owned() } else { format!("{nr} of {all} runs") };
    let mut found = Vec::new();
    let mut say = |nr: usize, what: &str| {
        if nr > 0 {
            found.push(format!("{} {what}", of(nr)));
        }
    };
    say(nr("interrupted"), "ended by Ctrl-C: the numbers are partial.");
    say(
        nr("duration"),
        "ended by --duration before the program did: counts are those of that time.",
    );
    let has = |key: &str| {
        let is = |run: &&_| crate::document::at(run, key).is_some_and(|v| !v.is_null());
        runs.iter().filter(is).count()
    };
    let (cut, scaled) = (has("cut"), has("cut.work_total"));
    say(scaled, "measured in a span only: time and counts are scaled to the whole work.");
    say(cut - scaled, "measured in a span only: counts are those of the span.");
    say(flag("cut.stationary", false), "not stationary in the span that was measured.");
    say(flag("precision.exact", false), "extrapolated from a part that was simulated.");
    say(flag("precision.reached", false), "less precise than asked for.");
    say(flag("precision.stationary", false), "not found stationary.");
    found
}

/// What did not change, and what cannot be told from chance.
fn same(base: &Side, other: &Side) -> Vec<String> {
    let with = |verdict: Verdict| -> Vec<String> {
        let is = |measure: &&crate::measure::Measure| {
            measure.change(base, other).is_some_and(|change| {
                change.verdict == verdict && (change.base != 0.0 || change.other != 0.0)
            })
        };
        // The comma of a label would be one of the list.
        MEASURES.iter().filter(is).map(|measure| measure.label.replace(", ", " ")).collect()
    };
    let mut said = Vec::new();
    let (same, chance) = (with(Verdict::Same), with(Verdict::Chance));
    if !same.is_empty() {
        said.push(format!("Within 3 % of the base: {}.", words::listed(&same)));
    }
    if !chance.is_empty() {
        let seeds = base.seeds().len().min(other.seeds().len());
        let by =
            if seeds > 1 { format!("with {seeds} seeds") } else { "by their intervals".to_owned() };
        said.push(format!("Not to be told from chance {by}: {}.", words::listed(&chance)));
    }
    said
}

impl Explanation {
    /// All of it, as the command prints it: a line for each sentence.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text: String = self.head.iter().map(|line| format!("{line}\n")).collect();
        let parts = [
            ("Take care:", &self.cautions),
            ("What changed:", &self.changed),
            ("Through what:", &self.causes),
            ("What did not change:", &self.same),
        ];
        for (title, sentences) in parts.into_iter().filter(|(_, lines)| !lines.is_empty()) {
            text += &format!("\n{title}\n");
            sentences.iter().for_each(|sentence| text += &words::wrapped(sentence));
        }
        text
    }
}

/// The label of a measure, as sentences have it.
pub(crate) fn label(name: &str) -> &'static str {
    named(name).map_or("", |measure| measure.label)
}
