//! Sentences about numbers.

use crate::measure::{Change, Measure, Verdict, named};
use crate::side::Side;

use super::{Group, label};

/// A sentence, and how much of a change it is about.
pub(crate) struct Said {
    pub(crate) sentence: String,
    /// In percent of what was there.
    pub(crate) weight: f64,
    /// What the program itself tells.
    pub(crate) is_outcome: bool,
}

/// The sentence about measures that are told together; none if none of them changed.
pub(crate) fn group(group: &Group, base: &Side, other: &Side) -> Option<Said> {
    let all: Vec<(&Measure, Change)> = group
        .measures
        .iter()
        .filter_map(|name| named(name).and_then(|m| Some((m, m.change(base, other)?))))
        .collect();
    let differs = |(_, change): &&(&Measure, Change)| change.verdict == Verdict::Differs;
    let mut changed: Vec<&(&Measure, Change)> = all.iter().filter(differs).collect();
    changed.sort_by(|(_, a), (_, b)| weight(b).total_cmp(&weight(a)));
    let (measure, most) = *changed.first()?;
    let rises = most.other > most.base;
    let mut sentence = format!("{} {}", group.title, if rises { "rises" } else { "falls" });
    if all.len() > 1 {
        sentence += &format!(", its {} most", short(measure));
    }
    sentence += &format!(": {}", from_to(measure, most));
    let (along, against): (Vec<_>, Vec<_>) =
        changed.iter().skip(1).partition(|(_, change)| (change.other > change.base) == rises);
    let listed_with = |those: &[&&(&Measure, Change)]| -> String {
        let each = those
            .iter()
            .map(|(measure, change)| format!("its {} {}", short(measure), percent(change)));
        listed(&each.collect::<Vec<_>>())
    };
    if !along.is_empty() {
        sentence += &format!("; {}", listed_with(&along));
    }
    if !against.is_empty() {
        sentence += &format!("; against that {}", listed_with(&against));
    }
    let still = |(_, change): &&(&Measure, Change)| change.verdict == Verdict::Same;
    let still: Vec<&str> = all.iter().filter(still).map(|(measure, _)| short(measure)).collect();
    if !still.is_empty() {
        sentence += &format!(
            "; its {} {}",
            listed(&still),
            if still.len() == 1 { "stays" } else { "stay" }
        );
    }
    sentence.push('.');
    Some(Said { sentence, weight: weight(most), is_outcome: group.is_outcome })
}

/// What tells a measure from the others of its group.
fn short(measure: &Measure) -> &'static str {
    label(measure.name).split(", ").nth(1).unwrap_or("")
}

pub(crate) fn weight(change: &Change) -> f64 {
    change.pct.map_or(1e9, f64::abs)
}

/// From what to what, by how many percent, and how sure that is.
pub(crate) fn from_to(measure: &Measure, change: &Change) -> String {
    let (from, to) = (measure.shown(change.base), measure.shown(change.other));
    let Some(pct) = change.pct else { return format!("from {from} to {to}") };
    match change.ends.filter(|_| change.half().is_some()) {
        Some((low, high)) => format!(
            "from {from} to {to} ({}, 95 % interval {} to {})",
            signed(pct),
            signed(low),
            signed(high)
        ),
        _ => format!("from {from} to {to} ({})", signed(pct)),
    }
}

pub(crate) fn percent(change: &Change) -> String {
    change.pct.map_or_else(|| "from nothing".to_owned(), signed)
}

/// `+12.3 %`; from a thousand on without a fraction.
pub(crate) fn signed(pct: f64) -> String {
    if pct.abs() >= 1_000.0 { format!("{pct:+.0} %") } else { format!("{pct:+.1} %") }
}

/// `a, b and c`.
pub(crate) fn listed(items: &[impl AsRef<str>]) -> String {
    match items {
        [] => String::new(),
        [one] => one.as_ref().to_owned(),
        [most @ .., last] => {
            let most: Vec<&str> = most.iter().map(AsRef::as_ref).collect();
            format!("{} and {}", most.join(", "), last.as_ref())
        }
    }
}

/// With a blank that does not break a line between a number and its unit.
pub(crate) fn nobreak(sentence: &str) -> String {
    let mut text = String::new();
    for (idx, word) in sentence.split(' ').enumerate() {
        let bare = word.trim_end_matches(['.', ',', ';', ':', ')']);
        let is_unit = ["%", "s", "ms", "us", "ns"].contains(&bare);
        if idx > 0 {
            text.push(if is_unit { '\u{a0}' } else { ' ' });
        }
        text.push_str(word);
    }
    text
}

/// A sentence in lines of at most 100 columns, the first with a dash.
pub(crate) fn wrapped(sentence: &str) -> String {
    let mut text = "-".to_owned();
    let mut column = 1;
    for word in nobreak(sentence).split(' ') {
        let width = word.chars().count();
        if column + 1 + width > 100 && column > 2 {
            text.push_str("\n ");
            column = 1;
        }
        text.push(' ');
        text.push_str(&word.replace('\u{a0}', " "));
        column += 1 + width;
    }
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_stays_with_its_unit() {
        assert_eq!(nobreak("from 3 ms to 4 s (+5 %)."), "from 3\u{a0}ms to 4\u{a0}s (+5\u{a0}%).");
    }

    #[test]
    fn a_long_sentence_is_told_in_lines() {
        let text = wrapped(&"word ".repeat(40));
        assert!(text.lines().all(|line| line.len() <= 100), "{text}");
        assert!(text.starts_with("- word") && text.lines().nth(1).unwrap().starts_with("  word"));
    }

    #[test]
    fn what_is_listed_ends_with_and() {
        assert_eq!(listed(&["a"]), "a");
        assert_eq!(listed(&["a", "b", "c"]), "a, b and c");
    }
}
