//! The sides of a comparison: which settings each takes, and the runs of all of them.

use std::cmp::Reverse;
use std::sync::Mutex;

use simsched_core::Config;
use simsched_policies::{PolicyError, Registry};

use crate::failure::Failure;
use crate::interrupt;
use crate::parallel::in_parallel;
use crate::progress::Progress;
use crate::scenario::{Outcome, Scenario};
use crate::settings::{refused, unknown_to_all};

/// Keys with their values.
pub(crate) type Given = Vec<(String, String)>;

/// What each of `policies` takes of the settings `given`, and what was left out where: a setting
/// that only some of them know is left out on the others.
///
/// # Errors
/// When a setting is known to none of them, or does not take its value.
pub(crate) fn share(
    registry: &Registry,
    policies: &[&str],
    given: &Given,
) -> Result<(Vec<Given>, Vec<String>), Failure> {
    let mut sides = vec![Given::new(); policies.len()];
    let mut notes = Vec::new();
    for policy in policies {
        registry.parse(policy, &[]).map_err(|error| refused(registry, error))?;
    }
    for (key, value) in given {
        let pair = [(key.clone(), value.clone())];
        let is_machine = Config::default().set(key, value)?;
        let mut unknown = Vec::new();
        for (side, policy) in sides.iter_mut().zip(policies) {
            match registry.parse(policy, &pair) {
                _ if is_machine => side.extend(pair.clone()),
                Ok(_) => side.extend(pair.clone()),
                Err(PolicyError::UnknownKey { policy: base, .. }) => unknown.push((*policy, base)),
                Err(error) => return Err(refused(registry, error)),
            }
        }
        if unknown.len() == policies.len() {
            let mut bases: Vec<String> = Vec::new();
            for (_, base) in unknown {
                if !bases.contains(&base) {
                    bases.push(base);
                }
            }
            return Err(unknown_to_all(registry, &bases, key));
        }
        notes.extend(unknown.iter().map(|(policy, _)| format!("{policy} has no setting {key}")));
    }
    Ok((sides, notes))
}

/// Runs one scenario with one seed; none if it was stopped by Ctrl-C.
pub(crate) type Run<'a> = &'a dyn Fn() -> Result<Option<Outcome>, Failure>;

/// Runs every scenario with `seeds` seeds from `first` upwards, all at once; by scenario, then by
/// seed. A run is none if it was stopped by Ctrl-C or never started.
pub(crate) fn measure_all(
    scenarios: &[&Scenario],
    (first, seeds): (u64, u64),
    progress: &Mutex<Progress>,
) -> Vec<Vec<Result<Option<Outcome>, Failure>>> {
    measure_each(scenarios, (first, seeds), progress, |_, _, run| run())
}

/// The same, where `each` decides by scenario and seed whether to run it, and what to make of the run.
pub(crate) fn measure_each<T: Send>(
    scenarios: &[&Scenario],
    (first, seeds): (u64, u64),
    progress: &Mutex<Progress>,
    each: impl Fn(usize, u64, Run<'_>) -> Result<Option<T>, Failure> + Sync,
) -> Vec<Vec<Result<Option<T>, Failure>>> {
    let jobs: Vec<(usize, u64)> =
        (0..scenarios.len()).flat_map(|side| (0..seeds).map(move |k| (side, k))).collect();
    let all = jobs.len() as u64;
    let done = Mutex::new(0);
    let run = |job: usize| {
        let (side, k) = jobs[job];
        let measure = || match interrupt::is_asked() {
            true => Ok(None),
            false => {
                let outcome = scenarios[side].measure(first + k, None)?;
                Ok(Some(outcome).filter(Outcome::counts))
            }
        };
        let found = each(side, first + k, &measure);
        let mut done = done.lock().expect("nobody panics while counting");
        *done += u64::from(!matches!(found, Ok(None)));
        progress.lock().expect("nobody panics while telling").runs(*done, all);
        found
    };
    let size = |job: usize| scenarios[jobs[job].0].topology().nr_cpus();
    let mut runs = in_parallel(&largest_first(jobs.len(), size), run);
    let per_side = usize::try_from(seeds).expect("at most 10,000");
    let mut by_side = Vec::new();
    while !runs.is_empty() {
        let rest = runs.split_off(per_side.min(runs.len()));
        by_side.push(std::mem::replace(&mut runs, rest));
    }
    by_side
}

/// The numbers of `jobs` jobs, the largest first; what is alike keeps its order.
///
/// A run of many CPUs takes long: one that began last would run alone in the end.
pub(crate) fn largest_first(jobs: usize, size: impl Fn(usize) -> usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..jobs).collect();
    order.sort_by_key(|job| Reverse(size(*job)));
    order
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
        let (sides, notes) =
            share(&Registry::builtin(), &["cfs", "fifo"], &given("hz=1000 SIS_UTIL=off")).unwrap();
        assert_eq!(sides, [given("hz=1000 SIS_UTIL=off"), given("hz=1000")]);
        assert_eq!(notes, ["fifo has no setting SIS_UTIL"]);
    }

    #[test]
    fn the_largest_jobs_begin_first() {
        let sizes = [96, 384, 192, 384];
        let order = largest_first(4, |job| sizes[job]);
        assert_eq!(order, [1, 3, 2, 0]);
    }

    #[test]
    fn what_no_side_knows_is_refused() {
        for text in ["SIS_UTLI=off", "hz=7", "SIS_UTIL=maybe"] {
            assert_eq!(
                share(&Registry::builtin(), &["cfs", "fifo"], &given(text)).unwrap_err().code(),
                2,
                "{text}"
            );
        }
        assert!(share(&Registry::builtin(), &["cfs", "cfq"], &Given::new()).is_err());
    }

    /// The names of all sides are searched, not those of the first alone.
    #[test]
    fn what_no_side_knows_is_told_with_the_nearest_names_of_all() {
        let sides = ["fifo", "cfs", "fifo", "cfs+NO_SIS_UTIL"];
        let why = share(&Registry::builtin(), &sides, &given("SIS_UTLI=off")).unwrap_err();
        let text = why.to_string();
        assert!(
            text.contains("(`fifo`, `cfs`)") && text.contains("did you mean `SIS_UTIL`"),
            "{text}"
        );
    }
}
