//! `Doc`: a TOML file that a person has written, and the line of everything in it.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use crate::failure::Failure;

/// A TOML file: its name in messages, and its text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Doc<'a> {
    pub(crate) file: &'a str,
    pub(crate) text: &'a str,
}

/// A key and its value, with their places.
pub(crate) type Entry<'t, 'a> = (&'t Spanned<DeString<'a>>, &'t Spanned<DeValue<'a>>);

impl<'a> Doc<'a> {
    /// The table that is the whole file.
    ///
    /// # Errors
    /// `FILE:LINE:` and what is no TOML there.
    pub(crate) fn parse(&self) -> Result<DeTable<'a>, Failure> {
        let table = DeTable::parse(self.text).map_err(|error| {
            let what = error.message().lines().map(str::trim).collect::<Vec<_>>().join(", ");
            self.wrong(&error.span().unwrap_or(0..0), &format!("no TOML: {what}"))
        })?;
        Ok(table.into_inner())
    }

    /// `FILE:LINE`.
    pub(crate) fn at(&self, span: &Range<usize>) -> String {
        let before = &self.text.as_bytes()[..span.start.min(self.text.len())];
        format!("{}:{}", self.file, 1 + before.iter().filter(|&&byte| byte == b'\n').count())
    }

    /// The sentence that something is wrong there.
    pub(crate) fn wrong(&self, span: &Range<usize>, what: &str) -> Failure {
        Failure::Input(format!("{}: {what}", self.at(span)))
    }

    /// The sentence that a value is not what its key takes.
    pub(crate) fn expected(&self, key: &str, value: &Spanned<DeValue<'_>>, what: &str) -> Failure {
        let found = described(value.get_ref());
        self.wrong(&value.span(), &format!("{key}: found {found}, expected {what}"))
    }
}

/// The entries of a table in the order of the file.
pub(crate) fn entries<'t, 'a>(table: &'t DeTable<'a>) -> Vec<Entry<'t, 'a>> {
    let mut entries: Vec<Entry<'t, 'a>> = table.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    entries
}

/// A text or a number as text; none of anything else.
pub(crate) fn scalar(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(text) => Some(text.to_string()),
        DeValue::Integer(number) if number.radix() == 10 => {
            Some(number.as_str().trim_start_matches('+').to_owned())
        }
        DeValue::Integer(number) => {
            i128::from_str_radix(number.as_str(), number.radix()).ok().map(|n| n.to_string())
        }
        DeValue::Float(number) => Some(number.as_str().to_owned()),
        _ => None,
    }
}

/// What stands in a file, in a word or two.
pub(crate) fn described(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => format!("{:?}", text.as_ref()),
        DeValue::Boolean(on) => on.to_string(),
        DeValue::Array(_) => "a list".to_owned(),
        DeValue::Table(_) => "a table".to_owned(),
        DeValue::Datetime(date) => date.to_string(),
        number => scalar(number).unwrap_or_else(|| "a number".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_stand_in_the_order_of_the_file() {
        let doc = Doc { file: "f", text: "z = 1\na = 'x'\nm = 0x10\n" };
        let table = doc.parse().unwrap();
        let found: Vec<(String, String, Option<String>)> = entries(&table)
            .iter()
            .map(|(k, v)| (k.get_ref().to_string(), doc.at(&v.span()), scalar(v.get_ref())))
            .collect();
        let want = [("z", "f:1", "1"), ("a", "f:2", "x"), ("m", "f:3", "16")];
        assert_eq!(found, want.map(|(k, at, v)| (k.into(), at.into(), Some(v.to_owned()))));
    }

    #[test]
    fn what_is_no_toml_is_told_with_its_line() {
        let doc = Doc { file: "s.toml", text: "topo = 't8'\nseed = = 3\n" };
        let text = doc.parse().unwrap_err().to_string();
        assert!(text.starts_with("s.toml:2: no TOML: "), "{text}");
    }
}
