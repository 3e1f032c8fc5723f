//! A command line as the real programs read it (`getopt_long`), from a table of options.

use simsched_topology::nearest;

use crate::error::WorkloadError;

/// An option of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OptionInfo {
    /// After one dash, if it has a short name.
    pub short: Option<char>,
    /// After two dashes, if it has a long name.
    pub long: Option<&'static str>,
    /// The name of its value; `None` if it takes none.
    pub value: Option<&'static str>,
    /// The value when it is not given, or whether it is on; empty for what can be neither.
    pub default: &'static str,
    /// What it means.
    pub doc: &'static str,
}

/// An option as it was given, with its value if it takes one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Given<'a> {
    pub(crate) option: &'static OptionInfo,
    pub(crate) value: &'a str,
}

impl OptionInfo {
    /// An option with a long name only.
    pub(crate) const fn long(
        long: &'static str,
        value: Option<&'static str>,
        default: &'static str,
        doc: &'static str,
    ) -> OptionInfo {
        OptionInfo { short: None, long: Some(long), value, default, doc }
    }

    /// Its long name, or an empty text.
    fn long_name(&self) -> &'static str {
        self.long.unwrap_or_default()
    }
}

/// An option with a value.
pub(crate) const fn number(
    short: char,
    long: &'static str,
    value: &'static str,
    default: &'static str,
    doc: &'static str,
) -> OptionInfo {
    OptionInfo { short: Some(short), long: Some(long), value: Some(value), default, doc }
}

/// An option without one.
pub(crate) const fn switch(
    short: char,
    long: &'static str,
    default: &'static str,
    doc: &'static str,
) -> OptionInfo {
    OptionInfo { short: Some(short), long: Some(long), value: None, default, doc }
}

/// Reads `args` by the options of `program`: `-g 10`, `-g10`, `-Tp`, `--groups 10`, `--groups=10`,
/// and any beginning of a long name that means one option only. Its complaints are worded as those
/// of `getopt_long` in glibc.
///
/// Stricter than the real programs in one point: a word that belongs to no option is refused and
/// not passed over.
pub(crate) fn parse<'a>(
    program: &'static str,
    options: &'static [OptionInfo],
    args: &'a [String],
) -> Result<Vec<Given<'a>>, WorkloadError> {
    let (given, words) = parse_with_words(program, options, args)?;
    match words.first() {
        None => Ok(given),
        Some(word) => {
            let what = format!("unexpected argument '{word}'");
            Err(WorkloadError::Usage { program, what })
        }
    }
}

/// The same for a program that takes words beside its options; returns both, each in order.
pub(crate) fn parse_with_words<'a>(
    program: &'static str,
    options: &'static [OptionInfo],
    args: &'a [String],
) -> Result<(Vec<Given<'a>>, Vec<&'a str>), WorkloadError> {
    let mut reader = Reader { program, options, rest: args.iter(), given: Vec::new() };
    let mut words = Vec::new();
    while let Some(word) = reader.rest.next() {
        if let Some(long) = word.strip_prefix("--") {
            reader.long(long)?;
        } else if let Some(shorts) = word.strip_prefix('-')
            && !shorts.is_empty()
        {
            reader.shorts(shorts)?;
        } else {
            words.push(word.as_str());
        }
    }
    Ok((reader.given, words))
}

struct Reader<'a> {
    program: &'static str,
    options: &'static [OptionInfo],
    rest: std::slice::Iter<'a, String>,
    given: Vec<Given<'a>>,
}

impl<'a> Reader<'a> {
    fn long(&mut self, word: &'a str) -> Result<(), WorkloadError> {
        let (name, value) = match word.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (word, None),
        };
        let option = self.find_long(name)?;
        let value = match (option.value, value) {
            (None, None) => "",
            (Some(_), Some(value)) => value,
            (None, Some(_)) => {
                return Err(self.usage(format!(
                    "option '--{}' doesn't allow an argument",
                    option.long_name()
                )));
            }
            (Some(_), None) => {
                self.next_value(format!("option '--{}' requires an argument", option.long_name()))?
            }
        };
        self.given.push(Given { option, value });
        Ok(())
    }

    fn shorts(&mut self, mut shorts: &'a str) -> Result<(), WorkloadError> {
        while let Some(short) = shorts.chars().next() {
            shorts = &shorts[short.len_utf8()..];
            let found = self.options.iter().find(|option| option.short == Some(short));
            let unknown = || self.unknown(format!("invalid option -- '{short}'"), &[]);
            let option = found.ok_or_else(unknown)?;
            let value = match option.value {
                None => "",
                Some(_) if shorts.is_empty() => {
                    self.next_value(format!("option requires an argument -- '{short}'"))?
                }
                Some(_) => std::mem::take(&mut shorts),
            };
            self.given.push(Given { option, value });
        }
        Ok(())
    }

    /// The word that follows; `lacks` says what is wrong if there is none.
    fn next_value(&mut self, lacks: String) -> Result<&'a str, WorkloadError> {
        let value = self.rest.next().map(String::as_str);
        value.ok_or_else(|| self.usage(lacks))
    }

    /// The option of this long name, or the only one that begins so.
    fn find_long(&self, name: &str) -> Result<&'static OptionInfo, WorkloadError> {
        if let Some(exact) = self.options.iter().find(|option| option.long == Some(name)) {
            return Ok(exact);
        }
        let begins =
            |option: &&OptionInfo| !name.is_empty() && option.long_name().starts_with(name);
        let found: Vec<&'static OptionInfo> = self.options.iter().filter(begins).collect();
        match found[..] {
            [only] => Ok(only),
            [] => {
                let close = nearest(name, self.options.iter().filter_map(|option| option.long));
                Err(self.unknown(format!("unrecognized option '--{name}'"), &close))
            }
            _ => {
                let names: Vec<String> =
                    found.iter().map(|o| format!("'--{}'", o.long_name())).collect();
                let names = names.join(" ");
                Err(self.usage(format!("option '--{name}' is ambiguous; possibilities: {names}")))
            }
        }
    }

    fn unknown(&self, what: String, close: &[&str]) -> WorkloadError {
        let nearest = close.iter().map(|name| format!("--{name}")).collect();
        WorkloadError::UnknownOption { program: self.program, what, nearest }
    }

    fn usage(&self, what: String) -> WorkloadError {
        WorkloadError::Usage { program: self.program, what }
    }
}
