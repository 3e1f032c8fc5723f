//! The command that repeats a run.

use std::fmt::Write;

use serde_json::{Map, Value};

use crate::document::at;
use crate::html::is_shown;
use crate::side::{Side, plain, text};

/// What must be typed to have the same runs again.
pub(crate) fn of_side(side: &Side) -> String {
    let run = side.first();
    let mut command = "simsched run".to_owned();
    scenario(&mut command, run);
    let seeds = side.runs.len();
    if let Some(seed) = at(run, "scenario.seed").and_then(Value::as_u64) {
        let _ = write!(command, " --seed {seed}");
    }
    if seeds > 1 {
        let _ = write!(command, " --seeds {seeds}");
    }
    let number = |key: &str| number(run, key);
    if let Some(duration) = number("scenario.duration_ns") {
        let _ = write!(command, " --duration {}", span(duration));
    }
    if let Some(asked) = at(run, "precision.asked_pct").and_then(Value::as_f64) {
        let _ = write!(command, " --precision {asked}%");
    }
    if let Some(limit) = number("scenario.precision_limit") {
        let _ = write!(command, " --precision-limit {limit}");
    }
    if let Some(interval) = number("llc.interval_ns") {
        let _ = write!(command, " --llc-interval={}", span(interval));
    }
    // Each run has doubled what was asked for, or has not: with the shortest all have theirs again.
    let lengths = side.runs.iter().filter_map(|run| self::number(run, "series.interval_ns"));
    if let Some(interval) = lengths.min() {
        let _ = write!(command, " --series={}", span(interval));
    }
    for flag in ["whole", "paranoid"] {
        if at(run, &format!("scenario.{flag}")).and_then(Value::as_bool) == Some(true) {
            let _ = write!(command, " --{flag}");
        }
    }
    workload(&mut command, Some(run), text(run, "scenario.workload"));
    command
}

fn number(run: &Map<String, Value>, key: &str) -> Option<u64> {
    at(run, key).and_then(Value::as_u64)
}

/// What must be typed to have the same comparison again.
pub(crate) fn of_comparison(top: &Map<String, Value>) -> String {
    let mut command = "simsched compare --topo ".to_owned();
    command += &machine([text(top, "topology"), text(top, "mode"), text(top, "topology_file")]);
    let policies: Vec<_> =
        top.get("policies").and_then(Value::as_array).into_iter().flatten().collect();
    for policy in &policies {
        let _ = write!(command, " --policy {}", quoted(policy["policy"].as_str().unwrap_or("")));
    }
    let mut given: Vec<String> = Vec::new();
    for (key, value) in
        policies.iter().filter_map(|policy| policy["settings"].as_object()).flatten()
    {
        let setting = format!("{key}={}", plain(value));
        if !given.contains(&setting) {
            given.push(setting);
        }
    }
    given.iter().for_each(|setting| command += &format!(" --set {}", quoted(setting)));
    for (option, key) in [("--seed", "seed"), ("--seeds", "seeds")] {
        if let Some(value) = number(top, key) {
            let _ = write!(command, " {option} {value}");
        }
    }
    for (option, key) in
        [("--span", "span_ns"), ("--warmup", "warmup_ns"), ("--duration", "duration_ns")]
    {
        if let Some(value) = number(top, key) {
            let _ = write!(command, " {option} {}", span(value));
        }
    }
    if top.get("whole") == Some(&Value::Bool(true)) {
        command.push_str(" --whole");
    }
    if top.get("sweep_hw").is_some_and(Value::is_object) {
        command.push_str(" --sweep-hw");
    }
    let run = policies.first().and_then(|policy| policy["runs"].get(0)?.as_object());
    workload(&mut command, run, text(top, "workload"));
    command
}

fn scenario(command: &mut String, run: &Map<String, Value>) {
    let of = |key: &str| text(run, key);
    let parts = ["scenario.topology", "scenario.mode", "scenario.topology_file"].map(of);
    let _ = write!(command, " --topo {}", machine(parts));
    let _ = write!(command, " --policy {}", quoted(of("scenario.policy")));
    let settings = at(run, "scenario.settings").and_then(Value::as_object);
    for (key, value) in settings.into_iter().flatten() {
        let _ = write!(command, " --set {}", quoted(&format!("{key}={}", plain(value))));
    }
}

fn machine([name, mode, file]: [&str; 3]) -> String {
    let name = if file == "built-in" || file.is_empty() { name } else { file };
    quoted(&format!("{name}@{mode}"))
}

/// The workload's words as they were given to a run, blanks and all; without them those of `told`.
fn workload(command: &mut String, run: Option<&Map<String, Value>>, told: &str) {
    let given = run.and_then(|run| at(run, "scenario.workload_args")?.as_array());
    let words: Vec<String> = match given.filter(|words| !words.is_empty()) {
        Some(words) => words.iter().map(plain).collect(),
        None => told.split_whitespace().map(str::to_owned).collect(),
    };
    command.push_str(" --");
    words.iter().for_each(|word| *command += &format!(" {}", quoted(word)));
}

/// In the largest unit in which it is a whole number.
fn span(nanos: u64) -> String {
    let units = [("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000), ("ns", 1)];
    let fits = units.into_iter().find(|(_, size)| nanos.is_multiple_of(*size));
    let (unit, size) = fits.unwrap_or(("ns", 1));
    format!("{}{unit}", nanos / size)
}

/// As a shell takes it for one word.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "@%+=:,./_-".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    if word.chars().all(is_shown) {
        return format!("'{}'", word.replace('\'', "'\\''"));
    }
    let mut text = "$'".to_owned();
    for c in word.chars() {
        match c {
            '\'' | '\\' => text.extend(['\\', c]),
            c if is_shown(c) => text.push(c),
            c => c.to_string().bytes().for_each(|byte| text += &format!("\\x{byte:02x}")),
        }
    }
    text + "'"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_have_the_largest_unit_that_is_exact() {
        let cases = [(2_000_000_000, "2s"), (1_500_000, "1500us"), (7, "7ns"), (10_000, "10us")];
        for (nanos, text) in cases {
            assert_eq!(span(nanos), text);
        }
    }

    #[test]
    fn a_shell_takes_what_is_odd_for_one_word() {
        assert_eq!(quoted("cfs@6.1+x=1"), "cfs@6.1+x=1");
        assert_eq!(quoted("a b; rm 'x'"), "'a b; rm '\\''x'\\'''");
        assert_eq!(quoted(""), "''");
    }

    /// `$'...'` of bash(1), with bytes in hexadecimal digits.
    #[test]
    fn what_a_page_cannot_show_is_written_in_digits() {
        assert_eq!(quoted("a\tb'\\"), r"$'a\x09b\'\\'");
        assert_eq!(quoted("\u{202e}x"), r"$'\xe2\x80\xaex'");
    }
}
