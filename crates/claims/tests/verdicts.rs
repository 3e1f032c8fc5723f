//! The arithmetic of verdicts and scores, with numbers worked out by hand.

#![expect(clippy::unwrap_used, reason = "a test stops where it fails")]

use simsched_claims::verdict::{effect, improvement, is_far, level, possible, threshold};
use simsched_claims::{Answer, Better, Claim, Class, Score, Verdict, read};

/// A claim with these further lines.
fn claim(better: &str, lines: &str) -> Claim {
    let text = format!(
        "[[claim]]\nid = \"a\"\nsource = \"s\"\ntopology = \"t8\"\nbaseline = \"cfs\"\n\
         patched = \"fifo\"\nworkload = \"hackbench\"\nkind = \"end_to_end\"\nbetter = \"{better}\"\n{lines}\n"
    );
    read(&text, "x.toml").unwrap().remove(0).unwrap()
}

fn of_ratio(better: &str, ratio: f64) -> Claim {
    claim(better, &format!("metric = \"busy_cpus\"\nratio = {ratio:?}"))
}

#[track_caller]
fn check_effect(claim: &Claim, ratio: f64, percent: f64, class: Class) {
    let found = effect(claim, ratio);
    assert!((found.improvement - percent).abs() < 1e-9, "{found:?}");
    assert_eq!(found.class, class, "{found:?}");
}

/// 49 s become 29 s: 1 - 29/49 = 40.816 %.
#[test]
fn improvement_is_what_was_saved_or_what_was_gained() {
    assert!((improvement(29.0 / 49.0, Better::Lower) - 40.816_326).abs() < 1e-5);
    assert!((improvement(1.5, Better::Higher) - 50.0).abs() < 1e-9);
    assert!((improvement(1.5, Better::Lower) + 50.0).abs() < 1e-9);
}

#[test]
fn less_than_three_percent_is_neutral() {
    let time = of_ratio("lower", 1.0);
    check_effect(&time, 0.971, 2.9, Class::Neutral);
    check_effect(&time, 1.029, -2.9, Class::Neutral);
    check_effect(&time, 0.96, 4.0, Class::Better);
    check_effect(&time, 1.04, -4.0, Class::Worse);
    check_effect(&of_ratio("higher", 1.0), 1.04, 4.0, Class::Better);
}

/// 6 % and 8 % together are 10 %, and twice that is 20 %.
#[test]
fn a_noisy_measurement_has_a_wide_neutral_range() {
    let lines = "metric = \"time\"\nratio = 1\nbaseline_std_pct = 6\npatched_std_pct = 8";
    let noisy = claim("lower", lines);
    assert!((threshold(&noisy) - 20.0).abs() < 1e-9);
    check_effect(&noisy, 0.81, 19.0, Class::Neutral);
    check_effect(&noisy, 0.79, 21.0, Class::Better);
    let one_side = claim("lower", "metric = \"time\"\nratio = 1\nbaseline_std_pct = 2.5");
    assert!((threshold(&one_side) - 5.0).abs() < 1e-9);
}

/// One of 8 us is 12.5 %; milliseconds are not quantised.
#[test]
fn a_latency_in_us_is_neutral_below_one_of_them() {
    let latency = |metric: &str, unit: &str| {
        let values = "baseline_value = 8\npatched_value = 7";
        claim("lower", &format!("metric = \"{metric}\"\nunit = \"{unit}\"\n{values}"))
    };
    let us = latency("wakeup_latency:p99", "us");
    assert!((threshold(&us) - 12.5).abs() < 1e-9);
    check_effect(&us, 7.1 / 8.0, 11.25, Class::Neutral);
    check_effect(&us, 6.0 / 8.0, 25.0, Class::Better);
    assert!((threshold(&latency("wakeup_latency:p99", "ms")) - 3.0).abs() < 1e-9);
    assert!((threshold(&latency("time", "us")) - 3.0).abs() < 1e-9);
}

/// Published as 1.00 and 0.72: these are no microseconds.
#[test]
fn values_relative_to_a_base_are_not_quantised() {
    let of = |baseline: &str, patched: &str| {
        let values = format!("baseline_value = {baseline}\npatched_value = {patched}");
        claim("lower", &format!("metric = \"wakeup_latency:p99\"\nunit = \"us\"\n{values}"))
    };
    assert!((threshold(&of("1", "0.7197")) - 3.0).abs() < 1e-9);
    assert!((threshold(&of("100", "71.97")) - 3.0).abs() < 1e-9);
    assert!((threshold(&of("1", "2")) - 100.0).abs() < 1e-9);
}

#[track_caller]
fn check_size(published: f64, simulated: f64, agrees: bool) {
    let claim = of_ratio("higher", 1.0 + published / 100.0);
    let verdict = Verdict::of(&claim, 1.0 + simulated / 100.0).unwrap();
    assert_eq!(verdict.size_agrees(), agrees, "{published} against {simulated}");
}

#[test]
fn a_size_agrees_within_seven_points_or_a_factor_of_two() {
    check_size(10.0, 16.9, true);
    check_size(10.0, 3.1, true);
    check_size(10.0, 19.9, true);
    check_size(10.0, 20.1, false);
    check_size(40.0, 20.1, true);
    check_size(40.0, 19.9, false);
    check_size(40.0, 79.9, true);
    check_size(3.4, -3.4, true);
    check_size(10.0, -10.0, false);
    check_size(0.0, 6.9, true);
    check_size(0.0, 7.1, false);
}

#[test]
fn a_metric_without_a_good_direction_rises_or_falls() {
    let switches = claim("none", "metric = \"context_switches\"\nratio = 1.5");
    check_effect(&switches, 1.9, 90.0, Class::Better);
    let names = Class::ALL.map(|class| class.name(switches.better));
    assert_eq!(names, ["rises", "neutral", "falls"]);
}

/// An answer of `simulated` percent where `published` percent were found.
fn answer(published: f64, simulated: f64) -> Answer {
    let claim = of_ratio("higher", 1.0 + published / 100.0);
    let verdict = Verdict::of(&claim, 1.0 + simulated / 100.0).unwrap();
    Answer { verdict, better: Better::Higher, undecided: false }
}

#[test]
fn always_better_scores_a_third() {
    let answers = [20.0, 30.0, 40.0, 0.0, 1.0, -20.0].map(|published| answer(published, 20.0));
    let score = Score::of(&answers);
    assert_eq!(score.classes, [(3, 3), (2, 0), (1, 0)]);
    assert!((score.balanced_accuracy.unwrap() - 1.0 / 3.0).abs() < 1e-12);
}

/// Two of three better ones, one of one neutral: (2/3 + 1) / 2, there is no worse one.
#[test]
fn a_class_that_does_not_occur_does_not_count() {
    let answers = [answer(20.0, 25.0), answer(20.0, 50.0), answer(20.0, 0.0), answer(1.0, 2.0)];
    let score = Score::of(&answers);
    assert!((score.balanced_accuracy.unwrap() - 5.0 / 6.0).abs() < 1e-12);
    assert_eq!((score.judged, score.agree, score.sizes_agree), (4, 3, 2));
    // The errors are 5, 30, 20 and 1 points.
    assert!((score.median_error.unwrap() - 12.5).abs() < 1e-9);
}

#[test]
fn undecided_and_directionless_claims_are_counted_apart() {
    let undecided = Answer { undecided: true, ..answer(20.0, 0.0) };
    let directionless = Answer { better: Better::None, ..answer(20.0, 0.0) };
    let score = Score::of(&[answer(20.0, 20.0), undecided, directionless]);
    assert_eq!(score.classes, [(1, 1), (0, 0), (0, 0)]);
    assert_eq!((score.judged, score.undecided, score.directionless), (3, 1, 1));
    assert_eq!((score.balanced_accuracy, score.agree), (Some(1.0), 1));
}

#[test]
fn nothing_has_no_score() {
    let score = Score::of(&[]);
    assert_eq!((score.balanced_accuracy, score.median_error, score.judged), (None, None, 0));
}

/// Prediction P2.2 of `WAKEUP_BIAS_PREV`: time falls because more CPUs are busy (published: 259, then
/// 344 of 384). Control: a gain at equal utilisation, or at less, is another mechanism and is refused.
#[test]
fn a_gain_at_equal_utilisation_is_not_that_of_wakeup_bias_prev() {
    let text = include_str!("../../../claims/wakeup_bias_prev.toml");
    let claims = read(text, "wakeup_bias_prev.toml").unwrap();
    let claims: Vec<Claim> = claims.into_iter().map(Result::unwrap).collect();
    let claim = |id: &str| claims.iter().find(|claim| claim.id == id).unwrap();
    let busy = claim("S2.hb.cpus_used");
    let published = effect(busy, 344.335_678 / 259.332_68).class;
    assert_eq!(effect(claim("S2.hb.time"), 29.0 / 49.0).class, Class::Better);
    assert_eq!(effect(busy, 1.1).class, published);
    for refused in [1.0, 1.02, 0.9] {
        assert_ne!(effect(busy, refused).class, published, "{refused}");
    }
}

/// Neutral below 3 %: 10.8 +- 10.1 reaches down to 0.7, and 5 +- 1.9 stays above.
#[test]
fn an_interval_that_crosses_a_bound_leaves_more_than_one_class() {
    let time = of_ratio("lower", 1.0);
    assert_eq!(possible(&time, 0.7, 20.9), [Class::Better, Class::Neutral]);
    assert_eq!(possible(&time, 3.1, 6.9), [Class::Better]);
    assert_eq!(possible(&time, -7.1, -2.9), [Class::Neutral, Class::Worse]);
    assert_eq!(possible(&time, -2.9, 2.9), [Class::Neutral]);
    assert_eq!(possible(&time, -4.0, 6.0), Class::ALL);
    assert_eq!(possible(&time, f64::NEG_INFINITY, f64::INFINITY), Class::ALL);
}

/// 90 s for 30,000 ms is three times as much, and a little more is too much.
#[test]
fn a_level_is_compared_in_one_unit() {
    let values = |unit: &str, baseline: &str| {
        let values = format!("baseline_value = {baseline}\npatched_value = 20000");
        claim("lower", &format!("metric = \"time\"\nunit = \"{unit}\"\n{values}"))
    };
    let ms = values("ms", "30000");
    assert_eq!(level(&ms, 30_000.0, 90.0), Some(3.0));
    assert!(!is_far(3.0) && is_far(3.1) && is_far(0.3) && !is_far(0.34));
    assert_eq!(level(&values("s", "1"), 1.0, 90.0), None, "relative to a base of 1");
    assert_eq!(level(&of_ratio("lower", 0.5), 1.0, 90.0), None);
}
