//! `Verdict`: whether a simulated change agrees with a published one.

use crate::claim::{Better, Claim, Values};

/// What a change amounts to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// It helps; of a metric without a good direction: it rises.
    Better,
    /// It is too small to say.
    Neutral,
    /// It hurts; of a metric without a good direction: it falls.
    Worse,
}

impl Class {
    /// All of them.
    pub const ALL: [Class; 3] = [Class::Better, Class::Neutral, Class::Worse];

    /// The word for it, where `better` is the good direction.
    #[must_use]
    pub fn name(self, better: Better) -> &'static str {
        match (self, better) {
            (Class::Neutral, _) => "neutral",
            (Class::Better, Better::None) => "rises",
            (Class::Worse, Better::None) => "falls",
            (Class::Better, _) => "better",
            (Class::Worse, _) => "worse",
        }
    }
}

/// A change and its class.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Effect {
    /// In percent; positive is better, or more where neither direction is good.
    pub improvement: f64,
    /// What it amounts to.
    pub class: Class,
}

/// What was published and what was simulated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Verdict {
    /// As it was published.
    pub published: Effect,
    /// As it was simulated.
    pub simulated: Effect,
}

/// How far two improvements may differ, in points.
const POINTS: f64 = 7.0;

/// By what factor they may differ otherwise.
const FACTOR: f64 = 2.0;

/// Below this a change is neutral, in percent, even if nothing was published about its spread.
pub const LEAST: f64 = 3.0;

/// `100 * (1 - ratio)` where lower is better, `100 * (ratio - 1)` where higher is, or neither.
#[must_use]
pub fn improvement(ratio: f64, better: Better) -> f64 {
    match better {
        Better::Lower => 100.0 * (1.0 - ratio),
        Better::Higher | Better::None => 100.0 * (ratio - 1.0),
    }
}

/// Below which improvement, in percent, a claim is neutral: 3, twice the combined published spread,
/// or 1 us of a latency that was published in us, whatever is most.
#[must_use]
pub fn threshold(claim: &Claim) -> f64 {
    let in_us = claim.metric.family.is_latency() && claim.unit == "us";
    let quantum = match claim.published.values {
        Values::Both { baseline, patched } if in_us && baseline > 0.0 => {
            // A fraction of a base of 1 or 100 is no number of microseconds.
            let is_relative = is_base(baseline) && patched.fract() != 0.0;
            if is_relative { 0.0 } else { 100.0 / baseline }
        }
        _ => 0.0,
    };
    LEAST.max(2.0 * claim.published.spread_pct()).max(quantum)
}

/// Whether a baseline is likely that to which values are relative.
fn is_base(baseline: f64) -> bool {
    [1.0, 100.0].iter().any(|one| (baseline - one).abs() < 1e-9)
}

/// The effect of `ratio` on the metric of `claim`.
#[must_use]
pub fn effect(claim: &Claim, ratio: f64) -> Effect {
    let improvement = improvement(ratio, claim.better);
    Effect { improvement, class: class_of(claim, improvement) }
}

fn class_of(claim: &Claim, improvement: f64) -> Class {
    match improvement {
        i if i.abs() < threshold(claim) => Class::Neutral,
        i if i > 0.0 => Class::Better,
        _ => Class::Worse,
    }
}

/// The classes, from better to worse, of all improvements from `low` to `high`, in percent: more than one if the
/// interval crosses a bound of the class, so that the runs cannot tell.
#[must_use]
pub fn possible(claim: &Claim, low: f64, high: f64) -> Vec<Class> {
    let best = class_of(claim, high);
    let worst = class_of(claim, low);
    Class::ALL.into_iter().filter(|class| (best..=worst).contains(class)).collect()
}

/// By what factor a simulated level may differ from a published one before it is remarked.
pub const LEVEL: f64 = 3.0;

/// The simulated level, which is `simulated` in the metric's own unit, over the `published` one,
/// which is in that of the claim; none if the two cannot be compared: nothing but a ratio was
/// published, or values relative to a base of 1 or 100, or the unit is none that is known here.
#[must_use]
pub fn level(claim: &Claim, published: f64, simulated: f64) -> Option<f64> {
    let Values::Both { baseline, .. } = claim.published.values else { return None };
    let scale = claim.metric.family.unit_scale(&claim.unit)?;
    (!is_base(baseline) && published > 0.0).then(|| simulated / (published * scale))
}

/// Whether such a level is so far off that an agreement of ratios means little.
#[must_use]
pub fn is_far(level: f64) -> bool {
    !(1.0 / LEVEL..=LEVEL).contains(&level)
}

impl Verdict {
    /// The verdict on a simulated `ratio`; none on a claim without one.
    #[must_use]
    pub fn of(claim: &Claim, ratio: f64) -> Option<Verdict> {
        let published = effect(claim, claim.published.ratio()?);
        Some(Verdict { published, simulated: effect(claim, ratio) })
    }

    /// Whether both are of one class.
    #[must_use]
    pub fn agrees(&self) -> bool {
        self.published.class == self.simulated.class
    }

    /// Whether the two improvements differ by at most 7 points or a factor of 2.
    #[must_use]
    pub fn size_agrees(&self) -> bool {
        let [a, b] = [self.published.improvement, self.simulated.improvement];
        let is_near = self.error() <= POINTS;
        let is_alike = a * b > 0.0 && a.abs() <= FACTOR * b.abs() && b.abs() <= FACTOR * a.abs();
        is_near || is_alike
    }

    /// By how many points the two improvements differ.
    #[must_use]
    pub fn error(&self) -> f64 {
        (self.published.improvement - self.simulated.improvement).abs()
    }
}
