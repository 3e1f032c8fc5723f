//! The values of options: how they are read, and what is said of one that cannot be.

use simsched_core::{Nanos, SimTime};

pub(super) fn setting(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() && !value.is_empty() => {
            Ok((key.to_owned(), value.to_owned()))
        }
        _ => Err("expected KEY=VALUE, such as SIS_UTIL=off".to_owned()),
    }
}

/// The report of each run is kept until the last one is done.
const MAX_SEEDS: u64 = 10_000;

pub(super) fn seed(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("expected a whole number in 0..={}", u64::MAX))
}

pub(super) fn seeds(text: &str) -> Result<u64, String> {
    let found = text.parse().ok().filter(|seeds| (1..=MAX_SEEDS).contains(seeds));
    found.ok_or_else(|| format!("expected a whole number in 1..={MAX_SEEDS}"))
}

/// In percent.
pub(super) fn precision(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').and_then(|number| number.parse::<f64>().ok());
    let found = number.filter(|percent| (0.1..=50.0).contains(percent));
    found.ok_or_else(|| "expected a percentage in 0.1%..=50%, such as 2%".to_owned())
}

pub(super) fn events(text: &str) -> Result<u64, String> {
    let units = [("k", 1_000), ("M", 1_000_000), ("G", 1_000_000_000), ("", 1)];
    let found = units.into_iter().find_map(|(unit, times)| {
        let number = text.strip_suffix(unit)?.parse::<u64>().ok()?;
        number.checked_mul(times).filter(|events| *events > 0)
    });
    found.ok_or_else(|| {
        "expected a number of events, such as 500M (k, M and G are known)".to_owned()
    })
}

pub(super) fn duration(text: &str) -> Result<Nanos, String> {
    let units = [("ns", 1), ("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000)];
    let found = units.into_iter().find_map(|(unit, nanos)| {
        let number = text.strip_suffix(unit)?.parse::<u64>().ok()?;
        number.checked_mul(nanos).filter(|nanos| (1..=SimTime::LAST.get()).contains(nanos))
    });
    let expected = "expected a whole number of ns, us, ms or s from 1ns to 9007199s, such as 500ms";
    found.map(Nanos).ok_or_else(|| expected.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_a_whole_number_and_a_unit() {
        assert_eq!(duration("10s"), Ok(Nanos(10_000_000_000)));
        assert_eq!(duration("500ms"), Ok(Nanos(500_000_000)));
        assert_eq!(duration("250us"), Ok(Nanos(250_000)));
        assert_eq!(duration("7ns"), Ok(Nanos(7)));
        assert_eq!(duration("9007199s"), Ok(Nanos(9_007_199_000_000_000)));
        for bad in ["9007200s", "", "10", "s", "1.5s", "-1s", "0s", "20000000000000s", "10 s", "5m"]
        {
            assert!(duration(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_precision_is_a_percentage_with_its_sign() {
        assert_eq!(precision("2%"), Ok(2.0));
        assert_eq!(precision("0.5%"), Ok(0.5));
        for bad in ["2", "0%", "200%", "-1%", "%", "2 %", "NaN%", "inf%", "two%"] {
            assert!(precision(bad).is_err(), "{bad}");
        }
        assert_eq!(events("500M"), Ok(500_000_000));
        assert_eq!(events("7"), Ok(7));
        for bad in ["", "M", "0", "1.5M", "-1", "5m", "99999999999G"] {
            assert!(events(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_setting_is_a_key_and_a_value() {
        let pair = |key: &str, value: &str| Ok((key.to_owned(), value.to_owned()));
        assert_eq!(setting("SIS_UTIL=off"), pair("SIS_UTIL", "off"));
        assert_eq!(setting("a=b=c"), pair("a", "b=c"));
        for bad in ["SIS_UTIL", "=off", "SIS_UTIL=", ""] {
            assert!(setting(bad).is_err(), "{bad}");
        }
    }
}
