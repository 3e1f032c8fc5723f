//! Whether the numbers of the hardware can be meant: a wrong unit is off by a thousand, and a number
//! that is left out would be priced at nothing.

use crate::error::TopologyError;
use crate::fact::{Fact, decimal};
use crate::facts::Facts;

use super::layout::{self, Layout};
use super::reader::Table;

type Result<T> = std::result::Result<T, TopologyError>;

/// Core clocks of any server, in thousandths of a GHz.
const CLOCK: (u64, u64) = (500, 8_000);

/// The speed of a thread beside a busy sibling, in thousandths of its speed alone.
const SIBLING: (u64, u64) = (100, 1_000);

/// Checks numbers against their bounds and against each other.
pub(super) fn check(root: &Table<'_>, facts: &Facts, layout: &Layout<'_>) -> Result<()> {
    if let Some(table) = root.table("frequency_ghz")? {
        clocks(&table, facts)?;
    }
    siblings(root, facts, layout)?;
    let Some(table) = root.table("latency_ns")? else { return Ok(()) };
    let facts = &facts.latency_ns;
    let levels = [
        ("l1", &facts.l1),
        ("l2", &facts.l2),
        ("l3", &facts.l3),
        ("dram_local", &facts.dram_local),
        ("dram_remote", &facts.dram_remote),
    ];
    let known: Vec<(&str, &Fact)> =
        levels.iter().filter_map(|(key, fact)| Some((*key, fact.as_ref()?))).collect();
    for pair in known.windows(2) {
        rises(&table, pair[0], pair[1])?;
    }
    Ok(())
}

/// The clock falls from one busy core to all of them.
fn clocks(table: &Table<'_>, facts: &Facts) -> Result<()> {
    let facts = &facts.frequency_ghz;
    for (key, fact) in facts.iter() {
        bounded(table, key, fact, CLOCK, "GHz")?;
    }
    let default = "in GHz, by default from the maker's data sheet; without [frequency_ghz] the clock \
                   does not change";
    for (key, fact, what) in [
        ("max_1core", &facts.max_1core, "the highest clock with one core busy"),
        ("allcore", &facts.allcore, "the clock with all cores busy"),
    ] {
        if fact.is_none() {
            return Err(table.missing(key, &format!("{what} {default}")));
        }
    }
    let most = ("max_1core", facts.max_1core.as_ref());
    for lower in [("base", &facts.base), ("allcore", &facts.allcore)] {
        if let ((key, Some(fact)), (above, Some(most))) = ((lower.0, lower.1.as_ref()), most)
            && fact.milli > most.milli
        {
            let [fact, most] = [fact, most].map(|fact| decimal(fact.milli));
            return Err(
                table.contradicts(key, &format!("{fact} is more than the {most} of {above}"))
            );
        }
    }
    Ok(())
}

/// Threads of one core disturb each other on a machine whose clock is known, that is on a real one.
fn siblings(root: &Table<'_>, facts: &Facts, layout: &Layout<'_>) -> Result<()> {
    let table = root.table("smt")?;
    if let (Some(table), Some(fact)) = (&table, &facts.smt.sibling_busy) {
        bounded(table, "sibling_busy", fact, SIBLING, "1 being the speed alone")?;
    }
    let is_known = facts.smt.sibling_busy.is_some() || !facts.smt.throughput.is_empty();
    let has_siblings = layout::all(&layout.cores).len() > layout.cores.len();
    if is_known || !has_siblings || facts.frequency_ghz.iter().next().is_none() {
        return Ok(());
    }
    let expected = "the speed of a thread while its sibling is busy, 1 being alone, by default 0.6 \
                    (0.47 to 0.7: SCHBENCH-SMT+ESTIMATE), or `throughput` by busy threads";
    Err(match table {
        Some(table) => table.missing("sibling_busy", expected),
        None => root.missing("smt", &format!("a table [smt] with `sibling_busy`: {expected}")),
    })
}

/// The number and both ends of its range.
fn bounded(
    table: &Table<'_>,
    key: &str,
    fact: &Fact,
    (lo, hi): (u64, u64),
    unit: &str,
) -> Result<()> {
    match [fact.milli, fact.lo_milli, fact.hi_milli].iter().find(|&&it| !(lo..=hi).contains(&it)) {
        None => Ok(()),
        Some(found) => {
            let [found, lo, hi] = [*found, lo, hi].map(decimal);
            Err(table.contradicts(key, &format!("{found} is not within {lo}..{hi} ({unit})")))
        }
    }
}

/// What is farther away takes longer.
fn rises(table: &Table<'_>, near: (&str, &Fact), far: (&str, &Fact)) -> Result<()> {
    if near.1.milli < far.1.milli {
        return Ok(());
    }
    let [less, more] = [near.1, far.1].map(|fact| decimal(fact.milli));
    Err(table.contradicts(near.0, &format!("{less} is not less than the {more} of {}", far.0)))
}
