//! `Written`: what a file says of a scenario, as options of `simsched run`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::{Arg, ArgAction, Command, CommandFactory};
use simsched_policies::catalog;
use simsched_topology::{builtin_names, did_you_mean, nearest, split_mode};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::args::Cli;
use crate::failure::Failure;
use crate::toml_file::{Doc, entries, scalar};

/// What a file says of a scenario.
#[derive(Clone, Debug, Default)]
pub(crate) struct Written {
    /// In the order of the file.
    pub(crate) options: Vec<Given>,
    pub(crate) settings: Vec<Setting>,
    /// Its words, and where it stands.
    pub(crate) workload: Option<(Vec<String>, String)>,
}

/// One option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Given {
    /// Its name among the arguments, such as `llc_interval`; so its key is called, too.
    pub(crate) id: String,
    /// As on a command line: `--llc-interval=10ms`, or nothing for a switch that is off.
    pub(crate) words: Vec<String>,
    /// `FILE:LINE`.
    pub(crate) at: String,
}

/// One setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Setting {
    pub(crate) key: String,
    pub(crate) value: String,
    pub(crate) at: String,
}

/// What is no key: how a file is named, what becomes of it, and what has a form of its own.
const NO_KEYS: [&str; 5] = ["scenario", "save_scenario", "settings", "workload", "help"];

/// `simsched run` as clap knows it.
pub(crate) fn command() -> Command {
    let mut all = Cli::command();
    all.build();
    all.find_subcommand("run").expect("there is a command `run`").clone()
}

/// The option that a key means.
fn option<'c>(command: &'c Command, key: &str) -> Option<&'c Arg> {
    options(command).find(|arg| name(arg) == key.replace('-', "_"))
}

/// The options that have keys.
pub(super) fn options(command: &Command) -> impl Iterator<Item = &Arg> {
    let is_key = |arg: &&Arg| arg.get_long().is_some() && !NO_KEYS.contains(&arg.get_id().as_str());
    command.get_arguments().filter(is_key)
}

/// The key of an option: its long name with underscores.
pub(super) fn name(arg: &Arg) -> String {
    arg.get_long().unwrap_or_default().replace('-', "_")
}

/// One key and its value become part of a scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Option(Given),
    Settings(Vec<Setting>),
    Workload(Vec<String>, String),
}

/// Reads the keys of scenarios in one file.
pub(crate) struct Reader<'a> {
    pub(crate) doc: Doc<'a>,
    /// Where relative paths of machines begin.
    pub(crate) folder: PathBuf,
    command: Command,
}

impl<'a> Reader<'a> {
    /// A reader of `doc`, which is what the file `path` says.
    pub(crate) fn new(doc: Doc<'a>, path: &Path) -> Reader<'a> {
        let folder = path.parent().map(Path::to_owned).unwrap_or_default();
        Reader { doc, folder, command: command() }
    }

    /// The keys of a scenario, those of options first.
    pub(crate) fn keys(&self) -> Vec<String> {
        let options = options(&self.command).map(name);
        options.chain(["settings", "workload"].map(str::to_owned)).collect()
    }

    /// All of a table.
    ///
    /// # Errors
    /// The first key that is no key of a scenario, or whose value is not what it takes.
    pub(crate) fn scenario(&self, table: &DeTable<'_>) -> Result<Written, Failure> {
        let mut written = Written::default();
        for (key, value) in entries(table) {
            let part = self.part(key.get_ref(), value)?.ok_or_else(|| {
                let names = self.keys();
                let near = did_you_mean(&nearest(key.get_ref(), names.iter().map(String::as_str)));
                let known = format!("expected one of {}", names.join(", "));
                let what = format!("unknown key `{}`{near}", one_line(key.get_ref()));
                let what = if near.is_empty() { format!("{what}, {known}") } else { what };
                self.doc.wrong(&key.span(), &what)
            })?;
            written.set(part);
        }
        Ok(written)
    }

    /// What a key and its value say; none if no scenario has such a key.
    ///
    /// # Errors
    /// When the value is not what the key takes.
    pub(crate) fn part(
        &self,
        key: &str,
        value: &Spanned<DeValue<'_>>,
    ) -> Result<Option<Part>, Failure> {
        let at = self.doc.at(&value.span());
        Ok(Some(match key {
            "settings" => Part::Settings(self.settings(value)?),
            "workload" => Part::Workload(self.workload(value)?, at),
            _ => match option(&self.command, key) {
                None => return Ok(None),
                Some(arg) => {
                    let words = self.words(arg, key, value)?;
                    Part::Option(Given { id: arg.get_id().to_string(), words, at })
                }
            },
        }))
    }

    fn words(
        &self,
        arg: &Arg,
        key: &str,
        value: &Spanned<DeValue<'_>>,
    ) -> Result<Vec<String>, Failure> {
        let long = arg.get_long().unwrap_or_default();
        let is_switch = !arg.get_action().takes_values();
        // Where the value may also be the next word, a bare option would take the name of the scenario.
        let may_be_bare = arg.get_num_args().is_some_and(|nr| nr.min_values() == 0)
            && arg.is_require_equals_set();
        match value.get_ref() {
            DeValue::Boolean(false) if is_switch || may_be_bare => return Ok(Vec::new()),
            DeValue::Boolean(true) if is_switch || may_be_bare => {
                return Ok(vec![format!("--{long}")]);
            }
            _ if is_switch => return Err(self.doc.expected(key, value, "true or false")),
            DeValue::Array(values) if matches!(arg.get_action(), ArgAction::Append) => {
                let word = |value: &Spanned<DeValue<'_>>| match scalar(value.get_ref()) {
                    Some(text) => Ok(format!("--{long}={text}")),
                    None => Err(self.doc.expected(key, value, "a text or a number")),
                };
                return values.iter().map(word).collect();
            }
            _ => {}
        }
        let text = scalar(value.get_ref())
            .ok_or_else(|| self.doc.expected(key, value, "a text or a number"))?;
        let text = match key {
            "topo" => self.machine(&text).ok_or_else(|| {
                let what = "topo: found a folder whose name is not UTF-8, expected text";
                self.doc.wrong(&value.span(), what)
            })?,
            _ => text,
        };
        Ok(vec![format!("--{long}={text}")])
    }

    /// A machine that is a file is looked for beside this one; none if the path to it is no text.
    fn machine(&self, text: &str) -> Option<String> {
        let here = |name: &str| self.folder.join(name).is_file();
        let (name, _) = if here(text) { (text, None) } else { split_mode(text) };
        // `genoa.toml` is the name of a built-in machine, too, unless there is such a file.
        let stem = name.strip_suffix(".toml").filter(|stem| !builtin_names().contains(stem));
        let is_path = name.contains(std::path::is_separator) || stem.is_some();
        if !name.is_empty() && (is_path || here(name)) {
            return self.folder.join(text).to_str().map(str::to_owned);
        }
        Some(text.to_owned())
    }

    fn settings(&self, value: &Spanned<DeValue<'_>>) -> Result<Vec<Setting>, Failure> {
        let DeValue::Table(table) = value.get_ref() else {
            let what = "a table of settings, such as { hz = 1000 }";
            return Err(self.doc.expected("settings", value, what));
        };
        let one = |(key, value): (&Spanned<_>, &Spanned<DeValue<'_>>)| {
            let key = AsRef::<str>::as_ref(key.get_ref()).to_owned();
            self.setting(&key, value)
        };
        entries(table).into_iter().map(|(key, value)| one((key, value))).collect()
    }

    /// One setting; true and false are `on` and `off`.
    pub(crate) fn setting(
        &self,
        key: &str,
        value: &Spanned<DeValue<'_>>,
    ) -> Result<Setting, Failure> {
        let text = match value.get_ref() {
            DeValue::Boolean(on) => Some(if *on { "on" } else { "off" }.to_owned()),
            other => scalar(other).filter(|text| !text.is_empty()),
        };
        let (name, what) = (format!("settings.{key}"), "a text, a number, true or false");
        let value_text = text.ok_or_else(|| self.doc.expected(&name, value, what))?;
        if key.is_empty() || key.contains('=') {
            let what = format!("settings: found the name {key:?}, expected that of a setting");
            return Err(self.doc.wrong(&value.span(), &what));
        }
        Ok(Setting { key: key.to_owned(), value: value_text, at: self.doc.at(&value.span()) })
    }

    /// A text, which is divided at its blanks, or a list of words.
    fn workload(&self, value: &Spanned<DeValue<'_>>) -> Result<Vec<String>, Failure> {
        let what = "a command such as \"hackbench -g 2\", or a list of its words";
        let words: Option<Vec<String>> = match value.get_ref() {
            DeValue::String(text) => Some(text.split_whitespace().map(str::to_owned).collect()),
            DeValue::Array(words) => words.iter().map(|word| scalar(word.get_ref())).collect(),
            _ => None,
        };
        words.ok_or_else(|| self.doc.expected("workload", value, what))
    }
}

fn one_line(text: &str) -> String {
    text.escape_debug().take(80).collect()
}

impl Written {
    /// Takes over a part; what the same key said before is forgotten.
    pub(crate) fn set(&mut self, part: Part) {
        match part {
            Part::Option(given) => {
                self.options.retain(|known| known.id != given.id);
                self.options.push(given);
            }
            Part::Settings(settings) => {
                for setting in settings {
                    let key = catalog::plain(&setting.key).to_owned();
                    self.settings.retain(|known| catalog::plain(&known.key) != key);
                    self.settings.push(setting);
                }
            }
            Part::Workload(words, at) => self.workload = Some((words, at)),
        }
    }

    /// Where an option stands, if the file has it.
    pub(crate) fn at(&self, id: &str) -> Option<&str> {
        self.options.iter().find(|given| given.id == id).map(|given| given.at.as_str())
    }

    /// Options and settings as on a command line.
    pub(crate) fn words(&self) -> Vec<OsString> {
        let options = self.options.iter().flat_map(|given| given.words.clone());
        let settings = self.settings.iter().map(|one| format!("--set={}={}", one.key, one.value));
        options.chain(settings).map(OsString::from).collect()
    }

    /// Where what an error of clap is about stands, if it came from here.
    pub(crate) fn blamed(&self, error: &clap::Error) -> Option<&str> {
        use clap::error::{ContextKind, ContextValue};
        let text = |kind| match error.get(kind) {
            Some(ContextValue::String(text)) => Some(text.as_str()),
            Some(ContextValue::Strings(texts)) => texts.first().map(String::as_str),
            _ => None,
        };
        let option = text(ContextKind::InvalidArg)?.split([' ', '=', '[']).next()?;
        let is_it = |word: &String| word.split('=').next() == Some(option);
        let of_option = self.options.iter().find(|given| given.words.iter().any(is_it));
        of_option.map(|given| given.at.as_str())
    }
}
