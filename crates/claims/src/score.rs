//! `Score`: what a set of verdicts says together.

use crate::claim::Better;
use crate::verdict::{Class, Verdict};

/// The verdict on a claim, as it counts in a score.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Answer {
    /// The verdict.
    pub verdict: Verdict,
    /// The good direction of the claim.
    pub better: Better,
    /// Whether its class depends on a price that is not known well enough.
    pub undecided: bool,
}

/// What a set of verdicts says together.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Score {
    /// The mean of the hit rates of the three published classes; of those that occur, if not all do.
    /// Undecided claims and those without a good direction are left out.
    pub balanced_accuracy: Option<f64>,
    /// By [`Class`]: how many were published, and how many of them were hit.
    pub classes: [(u32, u32); 3],
    /// The median of the absolute differences of the improvements, in points, over all claims.
    pub median_error: Option<f64>,
    /// How many claims have a verdict.
    pub judged: u32,
    /// In how many the class agrees, undecided ones left out.
    pub agree: u32,
    /// In how many of these the size agrees too.
    pub sizes_agree: u32,
    /// How many are undecided.
    pub undecided: u32,
    /// How many have no good direction.
    pub directionless: u32,
}

impl Score {
    /// The score of `answers`.
    #[must_use]
    pub fn of(answers: &[Answer]) -> Score {
        let count = |is: &dyn Fn(&Answer) -> bool| {
            u32::try_from(answers.iter().filter(|answer| is(answer)).count()).unwrap_or(u32::MAX)
        };
        let is_in = |answer: &Answer, class| {
            let Answer { verdict, better, undecided } = answer;
            !undecided && *better != Better::None && verdict.published.class == class
        };
        let classes = Class::ALL.map(|class| {
            let hits = |answer: &Answer| is_in(answer, class) && answer.verdict.agrees();
            (count(&|answer| is_in(answer, class)), count(&hits))
        });
        let agrees = |answer: &Answer| !answer.undecided && answer.verdict.agrees();
        Score {
            balanced_accuracy: balanced(&classes),
            classes,
            median_error: median(answers.iter().map(|answer| answer.verdict.error()).collect()),
            judged: count(&|_| true),
            agree: count(&agrees),
            sizes_agree: count(&|answer| agrees(answer) && answer.verdict.size_agrees()),
            undecided: count(&|answer| answer.undecided),
            directionless: count(&|answer| answer.better == Better::None),
        }
    }
}

fn balanced(classes: &[(u32, u32); 3]) -> Option<f64> {
    let occur = classes.iter().filter(|(published, _)| *published > 0);
    let rates: Vec<f64> = occur.map(|(all, hits)| f64::from(*hits) / f64::from(*all)).collect();
    mean(&rates)
}

fn mean(numbers: &[f64]) -> Option<f64> {
    let count = u32::try_from(numbers.len()).ok().filter(|count| *count > 0)?;
    Some(numbers.iter().sum::<f64>() / f64::from(count))
}

/// The middle number, or the mean of the middle two.
fn median(mut numbers: Vec<f64>) -> Option<f64> {
    numbers.sort_by(f64::total_cmp);
    let half = numbers.len() / 2;
    let middle = if numbers.len().is_multiple_of(2) { half.checked_sub(1)? } else { half };
    mean(&numbers[middle..=half])
}
