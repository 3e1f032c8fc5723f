//! Reading TOML with a place for every value: tables and items that know their line and their path.

use std::ops::{Range, RangeInclusive};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::cpuset::CpuSet;
use crate::error::{Place, TopologyError, on_one_line};
use crate::fact::{Fact, decimal, parse_milli};
use crate::nearest::nearest;

type Result<T> = std::result::Result<T, TopologyError>;

/// A file being read: its name and its text.
#[derive(Debug)]
pub(crate) struct Doc<'a> {
    file: &'a str,
    text: &'a str,
}

impl<'a> Doc<'a> {
    pub(crate) const fn new(file: &'a str, text: &'a str) -> Self {
        Self { file, text }
    }

    /// The table that is the whole file.
    pub(crate) fn parse(&self) -> Result<Spanned<DeTable<'a>>> {
        let odd = |c: char| c.is_control() && !matches!(c, '\t' | '\n' | '\r');
        if let Some(offset) = self.text.find(odd) {
            let message = "the file is not text: it holds a control character".to_owned();
            return Err(TopologyError::Syntax { at: self.place(offset), message });
        }
        DeTable::parse(self.text).map_err(|error| {
            let span = error.span().unwrap_or(0..0);
            let at = self.place(span.start);
            let message = on_one_line(&super::syntax::describe(self.text, span, error.message()));
            TopologyError::Syntax { at, message }
        })
    }

    fn place(&self, offset: usize) -> Place {
        let before = &self.text.as_bytes()[..offset.min(self.text.len())];
        let line = 1 + before.iter().filter(|&&b| b == b'\n').count();
        Place { file: self.file.to_owned(), line }
    }
}

/// A table of the file.
#[derive(Clone, Debug)]
pub(crate) struct Table<'a> {
    doc: &'a Doc<'a>,
    path: String,
    start: usize,
    entries: &'a DeTable<'a>,
}

impl<'a> Table<'a> {
    pub(crate) fn root(doc: &'a Doc<'a>, root: &'a Spanned<DeTable<'a>>) -> Self {
        Self { doc, path: String::new(), start: 0, entries: root.get_ref() }
    }

    /// The file and line where the table begins.
    pub(crate) fn place(&self) -> Place {
        self.doc.place(self.start)
    }

    /// The full name of a key of this table.
    pub(crate) fn key(&self, key: &str) -> String {
        let key = on_one_line(key);
        if self.path.is_empty() { key } else { format!("{}.{key}", self.path) }
    }

    /// Refuses every key but these and `note`.
    pub(crate) fn only(&self, keys: &[&str]) -> Result<()> {
        let unknown = |k: &&Spanned<_>| !is_known(k, keys);
        let Some(key) = self.entries.keys().filter(unknown).min_by_key(|k| k.span().start) else {
            return Ok(());
        };
        let names = nearest(key.get_ref(), keys.iter().copied());
        Err(TopologyError::UnknownKey {
            at: self.doc.place(key.span().start),
            key: self.key(key.get_ref()),
            valid: keys.iter().map(|&key| key.to_owned()).collect(),
            nearest: names.into_iter().map(str::to_owned).collect(),
        })
    }

    /// The item of a key that may be absent.
    pub(crate) fn get(&self, key: &str) -> Option<Item<'a>> {
        let (name, value) = self.entries.get_key_value(key)?;
        Some(self.item(name, value))
    }

    /// The item of a key that must be there.
    pub(crate) fn need(&self, key: &str, expected: &str) -> Result<Item<'a>> {
        self.get(key).ok_or_else(|| self.missing(key, expected))
    }

    pub(crate) fn missing(&self, key: &str, expected: &str) -> TopologyError {
        let expected = expected.to_owned();
        TopologyError::MissingKey { at: self.place(), key: self.key(key), expected }
    }

    /// The error that the value of this key, or the table, contradicts another.
    pub(crate) fn contradicts(&self, key: &str, what: &str) -> TopologyError {
        let at = self.get(key).map_or_else(|| self.place(), |item| item.place());
        TopologyError::Contradiction { at, key: self.key(key), what: what.to_owned() }
    }

    /// A sub-table that may be absent.
    pub(crate) fn table(&self, key: &str) -> Result<Option<Table<'a>>> {
        self.get(key).map(|item| item.table()).transpose()
    }

    /// The tables of `[[key]]`, none if absent.
    pub(crate) fn tables(&self, key: &str) -> Result<Vec<Table<'a>>> {
        self.get(key).map_or(Ok(Vec::new()), |list| list.tables())
    }

    /// The number of a table `{ v, lo, hi, src }`.
    pub(crate) fn fact(&self) -> Result<Fact> {
        let item = self.need("v", "the value to use")?;
        let milli = item.milli()?;
        let bound = |key| self.get(key).map_or(Ok(milli), |item| item.milli());
        let (lo_milli, hi_milli) = (bound("lo")?, bound("hi")?);
        if !(lo_milli..=hi_milli).contains(&milli) {
            let [v, lo, hi] = [milli, lo_milli, hi_milli].map(decimal);
            return Err(item.contradicts(format!("{v} lies outside its own range {lo}..{hi}")));
        }
        for (key, other) in [("lo", "hi"), ("hi", "lo")] {
            if self.get(key).is_some() && self.get(other).is_none() {
                let expected = format!("the other end of the range, as `{key}` is given");
                return Err(self.missing(other, &expected));
            }
        }
        let src = self.get("src").map_or(Ok(""), |item| item.text())?.to_owned();
        Ok(Fact { milli, lo_milli, hi_milli, src })
    }

    /// All items in the order of the file.
    pub(crate) fn items(&self) -> Vec<(&'a str, Item<'a>)> {
        let mut items: Vec<_> =
            self.entries.iter().map(|(k, v)| (k.get_ref().as_ref(), self.item(k, v))).collect();
        items.sort_by_key(|(_, item)| item.span.start);
        items
    }

    fn item(&self, key: &Spanned<impl AsRef<str>>, value: &'a Spanned<DeValue<'a>>) -> Item<'a> {
        // An inline value is found at its own line, a table at its header.
        let span = if value.get_ref().is_table() { key.span() } else { value.span() };
        Item { doc: self.doc, path: self.key(key.get_ref().as_ref()), span, value: value.get_ref() }
    }
}

fn is_known(key: &Spanned<std::borrow::Cow<'_, str>>, keys: &[&str]) -> bool {
    key.get_ref() == "note" || keys.contains(&key.get_ref().as_ref())
}

/// A value of the file.
#[derive(Clone, Debug)]
pub(crate) struct Item<'a> {
    doc: &'a Doc<'a>,
    path: String,
    span: Range<usize>,
    value: &'a DeValue<'a>,
}

impl<'a> Item<'a> {
    pub(crate) fn place(&self) -> Place {
        self.doc.place(self.span.start)
    }

    /// The error that this value is not what is expected here.
    pub(crate) fn wrong(&self, expected: impl Into<String>) -> TopologyError {
        TopologyError::WrongValue {
            at: self.place(),
            key: self.path.clone(),
            found: self.found(),
            expected: expected.into(),
        }
    }

    /// The error that this value contradicts another.
    pub(crate) fn contradicts(&self, what: impl Into<String>) -> TopologyError {
        TopologyError::Contradiction { at: self.place(), key: self.path.clone(), what: what.into() }
    }

    /// The error that this name is none of `valid`.
    pub(crate) fn unknown_name(&self, found: &str, valid: &[&str]) -> TopologyError {
        let owned = |names: &[&str]| names.iter().map(|&n| n.to_owned()).collect();
        TopologyError::UnknownName {
            at: self.place(),
            key: self.path.clone(),
            found: on_one_line(found),
            valid: owned(valid),
            nearest: owned(&nearest(found, valid.iter().copied())),
        }
    }

    pub(crate) fn text(&self) -> Result<&'a str> {
        self.value.as_str().ok_or_else(|| self.wrong("a text in quotes"))
    }

    /// A text on one line.
    pub(crate) fn line(&self) -> Result<&'a str> {
        let text = self.text()?;
        let is_line = !text.contains(char::is_control);
        if is_line { Ok(text) } else { Err(self.wrong("a text without line breaks")) }
    }

    /// A name to choose something by.
    pub(crate) fn label(&self) -> Result<&'a str> {
        let text = self.text()?;
        if is_label(text) { Ok(text) } else { Err(self.wrong(LABEL)) }
    }

    pub(crate) fn flag(&self) -> Result<bool> {
        self.value.as_bool().ok_or_else(|| self.wrong("true or false"))
    }

    /// One of a few names.
    pub(crate) fn name_of<T: Copy>(&self, names: &[(&str, T)]) -> Result<T> {
        let text = self.text()?;
        let valid: Vec<&str> = names.iter().map(|(name, _)| *name).collect();
        let found = names.iter().find(|(name, _)| *name == text).map(|(_, value)| *value);
        found.ok_or_else(|| self.unknown_name(text, &valid))
    }

    /// A whole number within a range.
    pub(crate) fn whole(&self, range: RangeInclusive<usize>) -> Result<usize> {
        let number = self
            .value
            .as_integer()
            .and_then(|i| usize::from_str_radix(&i.as_str().replace('_', ""), i.radix()).ok());
        number.filter(|n| range.contains(n)).ok_or_else(|| {
            self.wrong(format!("a whole number from {} to {}", range.start(), range.end()))
        })
    }

    /// A number that may have decimals, in thousandths.
    fn milli(&self) -> Result<u64> {
        let text = match self.value {
            DeValue::Integer(i) if i.radix() == 10 => Some(i.as_str()),
            DeValue::Float(x) => Some(x.as_str()),
            _ => None,
        };
        let milli = text.and_then(parse_milli).filter(|&m| m <= MAX_MILLI);
        milli.ok_or_else(|| self.wrong("a number from 0 to 1000000000 with at most three decimals"))
    }

    /// A bare number, or `{ v, lo, hi, src }`.
    pub(crate) fn fact(&self) -> Result<Fact> {
        if self.value.is_integer() || self.value.is_float() {
            let milli = self.milli()?;
            return Ok(Fact { milli, lo_milli: milli, hi_milli: milli, src: String::new() });
        }
        if !self.value.is_table() {
            return Err(self.wrong("a number or { v, lo, hi, src }"));
        }
        let table = self.table()?;
        table.only(&["v", "lo", "hi", "src"])?;
        table.fact()
    }

    /// A list of CPUs such as "0-3,8", not empty.
    pub(crate) fn cpus(&self) -> Result<CpuSet> {
        let set: CpuSet = self.text()?.parse().map_err(|error: crate::ParseCpuSetError| {
            self.wrong(format!("a list of CPUs such as \"0-3,8\" ({error})"))
        })?;
        if set.is_empty() { Err(self.wrong("a list of CPUs such as \"0-3,8\"")) } else { Ok(set) }
    }

    pub(crate) fn table(&self) -> Result<Table<'a>> {
        let entries = self.value.as_table().ok_or_else(|| self.wrong("a table"))?;
        Ok(Table { doc: self.doc, path: self.path.clone(), start: self.span.start, entries })
    }

    /// Whether this is a table, `[key]` or `{ }`.
    pub(crate) fn is_table(&self) -> bool {
        self.value.is_table()
    }

    /// The tables of `[[key]]`.
    pub(crate) fn tables(&self) -> Result<Vec<Table<'a>>> {
        if self.is_table() {
            return Err(self.wrong(format!("a list of tables: write [[{}]]", self.path)));
        }
        self.each()?.iter().map(Item::table).collect()
    }

    /// The items of a list, each named by its position.
    pub(crate) fn each(&self) -> Result<Vec<Item<'a>>> {
        let list = self.value.as_array().ok_or_else(|| self.wrong("a list"))?;
        let item = |(n, value): (usize, &'a Spanned<DeValue<'a>>)| Item {
            doc: self.doc,
            path: format!("{}[{n}]", self.path),
            span: value.span(),
            value: value.get_ref(),
        };
        Ok(list.iter().enumerate().map(item).collect())
    }

    /// The value as written, if it is short; else its type.
    fn found(&self) -> String {
        match self.value {
            DeValue::String(text) => format!("\"{}\"", on_one_line(text)),
            DeValue::Integer(i) => i.as_str().to_owned(),
            DeValue::Float(x) => x.as_str().to_owned(),
            DeValue::Boolean(flag) => flag.to_string(),
            DeValue::Datetime(time) => time.to_string(),
            DeValue::Array(list) if list.is_empty() => "an empty list".to_owned(),
            DeValue::Array(_) => "a list".to_owned(),
            DeValue::Table(_) => "a table".to_owned(),
        }
    }
}

/// The largest number that a file may hold, in thousandths.
const MAX_MILLI: u64 = 1_000_000_000_000;

/// What a name must be.
pub(crate) const LABEL: &str = "a name: not empty, on one line, without `@` and `/`";

/// Whether somebody can choose something by this name, as in `genoa@nps4`.
pub(crate) fn is_label(text: &str) -> bool {
    !text.trim().is_empty() && !text.contains(|c: char| c.is_control() || matches!(c, '@' | '/'))
}
