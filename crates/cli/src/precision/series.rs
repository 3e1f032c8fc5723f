//! `Series`: what a run does step by step, where its start ends, and how far its rates can be trusted.
//!
//! * The start ends where MSER-5 says: of the means of five steps each, so many of the first half are
//!   left out that the standard error of the rest, as if they were independent, is least; a run of
//!   which the whole half would be left out is too short to tell (K. P. White, M. J. Cobb and S. C.
//!   Spratt, "A comparison of five steady-state truncation heuristics for simulation", WSC 2000; that
//!   only the first half is looked at: S. Hoad, S. Robinson and R. Davies, "Automating warm-up length
//!   estimation", Journal of the Operational Research Society 61, 2010).
//! * A rate per unit of work is a quotient of two sums, whose scatter is that of `x - rate * work` (the ratio
//!   estimator: W. G. Cochran, Sampling Techniques, section 6.3); [`Scatter`] tells it.

use super::scatter::{LEAST_BATCHES, Scatter};

/// What was done in one step of simulated time, or in several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) span_ns: u64,
    /// In the unit in which the job is measured; time itself, if it runs for a fixed time.
    pub(super) work: u64,
    pub(super) figures: [u64; FIGURES],
}

/// What must be precise: the time that work takes (or the operations that are done in a time),
/// migrations, context switches.
pub(super) const FIGURES: usize = 3;

/// How many means of steps are one observation.
const MSER: usize = 5;

/// A rate per unit of work, and half its 95 % interval.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct RateOf {
    pub(super) rate: f64,
    pub(super) half: f64,
    /// The interval is as `work` to the power of `(memory - 1) / 2`.
    pub(super) memory: f64,
}

#[expect(clippy::cast_precision_loss, reason = "below 2^52 in any run that ends")]
pub(super) fn float(count: u64) -> f64 {
    count as f64
}

#[expect(clippy::cast_precision_loss, reason = "steps are few")]
fn nr(count: usize) -> f64 {
    count as f64
}

/// How many steps are the start of a run, by MSER-5 of all its rates over time; `None` if there are too
/// few steps to tell.
pub(super) fn start_of(steps: &[Step]) -> Option<usize> {
    let work = |step: &Step| step.work;
    let mut most = mser(steps, work)?;
    for figure in 0..FIGURES {
        most = most.max(mser(steps, |step| step.figures[figure])?);
    }
    // At the very edge it is still getting better.
    (most + 2 * MSER <= steps.len() / 2).then_some(most)
}

/// The same of one rate.
fn mser(steps: &[Step], count: impl Fn(&Step) -> u64) -> Option<usize> {
    let rate = |group: &[Step]| {
        let span: u64 = group.iter().map(|step| step.span_ns).sum();
        float(group.iter().map(&count).sum()) / float(span.max(1))
    };
    let means: Vec<f64> = steps.chunks_exact(MSER).map(rate).collect();
    // Sums around the last value lose no digits where a rate hardly changes.
    let base = *means.last()?;
    let (mut sum, mut squares) = (0.0, 0.0);
    let mut least: Option<(f64, usize)> = None;
    for (idx, mean) in means.iter().enumerate().rev() {
        sum += mean - base;
        squares += (mean - base) * (mean - base);
        let left = nr(means.len() - idx);
        if means.len() - idx < LEAST_BATCHES || 2 * idx > means.len() {
            continue;
        }
        let error = (squares - sum * sum / left).max(0.0) / (left * left);
        if least.is_none_or(|(so_far, _)| error <= so_far) {
            least = Some((error, idx));
        }
    }
    least.map(|(_, idx)| idx * MSER)
}

/// The rate of a figure per unit of work over these steps; `None` of too few, or without work.
pub(super) fn rate_of(steps: &[Step], figure: usize) -> Option<RateOf> {
    let sum = |count: fn(&Step, usize) -> u64| steps.iter().map(|s| count(s, figure)).sum::<u64>();
    let work = sum(|step, _| step.work);
    if work == 0 || steps.len() < LEAST_BATCHES {
        return None;
    }
    let rate = float(sum(|step, figure| step.figures[figure])) / float(work);
    let rest = |step: &Step| float(step.figures[figure]) - rate * float(step.work);
    let rests: Vec<f64> = steps.iter().map(rest).collect();
    let Scatter { half, memory } = Scatter::of(&rests)?;
    Some(RateOf { rate, half: half / float(work), memory })
}

#[cfg(test)]
mod tests {
    use super::super::dice::Dice;
    use super::*;

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "around 10,000")]
    fn step(count: f64) -> Step {
        let count = count.max(0.0) as u64;
        Step { span_ns: 1_000_000, work: 1_000_000, figures: [count; FIGURES] }
    }

    fn steps(dice: &mut Dice, nr: usize, phi: f64) -> Vec<Step> {
        dice.autoregressive(nr, phi).iter().map(|off| step(10_000.0 + 500.0 * off)).collect()
    }

    /// Steps that do more work count more: so much that all of the scatter is that of the work.
    #[test]
    fn what_grows_with_the_work_does_not_scatter() {
        let mut dice = Dice(5);
        let of = |work: u64| Step { span_ns: 1_000_000, work, figures: [3 * work; FIGURES] };
        let steps: Vec<Step> = (0..300).map(|_| of(100 + dice.bits() % 900)).collect();
        let rate = rate_of(&steps, 0).unwrap();
        assert_eq!((rate.rate, rate.half), (3.0, 0.0));
    }

    /// Half the interval of a sum of 1,000 independent steps is 1.96 * 500 * sqrt(1,000), and their work is
    /// 10^9. The means of eight batches widen that by 2.36 / 1.96, a slope that is not there by as much again.
    #[test]
    fn the_interval_of_a_rate_is_that_of_its_count_over_the_work() {
        let rate = rate_of(&steps(&mut Dice(9), 1_000, 0.0), 1).unwrap();
        let exact = 1.96 * 500.0 * 1_000_f64.sqrt() / 1e9;
        assert!((0.5..3.0).contains(&(rate.half / exact)), "{rate:?}, not {exact}");
    }

    #[test]
    fn a_start_that_is_slower_is_left_out() {
        let mut steps = steps(&mut Dice(5), 600, 0.3);
        for (idx, slow) in steps.iter_mut().take(150).enumerate() {
            *slow = step(10_000.0 - 50.0 * (150.0 - float(idx as u64)));
        }
        let start = start_of(&steps).unwrap();
        assert!((100..=200).contains(&start), "{start}");
    }

    #[test]
    fn a_rate_that_never_stops_rising_has_no_end_of_its_start() {
        let rising: Vec<Step> = (0..400).map(|idx| step(10_000.0 + 40.0 * float(idx))).collect();
        assert_eq!(start_of(&rising), None);
    }

    /// Two of five steps, again and again: 0.4 exactly, and nothing to doubt about batches of five.
    #[test]
    fn a_rate_without_noise_has_an_interval_of_no_width() {
        let steps = vec![Step { span_ns: 10, work: 5, figures: [2; FIGURES] }; 64];
        let rate = rate_of(&steps, 2).unwrap();
        assert_eq!((rate.rate, rate.half, rate.memory), (0.4, 0.0, 0.0));
        assert_eq!(start_of(&steps), Some(0));
    }
}
