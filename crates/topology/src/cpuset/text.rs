//! The text of a set: the kernel's cpulist, "0-3,8".

use std::{fmt, str::FromStr};

use super::{CpuSet, MAX_CPUS};
use crate::ids::CpuId;

/// Why a text is not a list of CPUs such as "0-3,8".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseCpuSetError {
    /// A part of the list is neither a number nor a range of two.
    #[error("`{part}` is not a CPU number or a range such as 0-3")]
    NotANumber {
        /// The part between commas.
        part: String,
    },
    /// A range ends below its start.
    #[error("the range `{part}` runs backwards")]
    Backwards {
        /// The part between commas.
        part: String,
    },
    /// A CPU number that no set can hold.
    #[error("CPU {cpu} is too high: the highest is {}", MAX_CPUS - 1)]
    TooHigh {
        /// The number as written.
        cpu: u64,
    },
    /// The same CPU is named twice.
    #[error("CPU {cpu} is listed twice")]
    Twice {
        /// The first CPU that occurs again.
        cpu: CpuId,
    },
}

impl fmt::Display for CpuSet {
    /// The cpulist: runs of CPUs, separated by commas. The empty set is the empty text.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        for (first, last) in runs(self) {
            let comma = if text.is_empty() { "" } else { "," };
            text += &if first == last {
                format!("{comma}{first}")
            } else {
                format!("{comma}{first}-{last}")
            };
        }
        f.pad(&text)
    }
}

/// The maximal runs of consecutive members.
fn runs(set: &CpuSet) -> Vec<(CpuId, CpuId)> {
    let mut runs: Vec<(CpuId, CpuId)> = Vec::new();
    for cpu in set {
        match runs.last_mut() {
            Some((_, last)) if last.idx() + 1 == cpu.idx() => *last = cpu,
            _ => runs.push((cpu, cpu)),
        }
    }
    runs
}

impl FromStr for CpuSet {
    type Err = ParseCpuSetError;

    /// Reads a cpulist. Blanks around numbers are allowed; the empty text is the empty set.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut set = Self::new();
        if text.trim().is_empty() {
            return Ok(set);
        }
        for part in text.split(',') {
            let (first, last) = range(part.trim())?;
            for cpu in (first..=last).map(CpuId::new) {
                if !set.insert(cpu) {
                    return Err(ParseCpuSetError::Twice { cpu });
                }
            }
        }
        Ok(set)
    }
}

/// The first and the last CPU of "3" or "0-3".
fn range(part: &str) -> Result<(usize, usize), ParseCpuSetError> {
    let (first, last) = part.split_once('-').unwrap_or((part, part));
    let (first, last) = (number(first, part)?, number(last, part)?);
    if first > last {
        return Err(ParseCpuSetError::Backwards { part: part.to_owned() });
    }
    Ok((first, last))
}

fn number(text: &str, part: &str) -> Result<usize, ParseCpuSetError> {
    let text = text.trim();
    let is_number = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let cpu = text.parse::<u64>().ok().filter(|_| is_number);
    let cpu = cpu.ok_or_else(|| ParseCpuSetError::NotANumber { part: part.to_owned() })?;
    match usize::try_from(cpu) {
        Ok(cpu) if cpu < MAX_CPUS => Ok(cpu),
        _ => Err(ParseCpuSetError::TooHigh { cpu }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Result<&str, &str>) {
        let found = text.parse::<CpuSet>().map(|set| set.to_string()).map_err(|e| e.to_string());
        assert_eq!(found.as_deref().map_err(String::as_str), expected, "{text}");
    }

    #[test]
    fn a_cpulist_reads_back_in_its_shortest_form() {
        check("0-3,8", Ok("0-3,8"));
        check(" 8, 0 - 2 ,3", Ok("0-3,8"));
        check("5-5,1023", Ok("5,1023"));
        check("", Ok(""));
    }

    #[test]
    fn a_wrong_cpulist_says_which_part_is_wrong() {
        check("0-3,x", Err("`x` is not a CPU number or a range such as 0-3"));
        check("0-3,", Err("`` is not a CPU number or a range such as 0-3"));
        check("+1", Err("`+1` is not a CPU number or a range such as 0-3"));
        check("7-4", Err("the range `7-4` runs backwards"));
        check("0-1024", Err("CPU 1024 is too high: the highest is 1023"));
        check("0-3,2", Err("CPU 2 is listed twice"));
        check(
            "99999999999999999999",
            Err("`99999999999999999999` is not a CPU number or a range such as 0-3"),
        );
    }
}
