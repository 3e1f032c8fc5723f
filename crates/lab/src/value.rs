//! `Value`: what a metric has come to.

use std::fmt;

/// What a metric has come to.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A count, a time or a ratio.
    Number(f64),
    /// Counts by LLC or node, in ascending order: equal LLCs and nodes may change their places. Of several
    /// processes those of each.
    Vector(Vec<u64>),
}

impl Value {
    /// The counts of parts that may change their places.
    #[must_use]
    pub fn sorted(mut counts: Vec<u64>) -> Value {
        counts.sort_unstable();
        Value::Vector(counts)
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Value {
        Value::Number(number)
    }
}

impl From<u64> for Value {
    #[expect(clippy::cast_precision_loss, reason = "counts of a run stay below 2^53")]
    fn from(count: u64) -> Value {
        Value::Number(count as f64)
    }
}

/// As it is printed: at most four decimals, which is what the lab keeps.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Number(number) => write!(f, "{}", round(*number, 4)),
            Value::Vector(counts) => {
                let counts: Vec<String> = counts.iter().map(u64::to_string).collect();
                f.write_str(&counts.join(","))
            }
        }
    }
}

/// Whoever has metrics by name.
pub trait Values {
    /// The value of `metric`; none if there is no such metric, or nothing to measure it on.
    fn value(&self, metric: &str) -> Option<Value>;
}

/// `number` at so many decimals, halves as their binary form has them: what the lab's own program
/// does before it keeps a number.
pub(crate) fn round(number: f64, decimals: usize) -> f64 {
    format!("{number:.decimals$}").parse().expect("a number that has just been written")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_printed_short() {
        assert_eq!(Value::from(130).to_string(), "130");
        assert_eq!(Value::from(0.98225).to_string(), "0.9822");
        assert_eq!(Value::sorted(vec![11, 4, 6]).to_string(), "4,6,11");
    }
}
