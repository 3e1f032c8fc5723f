//! Scenario files: what `simsched run` is told by a TOML file, or by the report of another run.
//!
//! Whatever the file says becomes options, which clap then parses together with those of the command line:
//! a file can say what a command line can, and is refused where that would be refused.

mod repeat;
mod save;
mod written;

use std::ffi::{OsStr, OsString};
use std::path::Path;

use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser};
use simsched_policies::{Registry, catalog};
use simsched_workloads::catalog as workloads;

use crate::args::{Cli, Command, RunArgs};
use crate::bounded;
use crate::failure::{self, Failure};
use crate::input;
use crate::output::inputs;
use crate::report::{End, Report};
use crate::settings::Settings;
use crate::toml_file::Doc;
use crate::topo;

pub(crate) use written::{Given, Part, Reader, Written};
use written::{Setting, command};

/// Where the arguments of a run come from.
#[derive(Clone, Debug)]
pub(crate) struct Origin {
    file: String,
    /// What counts of the file.
    written: Written,
    /// The digests of the runs that are repeated; nothing if it is no repetition.
    digests: Vec<String>,
}

/// Why a command line cannot be understood.
pub(crate) enum Refused {
    Clap(Box<clap::Error>),
    Said(Failure),
}

impl From<clap::Error> for Refused {
    fn from(error: clap::Error) -> Refused {
        Refused::Clap(Box::new(error))
    }
}

impl From<Failure> for Refused {
    fn from(failure: Failure) -> Refused {
        Refused::Said(failure)
    }
}

/// The command line `argv`, with the scenario file of `run` taken in.
///
/// # Errors
/// When it, or the file, asks for what there is not.
pub(crate) fn parse(argv: &[OsString]) -> Result<Cli, Refused> {
    let program = argv.first().and_then(|path| Path::new(path).file_stem()?.to_str());
    let command = named(Cli::command(), program.unwrap_or("simsched"));
    let matches = command.try_get_matches_from(argv).map_err(|error| stray(argv, error))?;
    let Some(("run", run)) = matches.subcommand() else {
        return Ok(Cli::from_arg_matches(&matches)?);
    };
    let file = run.get_one::<std::path::PathBuf>("scenario");
    let is_saved = run.contains_id("save_scenario");
    let Some(file) = file else {
        let mut cli = Cli::from_arg_matches(&matches)?;
        if is_saved && let Command::Run(args) = &mut cli.command {
            args.file.saved = save::text(run, args.file.save_scenario.as_deref())?;
        }
        return Ok(cli);
    };
    let mut origin = read(file)?;
    let overridden = keep_what_counts(&mut origin.written, run);
    if overridden {
        origin.digests.clear();
    }
    if !is_said(run, "topo") && origin.written.at("topo").is_none() {
        let what = "topo is missing, expected a machine, here or as --topo";
        return Err(
            Failure::Input(format!("{}: {what}; {}", file.display(), topo::MACHINES)).into()
        );
    }
    let merged = merged(argv, &origin.written);
    let all =
        Cli::command().try_get_matches_from(merged).map_err(|error| placed(&origin, error))?;
    let mut cli = Cli::from_arg_matches(&all)?;
    if let (Command::Run(args), Some(run)) = (&mut cli.command, all.subcommand_matches("run")) {
        if is_saved {
            args.file.saved = save::text(run, args.file.save_scenario.as_deref())?;
        }
        args.file.origin = Some(Box::new(origin));
    }
    Ok(cli)
}

/// The command with the name of `program` in its examples: a program of another may be the whole command.
fn named(command: clap::Command, program: &str) -> clap::Command {
    let examples = command.get_after_help().map(ToString::to_string);
    let command = match examples.filter(|_| program != "simsched") {
        Some(text) => command.after_help(text.replace("simsched ", &format!("{program} "))),
        None => command,
    };
    command.mut_subcommands(|sub| named(sub, program))
}

/// The arguments of a scenario of which all stands in `file`.
///
/// # Errors
/// The place of the first option that has a wrong value, and what is wrong.
pub(crate) fn arguments(file: &str, written: &Written) -> Result<RunArgs, Failure> {
    if written.at("topo").is_none() {
        let what = "topo is missing, expected a machine";
        return Err(Failure::Input(format!("{file}: {what}; {}", topo::MACHINES)));
    }
    let origin = Origin { file: file.to_owned(), written: written.clone(), digests: Vec::new() };
    let argv = merged(&["simsched".into(), "run".into()], written);
    let cli = match Cli::try_parse_from(argv) {
        Ok(cli) => cli,
        Err(error) => {
            return Err(match placed(&origin, error) {
                Refused::Said(failure) => failure,
                Refused::Clap(error) => Failure::Input(failure::of_arguments(&error)),
            });
        }
    };
    let Command::Run(mut args) = cli.command else { unreachable!("the command is `run`") };
    args.file.origin = Some(Box::new(origin));
    Ok(*args)
}

/// The options of the file, then those of the command line, then the workload.
fn merged(argv: &[OsString], written: &Written) -> Vec<OsString> {
    let (head, rest) = argv.split_at(argv.len().min(2));
    let mut words = head.to_vec();
    words.extend(written.words());
    words.extend_from_slice(rest);
    if let Some((workload, _)) = &written.workload {
        if !argv.iter().any(|word| word == OsStr::new("--")) {
            words.push("--".into());
        }
        words.extend(workload.iter().map(OsString::from));
    }
    words
}

/// Whether the command line itself has this option.
fn is_said(run: &ArgMatches, id: &str) -> bool {
    run.value_source(id) == Some(ValueSource::CommandLine)
}

/// Takes away what options of the command line say otherwise, or rule out; whether there was such.
fn keep_what_counts(written: &mut Written, run: &ArgMatches) -> bool {
    let command = command();
    let rules_out = |id: &str| {
        let arg = command.get_arguments().find(|arg| arg.get_id() == id);
        let rivals = |arg| command.get_arg_conflicts_with(arg);
        arg.is_some_and(|arg| rivals(arg).iter().any(|rival| is_said(run, rival.get_id().as_str())))
    };
    // What is no part of a report may be said beside one: the run stays the same.
    let known = ["topo", "policy", "seed", "seeds", "duration", "precision", "precision_limit"];
    let mut changed = known.iter().any(|id| is_said(run, id)) || is_said(run, "settings");
    written.options.retain(|given| !is_said(run, &given.id) && !rules_out(&given.id));
    if written.at("precision").is_none() && !is_said(run, "precision") {
        written.options.retain(|given| given.id != "precision_limit");
    }
    let said: Vec<&(String, String)> = run.get_many("settings").into_iter().flatten().collect();
    let plain = |key: &str| catalog::plain(key).to_owned();
    written.settings.retain(|one| said.iter().all(|(key, _)| plain(key) != plain(&one.key)));
    if is_said(run, "workload") {
        written.workload = None;
        changed = true;
    }
    changed
}

/// Reads the file of a scenario, or of a report.
fn read(path: &Path) -> Result<Origin, Failure> {
    let file = path.display().to_string();
    if path.try_exists().is_ok_and(|found| !found) {
        let what = "there is no such scenario file";
        return Err(Failure::Input(format!("{file}: {what}; {BEHIND}")));
    }
    inputs::reads(path)?;
    let text = bounded::text(path, bounded::WRITTEN)?;
    if text.trim_start().starts_with('{') || file.ends_with(".json") {
        let (written, digests) = repeat::read(&text, &file)?;
        return Ok(Origin { file, written, digests });
    }
    let doc = Doc { file: &file, text: &text };
    let written = Reader::new(doc, path).scenario(&doc.parse()?)?;
    Ok(Origin { file: file.clone(), written, digests: Vec::new() })
}

/// Where a workload stands.
const BEHIND: &str = "put the workload after --, as in `-- hackbench`";

/// A workload that does not stand behind `--` is taken for a file first, and its options for those of
/// `run`: the user is told what was wrong, and not what came of it.
fn stray(argv: &[OsString], error: clap::Error) -> Refused {
    let is_odd = error.kind() == ErrorKind::UnknownArgument;
    if !is_odd || argv.get(1).is_none_or(|word| word != OsStr::new("run")) {
        return error.into();
    }
    let matches = Cli::command().ignore_errors(true).try_get_matches_from(argv).ok();
    let word = matches.as_ref().and_then(|matches| {
        matches.subcommand_matches("run")?.get_one::<std::path::PathBuf>("scenario")
    });
    match word.filter(|word| !word.exists()) {
        Some(word) => {
            let what = format!("unexpected argument '{}': {BEHIND}", word.display());
            Failure::Input(what).into()
        }
        None => error.into(),
    }
}

/// The sentence of clap about an option of the file, with its place there.
fn placed(origin: &Origin, error: clap::Error) -> Refused {
    match origin.written.blamed(&error) {
        Some(at) => {
            let sentence = failure::of_arguments(&error);
            Failure::Input(format!("{at}: {}", sentence.trim_start_matches("--"))).into()
        }
        None => error.into(),
    }
}

/// The failure of a scenario, with the line of the file that is to blame for it.
pub(crate) fn blamed(args: &RunArgs, why: Failure, registry: &Registry) -> Failure {
    let Some(Origin { written, .. }) = args.file.origin.as_deref() else { return why };
    match (&why, written.to_blame(args, registry)) {
        (Failure::Input(text) | Failure::File(text), Some(at)) => {
            Failure::Input(format!("{at}: {text}"))
        }
        _ => why,
    }
}

impl Written {
    /// Where the part stands without which the scenario could be run.
    fn to_blame(&self, args: &RunArgs, registry: &Registry) -> Option<&str> {
        let Ok((topology, _)) = topo::load(&args.topo) else { return self.at("topo") };
        if registry.parse(&args.policy, &[]).is_err() {
            return self.at("policy");
        }
        let is_wrong = |one: &&Setting| {
            let pair = (one.key.clone(), one.value.clone());
            Settings::sort(registry, &args.policy, &[pair]).is_err()
        };
        if let Some(one) = self.settings.iter().find(is_wrong) {
            return Some(&one.at);
        }
        let (_, at) = self.workload.as_ref()?;
        let is_wrong = match input::of_workload(&args.workload) {
            Ok(Some(text)) => workloads::parse_file(&args.workload, &text, &topology).is_err(),
            Ok(None) => workloads::parse(&args.workload, args.seed, topology.nr_cpus()).is_err(),
            Err(_) => true,
        };
        is_wrong.then_some(at)
    }
}

/// Writes the scenario where `--save-scenario` says.
///
/// # Errors
/// When the file cannot be written.
pub(crate) fn save(args: &RunArgs, path: &Path) -> Result<(), Failure> {
    save::write(path, &args.file.saved)
}

/// Whether the runs are those that a report told of, if they were to be.
///
/// # Errors
/// One sentence with both digests when they are not.
pub(crate) fn is_repeated<'a>(
    args: &RunArgs,
    runs: impl Iterator<Item = &'a Report>,
) -> Result<(), Failure> {
    let Some(Origin { file, digests, .. }) = args.file.origin.as_deref() else { return Ok(()) };
    for (run, want) in runs.filter(|run| run.end != End::Interrupted).zip(digests) {
        if run.digest != *want {
            let seed = run.scenario.seed;
            return Err(Failure::Differs(format!(
                "{file}: the run with seed {seed} has the digest {want} there and {} here: the \
                 machine's file, or simsched itself, has changed since",
                run.digest
            )));
        }
    }
    Ok(())
}
