//! The sides of a comparison: which settings each takes, and the runs of all of them.

use std::sync::Mutex;

use rayon::prelude::*;
use simsched_core::Config;
use simsched_policies::{PolicyError, catalog};

use crate::failure::Failure;
use crate::interrupt;
use crate::progress::Progress;
use crate::scenario::{Outcome, Scenario};
use crate::settings::refused;

/// Keys with their values.
pub(crate) type Given = Vec<(String, String)>;

/// What each of `policies` takes of the settings `given`, and what was left out where: a setting
/// that only some of them know is left out on the others.
///
/// # Errors
/// When a setting is known to none of them, or does not take its value.
pub(crate) fn share(
    policies: &[&str],
    given: &Given,
) -> Result<(Vec<Given>, Vec<String>), Failure> {
    let mut sides = vec![Given::new(); policies.len()];
    let mut notes = Vec::new();
    for policy in policies {
        catalog::parse(policy, &[]).map_err(refused)?;
    }
    for (key, value) in given {
        let pair = [(key.clone(), value.clone())];
        let is_machine = Config::default().set(key, value)?;
        let mut unknown = Vec::new();
        for (side, policy) in sides.iter_mut().zip(policies) {
            match catalog::parse(policy, &pair) {
                _ if is_machine => side.extend(pair.clone()),
                Ok(_) => side.extend(pair.clone()),
                Err(error @ PolicyError::UnknownKey { .. }) => unknown.push((*policy, error)),
                Err(error) => return Err(refused(error)),
            }
        }
        if unknown.len() == policies.len() {
            let (_, error) = unknown.remove(0);
            return Err(refused(error));
        }
        notes.extend(unknown.iter().map(|(policy, _)| format!("{policy} has no setting {key}")));
    }
    Ok((sides, notes))
}

/// Runs every scenario with `seeds` seeds from `first` upwards, all at once; by scenario, then by
/// seed. A run is none if it was stopped by Ctrl-C or never started.
pub(crate) fn measure_all(
    scenarios: &[&Scenario],
    (first, seeds): (u64, u64),
    progress: &Mutex<Progress>,
) -> Vec<Vec<Result<Option<Outcome>, Failure>>> {
    let jobs: Vec<(usize, u64)> =
        (0..scenarios.len()).flat_map(|side| (0..seeds).map(move |k| (side, k))).collect();
    let all = jobs.len() as u64;
    let done = Mutex::new(0);
    let run = |(side, k): (usize, u64)| {
        if interrupt::is_asked() {
            return Ok(None);
        }
        let outcome = scenarios[side].measure(first + k, None);
        let mut done = done.lock().expect("nobody panics while counting");
        *done += 1;
        progress.lock().expect("nobody panics while telling").runs(*done, all);
        outcome.map(|outcome| Some(outcome).filter(Outcome::counts))
    };
    let mut runs: Vec<_> = jobs.into_par_iter().map(run).collect();
    let per_side = usize::try_from(seeds).expect("at most 10,000");
    let mut by_side = Vec::new();
    while !runs.is_empty() {
        let rest = runs.split_off(per_side.min(runs.len()));
        by_side.push(std::mem::replace(&mut runs, rest));
    }
    by_side
}

/// The seeds that have come to their end on all sides.
pub(crate) fn paired(runs: Vec<Vec<Option<Outcome>>>) -> Result<Vec<Vec<Outcome>>, Failure> {
    let seeds = runs.first().map_or(0, Vec::len);
    let whole: Vec<bool> =
        (0..seeds).map(|seed| runs.iter().all(|side| side[seed].is_some())).collect();
    if !whole.contains(&true) {
        return Err(Failure::Interrupted);
    }
    let keep = |side: Vec<Option<Outcome>>| {
        side.into_iter().zip(&whole).filter_map(|(run, whole)| run.filter(|_| *whole)).collect()
    };
    Ok(runs.into_iter().map(keep).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(text: &str) -> Given {
        let pair = |pair: &str| pair.split_once('=').map(|(k, v)| (k.to_owned(), v.to_owned()));
        text.split_whitespace().filter_map(pair).collect()
    }

    #[test]
    fn what_one_side_does_not_know_is_left_out_there_and_said() {
        let (sides, notes) = share(&["cfs", "fifo"], &given("hz=1000 SIS_UTIL=off")).unwrap();
        assert_eq!(sides, [given("hz=1000 SIS_UTIL=off"), given("hz=1000")]);
        assert_eq!(notes, ["fifo has no setting SIS_UTIL"]);
    }

    #[test]
    fn what_no_side_knows_is_refused() {
        for text in ["SIS_UTLI=off", "hz=7", "SIS_UTIL=maybe"] {
            assert_eq!(share(&["cfs", "fifo"], &given(text)).unwrap_err().code(), 2, "{text}");
        }
        assert!(share(&["cfs", "cfq"], &Given::new()).is_err());
    }
}
