//! A validation as text.

use std::fmt::Write;

use simsched_claims::{Kind, Score};

use super::judge::{Judged, Measured, Run, State};
use super::{Validation, place};
use crate::output::units::{self, decimal};
use crate::sensitivity;

pub(super) fn of(validation: &Validation<'_>) -> String {
    let mut text = String::new();
    let head = ["claim", "metric", "published", "simulated", "verdict"];
    line(&mut text, &head.map(str::to_owned));
    for judged in &validation.judged {
        line(&mut text, &cells(judged));
    }
    measured(&mut text, validation);
    for judged in validation.judged.iter().filter(|judged| !judged.notes.is_empty()) {
        let _ = writeln!(text, "note: {}: {}", place(&judged.claim), judged.notes.join("; "));
    }
    text.push('\n');
    for row in scores(validation) {
        let _ = writeln!(text, "{row}");
    }
    for swept in &validation.sweeps {
        let said = |(idx, class): &(usize, simsched_claims::Class)| {
            let claim = &validation.judged[*idx].claim;
            format!("{} is {}", claim.id, class.name(claim.better))
        };
        let _ = write!(text, "\n{} on {}", swept.claims.join(", "), swept.topology);
        text += &sensitivity::text(&swept.sweep, said);
    }
    text
}

fn line(text: &mut String, cells: &[String; 5]) {
    let [claim, metric, published, simulated, verdict] = cells;
    let _ = writeln!(text, "{claim:<38} {metric:<32} {published:<20} {simulated:<30} {verdict}");
}

/// Claim, metric, what was published, what was simulated, and the verdict.
pub(super) fn cells(judged: &Judged) -> [String; 5] {
    let (claim, metric) = (judged.claim.id.clone(), judged.claim.metric.to_string());
    let rest = match &judged.state {
        State::Run(run) => of_run(judged, run),
        State::Computed { found, agrees } => {
            let want = match judged.claim.published.values {
                simsched_claims::Values::Exactly(want) => want.to_string(),
                _ => String::new(),
            };
            [want, found.to_string(), if *agrees { "agrees" } else { "disagrees" }.to_owned()]
        }
        State::Stopped => [String::new(), String::new(), "stopped by Ctrl-C".to_owned()],
        State::Failed(_) => [String::new(), String::new(), "skipped, see the errors".to_owned()],
    };
    let [published, simulated, verdict] = rest;
    [claim, metric, published, simulated, verdict]
}

fn of_run(judged: &Judged, run: &Run) -> [String; 3] {
    let better = judged.claim.better;
    let told = |effect: simsched_claims::Effect, ci95: &str| {
        format!("{:+.1} %{ci95} {}", effect.improvement, effect.class.name(better))
    };
    let ci95 = run.paired.ci95_pct.map_or_else(String::new, |ci95| format!(" +-{ci95:.1}"));
    let verdict = &run.verdict;
    let word = match (run.undecided.is_empty(), verdict.agrees(), verdict.size_agrees()) {
        (false, ..) => format!("undecided: {}", undecided(judged, run)),
        (true, true, true) => "agrees, size too".to_owned(),
        (true, true, false) => "agrees, size does not".to_owned(),
        (true, false, _) => "disagrees".to_owned(),
    };
    [told(verdict.published, ""), told(verdict.simulated, &ci95), word]
}

/// The parameters on which the class depends.
pub(super) fn undecided(judged: &Judged, run: &Run) -> String {
    let better = judged.claim.better;
    let told = run.undecided.iter().map(|(at, class)| format!("{} with {at}", class.name(better)));
    told.collect::<Vec<_>>().join(", ")
}

/// The values themselves, and what part of the runs they come from.
fn measured(text: &mut String, validation: &Validation<'_>) {
    text.push_str(
        "\nmeasured (mean over the seeds; 95 % interval by batch means, the widest of a seed)\n",
    );
    for judged in &validation.judged {
        let State::Run(run) = &judged.state else { continue };
        let id = &judged.claim.id;
        let _ = writeln!(text, "  {id:<36} baseline {}", side(&run.baseline));
        let _ = writeln!(text, "  {:<36} patched  {}", "", side(&run.patched));
    }
}

/// A value, with how it was measured.
pub(super) fn side(measured: &Measured) -> String {
    let mut text = value(measured.mean);
    if let Some(ci95) = measured.batch_ci95_pct {
        let _ = write!(text, " +-{ci95:.1} %");
    }
    match &measured.cut {
        None => text += ", whole runs",
        Some(cut) => {
            let (span, warmup) = (units::span(cut.span_ns), units::span(cut.warmup_ns));
            let _ = write!(text, ", {span} after {warmup}");
            if let Some(total) = cut.work_total {
                #[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
                let part = 100.0 * cut.work as f64 / total as f64;
                let _ = write!(text, ", {part:.3} % of the {}", cut.work_unit);
            }
        }
    }
    if measured.unsteady > 0 {
        let _ = write!(
            text,
            ", {} of {} runs not stationary",
            measured.unsteady,
            measured.values.len()
        );
    }
    text
}

/// A mean, with enough digits where it is small.
pub(super) fn value(number: f64) -> String {
    if number.abs() < 0.1 { format!("{number:.6}") } else { decimal(number) }
}

/// The scores of all that was run and of each kind, one line each.
pub(super) fn scores(validation: &Validation<'_>) -> Vec<String> {
    let kinds = [("all that was run", None), ("end to end", Some(Kind::EndToEnd))];
    let kinds = kinds.into_iter().chain([("mechanism", Some(Kind::Mechanism))]);
    let scores = kinds.map(|(name, kind)| (name, validation.score(kind)));
    let mut lines: Vec<String> = scores.map(|(name, score)| said(name, &score)).collect();
    let (all, right) = validation.parameters();
    if all > 0 {
        lines.push(format!("parameters: {right} of {all} agree"));
    }
    let skipped = validation.errors.len();
    if skipped > 0 {
        lines.push(format!("skipped: {skipped}, each with its reason in the errors"));
    }
    if validation.stopped {
        lines.push("stopped by Ctrl-C: some claims have no verdict".to_owned());
    }
    lines
}

fn said(name: &str, score: &Score) -> String {
    let or_none = |number: Option<f64>, digits| {
        number.map_or_else(|| "-".to_owned(), |number| format!("{number:.digits$}"))
    };
    let classes = ["better", "neutral", "worse"].into_iter().zip(score.classes);
    let hits: Vec<String> =
        classes.map(|(class, (all, hits))| format!("{hits} of {all} {class}")).collect();
    format!(
        "{name}: balanced accuracy {} ({}), median error {} points, {} of {} agree, size too in {}, \
         {} undecided, {} without a good direction",
        or_none(score.balanced_accuracy, 2),
        hits.join(", "),
        or_none(score.median_error, 1),
        score.agree,
        score.judged,
        score.sizes_agree,
        score.undecided,
        score.directionless
    )
}
