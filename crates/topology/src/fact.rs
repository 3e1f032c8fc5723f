//! `Fact`: a number of the hardware with its range and its source, exact to a thousandth.

use std::fmt;

/// A number with its plausible range and its source.
///
/// Kept as whole thousandths of the unit that its key names: a latency of 13.5 ns is 13,500.
/// So nothing here needs floating point, and 0.1 is 0.1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    /// The value to use, in thousandths.
    pub milli: u64,
    /// The lower end of what was seen or is plausible, in thousandths.
    pub lo_milli: u64,
    /// The upper end, in thousandths.
    pub hi_milli: u64,
    /// The keys of the sources, joined by `+`; empty when the number was written bare.
    pub src: String,
}

impl Fact {
    /// A number known exactly, in whole units.
    #[must_use]
    pub fn exactly(value: u64) -> Self {
        let milli = value * 1000;
        Self { milli, lo_milli: milli, hi_milli: milli, src: String::new() }
    }

    /// The value in whole units, rounded half up.
    #[must_use]
    pub const fn rounded(&self) -> u64 {
        (self.milli + 500) / 1000
    }

    /// The value multiplied by `factor` and rounded: microseconds to nanoseconds.
    #[must_use]
    pub const fn scaled(&self, factor: u64) -> u64 {
        (self.milli * factor + 500) / 1000
    }
}

impl fmt::Display for Fact {
    /// The value with as many decimals as it has, and the range if there is one: `13.5 (12.8..22.4)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&decimal(self.milli))?;
        if self.lo_milli != self.hi_milli {
            write!(f, " ({}..{})", decimal(self.lo_milli), decimal(self.hi_milli))?;
        }
        Ok(())
    }
}

/// Thousandths as a decimal number without trailing zeros.
pub(crate) fn decimal(milli: u64) -> String {
    let (whole, rest) = (milli / 1000, milli % 1000);
    if rest == 0 {
        return whole.to_string();
    }
    format!("{whole}.{rest:03}").trim_end_matches('0').to_owned()
}

/// The thousandths of a plain decimal number; none for anything else, or for more than three decimals.
pub(crate) fn parse_milli(text: &str) -> Option<u64> {
    let text = text.replace('_', "");
    let (whole, part) = text.split_once('.').unwrap_or((&text, ""));
    let digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(part) || part.len() > 3 {
        return None;
    }
    format!("{whole}{part:0<3}").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_exact() {
        assert_eq!(parse_milli("1.08"), Some(1_080));
        assert_eq!(parse_milli("107520"), Some(107_520_000));
        assert_eq!(parse_milli("0.575"), Some(575));
        assert_eq!(parse_milli("0.5755"), None);
        assert_eq!(parse_milli("-1"), None);
        assert_eq!(parse_milli("1e3"), None);
    }

    #[test]
    fn a_fact_prints_value_and_range() {
        let fact = Fact { milli: 13_500, lo_milli: 12_800, hi_milli: 22_400, src: String::new() };
        assert_eq!(fact.to_string(), "13.5 (12.8..22.4)");
        assert_eq!((fact.rounded(), fact.scaled(1000)), (14, 13_500));
        assert_eq!(Fact::exactly(8).to_string(), "8");
    }
}
