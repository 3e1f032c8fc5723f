//! `Board`: what of a validation is known so far, so that each claim is told as soon as its runs are over.

use std::sync::Mutex;

use super::finding::Finding;
use super::judge;
use super::plan::{Plan, Ready};
use super::text;
use crate::args::ValidateArgs;
use crate::output;
use crate::progress::Progress;

/// The runs that are over, by job and by seed.
pub(super) struct Board<'a> {
    plan: &'a Plan,
    quick: bool,
    first: u64,
    found: Mutex<Vec<Vec<Option<Finding>>>>,
}

impl<'a> Board<'a> {
    pub(super) fn new(plan: &'a Plan, args: &ValidateArgs) -> Board<'a> {
        let seeds = usize::try_from(args.seeds).expect("at most 10,000");
        let found = Mutex::new(vec![vec![None; seeds]; plan.jobs.len()]);
        Board { plan, quick: args.quick, first: args.seed, found }
    }

    /// A run of this job with this seed is over; one line on stderr for each claim that has all of its runs
    /// now.
    pub(super) fn done(
        &self,
        job: usize,
        seed: u64,
        finding: &Finding,
        progress: &Mutex<Progress>,
    ) {
        let mut found = self.found.lock().expect("nobody panics while telling");
        let nth = usize::try_from(seed - self.first).expect("at most 10,000");
        found[job][nth] = Some(finding.clone());
        let whole = |job: usize| -> Option<Vec<&Finding>> {
            found[job].iter().map(Option::as_ref).collect()
        };
        let told = self.plan.prepared.iter().filter_map(|prepared| {
            let Ready::Runs { baseline, patched } = prepared.ready else { return None };
            if job != baseline && job != patched {
                return None;
            }
            let (before, after) = (whole(baseline)?, whole(patched)?);
            let run = judge::verdict(&prepared.claim, &before, &after).ok()?;
            Some(text::line(&prepared.claim, &run, self.quick))
        });
        let told: Vec<String> = told.collect();
        if !told.is_empty() {
            progress.lock().expect("nobody panics while telling").clear();
            told.iter().for_each(|line| output::say(line));
        }
    }

    /// What was measured before, and is told at the end only.
    pub(super) fn known(&self, job: usize, seed: u64, finding: &Finding) {
        let nth = usize::try_from(seed - self.first).expect("at most 10,000");
        let mut found = self.found.lock().expect("nobody panics while telling");
        found[job][nth] = Some(finding.clone());
    }
}
