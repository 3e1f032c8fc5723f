//! `Finished`: the runs of a validation that are over, so that a claim is printed as soon as both of its sides
//! have finished with all seeds.

use std::sync::Mutex;

use super::finding::Finding;
use super::judge;
use super::plan::{Plan, Ready};
use super::text;
use crate::args::ValidateArgs;
use crate::output;
use crate::progress::Progress;

/// The runs that are over, by job and by seed.
pub(super) struct Finished<'a> {
    plan: &'a Plan,
    quick: bool,
    first: u64,
    found: Mutex<Vec<Vec<Option<Finding>>>>,
}

impl<'a> Finished<'a> {
    pub(super) fn new(plan: &'a Plan, args: &ValidateArgs) -> Finished<'a> {
        let seeds = usize::try_from(args.seeds).expect("at most 10,000");
        let found = Mutex::new(vec![vec![None; seeds]; plan.jobs.len()]);
        Finished { plan, quick: args.quick, first: args.seed, found }
    }

    /// Adds a run of this job with this seed, and prints on stderr a line for each claim of which it was the
    /// last.
    pub(super) fn add(&self, job: usize, seed: u64, finding: &Finding, progress: &Mutex<Progress>) {
        let mut found = self.found.lock().expect("nobody panics while printing");
        let nth = usize::try_from(seed - self.first).expect("at most 10,000");
        found[job][nth] = Some(finding.clone());
        let whole = |job: usize| -> Option<Vec<&Finding>> {
            found[job].iter().map(Option::as_ref).collect()
        };
        let lines = self.plan.prepared.iter().filter_map(|prepared| {
            let Ready::Runs { baseline, patched } = prepared.ready else { return None };
            if job != baseline && job != patched {
                return None;
            }
            let (before, after) = (whole(baseline)?, whole(patched)?);
            let run = judge::verdict(&prepared.claim, &before, &after).ok()?;
            Some(text::line(&prepared.claim, &run, self.quick))
        });
        let lines: Vec<String> = lines.collect();
        if !lines.is_empty() {
            progress.lock().expect("nobody panics while printing").clear();
            lines.iter().for_each(|line| output::say(line));
        }
    }

    /// Adds a run that `--resume` has from before: its claim stands in the final table only.
    pub(super) fn add_kept(&self, job: usize, seed: u64, finding: &Finding) {
        let nth = usize::try_from(seed - self.first).expect("at most 10,000");
        let mut found = self.found.lock().expect("nobody panics while printing");
        found[job][nth] = Some(finding.clone());
    }
}
