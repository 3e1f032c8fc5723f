//! How much of a job has to be simulated, and how far its figures can then be trusted.

use super::series::{FIGURES, RateOf, Step, float, rate_of};
use super::{Ask, Figure};

/// How much more is simulated than the intervals so far ask for: they are estimates themselves.
///
/// By the weights of [`Scatter`] its line has a slope with a deviation of 0.21, and reaches from the middle of
/// its points 3.7 (in logarithms of the length) to that of the sample: the logarithm of the variance there
/// has a deviation of 0.78, that of an interval half of it. Twice the work makes up for one such deviation.
/// (It was 1.2, and was reckoned so after two seeds of another job had missed what they were asked for.)
///
/// [`Scatter`]: super::scatter::Scatter
const RESERVE: f64 = 2.0;

/// How precise a sample must be at least before anything is concluded from it.
const PILOT: f64 = 0.2;

/// How often what has never happened may happen in as much work again, with 95 % (J. A. Hanley and A.
/// Lippman-Hand, "If nothing goes wrong, is everything all right?", JAMA 249, 1983).
const NEVER: f64 = 3.0;

/// Rates of a sample, and what is still to be done.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rates {
    pub(super) rates: [RateOf; FIGURES],
    /// The work that was done in the sample.
    pub(super) sample: f64,
}

impl Rates {
    /// Those of these steps; none of too few.
    pub(super) fn of(steps: &[Step]) -> Option<Rates> {
        let mut rates = [RateOf::default(); FIGURES];
        for (figure, rate) in rates.iter_mut().enumerate() {
            *rate = rate_of(steps, figure)?;
        }
        let sample = float(steps.iter().map(|step| step.work).sum());
        Some(Rates { rates, sample })
    }

    /// Whether the sample is long enough for its intervals to be believed: a rate that is not known to
    /// a fifth has been seen through too few of its own changes to tell how it scatters.
    pub(super) fn is_pilot(&self) -> bool {
        self.rates.iter().all(|rate| rate.half <= PILOT * rate.rate)
    }

    /// Half the interval of the rate of a figure over so much work, in squares.
    fn square(&self, figure: usize, work: f64) -> f64 {
        let RateOf { half, memory, .. } = self.rates[figure];
        half * half * libm::pow(work.max(1.0) / self.sample, memory - 1.0)
    }

    /// How much work must be known for all figures to be as precise as asked for, where `rest` is to be
    /// done and the figures are at `so_far`.
    pub(super) fn needed(&self, ask: Ask, rest: f64, so_far: [f64; FIGURES]) -> f64 {
        let needed = |figure: usize| {
            let RateOf { rate, half, memory } = self.rates[figure];
            let whole = so_far[figure] + rest * rate;
            let allowed = (whole * ask.percent / 100.0).max(1.0);
            if rate <= 0.0 {
                return NEVER * rest / allowed;
            }
            // The rest has a part of its own in the error.
            let part = allowed / rest.max(1.0);
            let known = part * part - self.square(figure, rest);
            if known <= 0.0 {
                return f64::INFINITY;
            }
            RESERVE * self.sample * libm::pow(half * half / known, 1.0 / (1.0 - memory))
        };
        (0..FIGURES).map(needed).fold(0.0, f64::max)
    }

    /// Half the interval of what is still to come of a figure, where `rest` is to be done and `known`
    /// work tells how: its own scatter is as uncertain as that of what was seen.
    pub(super) fn half_of(&self, figure: usize, rest: f64, known: f64) -> f64 {
        if rest <= 0.0 {
            return 0.0;
        }
        if self.rates[figure].rate <= 0.0 {
            return NEVER * rest / known.max(1.0);
        }
        rest * (self.square(figure, known) + self.square(figure, rest)).sqrt()
    }

    /// A figure that has come to `value`.
    pub(super) fn figure(&self, figure: usize, value: f64, half: f64) -> Figure {
        Figure { value, half, memory: self.rates[figure].memory }
    }
}

/// Mean and standard deviation of the greatest of so many standard normal numbers.
///
/// Source: H. L. Harter, "Expected values of normal order statistics", Biometrika 48, 1961; the
/// deviations: G. L. Tietjen, D. K. Kahaner and R. J. Beckman, "Variances and covariances of the
/// normal order statistics", 1977.
const GREATEST: [(u32, f64, f64); 5] = [
    (2, 0.564, 0.826),
    (4, 1.029, 0.701),
    (8, 1.424, 0.611),
    (16, 1.766, 0.541),
    (32, 2.070, 0.484),
];

/// How far what the last teams add to a job can be trusted: half its interval, as a part of it.
///
/// Teams that are at work at different rates draw apart as time goes on: a job that was shortened by
/// `factor` shows what `factor` times as much of it is. If chance alone draws them apart it is the
/// square root of that, and scatters as the greatest of so many normal numbers. The interval holds
/// both.
pub(super) fn doubt_of_last(teams: u32, factor: f64) -> f64 {
    let row = GREATEST.iter().rev().find(|(count, ..)| *count <= teams).unwrap_or(&GREATEST[0]);
    let (_, mean, deviation) = *row;
    let root = factor.max(1.0).sqrt();
    1.0 - 1.0 / root + 1.96 * deviation / mean / root
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rates(rate: f64, half: f64) -> Rates {
        remembering(rate, half, 0.0)
    }

    fn remembering(rate: f64, half: f64, memory: f64) -> Rates {
        Rates { rates: [RateOf { rate, half, memory }; FIGURES], sample: 100.0 }
    }

    /// 1 +- 0.1 of 100 is 1 +- 1 of one; 1 % of 10,000 is 100, so 1/known = (100 / 10,000)^2 - 1/10,000,
    /// which is nothing left: it cannot be reached. 2 %: 4e-4 - 1e-4 = 3e-4, so 3,333.
    #[test]
    fn what_is_needed_can_be_worked_out_on_paper() {
        let needed = |percent| {
            let ask = Ask { percent, limit: None };
            rates(1.0, 0.1).needed(ask, 10_000.0, [0.0; FIGURES])
        };
        assert_eq!(needed(1.0), f64::INFINITY);
        assert!((needed(2.0) - RESERVE * 10_000.0 / 3.0).abs() < 1e-6, "{}", needed(2.0));
    }

    /// 10,000 * 1 * sqrt(1/400 + 1/10,000) = 509.9.
    #[test]
    fn the_rest_has_a_scatter_of_its_own() {
        let half = rates(1.0, 0.1).half_of(1, 10_000.0, 400.0);
        assert!((half - 509.901_95).abs() < 1e-4, "{half}");
        assert_eq!(rates(1.0, 0.1).half_of(1, 0.0, 400.0), 0.0);
    }

    /// With a memory of 1/2 the square falls as the root of the work: over 400 it is 0.01 / 2, over 10,000
    /// 0.01 / 10, and 10,000 * sqrt(0.006) = 774.6. 8 % of 10,000: 0.0064 - 0.001 = 0.0054, so
    /// 100 * (0.01 / 0.0054)^2 = 342.9.
    #[test]
    fn what_is_remembered_takes_longer_to_be_known() {
        let rates = remembering(1.0, 0.1, 0.5);
        let half = rates.half_of(1, 10_000.0, 400.0);
        assert!((half - 774.596_67).abs() < 1e-4, "{half}");
        let needed = rates.needed(Ask { percent: 8.0, limit: None }, 10_000.0, [0.0; FIGURES]);
        assert!((needed - RESERVE * 342.935_53).abs() < 1e-3, "{needed}");
    }

    #[test]
    fn what_never_happened_may_happen_three_times_in_as_much_work() {
        assert_eq!(rates(0.0, 0.0).half_of(2, 1_000.0, 100.0), 30.0);
    }

    #[test]
    fn the_last_of_many_teams_is_better_known_than_that_of_two() {
        // 1 - 1/4 + 1.96 * 0.826 / 0.564 / 4, and 1 - 1/4 + 1.96 * 0.484 / 2.07 / 4.
        assert!((doubt_of_last(2, 16.0) - 1.467_6).abs() < 1e-4);
        assert!((doubt_of_last(40, 16.0) - 0.864_6).abs() < 1e-4);
    }
}
