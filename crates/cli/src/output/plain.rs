//! What a terminal may be shown: no control characters, and sentences of a bounded length.

use std::borrow::Cow;

/// Characters of a sentence that are shown at most; what is longer has `...` in its middle.
const LONGEST: usize = 2_000;
/// Of these, what is shown of its end, where the names that would have been right are.
const END: usize = 700;

/// `text` with all characters escaped that a terminal would obey: all control characters but line ends and
/// tabs, those that turn the direction of writing, and the separators of lines and paragraphs.
pub(super) fn plain(text: &str) -> Cow<'_, str> {
    if !text.contains(is_obeyed) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match is_obeyed(c) {
            true => shown.extend(c.escape_default()),
            false => shown.push(c),
        }
    }
    Cow::Owned(shown)
}

fn is_obeyed(c: char) -> bool {
    let turns = matches!(
        c,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    );
    turns || (c.is_control() && c != '\n' && c != '\t')
}

/// `text` on one line, [`plain`], and not longer than two thousand characters.
pub(crate) fn sentence(text: &str) -> String {
    let line = text.lines().map(str::trim).collect::<Vec<_>>().join(" ");
    let line = plain(&line).into_owned();
    let nr = line.chars().count();
    if nr <= LONGEST {
        return line;
    }
    let begin: String = line.chars().take(LONGEST - END).collect();
    let end: String = line.chars().skip(nr - END).collect();
    format!("{begin} ... {end}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_has_nothing_to_obey() {
        assert_eq!(plain("a\tb\nc"), "a\tb\nc");
        assert_eq!(plain("\u{1b}[2Jx\u{9b}31m\u{7f}\r"), "\\u{1b}[2Jx\\u{9b}31m\\u{7f}\\r");
        assert_eq!(plain("\u{202e}abc"), "\\u{202e}abc");
        assert_eq!(plain("a\u{2028}b\u{2029}"), "a\\u{2028}b\\u{2029}");
        assert_eq!(plain("größe 5 %"), "größe 5 %");
    }

    #[test]
    fn a_sentence_is_one_line_with_its_begin_and_its_end() {
        assert_eq!(sentence("a\n  b\n"), "a b");
        let long = sentence(&format!("found '{}', expected `x`", "y".repeat(400_000)));
        assert!(long.starts_with("found 'yyy") && long.ends_with("', expected `x`"));
        assert_eq!(long.chars().count(), LONGEST + " ... ".len());
    }
}
