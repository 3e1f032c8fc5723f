//! Names of scenarios: what is written between the dashes.

use std::fmt;

use simsched_core::Nanos;
use simsched_topology::nearest;

use super::cache_set;
use super::hogs::{Hogs, Place};
use super::launch::Launch;
use super::life::Life;
use super::messages::Messages;
use super::pairs::Pairs;
use super::pairs_until::PairsUntil;
use super::procs::Procs;
use super::star::Star;
use super::storm::Storm;
use super::text::{NAME, PREFIX};
use super::timers::Timers;
use crate::error::WorkloadError;
use crate::hackbench::{self, Hackbench, THREADS_OVER_PIPES};

/// The most tasks of a scenario: beyond, its names have no place for a number.
const MAX_TASKS: u32 = 10_000;

/// What begins so is a command line.
const COMMAND: &str = "hackbench ";

/// What a scenario does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Scenario {
    Pairs(Pairs),
    Storm(Storm),
    Timers(Timers),
    Messages(Messages),
    Hogs(Hogs),
    Procs(Procs),
    Star(Star),
    PairsUntil(PairsUntil),
    Life(Life),
    Launch(Launch),
}

/// What it does, in a line.
impl fmt::Display for Scenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Scenario::Pairs(Pairs { pairs, rounds, work }) => {
                let work = us(*work);
                write!(f, "pairs over pipes: {pairs}, {rounds} round trips each, {work} us of work")
            }
            Scenario::Storm(Storm { children, gap }) => {
                write!(f, "{children} children of 5 ms each, {} us between two forks", us(*gap))
            }
            Scenario::Timers(Timers { hogs, tasks, nice, run, period, length, .. }) => {
                if *hogs > 0 {
                    write!(f, "on CPU 0, hogs of nice {}: {hogs}; of nice {}, ", nice[0], nice[1])?;
                }
                let (run, period, length) = (us(*run), us(*period), ms(*length));
                write!(f, "tasks with timers: {tasks}, {run} us every {period}, for {length} ms")
            }
            Scenario::Messages(Messages { messengers, workers, think, length }) => {
                write!(f, "message threads: {messengers}, with {workers} workers each, ")?;
                write!(f, "which think for {} us, for {} ms", us(*think), ms(*length))
            }
            Scenario::Hogs(hogs) => {
                let place = match hogs.place {
                    Place::Free => "",
                    Place::Herd => ", in a herd on CPU 0 for the first 100",
                    Place::Pinned => ", on CPU 0",
                };
                write!(f, "hogs: {}, for {} ms{place}", hogs.count(), ms(hogs.length))
            }
            Scenario::Procs(procs) => write!(f, "{procs}"),
            Scenario::Star(star) => write!(f, "{star}"),
            Scenario::PairsUntil(pairs) => write!(f, "{pairs}"),
            Scenario::Life(life) => write!(f, "{life}"),
            Scenario::Launch(Launch(hackbench)) => {
                write!(f, "{} messages of {} bytes", hackbench.messages(), hackbench.bytes)
            }
        }
    }
}

fn us(span: Nanos) -> u64 {
    span.get() / 1_000
}

fn ms(span: Nanos) -> u64 {
    span.get() / 1_000_000
}

/// The scenario of this name on a machine of so many CPUs.
pub(super) fn parse(name: &str, nr_cpus: usize) -> Result<Scenario, WorkloadError> {
    if let Some(options) = name.strip_prefix(COMMAND) {
        let options: Vec<String> = options.split_whitespace().map(str::to_owned).collect();
        return Ok(Scenario::Launch(Launch(hackbench::parse(&options)?)));
    }
    let parts: Vec<&str> = name.split('-').collect();
    let machine = Machine(u32::try_from(nr_cpus).unwrap_or(u32::MAX).max(1));
    machine.scenario(&parts).ok_or_else(|| unknown(name, nr_cpus))
}

fn unknown(name: &str, nr_cpus: usize) -> WorkloadError {
    let mut all = all(nr_cpus);
    all.extend(cache_set::NAMES.split_whitespace().map(str::to_owned));
    let close = nearest(name, all.iter().map(String::as_str));
    WorkloadError::UnknownScenario {
        program: NAME,
        name: name.to_owned(),
        nearest: close.into_iter().map(|name| format!("{PREFIX}{name}")).collect(),
    }
}

/// The names that the lab uses on a machine of so many CPUs, in the order of its runs.
pub(super) fn all(nr_cpus: usize) -> Vec<String> {
    let n = nr_cpus.max(4);
    let fixed = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let numbered = |name: &str, counts: &[usize]| {
        counts.iter().map(|count| format!("{name}-{count}")).collect::<Vec<_>>()
    };
    [
        fixed(&["pingpong-1", "pingpong-1w20", "pingpong-2w20", "pingpong-H-w20"]),
        fixed(&["forkstorm-N", "forkstorm-2N", "forkstorm-3N-gap200"]),
        fixed(&["periodic-N", "periodic-H-stag", "periodic-2N-stag"]),
        fixed(&["schbench-1x4", "schbench-1xN", "schbench-2xH"]),
        numbered("hogs-free", &[1, n / 4, n / 2, n - 1, n, n + 1, n + n / 2, 2 * n]),
        numbered("hogs-herd", &[n / 2, n, 2 * n]),
        fixed(&["share-0-0", "share-0-5", "share-0-19", "share-m5-0-5-10", "share-0x4"]),
        fixed(&["hogper-1-1", "hogper-1-1-long", "hogper-2-2"]),
        fixed(&["hogper-1-1-n0-5", "hogper-1-1-n5-0"]),
        fixed(&["hackbench-g1f4l10", "hackbench-g2f4l10"]),
        numbered("hogs-long-free", &[n + n / 2, 2 * n]),
        numbered("hogs-long-herd", &[n + n / 2]),
    ]
    .concat()
}

/// The name of the lab's results for the runs of hackbench that it has counted.
pub(super) const COUNTED: &str = "hackbench";

/// What the lab ran on the same machine, since its boot, before the scenario of this name, or before it counted runs of
/// hackbench: names of scenarios, and [`COUNTED`].
pub(super) fn before(name: &str, nr_cpus: usize) -> Vec<String> {
    let mut names = all(nr_cpus);
    let counted = names.iter().position(|known| known.starts_with(COUNTED)).unwrap_or(names.len());
    names.insert(counted, COUNTED.to_owned());
    let Some(at) = names.iter().position(|known| known == name) else { return Vec::new() };
    names.truncate(at);
    // The long ones had a boot of their own.
    let long = |name: &str| name.starts_with("hogs-long");
    names.retain(|before| long(before) == long(name));
    names
}

/// A machine of so many CPUs.
#[derive(Clone, Copy, Debug)]
struct Machine(u32);

impl Machine {
    fn scenario(self, parts: &[&str]) -> Option<Scenario> {
        let (kind, rest) = parts.split_first()?;
        match *kind {
            "pingpong" => self.pairs(rest).map(Scenario::Pairs),
            "forkstorm" => self.storm(rest).map(Scenario::Storm),
            "periodic" => self.periodic(rest).map(Scenario::Timers),
            "hogper" => self.hogper(rest).map(Scenario::Timers),
            "schbench" => self.messages(rest).map(Scenario::Messages),
            "hogs" => self.hogs(rest).map(Scenario::Hogs),
            "share" => share(rest).map(Scenario::Hogs),
            "hackbench" => launch(rest).map(Scenario::Launch),
            kind => cache_set::scenario(kind, rest),
        }
    }

    /// A number of tasks: `12`, `N`, `H`, `Q`, or a multiple of one of these.
    fn count(self, text: &str) -> Option<u32> {
        let (digits, share) = match text.strip_suffix(['N', 'H', 'Q']) {
            None => return number(text),
            Some(digits) => (digits, text),
        };
        let cpus = match share.as_bytes().last()? {
            b'N' => self.0,
            b'H' => self.0 / 2,
            _ => self.0 / 4,
        };
        let times = if digits.is_empty() { 1 } else { number(digits)? };
        within(times.checked_mul(cpus.max(1))?)
    }

    /// `P`, `PwW` or `P-wW`.
    fn pairs(self, rest: &[&str]) -> Option<Pairs> {
        let (pairs, work) = match rest {
            [pairs] => pairs.split_once('w').map_or((*pairs, None), |(p, w)| (p, Some(w))),
            [pairs, work] => (*pairs, Some(work.strip_prefix('w')?)),
            _ => return None,
        };
        let rounds = match pairs {
            "1" => 300,
            "2" => 200,
            _ => 60,
        };
        let work = work.map_or(Some(0), number)?;
        Some(Pairs { pairs: self.count(pairs)?, rounds, work: micros(work) })
    }

    /// `K` or `K-gapG`.
    fn storm(self, rest: &[&str]) -> Option<Storm> {
        let (children, gap) = match rest {
            [children] => (children, 0),
            [children, gap] => (children, number(gap.strip_prefix("gap")?)?),
            _ => return None,
        };
        Some(Storm { children: self.count(children)?, gap: micros(gap) })
    }

    /// `K` or `K-stag`: with a stagger, more tasks than CPUs run for shorter.
    fn periodic(self, rest: &[&str]) -> Option<Timers> {
        let (tasks, stagger) = match rest {
            [tasks] => (self.count(tasks)?, 0),
            [tasks, "stag"] => (self.count(tasks)?, 137),
            _ => return None,
        };
        let (run, sleep, length) = match stagger {
            0 => (2, 8, 300),
            _ if tasks <= self.0 => (2, 6, 300),
            _ => (1, 3, 150),
        };
        Some(Timers {
            hogs: 0,
            tasks,
            nice: [0, 0],
            pinned: false,
            run: Nanos::from_millis(run),
            period: Nanos::from_millis(run + sleep),
            first: Nanos::from_millis(20),
            stagger: Nanos::from_micros(stagger),
            length: Nanos::from_millis(length),
        })
    }

    /// `H-P`, with `-long` or `-nA-B`: the tasks with timers share out a period evenly.
    fn hogper(self, rest: &[&str]) -> Option<Timers> {
        let (counts, rest) = rest.split_at_checked(2)?;
        let (hogs, tasks) = (self.count(counts[0])?, self.count(counts[1])?);
        let (long, nice) = match rest {
            [] => (false, [0, 0]),
            ["long"] => (true, [0, 0]),
            [hogs, tasks] => (false, [nice_value(hogs.strip_prefix('n')?)?, nice_value(tasks)?]),
            _ => return None,
        };
        let each = Nanos::from_millis(match (long, tasks) {
            (true, _) => 12,
            (false, 1) => 5,
            (false, _) => 4,
        });
        Some(Timers {
            hogs,
            tasks,
            nice,
            pinned: true,
            run: if long { Nanos::from_millis(4) } else { Nanos::from_micros(500) },
            period: Nanos(each.get() * u64::from(tasks)),
            first: Nanos::from_millis(50),
            stagger: each,
            length: Nanos::from_secs(1),
        })
    }

    /// `MxW`: workers that are counted think for shorter than those that are as many as CPUs.
    fn messages(self, rest: &[&str]) -> Option<Messages> {
        let [both] = rest else { return None };
        let (messengers, workers) = both.split_once('x')?;
        let counted = number(workers).is_some();
        let (messengers, workers) = (self.count(messengers)?, self.count(workers)?);
        within(messengers.checked_mul(workers.checked_add(1)?)?)?;
        let (think, length) = if counted { (100, 40) } else { (200, 60) };
        let (think, length) = (Nanos::from_micros(think), Nanos::from_millis(length));
        Some(Messages { messengers, workers, think, length })
    }

    /// `free-K`, `herd-K`, `long-free-K`, `long-herd-K`.
    fn hogs(self, rest: &[&str]) -> Option<Hogs> {
        let (length, rest) = match rest {
            ["long", rest @ ..] => (Nanos::from_secs(6), rest),
            rest => (Nanos::from_secs(1), rest),
        };
        let (place, count) = match rest {
            ["free", count] => (Place::Free, count),
            ["herd", count] => (Place::Herd, count),
            _ => return None,
        };
        Some(Hogs { nice: vec![0; self.count(count)? as usize], place, length })
    }
}

/// `A-B-...`, each of which may be `AxK` for K hogs: three or more different ones take longer.
fn share(rest: &[&str]) -> Option<Hogs> {
    let mut nice = Vec::new();
    for part in rest {
        let (value, times) = part.split_once('x').unwrap_or((part, "1"));
        let times = number(times)? as usize;
        within(u32::try_from(nice.len() + times).ok()?)?;
        nice.extend(std::iter::repeat_n(nice_value(value)?, times));
    }
    let mut values = nice.clone();
    values.sort_unstable();
    values.dedup();
    let length = Nanos::from_secs(if values.len() > 2 { 4 } else { 2 });
    (!nice.is_empty()).then_some(Hogs { nice, place: Place::Pinned, length })
}

/// `gGfFlL`.
fn launch(rest: &[&str]) -> Option<Launch> {
    let [options] = rest else { return None };
    let (groups, rest) = options.strip_prefix('g')?.split_once('f')?;
    let (fds, loops) = rest.split_once('l')?;
    let (groups, fds, loops) = (number(groups)?, number(fds)?, number(loops)?);
    within(groups.checked_mul(fds)?.checked_mul(2)?)?;
    Some(Launch(Hackbench { groups, fds, loops, ..THREADS_OVER_PIPES }))
}

/// A nice value; `m5` is -5.
fn nice_value(text: &str) -> Option<i8> {
    let (sign, digits) = text.strip_prefix('m').map_or((1, text), |digits| (-1, digits));
    let value: i8 = digits.parse().ok().filter(|_| digits.bytes().all(|b| b.is_ascii_digit()))?;
    Some(sign * value).filter(|nice| (-20..=19).contains(nice))
}

/// A number from 1 on, as one writes it.
pub(super) fn number(text: &str) -> Option<u32> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit()) && !text.starts_with('0');
    text.parse().ok().filter(|_| plain).and_then(within)
}

pub(super) fn within(count: u32) -> Option<u32> {
    (1..=MAX_TASKS).contains(&count).then_some(count)
}

fn micros(us: u32) -> Nanos {
    Nanos::from_micros(u64::from(us))
}
