//! The numbers that the kernel of a real machine gives its parts, where it leaves some out.

use crate::error::TopologyError;

use super::reader::{Item, Table};

type Result<T> = std::result::Result<T, TopologyError>;

/// The largest number of a CPU or node that a kernel gives; far above any `CONFIG_NR_CPUS`.
const MOST: u32 = 65_535;

const LIST: &str = "a list of rising numbers such as \"0-3,8\"";

/// The numbers of a list that may be absent: then the parts are numbered from 0 without a gap.
pub(super) fn read(table: &Table<'_>, key: &str, parts: usize, what: &str) -> Result<Vec<u32>> {
    let Some(item) = table.get(key) else {
        return Ok((0..u32::try_from(parts).expect("at most 1,024 parts")).collect());
    };
    let numbers = list(&item)?;
    if numbers.len() != parts {
        return Err(item.contradicts(format!(
            "{} numbers for {parts} {what}s; each {what} has one, in rising order",
            numbers.len()
        )));
    }
    Ok(numbers)
}

fn list(item: &Item<'_>) -> Result<Vec<u32>> {
    let mut numbers: Vec<u32> = Vec::new();
    for word in item.text()?.split(',') {
        let (first, last) = word.split_once('-').unwrap_or((word, word));
        let ends = first.parse().ok().zip(last.parse().ok());
        let least = numbers.last().map_or(0, |last| last + 1);
        let is_good = |&(first, last): &(u32, u32)| least <= first && first <= last && last <= MOST;
        let (first, last) = ends.filter(is_good).ok_or_else(|| item.wrong(LIST))?;
        numbers.extend(first..=last);
    }
    Ok(numbers)
}
