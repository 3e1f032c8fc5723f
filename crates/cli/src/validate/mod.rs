//! `simsched validate`: published results against simulations of both sides.

mod files;
mod json;
mod judge;
mod page;
mod parameter;
mod plan;
mod text;

use std::path::Path;
use std::sync::Mutex;

use simsched_claims::{Answer, Claim, Kind, Refused, Score};

use crate::args::ValidateArgs;
use crate::compare::last_seed;
use crate::failure::Failure;
use crate::output::{self, Place, Whole};
use crate::progress::Progress;
use crate::{interrupt, sides};

use judge::{Judged, State};
use plan::Plan;

/// What a validation has come to.
pub(crate) struct Validation<'a> {
    args: &'a ValidateArgs,
    /// The claims that could be read, in the order of the files.
    judged: Vec<Judged>,
    /// The others, each with how many of `judged` stand before it.
    refused: Vec<(usize, Refused)>,
    /// What was wrong with those, and with those that have no verdict.
    errors: Vec<String>,
    sweeps: Vec<judge::Swept>,
    stopped: bool,
}

/// Does what `simsched validate` is asked for.
pub(crate) fn validate(args: &ValidateArgs) -> Result<(), Failure> {
    last_seed(args.seed, args.seeds)?;
    let claims = files::read(&args.paths, &args.only)?;
    interrupt::listen();
    let (json, page) = (args.json.as_deref(), args.page.as_deref());
    output::are_apart(&[("--json", json), ("--page", page)])?;
    let place = Place::of(json)?;
    let is_printed = page == Some(Path::new("-"));
    let page = page.filter(|_| !is_printed).map(Whole::begin).transpose()?;
    let validation = run(args, claims);
    for error in &validation.errors {
        output::say(error);
    }
    let paged = page.map_or(Ok(()), |file| file.write(&page::of(&validation)));
    place.tell(&output::json(&json::of(&validation)), || match is_printed {
        true => page::of(&validation),
        false => text::of(&validation),
    })?;
    paged?;
    if validation.errors.is_empty() { Ok(()) } else { Err(Failure::Below) }
}

fn run(args: &ValidateArgs, read: Vec<Result<Claim, Refused>>) -> Validation<'_> {
    let (mut claims, mut refused, mut errors) = (Vec::new(), Vec::new(), Vec::new());
    for claim in read {
        match claim {
            Ok(claim) => claims.push(claim),
            Err(why) => {
                errors.push(why.to_string());
                refused.push((claims.len(), why));
            }
        }
    }
    let plan = Plan::of(claims, args);
    let progress = Mutex::new(Progress::start(args.quiet));
    let scenarios: Vec<_> = plan.jobs.iter().map(|job| &job.scenario).collect();
    let runs = sides::measure_all(&scenarios, (args.seed, args.seeds), &progress);
    let mut judged: Vec<Judged> =
        plan.prepared.into_iter().map(|prepared| judge::judge(prepared, &runs)).collect();
    let mut sweeps = Vec::new();
    if args.sweep_hw {
        sweeps = judge::sweep(&mut judged, &plan.jobs, &runs, args, &progress, &mut errors);
    }
    let failed = judged.iter().filter_map(|judged| match &judged.state {
        State::Failed(why) => Some(format!("{}: {why}", place(&judged.claim))),
        _ => None,
    });
    errors.extend(failed);
    progress.into_inner().expect("nobody panics while telling").clear();
    Validation { args, judged, refused, errors, sweeps, stopped: interrupt::is_asked() }
}

/// `FILE: claim ID`.
fn place(claim: &Claim) -> String {
    format!("{}: claim {}", claim.file, claim.id)
}

impl Validation<'_> {
    /// All claims in the order of the files, those that could not be read too.
    fn entries(&self) -> impl Iterator<Item = Result<&Judged, &Refused>> {
        let mut refused = self.refused.iter().peekable();
        let mut judged = self.judged.iter();
        let mut done = 0;
        std::iter::from_fn(move || {
            if let Some((_, why)) = refused.next_if(|(before, _)| *before == done) {
                return Some(Err(why));
            }
            done += 1;
            judged.next().map(Ok)
        })
    }

    /// The score of the claims of this kind, or of all that were run.
    fn score(&self, kind: Option<Kind>) -> Score {
        let of_kind =
            self.judged.iter().filter(|judged| kind.is_none_or(|k| judged.claim.kind == k));
        let answer = |judged: &Judged| match &judged.state {
            State::Run(run) => Some(Answer {
                verdict: run.verdict,
                better: judged.claim.better,
                undecided: run.is_undecided(),
            }),
            _ => None,
        };
        Score::of(&of_kind.filter_map(answer).collect::<Vec<_>>())
    }

    /// How many parameters were computed, and how many are right.
    fn parameters(&self) -> (usize, usize) {
        let found = self.judged.iter().filter_map(|judged| match judged.state {
            State::Computed { agrees, .. } => Some(agrees),
            _ => None,
        });
        let found: Vec<bool> = found.collect();
        (found.len(), found.iter().filter(|agrees| **agrees).count())
    }
}
