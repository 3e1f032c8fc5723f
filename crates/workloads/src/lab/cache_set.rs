//! Names of the scenarios with which the lab asked where the threads of a process are under cache-aware
//! scheduling: `th`, `pr`, `mix`, `sl`, `pc`, `tpp`, `sb` and `life`.

use simsched_core::Nanos;

use super::life::Life;
use super::messages::Messages;
use super::name::{Scenario, number, within};
use super::pairs_until::PairsUntil;
use super::places::Place;
use super::procs::{Proc, Procs, Turns};
use super::star::Star;

/// All names of the set, in the order of the lab's runs.
pub(super) const NAMES: &str = "th-free-2 th-free-3 th-free-4 th-free-6 th-free-8 th-free-12 \
    th-spread-2 th-spread-4 th-spread-6 th-load-2 th-load-4 th-load-8 th-sload-4 pr-2x2 pr-2x3 pr-2x4 \
    pr-3x2 pr-3x4 pr-2x4-same mix-4-4 mix-4-8 sl-4-2-2 sl-8-2-2 sl-4-1-9 sl-8-2-6 sl-12-1-3 \
    sl-spread-4-2-2 pc-1x1 pc-1x4 tpp-1 tpp-4 sb-1x1 sb-1x4 sb-1x8 sb-1x16 life-fork life-exit \
    life-exec life-grow";

/// The threads of the first process of `th-load` and `th-sload`.
const LOADED: u32 = 4;

/// Whether a scenario of this name belongs to the set: before each of these the lab has set probes of the kernel.
pub(super) fn has(name: &str) -> bool {
    let kind = name.split('-').next().unwrap_or(name);
    ["th", "pr", "mix", "sl", "sb", "pc", "tpp", "life"].contains(&kind)
}

/// The scenario of this kind, if the parts of its name behind that are understood.
pub(super) fn scenario(kind: &str, rest: &[&str]) -> Option<Scenario> {
    match kind {
        "th" => threads(rest).map(Scenario::Procs),
        "pr" => processes(rest).map(Scenario::Procs),
        "mix" => mixed(rest).map(Scenario::Procs),
        "sl" => sleepers(rest).map(Scenario::Procs),
        "sb" => benched(rest).map(Scenario::Messages),
        "pc" => star(rest).map(Scenario::Star),
        "tpp" => pairs(rest).map(Scenario::PairsUntil),
        "life" => life(rest).map(Scenario::Life),
        _ => None,
    }
}

/// `free-T`, `spread-T`, `load-H` or `sload-H`.
fn threads(rest: &[&str]) -> Option<Procs> {
    let [kind, count] = rest else { return None };
    let threads = number(count)?;
    let beside = Proc { threads, place: Place::FirstForGood };
    let loaded = |place| vec![Proc { threads: LOADED, place }, beside];
    let (procs, length) = match *kind {
        "free" => (vec![Proc { threads, place: Place::Free }], 1_500),
        "spread" => (vec![Proc { threads, place: Place::Spread }], 1_000),
        "load" => (loaded(Place::First), 1_000),
        "sload" => (loaded(Place::Spread), 1_000),
        _ => return None,
    };
    Some(hogs(procs, length))
}

/// `PxT` or `PxT-same`.
fn processes(rest: &[&str]) -> Option<Procs> {
    let (both, place) = match rest {
        [both] => (both, Place::Free),
        [both, "same"] => (both, Place::First),
        _ => return None,
    };
    let (processes, threads) = both.split_once('x')?;
    let (processes, threads) = (number(processes)?, number(threads)?);
    Some(hogs(same(processes, threads, place)?, 1_200))
}

/// `T-K`.
fn mixed(rest: &[&str]) -> Option<Procs> {
    let [threads, single] = rest else { return None };
    let all = [same(1, number(threads)?, Place::Free)?, same(number(single)?, 1, Place::Free)?];
    Some(hogs(all.concat(), 1_200))
}

/// `T-R-S` or `spread-T-R-S`.
fn sleepers(rest: &[&str]) -> Option<Procs> {
    let (place, rest) = match rest {
        ["spread", rest @ ..] => (Place::Spread, rest),
        rest => (Place::Free, rest),
    };
    let [threads, run, sleep] = rest else { return None };
    let ms = |text| Some(Nanos::from_millis(u64::from(number(text)?)));
    let turns = Some(Turns { run: ms(run)?, sleep: ms(sleep)? });
    let procs = same(1, number(threads)?, place)?;
    Some(Procs { turns, ..hogs(procs, 1_000) })
}

fn same(processes: u32, threads: u32, place: Place) -> Option<Vec<Proc>> {
    within(processes.checked_mul(threads)?)?;
    Some((0..processes).map(|_| Proc { threads, place }).collect())
}

fn hogs(procs: Vec<Proc>, length_ms: u64) -> Procs {
    Procs { procs, turns: None, length: Nanos::from_millis(length_ms) }
}

/// `1xN`: several wakees work for longer than one.
fn star(rest: &[&str]) -> Option<Star> {
    let [both] = rest else { return None };
    let ("1", wakees) = both.split_once('x')? else { return None };
    let wakees = number(wakees)?;
    let work = if wakees == 1 { [100, 200] } else { [200, 400] }.map(Nanos::from_micros);
    within(wakees.checked_add(1)?)?;
    Some(Star { wakees, work, length: Nanos::from_millis(600) })
}

/// `P`: several pairs work for longer than one.
fn pairs(rest: &[&str]) -> Option<PairsUntil> {
    let [pairs] = rest else { return None };
    let pairs = number(pairs)?;
    within(pairs.checked_mul(2)?)?;
    let work = Nanos::from_micros(if pairs == 1 { 50 } else { 100 });
    Some(PairsUntil { pairs, work, length: Nanos::from_millis(600) })
}

/// `exit`, `grow`, `fork` or `exec`.
fn life(rest: &[&str]) -> Option<Life> {
    let [what] = rest else { return None };
    Life::ALL.into_iter().find(|(name, _)| name == what).map(|(_, life)| life)
}

/// `MxW`: `schbench` with workers that think for longer.
fn benched(rest: &[&str]) -> Option<Messages> {
    let [both] = rest else { return None };
    let (messengers, workers) = both.split_once('x')?;
    let (messengers, workers) = (number(messengers)?, number(workers)?);
    within(messengers.checked_mul(workers.checked_add(1)?)?)?;
    let (think, length) = (Nanos::from_millis(1), Nanos::from_millis(800));
    Some(Messages { messengers, workers, think, length })
}
