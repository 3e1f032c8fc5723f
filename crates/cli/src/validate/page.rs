//! A validation as a page in Markdown.

use std::fmt::Write;

use simsched_core::Nanos;

use super::Validation;
use super::judge::State;
use super::text::{rows, scores, side};
use crate::cut::Slice;
use crate::extent::Extent;
use crate::output::units;
use crate::sensitivity;

pub(super) fn of(validation: &Validation<'_>) -> String {
    let args = validation.args;
    let mut page = String::from("# Published results against simulations\n\n");
    let span = described(args.extent());
    let last = args.seed.saturating_add(args.seeds - 1);
    let _ = writeln!(page, "Seeds {} to {last} on both sides; measured: {span}.\n", args.seed);
    page.push_str("## Score\n\n");
    for line in scores(validation) {
        let _ = writeln!(page, "- {line}");
    }
    page.push_str("\n## Claims\n\n");
    row(&mut page, &["claim", "metric", "published", "simulated", "verdict"]);
    row(&mut page, &["---"; 5]);
    for cells in rows(validation) {
        row(&mut page, &cells.each_ref().map(String::as_str));
    }
    measured(&mut page, validation);
    for swept in &validation.sweeps {
        let said = |(idx, class): &(usize, simsched_claims::Class)| {
            let claim = &validation.judged[*idx].claim;
            format!("{} is {}", claim.id, class.name(claim.better))
        };
        let _ = writeln!(page, "\n## Sensitivity on {}\n", swept.topology);
        let _ = writeln!(
            page,
            "Of {}:\n\n```text{}```",
            swept.claims.join(", "),
            sensitivity::text(&swept.sweep, said)
        );
    }
    if !validation.errors.is_empty() {
        page.push_str("\n## Skipped\n\n");
        for error in &validation.errors {
            let _ = writeln!(page, "- {}", escaped(error));
        }
    }
    page
}

/// What is measured of each run.
fn described(extent: Extent) -> String {
    let time = |time: Nanos| units::span(time.get());
    let part = |slice: Slice| {
        format!("{} of each run after {} or more", time(slice.span), time(slice.warmup))
    };
    match extent {
        Extent::SinceStart | Extent::Whole => "whole runs".to_owned(),
        Extent::Part(slice) => part(slice),
        Extent::Quick(slice) => format!("{}, more where a program needs it", part(slice)),
        Extent::Long { limit, .. } => format!(
            "{} of each run but its start, or all of a run that is shorter, more where a program needs it",
            time(limit)
        ),
    }
}

fn measured(page: &mut String, validation: &Validation<'_>) {
    page.push_str(
        "\n## Measured\n\nMeans over the seeds, with the 95 % interval by batch means.\n\n",
    );
    row(page, &["claim", "machine and workload", "policy", "value"]);
    row(page, &["---"; 4]);
    for judged in &validation.judged {
        let State::Run(run) = &judged.state else { continue };
        let claim = &judged.claim;
        let place = format!("{}: {}", claim.topology, claim.workload);
        row(page, &[&claim.id, &place, &claim.baseline, &side(claim, &run.baseline)]);
        row(page, &["", "", &claim.patched, &side(claim, &run.patched)]);
    }
    for judged in &validation.judged {
        let State::Run(run) = &judged.state else { continue };
        for remark in &run.remarks {
            let _ = writeln!(page, "\n{}: {}.", escaped(&judged.claim.id), escaped(remark));
        }
    }
}

fn row(page: &mut String, cells: &[&str]) {
    let cells: Vec<String> = cells.iter().map(|cell| escaped(cell)).collect();
    let _ = writeln!(page, "| {} |", cells.join(" | "));
}

/// Text that is no markup.
fn escaped(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "&lt;")
}
