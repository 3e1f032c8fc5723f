//! The price of every item: the machine's own `[costs]`, then its price list. A mode may have others.
//!
//! Noticing a polled line is the transfer of a cache line (`[c2c_ns]`) where neither names a price.

use crate::builtin;
use crate::costs::{IdleState, OsCosts};
use crate::error::TopologyError;
use crate::fact::{Fact, decimal};
use crate::facts::{CacheToCache, IdleFacts};

use super::hardware::no_transfer;
use super::reader::{Doc, Table};

type Result<T> = std::result::Result<T, TopologyError>;

/// Every item with its range and source, in the order of [`OsCosts::NAMES`].
pub(crate) fn read(
    root: &Table<'_>,
    mode: &Table<'_>,
    c2c: &CacheToCache,
) -> Result<Vec<(&'static str, Fact)>> {
    let item = match mode.get("costs") {
        Some(item) => item,
        None => root.need("costs", "the name of a price list, or a table [costs]")?,
    };
    let (own, list) = match item.table() {
        Ok(table) => (Some(table.clone()), table.get("list")),
        Err(_) => (None, Some(item)),
    };
    if let Some(own) = &own {
        own.only(&[OsCosts::NAMES, &["list"]].concat())?;
    }
    let valid = builtin::price_lists();
    let missing = |table: &Table<'_>, name: &str| {
        let one = format!("list = \"{}\" (a price list: {})", valid[0], valid.join(", "));
        table.missing("list", &format!("{one}, or every price: `{name}` has none"))
    };
    let mut found = vec![None; OsCosts::NAMES.len()];
    if let Some(table) = &own {
        take(table, &mut found)?;
    }
    let Some(list) = list else {
        let own = own.as_ref().unwrap_or(root);
        return all(found, c2c, &|name| missing(own, name));
    };
    let name = list.text()?;
    if !valid.contains(&name) {
        return Err(list.unknown_name(name, &valid));
    }
    take_list(name, &mut found)?;
    all(found, c2c, &|name| match name {
        // Every other price stands in every list.
        "poll_notice_same_llc" | "poll_notice_cross" => no_transfer(root, &["same_llc"]),
        _ => root.missing(name, "a price in nanoseconds"),
    })
}

/// Takes the prices of a built-in list that are not found yet, then those of the list on which it is built.
fn take_list(name: &str, found: &mut [Option<Fact>]) -> Result<()> {
    let text = builtin::price_list(name).unwrap_or_default();
    let file = format!("costs/{name}.toml");
    let doc = Doc::new(&file, text);
    let parsed = doc.parse()?;
    let table = Table::root(&doc, &parsed).need("costs", "a table [costs]")?.table()?;
    table.only(&[OsCosts::NAMES, &["list"]].concat())?;
    take(&table, found)?;
    match table.get("list") {
        Some(base) => take_list(base.text()?, found),
        None => Ok(()),
    }
}

/// Takes the prices of a table that are not found yet.
fn take(table: &Table<'_>, found: &mut [Option<Fact>]) -> Result<()> {
    for (name, found) in OsCosts::NAMES.iter().zip(found) {
        if let (None, Some(item)) = (&found, table.get(name)) {
            *found = Some(item.fact()?);
        }
    }
    Ok(())
}

/// The items: what was found, else the transfer of a cache line, else an error.
fn all(
    found: Vec<Option<Fact>>,
    c2c: &CacheToCache,
    missing: &dyn Fn(&str) -> TopologyError,
) -> Result<Vec<(&'static str, Fact)>> {
    let line = |name| match name {
        "poll_notice_same_llc" => c2c.same_llc.clone(),
        "poll_notice_cross" => {
            let lines = [&c2c.cross_socket, &c2c.same_socket, &c2c.same_llc];
            lines.into_iter().find_map(Option::clone)
        }
        _ => None,
    };
    let items = OsCosts::NAMES.iter().zip(found);
    items
        .map(|(&name, fact)| Ok((name, fact.or_else(|| line(name)).ok_or_else(|| missing(name))?)))
        .collect()
}

/// The prices in whole nanoseconds.
pub(crate) fn values(facts: &[(&'static str, Fact)]) -> OsCosts {
    let mut costs = OsCosts::free();
    for (name, fact) in facts {
        let price = costs.get_mut(name).expect("a name of this list");
        *price = u32::try_from(fact.rounded()).unwrap_or(u32::MAX);
    }
    costs
}

/// The `[[idle]]` states: those in use, and the ranges of all.
pub(crate) fn idle(root: &Table<'_>) -> Result<(Vec<IdleState>, Vec<IdleFacts>)> {
    let (mut states, mut facts): (Vec<IdleState>, Vec<IdleFacts>) = (Vec::new(), Vec::new());
    for table in root.tables("idle")? {
        let (state, fact) = idle_state(&table)?;
        if facts.iter().any(|other| other.name == fact.name) {
            return Err(table.contradicts("name", "another idle state has this name too"));
        }
        if fact.enabled {
            deeper(&table, states.last(), &state)?;
            states.push(state);
        }
        facts.push(fact);
    }
    if states.is_empty() {
        return Err(root.missing("idle", "[[idle]] states, from shallow to deep"));
    }
    Ok((states, facts))
}

/// States go from shallow to deep: a deeper one takes no less to leave, and stays no shorter.
fn deeper(table: &Table<'_>, last: Option<&IdleState>, state: &IdleState) -> Result<()> {
    let Some(last) = last else { return Ok(()) };
    for (key, before, now) in [
        ("exit_us", last.exit_ns, state.exit_ns),
        ("residency_us", last.residency_ns, state.residency_ns),
    ] {
        if now < before {
            let [now, before] = [now, before].map(|ns| decimal(u64::from(ns)));
            let what = format!("{now} is less than the {before} of the shallower state");
            return Err(table.contradicts(key, &format!("{what} \"{}\"", last.name)));
        }
    }
    Ok(())
}

const IDLE_KEYS: &[&str] = &[
    "name",
    "exit_us",
    "measured_exit_us",
    "residency_us",
    "polling",
    "loses_l1_l2",
    "flushes_tlb",
    "enabled",
];

fn idle_state(table: &Table<'_>) -> Result<(IdleState, IdleFacts)> {
    table.only(IDLE_KEYS)?;
    let flag = |key: &str, default| table.get(key).map_or(Ok(default), |item| item.flag());
    let name = table.need("name", "the name that cpuidle shows")?.label()?.to_owned();
    let polling =
        format!("true or false: whether a CPU in \"{name}\" needs no interrupt to wake up");
    let exit_us = table.need("exit_us", "the advertised exit latency")?.fact()?;
    let residency_us = table.need("residency_us", "the target residency")?.fact()?;
    let measured_exit_us = table.get("measured_exit_us").map(|item| item.fact()).transpose()?;
    flag("flushes_tlb", false)?;
    let ns = |fact: &Fact| u32::try_from(fact.scaled(1000)).unwrap_or(u32::MAX);
    let state = IdleState {
        name: name.clone(),
        exit_ns: ns(&exit_us),
        measured_exit_ns: ns(measured_exit_us.as_ref().unwrap_or(&exit_us)),
        residency_ns: ns(&residency_us),
        polling: table.need("polling", &polling)?.flag()?,
        loses_l1_l2: flag("loses_l1_l2", false)?,
    };
    let enabled = flag("enabled", true)?;
    Ok((state, IdleFacts { name, exit_us, measured_exit_us, residency_us, enabled }))
}
