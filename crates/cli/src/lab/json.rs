//! The mirror types of the lab's JSON; docs/json.md says what each key means.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value as Json;
use simsched_lab::folder::Variant;
use simsched_lab::judge::{Row, Tally};
use simsched_lab::value::Value;
use simsched_lab::verdict::{Class, Verdict};

use super::{Judged, On, bar, below};
use crate::args::Bars;

/// Rises when a key goes away or changes its meaning.
const SCHEMA: u32 = 1;

#[derive(Serialize)]
pub(super) struct Report {
    schema: u32,
    seed: u64,
    seeds: u64,
    folders: Vec<Folder>,
    summary: Summary,
    passed: bool,
}

#[derive(Serialize)]
struct Folder {
    kernel: String,
    topology: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    variant: Option<&'static str>,
    policy: Option<String>,
    recorded: Option<String>,
    state: &'static str,
    scenarios: Vec<Scenario>,
    summary: Summary,
    passed: bool,
}

#[derive(Serialize)]
struct Scenario {
    name: String,
    metrics: Vec<Metric>,
    #[serde(skip_serializing_if = "Option::is_none")]
    outside: Option<Vec<Outside>>,
}

#[derive(Serialize)]
struct Outside {
    label: String,
    switches: u64,
    with_outsiders: u64,
    by_name: BTreeMap<String, u64>,
    first: Option<String>,
}

#[derive(Serialize)]
struct Metric {
    name: String,
    class: &'static str,
    kernel: Vec<Json>,
    spread: Option<f64>,
    ours: Option<Json>,
    verdict: &'static str,
}

#[derive(Serialize)]
struct Summary {
    exact: Count,
    tight: Count,
    loose: Count,
    ratio: Count,
    points: Count,
    counted: Count,
    shown: u64,
}

#[derive(Serialize)]
struct Count {
    met: u64,
    judged: u64,
    bar_percent: f64,
}

impl From<&super::Report<'_>> for Report {
    fn from(report: &super::Report<'_>) -> Report {
        Report {
            schema: SCHEMA,
            seed: report.seed,
            seeds: report.seeds,
            folders: report.folders.iter().map(|folder| Folder::of(folder, &report.bars)).collect(),
            summary: Summary::of(&report.total(), &report.bars),
            passed: !report.is_below(),
        }
    }
}

impl Folder {
    fn of(judged: &Judged<'_>, bars: &Bars) -> Folder {
        let bench = judged.bench;
        let (policy, recorded, state) = match &bench.on {
            On::Simulator(bed) | On::Groups(bed) => (Some(bed.policy.clone()), None, "done"),
            On::Pair(pair) => (Some(pair.off.policy.clone()), None, "done"),
            On::Recorded(label) => (None, Some(label.clone()), "done"),
            On::Nothing => (None, None, "not_yet"),
        };
        let scenarios = judged.scenarios.iter().map(|of| Scenario {
            name: of.scenario.name.clone(),
            metrics: of.rows.iter().map(Metric::of).collect(),
            outside: of.outside.as_ref().map(|seeds| seeds.iter().map(Outside::of).collect()),
        });
        Folder {
            kernel: bench.folder.kernel().to_owned(),
            topology: bench.folder.topology().to_owned(),
            variant: bench.folder.variant().map(Variant::name),
            policy,
            recorded,
            state: if judged.stopped > 0 { "interrupted" } else { state },
            scenarios: scenarios.collect(),
            summary: Summary::of(&judged.tally, bars),
            passed: below(&judged.tally, bars).is_empty(),
        }
    }
}

impl Outside {
    fn of((label, outside): &(String, simsched_lab::outside::Outside)) -> Outside {
        Outside {
            label: label.clone(),
            switches: outside.switches,
            with_outsiders: outside.with_outsiders,
            by_name: outside.by_name.clone(),
            first: outside.first.clone(),
        }
    }
}

impl Metric {
    fn of(row: &Row) -> Metric {
        Metric {
            name: row.metric.clone(),
            class: row.class.name(),
            kernel: row.kernel.iter().map(value).collect(),
            spread: row.spread().map(|cv| (cv * 1e4).round() / 1e4),
            ours: row.ours.as_ref().map(value),
            verdict: match row.verdict {
                Verdict::Met => "met",
                Verdict::Missed => "missed",
                Verdict::Shown => "shown",
            },
        }
    }
}

/// A number without a fraction is written without one.
#[expect(clippy::cast_possible_truncation, reason = "what fits is whole and below 2^53")]
fn value(value: &Value) -> Json {
    match value {
        Value::Number(number) if number.fract() == 0.0 && number.abs() < 9e15 => {
            Json::from(*number as i64)
        }
        Value::Number(number) => Json::from(*number),
        Value::Vector(counts) => Json::from(counts.clone()),
    }
}

impl Summary {
    fn of(tally: &Tally, bars: &Bars) -> Summary {
        let count = |class| {
            let (met, judged) = tally.of(class);
            Count { met, judged, bar_percent: bar(class, bars) }
        };
        Summary {
            exact: count(Class::Exact),
            tight: count(Class::Tight),
            loose: count(Class::Loose),
            ratio: count(Class::Ratio),
            points: count(Class::Points),
            counted: count(Class::Counted),
            shown: tally.shown,
        }
    }
}
