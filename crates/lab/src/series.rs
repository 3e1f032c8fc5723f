//! In which order a kernel ran the scenarios of a label since its boot, as its console shows it.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use simsched_workloads::lab;

use crate::error::LabError;
use crate::reference::{Scenario, Turn};
use crate::results;

/// What the kernel's console showed.
const CONSOLE: &str = "console.log";

/// The largest console that is read: those of the lab have some 30 KB.
const LARGEST: u64 = 16 << 20;

/// Whether the label holds a console.
pub(crate) fn is_recorded(label: &Path) -> bool {
    label.join(CONSOLE).is_file()
}

/// Gives each of these scenarios that the lab's script of cache-aware scheduling ran under this label the series in
/// which it ran.
///
/// # Errors
/// When the console or the results of a scenario cannot be read.
pub(crate) fn set(label: &Path, scenarios: &mut [Scenario]) -> Result<(), LabError> {
    let path = label.join(CONSOLE);
    let size = fs::metadata(&path).map_err(|error| LabError::read(&path, error))?.len();
    if size > LARGEST {
        let expected = format!("a console of up to {LARGEST}");
        return Err(LabError::content(&path, format!("{size} bytes"), expected));
    }
    let console = fs::read(&path).map_err(|error| LabError::read(&path, error))?;
    for names in boots(&String::from_utf8_lossy(&console)) {
        let turn = |name: &&str| -> Result<Turn, LabError> {
            let file = label.join(format!("{name}.json"));
            let length_ms = if file.is_file() { results::length_ms(&file)? } else { None };
            Ok(Turn { name: (*name).to_owned(), length_ms })
        };
        let series: Arc<[Turn]> = names.iter().map(turn).collect::<Result<_, _>>()?;
        for scenario in scenarios.iter_mut() {
            if series.iter().any(|turn| turn.name == scenario.name) {
                scenario.series = Some(Arc::clone(&series));
            }
        }
    }
    Ok(())
}

/// By boot: the scenarios of the set that have a program, in the order of their ends. The script shows each with the
/// time since the boot, which begins anew with the next one.
fn boots(console: &str) -> Vec<Vec<&str>> {
    let (mut boots, mut last) = (Vec::new(), f64::INFINITY);
    for line in console.lines() {
        let mut words = line.split_whitespace();
        let (Some(name), Some(Ok(seconds)), Some(idle), None) =
            (words.next(), words.next().map(str::parse::<f64>), words.next(), words.next())
        else {
            continue;
        };
        if idle.parse::<f64>().is_err() || !lab::cache_set().any(|known| known == name) {
            continue;
        }
        if seconds < last {
            boots.push(Vec::new());
        }
        last = seconds;
        boots.last_mut().expect("the first time is less than none").push(name);
    }
    boots
}

/// Leaves of each series what comes up to the last of these scenarios in it: what is behind that need not be run.
pub fn up_to_the_last(scenarios: &mut [Scenario]) {
    let names: Vec<String> = scenarios.iter().map(|scenario| scenario.name.clone()).collect();
    for scenario in scenarios {
        let Some(series) = &scenario.series else { continue };
        if let Some(last) = series.iter().rposition(|turn| names.contains(&turn.name)) {
            scenario.series = Some(series[..=last].into());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_boot_begins_where_the_time_does() {
        let console = "[    0.1] x\nth-free-2 4.10 9.5\nhogs-free-1 5.0 6.0\nth-free-4 5.61 7.31\n\
                       JOB done 6.0 7.0\nth-free-2 2.10 9.5\nth-free-2 3.10 9.5\n";
        let expected = [vec!["th-free-2", "th-free-4"], vec!["th-free-2", "th-free-2"]];
        assert_eq!(boots(console), expected);
    }

    #[test]
    fn what_is_behind_the_last_scenario_is_left_out() {
        let turns = ["a", "b", "c"].map(|name| Turn { name: name.to_owned(), length_ms: None });
        let with = |name| Scenario {
            series: Some(turns.clone().into()),
            ..Scenario::new(name, Vec::new())
        };
        let mut all = [with("a"), with("b")];
        up_to_the_last(&mut all);
        assert!(all.iter().all(|scenario| *scenario.series().to_vec() == turns[..2]));
    }
}
