//! How long tasks wait: the distribution of all spans, and of the longest.

use serde_json::Value;

use super::View;
use super::markup::{keys, note};
use super::plot::{Curve, Plot};
use crate::document::at;
use crate::side::Side;
use crate::units::span_of;

const KINDS: [(&str, &str, &str); 2] = [
    ("wakeup_latency_ns", "Wakeup latency", "from the waking call to the first instruction"),
    (
        "runqueue_wait_ns",
        "Runqueue wait",
        "from the enqueue or preemption to the first instruction",
    ),
];

pub(super) fn latencies(view: &View<'_>) -> String {
    if view.sides.is_empty() {
        return String::new();
    }
    if !view.any("histograms") {
        return note(
            "These files have no histograms, so there are only the percentiles above: they were \
             written by an older simsched. Run the commands of the summary again to get them.",
        );
    }
    let mut text = keys(&view.names);
    for (key, title, what) in KINDS {
        let samples: Vec<Vec<(f64, f64)>> =
            view.sides.iter().map(|side| histogram(side, key)).collect();
        if samples.iter().all(Vec::is_empty) {
            continue;
        }
        text += &format!("<h3>{title}: {what}</h3>\n<div class=\"two\">\n");
        text += &plot(view, &samples, false);
        text += &plot(view, &samples, true);
        text += "</div>\n";
    }
    text
}

/// The spans of all runs of a side that count, each with how often it occurred, from short to long.
fn histogram(side: &Side, key: &str) -> Vec<(f64, f64)> {
    let mut all: Vec<(f64, f64)> = Vec::new();
    for run in side.counted() {
        let array = |name: &str| {
            let found = at(run, &format!("histograms.{key}.{name}")).and_then(Value::as_array);
            found.into_iter().flatten().filter_map(Value::as_f64)
        };
        all.extend(array("up_to").zip(array("count")).filter(|(_, count)| *count > 0.0));
    }
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    all.dedup_by(|next, kept| {
        let is_same = next.0 == kept.0;
        if is_same {
            kept.1 += next.1;
        }
        is_same
    });
    all
}

/// The least part of a sample that the plot of the tail shows.
const LEAST: f64 = 1e-5;

fn plot(view: &View<'_>, samples: &[Vec<(f64, f64)>], is_tail: bool) -> String {
    let spans = || samples.iter().flatten().map(|(span, _)| libm::log10(span.max(1.0)));
    let low = spans().fold(f64::INFINITY, f64::min).floor();
    let high = spans().fold(low + 1.0, f64::max).ceil();
    let across = |span: f64| (libm::log10(span.max(1.0)) - low) / (high - low);
    let fewest = samples.iter().filter(|s| !s.is_empty()).map(|s| 1.0 / total(s));
    let least = libm::log10(fewest.fold(0.1, f64::min).max(LEAST)).floor();
    let up = |part: f64| {
        if !is_tail {
            return part;
        }
        // From all at the top to the least part at the bottom.
        (libm::log10((1.0 - part).max(libm::exp10(least))) - least) / -least
    };
    let curve = |(side, sample): (usize, &Vec<(f64, f64)>)| {
        let all = total(sample);
        let mut seen = 0.0;
        let mut points = Vec::new();
        // A step for each length: none is known to lie between two of them.
        for (span, count) in sample {
            points.push((across(*span), up(seen / all)));
            seen += count;
            points.push((across(*span), up(seen / all)));
        }
        Curve { side, name: view.names[side].clone(), points }
    };
    #[expect(clippy::cast_possible_truncation, reason = "decades of a 64-bit number")]
    let decades = low as i32..=high as i32;
    let x = decades.map(|decade| {
        let label = span_of(libm::exp10(f64::from(decade)));
        (across(libm::exp10(f64::from(decade))), short(&label))
    });
    Plot {
        x: x.collect(),
        y: if is_tail { tail_ticks(least) } else { part_ticks() },
        title: if is_tail {
            "The part that takes longer than that"
        } else {
            "The part that takes no longer than that"
        }
        .to_owned(),
        curves: samples.iter().enumerate().map(curve).collect(),
        is_low: false,
    }
    .html()
}

fn total(sample: &[(f64, f64)]) -> f64 {
    sample.iter().map(|(_, count)| count).sum()
}

fn part_ticks() -> Vec<(f64, String)> {
    [0.0, 0.25, 0.5, 0.75, 1.0].map(|part| (part, format!("{:.0} %", 100.0 * part))).to_vec()
}

/// 100 %, 10 %, 1 % and so on down to `least`, a power of ten.
#[expect(clippy::cast_possible_truncation, reason = "a handful of decades")]
fn tail_ticks(least: f64) -> Vec<(f64, String)> {
    let tick = |decade: i32| {
        let digits = usize::try_from(-decade - 2).unwrap_or(0);
        let part = 100.0 * libm::exp10(f64::from(decade));
        ((f64::from(decade) - least) / -least, format!("{part:.digits$} %"))
    };
    (least as i32..=0).map(tick).collect()
}

/// `1.000 us` as `1 us`.
fn short(span: &str) -> String {
    let (number, unit) = span.split_once(' ').unwrap_or((span, ""));
    let number = number.split('.').next().unwrap_or(number);
    format!("{number} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_of_the_tail_are_decades() {
        let ticks = tail_ticks(-3.0);
        let labels: Vec<&str> = ticks.iter().map(|(_, label)| label.as_str()).collect();
        assert_eq!(labels, ["0.1 %", "1 %", "10 %", "100 %"]);
        assert_eq!((ticks[0].0, ticks[3].0), (0.0, 1.0));
    }

    #[test]
    fn decades_have_short_labels() {
        let labels = [1.0, 1e2, 1e3, 1e7].map(|nanos| short(&span_of(nanos)));
        assert_eq!(labels, ["1 ns", "100 ns", "1 us", "10 ms"]);
    }
}
