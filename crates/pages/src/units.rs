//! Numbers as people quote them.

/// A count with its thousands set apart: `1,234,567`.
#[must_use]
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (idx, digit) in digits.chars().enumerate() {
        if idx > 0 && (digits.len() - idx).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number with a fraction: three digits after the point below 10, fewer above, none from 1,000.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "no measurement is negative or above 2^64"
)]
#[must_use]
pub fn decimal(number: f64) -> String {
    match number {
        n if n < 10.0 => format!("{n:.3}"),
        n if n < 100.0 => format!("{n:.2}"),
        n if n < 1_000.0 => format!("{n:.1}"),
        n => count(n.round() as u64),
    }
}

/// A span in the unit in which it has a short number before the point: ns, us, ms or s.
#[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
#[must_use]
pub fn span(nanos: u64) -> String {
    match nanos {
        0..1_000 => format!("{nanos} ns"),
        _ => span_of(nanos as f64),
    }
}

/// The same of a mean, which may have a fraction of a nanosecond.
#[must_use]
pub fn span_of(nanos: f64) -> String {
    match nanos {
        n if n <= 0.0 => "0 ns".to_owned(),
        n if n < 1e3 => format!("{} ns", decimal(n)),
        n if n < 1e6 => format!("{} us", decimal(n / 1e3)),
        n if n < 1e9 => format!("{} ms", decimal(n / 1e6)),
        n => format!("{} s", decimal(n / 1e9)),
    }
}

/// Nanoseconds in microseconds with two digits after the point, without the unit.
#[expect(clippy::cast_precision_loss, reason = "two digits are shown")]
#[must_use]
pub fn micros(nanos: u64) -> String {
    format!("{:.2}", nanos as f64 / 1e3)
}

/// A part of a whole in percent with one digit after the point; of nothing it is `-`.
#[expect(clippy::cast_precision_loss, reason = "one digit is shown")]
#[must_use]
pub fn percent(part: u64, whole: u64) -> String {
    if whole == 0 {
        return "-".to_owned();
    }
    format!("{:.1} %", 100.0 * part as f64 / whole as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_set_apart() {
        let cases = [(0, "0"), (999, "999"), (1_000, "1,000"), (12_345_678, "12,345,678")];
        for (number, text) in cases {
            assert_eq!(count(number), text);
        }
    }

    #[test]
    fn a_span_has_the_unit_that_fits() {
        let cases = [
            (999, "999 ns"),
            (1_000, "1.000 us"),
            (45_678, "45.68 us"),
            (3_456_000, "3.456 ms"),
            (456_700_000, "456.7 ms"),
            (12_000_000_000, "12.00 s"),
        ];
        for (nanos, text) in cases {
            assert_eq!(span(nanos), text);
        }
    }

    #[test]
    fn a_mean_of_spans_may_have_a_fraction() {
        let cases = [(0.0, "0 ns"), (0.5, "0.500 ns"), (45_678.4, "45.68 us"), (2e9, "2.000 s")];
        for (nanos, text) in cases {
            assert_eq!(span_of(nanos), text);
        }
    }

    #[test]
    fn a_part_of_nothing_has_no_percentage() {
        assert_eq!((percent(1, 8), percent(0, 0)), ("12.5 %".to_owned(), "-".to_owned()));
    }
}
