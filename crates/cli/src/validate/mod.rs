//! `simsched validate`: published results against simulations of both sides.

mod files;
mod finding;
mod finished;
mod json;
mod judge;
mod kept;
mod page;
mod parameter;
mod plan;
mod text;

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use simsched_claims::{Answer, Claim, Kind, Refused, Score};
use simsched_policies::Registry;

use crate::args::ValidateArgs;
use crate::compare::last_seed;
use crate::failure::Failure;
use crate::output::{self, Place, Whole};
use crate::progress::Progress;
use crate::{interrupt, sides};

use finding::Finding;
use finished::Finished;
use judge::{Judged, Runs, State};
use kept::Kept;
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
pub(crate) fn validate(args: &ValidateArgs, registry: &Registry) -> Result<(), Failure> {
    last_seed(args.seed, args.seeds)?;
    let mut claims = files::read(&args.paths, &args.only)?;
    if let Some(shard) = args.shard {
        files::keep(&mut claims, shard);
    }
    interrupt::listen();
    let (json, page, kept) = (args.json.as_deref(), args.page.as_deref(), args.resume.first());
    let places = [("--json", json), ("--page", page), ("--resume", kept.map(PathBuf::as_path))];
    output::are_apart(&places)?;
    let kept = kept.map(|path| Kept::open(path, &args.resume[1..])).transpose()?;
    let place = Place::of(json)?;
    let is_printed = page == Some(Path::new("-"));
    let page = page.filter(|_| !is_printed).map(Whole::begin).transpose()?;
    let validation = run(args, claims, kept.as_ref(), registry)?;
    if let Some(why) = kept.as_ref().and_then(Kept::failure) {
        output::say(&format!("--resume: not all is kept: {why}"));
    }
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

/// What every run of the plan has found; those that are kept need not run again.
fn measure(
    plan: &Plan,
    args: &ValidateArgs,
    kept: Option<&Kept>,
    progress: &Mutex<Progress>,
) -> Result<Runs, Failure> {
    let scenarios: Vec<_> = plan.jobs.iter().map(|job| &job.scenario).collect();
    let keys: Vec<String> = match kept {
        Some(_) => plan.jobs.iter().map(kept::key).collect::<Result<_, _>>()?,
        None => Vec::new(),
    };
    let finished = Finished::new(plan, args);
    let known = AtomicU64::new(0);
    let each = |side: usize, seed: u64, run: sides::Run<'_>| {
        let key = keys.get(side).map(|key| format!("{key} | {seed}"));
        let found = kept.zip(key.as_ref()).and_then(|(kept, key)| kept.find(key, &plan.jobs[side]));
        if let Some(finding) = found {
            known.fetch_add(1, Ordering::Relaxed);
            progress.lock().expect("nobody panics while telling").was_known();
            finished.add_kept(side, seed, &finding);
            return Ok(Some(finding));
        }
        let finding = run()?.map(|outcome| Finding::of(&outcome, &plan.jobs[side].metrics));
        if let Some(finding) = &finding {
            if let (Some(kept), Some(key)) = (kept, key) {
                kept.keep(key, finding);
            }
            if !args.quiet {
                finished.add(side, seed, finding, progress);
            }
        }
        Ok(finding)
    };
    let runs = sides::measure_each(&scenarios, (args.seed, args.seeds), progress, each);
    let known = known.into_inner();
    if known > 0 && !args.quiet {
        progress.lock().expect("nobody panics while telling").clear();
        let all = args.seeds * plan.jobs.len() as u64;
        output::say(&format!("note: {known} of {all} runs were measured before"));
    }
    Ok(runs)
}

fn run<'a>(
    args: &'a ValidateArgs,
    read: Vec<Result<Claim, Refused>>,
    kept: Option<&Kept>,
    registry: &Registry,
) -> Result<Validation<'a>, Failure> {
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
    let plan = Plan::of(claims, args, registry);
    let progress = Mutex::new(Progress::start(args.quiet));
    let runs = measure(&plan, args, kept, &progress)?;
    let mut judged: Vec<Judged> = plan
        .prepared
        .into_iter()
        .map(|prepared| judge::judge(prepared, &plan.jobs, &runs))
        .collect();
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
    Ok(Validation { args, judged, refused, errors, sweeps, stopped: interrupt::is_asked() })
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
