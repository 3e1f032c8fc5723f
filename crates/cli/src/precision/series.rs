//! `Series`: what a run does step by step, where its start ends, and how far its rates can be trusted.
//!
//! * The start ends where MSER-5 says: of the means of five steps each, so many of the first half are
//!   left out that the standard error of the rest, as if they were independent, is least; a run of
//!   which the whole half would be left out is too short to tell (K. P. White, M. J. Cobb and S. C.
//!   Spratt, "A comparison of five steady-state truncation heuristics for simulation", WSC 2000; that
//!   only the first half is looked at: S. Hoad, S. Robinson and R. Davies, "Automating warm-up length
//!   estimation", Journal of the Operational Research Society 61, 2010).
//! * The interval of a rate is that of batch means (A. M. Law, Simulation Modeling and Analysis,
//!   section 9.5.3). Batches double as long as neighbours are correlated by von Neumann's ratio (G. S.
//!   Fishman, "Grouping observations in digital simulation", Management Science 24, 1978), down to
//!   eight of them; what correlation is left then widens the interval by `sqrt((1 + r) / (1 - r))`
//!   (A. Tafazzoli, J. R. Wilson, E. K. Lada and N. M. Steiger, "Performance of Skart", INFORMS
//!   Journal on Computing 23, 2011).
//! * A rate per unit of work is a quotient of two sums, whose batches are `x - rate * work` (the ratio
//!   estimator: W. G. Cochran, Sampling Techniques, section 6.3).

use crate::student::t_975;

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

/// The least and the most batches.
const LEAST_BATCHES: usize = 8;
const MOST_BATCHES: usize = 64;

/// A rate per unit of work, and half its 95 % interval.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct RateOf {
    pub(super) rate: f64,
    pub(super) half: f64,
    pub(super) batches: usize,
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
        squares += (mean - base).powi(2);
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
    let mut batches = MOST_BATCHES;
    while batches > steps.len() {
        batches /= 2;
    }
    loop {
        let size = steps.len() / batches;
        // What does not fill a batch is left out at the beginning.
        let whole = &steps[steps.len() - size * batches..];
        let means: Vec<f64> =
            whole.chunks_exact(size).map(|batch| batch.iter().map(rest).sum()).collect();
        let (error, correlation) = error_of(&means);
        let bound = 1.645 * ((nr(batches) - 2.0) / (nr(batches).powi(2) - 1.0)).sqrt();
        if correlation >= bound && batches > LEAST_BATCHES {
            batches /= 2;
            continue;
        }
        let correlation = correlation.clamp(0.0, 0.9);
        let widened = error * ((1.0 + correlation) / (1.0 - correlation)).sqrt();
        let work_each = float(whole.iter().map(|step| step.work).sum()) / nr(batches);
        let half = t_975(batches - 1) * widened / work_each;
        return Some(RateOf { rate, half, batches });
    }
}

/// The standard error of the mean of these, and how neighbours are correlated.
fn error_of(values: &[f64]) -> (f64, f64) {
    let n = nr(values.len());
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    if squares <= 0.0 {
        return (0.0, 0.0);
    }
    let products: f64 = values.windows(2).map(|two| (two[0] - mean) * (two[1] - mean)).sum();
    ((squares / (n - 1.0) / n).sqrt(), products / squares)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_like::Dice;

    /// Numbers that look random and are not: the upper bits of a linear congruence (Knuth's MMIX).
    mod rand_like {
        pub(super) struct Dice(pub(super) u64);
        impl Dice {
            /// Between 0 and 1.
            pub(super) fn uniform(&mut self) -> f64 {
                self.0 = self
                    .0
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                super::float(self.0 >> 32) / 4_294_967_296.0
            }
            /// Of mean 0 and variance 1: twelve of these (Irwin and Hall).
            pub(super) fn normal(&mut self) -> f64 {
                (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
            }
        }
    }

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "around 10,000")]
    fn step(count: f64) -> Step {
        let count = count.max(0.0) as u64;
        Step { span_ns: 1_000_000, work: 1_000_000, figures: [count; FIGURES] }
    }

    /// x[k] = mean + phi * (x[k - 1] - mean) + noise.
    fn autoregressive(dice: &mut Dice, nr: usize, phi: f64) -> Vec<Step> {
        let mut off = dice.normal() * 500.0 / (1.0 - phi * phi).sqrt();
        let mut next = || {
            off = phi * off + 500.0 * dice.normal();
            step(10_000.0 + off)
        };
        (0..nr).map(|_| next()).collect()
    }

    /// The mean is known, so how often an interval holds it can be counted. Without any regard to the
    /// correlation, the intervals of phi = 0.9 would be too short by a factor of 4.4.
    #[test]
    fn the_interval_of_a_correlated_series_holds_its_mean_as_often_as_it_says() {
        for phi in [0.0, 0.5, 0.9] {
            let mut dice = Dice(7);
            let holds = |_| {
                let rate = rate_of(&autoregressive(&mut dice, 1_000, phi), 1).unwrap();
                (rate.rate - 0.01).abs() <= rate.half
            };
            let held = (0..400).map(holds).filter(|held| *held).count();
            // 380 are expected; 362 are four standard deviations fewer.
            assert!((362..=400).contains(&held), "phi {phi}: {held} of 400");
        }
    }

    #[test]
    fn batches_grow_until_neighbours_are_independent() {
        let batches = |phi| rate_of(&autoregressive(&mut Dice(3), 2_000, phi), 0).unwrap().batches;
        assert!(batches(0.0) > batches(0.98), "{} {}", batches(0.0), batches(0.98));
    }

    #[test]
    fn a_start_that_is_slower_is_left_out() {
        let mut steps = autoregressive(&mut Dice(5), 600, 0.3);
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
        assert_eq!((rate.rate, rate.half, rate.batches), (0.4, 0.0, 64));
        assert_eq!(start_of(&steps), Some(0));
    }
}
