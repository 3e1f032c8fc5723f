//! What is wrong with a text that is not TOML, with the key by which a person finds it.

use std::ops::Range;

/// The message of the TOML parser in the terms of machine files: it names the key of the line, if there is one.
pub(super) fn describe(text: &str, span: Range<usize>, message: &str) -> String {
    let start =
        text.get(..span.start).map_or(0, |before| before.rfind('\n').map_or(0, |at| at + 1));
    let line = text[start..].lines().next().unwrap_or_default();
    let found = text.get(span.clone()).unwrap_or_default();
    let in_line = span.start.saturating_sub(start);
    if message.starts_with("duplicate key") {
        return format!(
            "the key `{}` is given twice (duplicate key)",
            twice(text, start, line, in_line, found)
        );
    }
    let message = message.replace('\n', ", ");
    match line.split_once('=') {
        // The list that lacks a comma began on a line before.
        Some((_, value)) if message.starts_with("missing comma") && !value.contains('[') => message,
        Some((key, _)) if key.trim().is_empty() => {
            format!("a key is missing before `=` ({message})")
        }
        Some((key, value)) => {
            let key = full(text, start, key.trim());
            match value.trim_start() {
                "" => format!("the key `{key}` has no value"),
                value if value.starts_with('#') => format!("the key `{key}` has no value"),
                value if is_bare_word(value) => {
                    format!(
                        "`{key}` is {}, expected a number, true, false, or a text in quotes",
                        value.trim_end()
                    )
                }
                value => match with_unit(value) {
                    Some(number) => format!(
                        "`{key}` is {number}, expected a number without a unit: the key says it"
                    ),
                    None => format!("`{key}`: {message}"),
                },
            }
        }
        None => message,
    }
}

/// Whether a value is a text that lacks its quotes.
fn is_bare_word(value: &str) -> bool {
    let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    value.starts_with(|c: char| c.is_ascii_alphabetic()) && value.trim_end().chars().all(is_word)
}

/// A number with a word right behind it, such as `10.3ns`, in this value.
fn with_unit(value: &str) -> Option<&str> {
    let value = value.split('#').next().unwrap_or_default();
    let words = value.split(|c: char| c.is_whitespace() || matches!(c, '{' | '}' | ',' | '='));
    words.into_iter().find(|word| {
        let unit = word.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | '_'));
        unit.len() < word.len() && unit.len() > 1 && unit.bytes().all(|b| b.is_ascii_alphabetic())
    })
}

/// The full name of the key `found`, which stands at `in_line` of a line that begins at `start`.
fn twice(text: &str, start: usize, line: &str, in_line: usize, found: &str) -> String {
    if let Some((header, _)) = header(line) {
        return header.to_owned();
    }
    let before = line.get(..in_line).unwrap_or_default();
    match (before.split_once('='), line.split_once('=')) {
        (Some((outer, _)), _) => format!("{}.{found}", full(text, start, outer.trim())),
        (None, Some((key, _))) => full(text, start, key.trim()),
        (None, None) => full(text, start, found),
    }
}

/// The key with the table in which a line that begins at `start` stands.
fn full(text: &str, start: usize, key: &str) -> String {
    let headers: Vec<_> = text[..start].lines().filter_map(header).collect();
    match headers.last() {
        None => key.to_owned(),
        Some((name, false)) => format!("{name}.{key}"),
        Some((name, true)) => {
            let before = headers.iter().filter(|(other, _)| other == name).count() - 1;
            format!("{name}[{before}].{key}")
        }
    }
}

/// The name in a line `[name]` or `[[name]]`, and whether it is the second kind.
fn header(line: &str) -> Option<(&str, bool)> {
    let line = line.split('#').next().unwrap_or_default().trim();
    let inner = line.strip_prefix('[')?.strip_suffix(']')?;
    let (name, is_list) = match inner.strip_prefix('[').and_then(|s| s.strip_suffix(']')) {
        Some(name) => (name.trim(), true),
        None => (inner.trim(), false),
    };
    // A row of a distance table is no header.
    let is_name = name.starts_with(|c: char| !c.is_ascii_digit()) && !name.contains(['[', ',']);
    is_name.then_some((name, is_list))
}
