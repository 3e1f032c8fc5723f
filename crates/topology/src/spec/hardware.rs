//! The numbers of the hardware in a machine file, and the price of moving a cache line.

use crate::distance::Distance;
use crate::error::TopologyError;
use crate::fact::Fact;
use crate::facts::{Bandwidth, Cache, CacheToCache, Facts, Frequency, IdleFacts, Latency, Smt};

use super::layout::Layout;
use super::reader::Table;

type Result<T> = std::result::Result<T, TopologyError>;

/// The keys of the file that are read here.
pub(crate) const KEYS: &[&str] = &[
    "vendor",
    "uarch",
    "model",
    "line_bytes",
    "page_kib",
    "frequency_ghz",
    "cache_kib",
    "latency_ns",
    "c2c_ns",
    "bandwidth_gbs",
    "smt",
];

pub(crate) fn read(root: &Table<'_>, mode: &Table<'_>, idle: Vec<IdleFacts>) -> Result<Facts> {
    let text = |key| root.get(key).map_or(Ok(""), |item| item.text()).map(str::to_owned);
    let count = |key, default, most| root.get(key).map_or(Ok(default), |i| i.whole(1..=most));
    Ok(Facts {
        vendor: text("vendor")?,
        uarch: text("uarch")?,
        model: text("model")?,
        line_bytes: count("line_bytes", 64, 1024)?,
        page_kib: count("page_kib", 4, 1024)?,
        frequency_ghz: Frequency::read(root.table("frequency_ghz")?.as_ref())?,
        cache_kib: Cache::read(root.table("cache_kib")?.as_ref())?,
        latency_ns: Latency::read(root.table("latency_ns")?.as_ref())?,
        dram_average_ns: mode.get("dram_average_ns").map(|item| item.fact()).transpose()?,
        c2c_ns: CacheToCache::read(root.table("c2c_ns")?.as_ref())?,
        bandwidth_gbs: Bandwidth::read(root.table("bandwidth_gbs")?.as_ref())?,
        smt: smt(root.table("smt")?.as_ref())?,
        idle,
    })
}

fn smt(table: Option<&Table<'_>>) -> Result<Smt> {
    let Some(table) = table else { return Ok(Smt::default()) };
    table.only(&["sibling_busy", "throughput"])?;
    let sibling_busy = table.get("sibling_busy").map(|item| item.fact()).transpose()?;
    let mut throughput: Vec<(usize, Fact)> = Vec::new();
    for item in table.get("throughput").map_or(Ok(Vec::new()), |item| item.each())? {
        let row = item.table()?;
        row.only(&["threads", "v", "lo", "hi", "src"])?;
        let threads = row.need("threads", "the number of busy threads")?;
        let least = throughput.last().map_or(1, |(threads, _)| threads + 1);
        let threads = threads.whole(least..=crate::MAX_CPUS)?;
        let fact = row.fact()?;
        if throughput.last().is_some_and(|(_, last)| last.milli > fact.milli) {
            return Err(item.contradicts("throughput falls with more threads"));
        }
        throughput.push((threads, fact));
    }
    Ok(Smt { sibling_busy, throughput })
}

/// What moving a modified line costs in nanoseconds, by [`Distance`].
///
/// With one L3 in each socket, CPUs of two nodes of a socket still share it: their price is that of the L3.
pub(crate) fn line_transfer(
    root: &Table<'_>,
    c2c: &CacheToCache,
    layout: &Layout<'_>,
    nr_packages: usize,
) -> Result<[u32; 6]> {
    let wide = |parts: usize, wholes: usize| parts > wholes;
    let [cores, llcs] = [layout.cores.len(), layout.llcs.len()];
    let cpus = super::layout::all(&layout.cores).len();
    let same_socket = match &c2c.same_socket {
        None if llcs == nr_packages => &c2c.same_llc,
        known => known,
    };
    let (mut prices, mut missing) = ([0; 6], Vec::new());
    for (distance, key, fact, needed) in [
        (Distance::SameCore, "smt", &c2c.smt, wide(cpus, cores)),
        (Distance::SameLlc, "same_llc", &c2c.same_llc, wide(cores, llcs)),
        (Distance::SameNode, "same_socket", same_socket, wide(llcs, nr_packages)),
        (Distance::SameSocket, "same_socket", same_socket, wide(llcs, nr_packages)),
        (Distance::CrossSocket, "cross_socket", &c2c.cross_socket, wide(nr_packages, 1)),
    ] {
        match fact {
            Some(fact) => {
                prices[distance.idx()] = u32::try_from(fact.rounded()).unwrap_or(u32::MAX);
            }
            None if needed && !missing.contains(&key) => missing.push(key),
            None => {}
        }
    }
    if missing.is_empty() { Ok(prices) } else { Err(no_transfer(root, &missing)) }
}

/// The error that these keys of `[c2c_ns]` are missing: all of them if the table is, else the first.
pub(crate) fn no_transfer(root: &Table<'_>, keys: &[&str]) -> TopologyError {
    let expected = "the transfer of a cache line in nanoseconds";
    match root.table("c2c_ns") {
        Ok(Some(table)) => table.missing(keys[0], expected),
        Ok(None) => {
            let keys: Vec<String> = keys.iter().map(|key| format!("`c2c_ns.{key}`")).collect();
            let keys = keys.join(", ");
            root.missing("c2c_ns", &format!("a table [c2c_ns] with {keys}: {expected}"))
        }
        Err(error) => error,
    }
}
