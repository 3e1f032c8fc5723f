//! A validation as JSON; `docs/json.md` describes it.

use serde_json::{Value, json};
use simsched_claims::verdict::threshold;
use simsched_claims::{Claim, Class, Kind, Refused, Score, Values};

use super::Validation;
use super::judge::{Judged, Measured, Run, State};
use super::text::unit;
use crate::extent::Extent;
use crate::report;
use crate::sensitivity;

/// The version of this JSON. It rises whenever a key goes away or changes its meaning.
///
/// 2: `thorough` is gone, and all runs are as long as `limit_ns` unless one of the other keys says
/// otherwise.
const SCHEMA: u32 = 2;

pub(super) fn of(validation: &Validation<'_>) -> Value {
    let args = validation.args;
    let extent = args.extent();
    let slice = match extent {
        Extent::Part(slice) | Extent::Quick(slice) => Some(slice),
        Extent::SinceStart | Extent::Whole | Extent::Long { .. } => None,
    };
    let limit = match extent {
        Extent::Long { limit, .. } => Some(limit),
        _ => None,
    };
    let (parameters, right) = validation.parameters();
    let sweep = |swept: &super::judge::Swept| {
        let said = |(idx, class): &(usize, Class)| {
            let claim = &validation.judged[*idx].claim;
            json!({ "file": claim.file, "id": claim.id, "class": class.name(claim.better) })
        };
        json!({
            "claims": swept.claims,
            "topology": swept.topology,
            "sweep_hw": sensitivity::json(&swept.sweep, said),
        })
    };
    json!({
        "schema": SCHEMA,
        "seed": args.seed,
        "seeds": args.seeds,
        "span_ns": report::nanos(slice.map(|slice| slice.span)),
        "warmup_ns": report::nanos(slice.map(|slice| slice.warmup)),
        "limit_ns": report::nanos(limit),
        "quick": args.quick,
        "partial": validation.stopped,
        "claims": validation.entries().map(entry).collect::<Vec<_>>(),
        "score": score(&validation.score(None)),
        "score_by_kind": {
            "end_to_end": score(&validation.score(Some(Kind::EndToEnd))),
            "mechanism": score(&validation.score(Some(Kind::Mechanism))),
        },
        "parameters": { "computed": parameters, "agree": right },
        "sweeps": validation.sweeps.iter().map(sweep).collect::<Vec<_>>(),
        "errors": validation.errors,
    })
}

fn score(score: &Score) -> Value {
    let class = |(class, (published, hits)): (&str, (u32, u32))| {
        (class.to_owned(), json!({ "published": published, "hits": hits }))
    };
    let classes = ["better", "neutral", "worse"].into_iter().zip(score.classes).map(class);
    json!({
        "balanced_accuracy": score.balanced_accuracy,
        "classes": Value::Object(classes.collect()),
        "median_error_points": score.median_error,
        "judged": score.judged,
        "agree": score.agree,
        "sizes_agree": score.sizes_agree,
        "undecided": score.undecided,
        "directionless": score.directionless,
    })
}

fn entry(entry: Result<&Judged, &Refused>) -> Value {
    match entry {
        Ok(judged) => claim(judged),
        Err(refused) => json!({
            "file": refused.file,
            "line": refused.line,
            "id": refused.id,
            "state": "refused",
            "result": { "error": refused.to_string() },
        }),
    }
}

fn claim(judged: &Judged) -> Value {
    let claim = &judged.claim;
    let (state, found) = match &judged.state {
        State::Run(run) => ("judged", of_run(judged, run)),
        State::Computed { found, agrees } => {
            let want = match claim.published.values {
                Values::Exactly(want) => Some(want),
                _ => None,
            };
            ("judged", json!({ "published": want, "simulated": found, "agrees": agrees }))
        }
        State::Stopped => ("interrupted", Value::Null),
        State::Failed(why) => ("skipped", json!({ "error": why })),
    };
    json!({
        "file": claim.file,
        "id": claim.id,
        "kind": claim.kind.name(),
        "topology": claim.topology,
        "baseline": claim.baseline,
        "patched": claim.patched,
        "workload": claim.workload,
        "metric": claim.metric.to_string(),
        "better": claim.better.name(),
        "options": claim.options,
        "notes": judged.notes,
        "state": state,
        "result": found,
    })
}

fn of_run(judged: &Judged, run: &Run) -> Value {
    let better = judged.claim.better;
    let effect = |effect: simsched_claims::Effect| json!({ "improvement_pct": effect.improvement, "class": effect.class.name(better) });
    let undecided =
        |(at, class): &(String, Class)| json!({ "parameter": at, "class": class.name(better) });
    json!({
        "published": effect(run.verdict.published),
        "simulated": effect(run.verdict.simulated),
        "neutral_below_pct": threshold(&judged.claim),
        "agrees": run.verdict.agrees(),
        "size_agrees": run.verdict.size_agrees(),
        "error_points": run.verdict.error(),
        "baseline": side(&judged.claim, &run.baseline),
        "patched": side(&judged.claim, &run.patched),
        "paired": run.paired,
        "interval": run.interval.map(|it| json!({
            "half_points": it.half(), "low_points": it.low, "high_points": it.high, "from": it.from
        })),
        "possible": run.possible.iter().map(|class| class.name(better)).collect::<Vec<_>>(),
        "is_undecided": run.is_undecided(),
        "remarks": run.remarks,
        "undecided": run.undecided.iter().map(undecided).collect::<Vec<_>>(),
    })
}

fn side(claim: &Claim, measured: &Measured) -> Value {
    json!({
        "mean": measured.mean,
        "values": measured.values,
        "batch_ci95_pct": measured.batch_ci95_pct,
        "unit": unit(claim),
        "level": measured.level,
        "states": measured.states.as_ref().map(|states| {
            states.of.map(|(mean, seeds)| json!({ "mean": mean, "seeds": seeds }))
        }),
        "cut": measured.cut,
        "real_run_ns": report::nanos(measured.real),
        "not_stationary": measured.unsteady,
        "trends_pct": measured.trends,
    })
}
