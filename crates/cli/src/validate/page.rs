//! A validation as a page in Markdown.

use std::fmt::Write;

use super::Validation;
use super::judge::State;
use super::text::{rows, scores, side};
use crate::sensitivity;

pub(super) fn of(validation: &Validation<'_>) -> String {
    let args = validation.args;
    let mut page = String::from("# Published results against simulations\n\n");
    let span = args.slice().map_or_else(
        || "whole runs".to_owned(),
        |slice| {
            let [span, warmup] =
                [slice.span, slice.warmup].map(|it| crate::output::units::span(it.get()));
            let more = match (slice.may_grow, args.thorough) {
                (false, _) => "",
                (true, false) if slice.may_halve => {
                    ", more where a program needs it, half where a run has many events"
                }
                (true, false) => ", more where a program needs it",
                (true, true) => ", more where a program or the machine's balancers need it",
            };
            format!("{span} of each run after {warmup} or more{more}")
        },
    );
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
