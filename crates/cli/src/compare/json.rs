//! A comparison as JSON; `docs/json.md` describes it.

use serde_json::{Value, json};

use super::metrics::Cell;
use super::{Comparison, Row};
use crate::report;
use crate::sensitivity;

pub(super) fn of(comparison: &Comparison) -> Value {
    let Comparison { asked: args, runs, .. } = comparison;
    let first = runs.first().and_then(|side| side.first()).map(|run| &run.report.scenario);
    let policy = |(policy, side): (&String, &Vec<crate::scenario::Outcome>)| {
        let scenario = side.first().map(|run| &run.report.scenario);
        json!({
            "policy": policy,
            "policy_full": scenario.map(|scenario| &scenario.policy_full),
            "settings": scenario.map(|scenario| &scenario.settings),
            "digests": side.iter().map(|run| &run.report.digest).collect::<Vec<_>>(),
            "cuts": side.iter().map(|run| &run.report.cut).collect::<Vec<_>>(),
            "runs": side.iter().map(|run| &run.report).collect::<Vec<_>>(),
        })
    };
    json!({
        "schema": report::SCHEMA,
        "topology": first.map(|scenario| &scenario.topology),
        "mode": first.map(|scenario| &scenario.mode),
        "topology_file": first.map(|scenario| &scenario.topology_file),
        "workload": first.map(|scenario| &scenario.workload),
        "seed": args.seed,
        "seeds": runs.first().map_or(0, Vec::len),
        "span_ns": report::nanos(args.span),
        "warmup_ns": args.span.and_then(|_| report::nanos(Some(args.warmup))),
        "whole": first.is_some_and(|scenario| scenario.whole),
        "duration_ns": report::nanos(args.duration),
        "partial": runs.first().map_or(0, Vec::len) as u64 != args.seeds
            || runs.iter().flatten().any(|run| run.report.partial && run.cut.is_none()),
        "notes": comparison.notes,
        "policies": args.policies.iter().zip(runs).map(policy).collect::<Vec<_>>(),
        "metrics": comparison.rows.iter().map(row).collect::<Vec<_>>(),
        "why": comparison.why,
        "sweep_hw": comparison.sweep.as_ref().map(|sweep| {
            sensitivity::json(sweep, |flip| json!({
                "metric": flip.metric,
                "policy": flip.policy,
                "from": flip.from,
                "to": flip.to,
            }))
        }),
    })
}

fn row(row: &Row) -> Value {
    let cell = |cell: &Cell| {
        let mut value = json!({
            "mean": cell.spread.mean,
            "std": cell.spread.std,
            "values": cell.values,
            "batch_ci95_pct": cell.batch_ci95_pct,
        });
        if let (Some(paired), Value::Object(map)) = (cell.paired, &mut value) {
            map.insert("gain_pct".to_owned(), json!(row.gain(&paired)));
            map.insert("paired".to_owned(), json!(paired));
        }
        value
    };
    let cells: Vec<Value> = row.cells.iter().map(cell).collect();
    json!({ "name": row.name, "unit": row.unit, "better": row.better.name(), "policies": cells })
}
