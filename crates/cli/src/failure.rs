//! `Failure`: why a command could not do its work, as one sentence and an exit code.

use std::error::Error;
use std::fmt;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, CommandFactory};
use simsched_core::{SimError, SimTime};
use simsched_lab::error::LabError;
use simsched_topology::{did_you_mean, nearest};
use simsched_workloads::catalog as workloads;

use crate::args::Cli;
use crate::output;
use crate::topo::MACHINES;

/// The exit code after Ctrl-C, as shells have it: 128 and the number of the signal.
pub(crate) const INTERRUPTED: u8 = 130;

/// Why a command could not do its work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// The user has asked for something that does not exist or cannot be.
    Input(String),
    /// A file could not be read or written.
    File(String),
    /// The simulation could not go on, or broke a rule.
    Simulation(String),
    /// What was judged has not reached its bar; what was printed says so.
    Below,
    /// A run that was to be that of a report is another.
    Differs(String),
    /// Ctrl-C, before there was anything to tell.
    Interrupted,
    /// Bad input that has been explained at length already.
    Told,
    /// Whoever read our output has gone: there is nobody to tell.
    NobodyReads,
}

impl Failure {
    /// The exit code.
    pub(crate) fn code(&self) -> u8 {
        match self {
            Failure::Input(_) | Failure::File(_) | Failure::Told => 2,
            Failure::Simulation(_) => 3,
            Failure::Below | Failure::Differs(_) => 1,
            Failure::Interrupted => INTERRUPTED,
            Failure::NobodyReads => 0,
        }
    }

    /// Whether there is something to say, and somebody to say it to.
    pub(crate) fn is_to_be_told(&self) -> bool {
        !matches!(
            self,
            Failure::Below | Failure::Interrupted | Failure::Told | Failure::NobodyReads
        )
    }

    /// Any error of the input, in its own words.
    pub(crate) fn input(error: impl fmt::Display) -> Failure {
        Failure::Input(error.to_string())
    }

    /// A file that could not be read or written.
    pub(crate) fn file(path: &std::path::Path, error: &std::io::Error) -> Failure {
        Failure::File(format!("{}: {error}", path.display()))
    }
}

impl From<LabError> for Failure {
    fn from(error: LabError) -> Failure {
        match error {
            LabError::Run { error: SimError::Setting(_) | SimError::Machine(_), .. } => {
                Failure::input(error)
            }
            LabError::Run { .. } => Failure::Simulation(error.to_string()),
            LabError::Read { .. } => Failure::File(error.to_string()),
            _ => Failure::input(error),
        }
    }
}

impl From<SimError> for Failure {
    fn from(error: SimError) -> Failure {
        match error {
            SimError::Setting(_) | SimError::Machine(_) => Failure::Input(error.to_string()),
            // Before the first event: what it was made of does not go with this machine or setting.
            SimError::PolicyFailed { at: SimTime::ZERO, why } => Failure::Input(why),
            _ => Failure::Simulation(error.to_string()),
        }
    }
}

/// One line, as it is printed after `simsched: `.
impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Input(text)
            | Failure::File(text)
            | Failure::Simulation(text)
            | Failure::Differs(text) => f.write_str(&output::sentence(text)),
            Failure::Below | Failure::Interrupted | Failure::Told | Failure::NobodyReads => Ok(()),
        }
    }
}

/// The one sentence of an error of the command line.
pub(crate) fn of_arguments(error: &clap::Error) -> String {
    let of = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    let usage = error.to_string();
    let is_run = usage.contains("Usage: simsched run");
    match (error.kind(), of(ContextKind::InvalidArg), of(ContextKind::InvalidValue)) {
        (ErrorKind::ValueValidation, Some(option), Some(value)) => {
            let option = plain(option);
            let expected = error.source().map_or_else(String::new, |source| source.to_string());
            format!("{option}: found '{value}', {expected}")
        }
        (ErrorKind::UnknownArgument, Some(word), _) if is_run && !word.starts_with('-') => {
            format!("unexpected argument '{word}': put the workload after --, as in `-- hackbench`")
        }
        (ErrorKind::MissingRequiredArgument, ..) => said(&usage) + &listed(error),
        // The names that shells are told are not all that there is.
        (ErrorKind::InvalidValue, Some(option), Some("")) if !listed(error).is_empty() => {
            format!("{}: found no value{}", plain(option), listed(error))
        }
        (ErrorKind::InvalidSubcommand, ..) => match of(ContextKind::InvalidSubcommand) {
            Some(word) => no_command(word, &usage),
            None => said(&usage),
        },
        // Two names, the first of which is no command.
        (ErrorKind::ArgumentConflict, ..) if of(ContextKind::InvalidSubcommand).is_some() => {
            let word = of(ContextKind::InvalidSubcommand).unwrap_or_default();
            format!("unexpected argument '{word}': expected one name, or a command before it")
        }
        (ErrorKind::InvalidUtf8, ..) => {
            let odd = std::env::args_os().find(|word| word.to_str().is_none()).unwrap_or_default();
            format!("found '{}', expected text in UTF-8", odd.display())
        }
        _ => said(&usage),
    }
}

/// The name of an argument without its brackets and values: `--seed <N>`, `<TRACE>`, `[WORKLOAD]...`.
fn plain(argument: &str) -> &str {
    let name = argument.split(' ').next().unwrap_or(argument);
    let name = name.strip_suffix("...").unwrap_or(name);
    let within = |ends: [char; 2]| name.strip_prefix(ends[0])?.strip_suffix(ends[1]);
    within(['<', '>']).or_else(|| within(['[', ']'])).unwrap_or(name)
}

/// A word that stands where a command does, and is none.
fn no_command(word: &str, usage: &str) -> String {
    let line = usage.lines().find_map(|line| line.strip_prefix("Usage: ")).unwrap_or_default();
    let mut all = Cli::command();
    all.build();
    let (mut parent, mut path) = (&all, all.get_name().to_owned());
    for name in line.split_whitespace().skip(1) {
        let Some(below) = parent.find_subcommand(name) else { break };
        (parent, path) = (below, format!("{path} {name}"));
    }
    let names: Vec<&str> = parent.get_subcommands().map(Command::get_name).collect();
    let near = did_you_mean(&nearest(word, names.iter().copied()));
    let more = match workloads::find(word) {
        _ if !near.is_empty() => near,
        Ok(_) => format!("; a workload is run by `simsched run --topo MACHINE -- {word}`"),
        Err(_) => format!(", expected one of {}", names.join(", ")),
    };
    format!("`{path}` has no command `{word}`{more}")
}

/// Where what is missing is listed, as the end of a sentence.
fn listed(error: &clap::Error) -> String {
    let missing = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::Strings(missing)) => missing.as_slice(),
        Some(ContextValue::String(missing)) => std::slice::from_ref(missing),
        _ => &[],
    };
    let is_missing = |option: &str| missing.iter().any(|missing| missing.starts_with(option));
    let lists = [
        ("--topo", MACHINES),
        ("--prices", MACHINES),
        ("<MACHINE", MACHINES),
        ("--policy", "`simsched policies` lists the policies"),
    ];
    let lists = lists.into_iter().filter(|(option, _)| is_missing(option));
    lists.map(|(_, list)| format!("; {list}")).collect()
}

/// What clap says, with its first hint and without its usage lines.
fn said(text: &str) -> String {
    let said = |line: &&str| !line.starts_with("Usage:") && !line.starts_with("For more");
    let lines = text.lines().take_while(said).map(str::trim).filter(|line| !line.is_empty());
    let is_hint = |line: &&str| line.starts_with("tip: ");
    let hint = lines.clone().find(is_hint).map(|line| line.replace("tip: ", "; "));
    let sentence = lines.filter(|line| !is_hint(line)).collect::<Vec<_>>().join(" ");
    sentence.strip_prefix("error: ").unwrap_or(&sentence).to_owned() + &hint.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use simsched_core::{Blocked, SimTime};

    #[test]
    fn a_deadlock_is_a_failed_simulation_and_lists_who_waits_for_what() {
        let blocked =
            vec![Blocked { task: 3, name: "reader".into(), waits_for: "data in pipe 0".into() }];
        let failure = Failure::from(SimError::Deadlock { at: SimTime(70), blocked });
        assert_eq!(failure.code(), 3);
        let text = failure.to_string();
        assert!(text.contains("task 3 (reader) waits for data in pipe 0"), "{text}");
    }

    #[test]
    fn a_wrong_setting_is_bad_input() {
        let failure = Failure::from(SimError::Setting("setting hz: found '7'".into()));
        assert_eq!((failure.code(), failure.to_string()), (2, "setting hz: found '7'".to_owned()));
    }
}
