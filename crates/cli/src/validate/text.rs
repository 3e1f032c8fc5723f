//! A validation as text.

use std::fmt::Write;

use simsched_claims::verdict::{LEAST, is_far, threshold};
use simsched_claims::{Claim, Family, Kind, Score};

use super::judge::{Judged, Measured, Run, State};
use super::{Validation, place};
use crate::output::units::{self, decimal};
use crate::sensitivity;

pub(super) fn of(validation: &Validation<'_>) -> String {
    let mut text = String::new();
    table(&mut text, validation);
    measured(&mut text, validation);
    for judged in &validation.judged {
        let State::Run(run) = &judged.state else { continue };
        for remark in &run.remarks {
            let _ = writeln!(text, "note: {}: {remark}", judged.claim.id);
        }
    }
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

/// One row for each claim; each column is as wide as its widest cell.
fn table(text: &mut String, validation: &Validation<'_>) {
    let head = ["claim", "metric", "published", "simulated", "verdict"].map(str::to_owned);
    let rows: Vec<[String; 5]> = std::iter::once(head).chain(rows(validation)).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
    let widths: Vec<usize> = (0..4).map(|column| width(column).unwrap_or(0)).collect();
    for [claim, metric, published, simulated, verdict] in &rows {
        let [a, b, c, d] = widths[..] else { unreachable!("four columns have a width") };
        let _ = writeln!(
            text,
            "{claim:<a$}  {metric:<b$}  {published:<c$}  {simulated:<d$}  {verdict}"
        );
    }
}

/// All claims in the order of the files, those that could not be read with the others.
pub(super) fn rows<'a>(
    validation: &'a Validation<'_>,
) -> impl Iterator<Item = [String; 5]> + use<'a> {
    validation.entries().map(|entry| match entry {
        Ok(judged) => cells(judged, validation.args.quick),
        Err(refused) => {
            let skipped = "skipped, see the errors".to_owned();
            [refused.id.to_string(), String::new(), String::new(), String::new(), skipped]
        }
    })
}

/// Claim, metric, what was published, what was simulated, and the verdict.
fn cells(judged: &Judged, quick: bool) -> [String; 5] {
    let (claim, metric) = (judged.claim.id.clone(), judged.claim.metric.to_string());
    let rest = match &judged.state {
        State::Run(run) => of_run(&judged.claim, run, quick),
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

fn of_run(claim: &Claim, run: &Run, quick: bool) -> [String; 3] {
    let better = claim.better;
    let told = |effect: simsched_claims::Effect, ci95: &str| {
        format!("{:+.1} %{ci95} {}", effect.improvement, effect.class.name(better))
    };
    let ci95 =
        run.interval.map_or_else(String::new, |it| format!(" ({:+.1} to {:+.1})", it.low, it.high));
    let verdict = &run.verdict;
    // Where the published spread makes it wide, the neutral range is said.
    let bound = threshold(claim);
    let wide = if bound > LEAST { format!(" (below {bound:.1} %)") } else { String::new() };
    let word = match (run.is_undecided(), verdict.agrees(), verdict.size_agrees()) {
        (true, ..) => format!("undecided: {}", undecided(claim, run)),
        (false, true, true) => "agrees, size too".to_owned(),
        (false, true, false) => "agrees, size does not".to_owned(),
        (false, false, _) => "disagrees".to_owned(),
    };
    let far = [&run.baseline, &run.patched].iter().any(|side| side.level.is_some_and(is_far));
    let unsteady = run.baseline.unsteady + run.patched.unsteady > 0;
    let states = run.baseline.states.is_some() || run.patched.states.is_some();
    let cuts = [&run.baseline, &run.patched].map(|side| side.cut.as_ref());
    let early = cuts.iter().flatten().any(|cut| cut.early);
    let flags = [
        (quick, "quick"),
        (far, "level off"),
        (early, "early"),
        (unsteady, "not stationary"),
        (states, "two states"),
    ];
    let flags: Vec<&str> = flags.iter().filter(|(is, _)| *is).map(|(_, flag)| *flag).collect();
    let flags = if flags.is_empty() { String::new() } else { format!(" ({})", flags.join(", ")) };
    [told(verdict.published, &wide), told(verdict.simulated, &ci95), word + &flags]
}

/// A claim in one line, while others still run.
pub(super) fn line(claim: &Claim, run: &Run, quick: bool) -> String {
    let [published, simulated, verdict] = of_run(claim, run, quick);
    let (id, metric) = (&claim.id, &claim.metric);
    format!("{id}: {metric}: published {published}, simulated {simulated}: {verdict}")
}

/// The classes within the interval, and the parameters on which the class depends.
fn undecided(claim: &Claim, run: &Run) -> String {
    let better = claim.better;
    let mut told = Vec::new();
    if run.possible.len() > 1 {
        let names: Vec<&str> = run.possible.iter().map(|class| class.name(better)).collect();
        told.push(names.join(" or "));
    }
    let with = |(at, class): &(String, simsched_claims::Class)| {
        format!("{} with {at}", class.name(better))
    };
    told.extend(run.undecided.iter().map(with));
    told.join(", ")
}

/// The values themselves in our units, and what part of the runs they come from.
fn measured(text: &mut String, validation: &Validation<'_>) {
    text.push_str(
        "\nmeasured (mean over the seeds; 95 % interval by batch means, the widest of a seed)\n",
    );
    let ids = validation.judged.iter().map(|judged| judged.claim.id.chars().count());
    let width = ids.max().unwrap_or(0);
    for judged in &validation.judged {
        let State::Run(run) = &judged.state else { continue };
        let id = &judged.claim.id;
        let _ = writeln!(text, "  {id:<width$} baseline {}", side(&judged.claim, &run.baseline));
        let _ = writeln!(text, "  {:<width$} patched  {}", "", side(&judged.claim, &run.patched));
    }
}

/// A value, with how it was measured.
pub(super) fn side(claim: &Claim, measured: &Measured) -> String {
    let mut text = value(measured.mean);
    let unit = unit(claim);
    if !unit.is_empty() {
        let _ = write!(text, " {unit}");
    }
    if let Some(ci95) = measured.batch_ci95_pct {
        let _ = write!(text, " +-{ci95:.1} %");
    }
    match &measured.cut {
        None => text += ", whole runs",
        Some(cut) => {
            let (span, warmup) = (units::span(cut.span_ns), units::span(cut.warmup_ns));
            let real = match measured.real {
                Some(real) => format!("that takes {}", units::span(real.get())),
                None => "of unknown length".to_owned(),
            };
            let _ = write!(text, ", {span} after {warmup} of a run {real}");
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
        for (name, change) in &measured.trends {
            let _ = write!(text, ", {} {change:+.0} % over the span", name.replace('_', " "));
        }
    }
    text
}

/// The unit of our values; a throughput has the program's own, which is what was published of it.
pub(super) fn unit(claim: &Claim) -> &str {
    match claim.metric.family {
        Family::Throughput => claim.unit.trim_end_matches('?'),
        family => family.unit(),
    }
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
        let more = match validation.args.resume.is_empty() {
            false => "the same command goes on",
            true => "with --resume FILE it could go on",
        };
        lines.push(format!("stopped by Ctrl-C: some claims have no verdict; {more}"));
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
