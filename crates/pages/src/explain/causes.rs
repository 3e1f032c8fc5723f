//! Through what two sides differ: migrations by cause and reason, costs by name, use of the CPUs.

use serde_json::{Map, Value};

use super::words::{Said, from_to, listed, percent, signed, weight};
use crate::document::at;
use crate::measure::{Change, NEUTRAL, Verdict, named, number, tidy};
use crate::side::{Side, whole};
use crate::units::span_of;

/// Parts below so much of all that changed are not worth a word.
const LEAST: f64 = 0.1;

/// Parts that are listed at most.
const MOST: usize = 4;

pub(super) fn of(base: &Side, other: &Side) -> Vec<Said> {
    let rules = [migrations, wakeups, costs, busy, wasted, scanned];
    rules.iter().filter_map(|rule| rule(base, other)).collect()
}

/// A part of a whole on both sides.
struct Part {
    name: String,
    change: Change,
}

impl Part {
    fn by(&self) -> f64 {
        self.change.other - self.change.base
    }
}

/// The parts below a key, each as `number` finds it in a run by its name.
fn parts(
    [base, other]: [&Side; 2],
    key: &str,
    number: impl Fn(&Map<String, Value>, &str) -> f64,
) -> Vec<Part> {
    let mut names = base.names(key);
    let more: Vec<String> = other.names(key).into_iter().filter(|n| !names.contains(n)).collect();
    names.extend(more);
    let values = |side: &Side, name: &str| -> Vec<f64> {
        side.counted().into_iter().map(|run| number(run, name)).collect()
    };
    let same_seeds = base.seeds() == other.seeds();
    let part = |name: String| {
        let (from, to) = (values(base, &name), values(other, &name));
        Part { change: Change::of(&from, &to, same_seeds, None), name }
    };
    names.into_iter().map(part).collect()
}

/// A count below a key, of the whole work.
fn count(run: &Map<String, Value>, key: &str, name: &str) -> f64 {
    let found = at(run, key).and_then(|counts| counts.as_object()?.get(name)?.as_f64());
    found.unwrap_or(0.0) * whole(run)
}

/// Those that changed by enough to be told, largest first.
fn largest(parts: &[Part]) -> Vec<&Part> {
    let all: f64 = parts.iter().map(|part| part.by().abs()).sum();
    let is_told = |part: &&Part| {
        part.change.verdict == Verdict::Differs
            && part.by().abs() >= LEAST * all
            && part.by() != 0.0
    };
    let mut told: Vec<&Part> = parts.iter().filter(is_told).collect();
    told.sort_by(|a, b| b.by().abs().total_cmp(&a.by().abs()));
    told.truncate(MOST);
    told
}

fn more_or_fewer(by: f64) -> String {
    format!("{} {}", tidy(by.abs()), if by > 0.0 { "more" } else { "fewer" })
}

/// Who moved tasks more or less often.
fn migrations(base: &Side, other: &Side) -> Option<Said> {
    let key = "migrations.by_cause";
    let causes = parts([base, other], key, |run, name| count(run, key, name));
    let before: f64 = causes.iter().map(|part| part.change.base).sum();
    let moved: f64 = causes.iter().map(|part| part.by().abs()).sum();
    if moved < before * NEUTRAL / 100.0 {
        return None;
    }
    let told = largest(&causes);
    let top = *told.first()?;
    let others =
        |part: &&Part| part.name != top.name && (part.change.base > 0.0 || part.change.other > 0.0);
    let others: Vec<&Part> = causes.iter().filter(others).collect();
    let still = others.iter().all(|part| part.change.verdict != Verdict::Differs);
    let verb = if top.by() > 0.0 { "rise" } else { "fall" };
    let whole = |part: &Part| {
        let pct = percent(&part.change);
        format!("from {} to {} ({pct})", tidy(part.change.base), tidy(part.change.other))
    };
    let mut sentence = if still && others.is_empty() {
        format!("All migrations are by {}, and they {verb} {}", top.name, whole(top))
    } else if still {
        let names: Vec<&str> = others.iter().map(|part| part.name.as_str()).collect();
        let name = &top.name;
        format!(
            "Only migrations by {name} {verb}, {}; those by {} do not change beyond 3 % or \
                 chance",
            whole(top),
            listed(&names)
        )
    } else {
        let each = told.iter().map(|part| {
            let verb = if part.by() > 0.0 { "rise" } else { "fall" };
            format!("those by {} {verb} {}", part.name, whole(part))
        });
        format!("Of the migrations, {}", listed(&each.collect::<Vec<_>>()))
    };
    sentence += &reasons(base, other, &top.name);
    sentence += &distances(base, other);
    sentence.push('.');
    Some(Said { sentence, weight: 100.0 * moved / before.max(1.0), is_outcome: false })
}

/// For which reasons the tasks of one cause moved more or less often.
fn reasons(base: &Side, other: &Side, cause: &str) -> String {
    let key = format!("migrations.by_cause_and_reason.{cause}");
    let parts = parts([base, other], &key, |run, name| count(run, &key, name));
    let told = largest(&parts);
    if told.is_empty() || parts.len() < 2 {
        return String::new();
    }
    let each = told.iter().map(|part| format!("{} by {}", more_or_fewer(part.by()), part.name));
    format!("; of those by {cause}, {}", listed(&each.collect::<Vec<_>>()))
}

/// How far the moves go that are more or fewer.
fn distances(base: &Side, other: &Side) -> String {
    let key = "migrations.by_distance";
    let parts = parts([base, other], key, |run, name| count(run, key, name));
    let told = largest(&parts);
    if told.is_empty() {
        return String::new();
    }
    let each = told.iter().map(|part| format!("{} of {}", more_or_fewer(part.by()), part.name));
    format!("; by distance, {}", listed(&each.collect::<Vec<_>>()))
}

/// Where wakeups go, as parts of a hundred.
fn wakeups(base: &Side, other: &Side) -> Option<Said> {
    let key = "wakeups.by_reason";
    let share = |run: &Map<String, Value>, name: &str| {
        let counts = at(run, key).and_then(Value::as_object);
        let all: f64 = counts.into_iter().flat_map(Map::values).filter_map(Value::as_f64).sum();
        if all > 0.0 { 100.0 * count(run, key, name) / whole(run) / all } else { 0.0 }
    };
    let parts = parts([base, other], key, share);
    let moved = parts.iter().map(|part| part.by().abs()).sum::<f64>() / 2.0;
    if moved < NEUTRAL {
        return None;
    }
    let told: Vec<&Part> =
        largest(&parts).into_iter().filter(|part| part.by().abs() >= 1.0).collect();
    if told.is_empty() {
        return None;
    }
    let each = told.iter().map(|part| {
        let (from, to) = (part.change.base, part.change.other);
        format!("{to:.0} instead of {from:.0} go by {}", part.name)
    });
    let sentence = format!(
        "Wakeups choose their CPUs differently: of 100, {}.",
        listed(&each.collect::<Vec<_>>())
    );
    Some(Said { sentence, weight: moved, is_outcome: false })
}

/// The costs that are no work.
const IDLE: [&str; 2] = ["idle", "idle_exit"];

/// What programs count, and one of it.
const WORK: [(&str, &str); 7] = [
    ("messages", "message"),
    ("transactions", "transaction"),
    ("exchanges", "exchange"),
    ("requests", "request"),
    ("sends", "message"),
    ("bogo_ops", "bogo op"),
    ("cycles", "cycle"),
];

/// How many of what a run has done.
fn work(run: &Map<String, Value>) -> Option<(f64, &'static str)> {
    if let Some(done) = number(run, "cut.work") {
        let unit = crate::side::text(run, "cut.work_unit");
        return Some((done, if unit == "messages" { "message" } else { "operation" }));
    }
    let find =
        |(key, one): &(&str, &'static str)| Some((number(run, &format!("workload.{key}"))?, *one));
    WORK.iter().find_map(find).filter(|(done, _)| *done > 0.0)
}

/// What an operation costs, by name.
fn costs(base: &Side, other: &Side) -> Option<Said> {
    // Messages that a program sends in all say nothing about what a run that was stopped has done.
    let is_stopped = |side: &Side| {
        side.counted().iter().any(|run| {
            let end = crate::side::text(run, "end");
            end == "duration" || end == "interrupted"
        })
    };
    let one = work(base.first()).map(|(_, one)| one);
    // Of a run that tells nothing of it, the whole cost would stand beside that of one operation.
    let tells = |run: &&Map<String, Value>| work(run).map(|(_, name)| name) == one;
    let all_tell = base.counted().iter().chain(&other.counted()).all(tells);
    let stopped = is_stopped(base) || is_stopped(other);
    let one = one.filter(|one| all_tell && !(stopped && *one == "message"));
    let each = |run: &Map<String, Value>, name: &str| {
        let spent = at(run, "costs").and_then(|costs| costs.as_object()?.get(name)?.as_f64());
        let done = if one.is_some() { work(run).map_or(1.0, |(done, _)| done) } else { 1.0 };
        spent.unwrap_or(0.0) / done.max(1.0)
    };
    let all = |run: &Map<String, Value>| {
        let names = at(run, "costs").and_then(Value::as_object).into_iter().flat_map(Map::keys);
        names.filter(|name| !IDLE.contains(&name.as_str())).map(|name| each(run, name)).sum::<f64>()
    };
    if !base.has("costs") || !other.has("costs") {
        return None;
    }
    let totals = |side: &Side| side.counted().into_iter().map(all).collect::<Vec<f64>>();
    let same_seeds = base.seeds() == other.seeds();
    let total = Change::of(&totals(base), &totals(other), same_seeds, None);
    let mut parts = parts([base, other], "costs", each);
    parts.retain(|part| !IDLE.contains(&part.name.as_str()));
    let worth = |part: &&&Part| part.by().abs() >= 0.01 * total.base;
    let told: Vec<&Part> = largest(&parts).iter().filter(worth).copied().collect();
    let moved = told.iter().map(|part| part.by().abs()).sum::<f64>();
    if told.is_empty()
        || (total.verdict != Verdict::Differs && moved < total.base * NEUTRAL / 100.0)
    {
        return None;
    }
    let what = one.map_or_else(|| "The work".to_owned(), |one| format!("A {one}"));
    let head = match (total.verdict, total.pct) {
        (Verdict::Differs, Some(pct)) => {
            let how = if pct > 0.0 { "more" } else { "less" };
            let (from, to) = (span_of(total.base), span_of(total.other));
            format!("{what} costs {:.1} % {how} CPU time, {to} instead of {from}", pct.abs())
        }
        _ => {
            format!("{what} costs about as much CPU time ({}), by other names", span_of(total.base))
        }
    };
    let listing = told.iter().map(|part| {
        let sign = if part.by() > 0.0 { "+" } else { "-" };
        format!("{} {sign}{}", part.name, span_of(part.by().abs()))
    });
    let sentence = format!("{head}: {}.", listed(&listing.collect::<Vec<_>>()));
    let weight = 100.0 * moved / total.base.max(1e-9);
    Some(Said { sentence, weight, is_outcome: false })
}

/// How many CPUs are busy.
fn busy(base: &Side, other: &Side) -> Option<Said> {
    let measure = named("busy_cpus")?;
    let change = measure.change(base, other).filter(|c| c.verdict == Verdict::Differs)?;
    let of = number(base.first(), "scenario.nr_cpus");
    let of = of.map_or_else(String::new, |nr| format!(" of {}", tidy(nr)));
    let how = if change.other > change.base { "More" } else { "Fewer" };
    let sentence = format!("{how} CPUs{of} are busy on average: {}.", from_to(measure, &change));
    Some(Said { sentence, weight: weight(&change), is_outcome: false })
}

/// Below this part of all CPU time it is no cause.
const WASTE: f64 = 0.002;

/// Whether tasks wait while CPUs idle.
fn wasted(base: &Side, other: &Side) -> Option<Said> {
    let measure = named("wasted")?;
    let change = measure.change(base, other).filter(|c| c.verdict == Verdict::Differs)?;
    let share = |side: &Side| {
        let part = |name: &str| side.mean_in("cpu_time_ns", name);
        let all = part("user") + part("system") + part("idle");
        side.mean("idle_while_waiting_ns") / all.max(1.0)
    };
    if share(base).max(share(other)) < WASTE {
        return None;
    }
    let how = if change.other > change.base { "longer" } else { "less" };
    let sentence = format!(
        "CPUs idle {how} while tasks wait for one: {}, which is {:.1} % of all CPU time instead of {:.1} %.",
        from_to(measure, &change),
        100.0 * share(other),
        100.0 * share(base)
    );
    Some(Said { sentence, weight: weight(&change), is_outcome: false })
}

/// How many CPUs the placement of a task looks at.
fn scanned(base: &Side, other: &Side) -> Option<Said> {
    let each = |side: &Side| {
        side.each(|run| {
            let placed =
                number(run, "wakeups.total")? + number(run, "first_wakeups.total").unwrap_or(0.0);
            (placed > 0.0).then_some(number(run, "scanned_cpus")? / placed)
        })
    };
    let (from, to) = (each(base)?, each(other)?);
    let change = Change::of(&from, &to, base.seeds() == other.seeds(), None);
    let is_much = change.base.max(change.other) >= 1.0;
    let pct = change.pct.filter(|_| change.verdict == Verdict::Differs && is_much)?;
    let sentence = format!(
        "Placing a task looks at {} CPUs instead of {} ({}).",
        tidy(change.other),
        tidy(change.base),
        signed(pct)
    );
    Some(Said { sentence, weight: pct.abs(), is_outcome: false })
}
