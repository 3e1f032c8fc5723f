//! Text that becomes markup.

use crate::explain::nobreak;

/// Whether a page shows this character as it is: XML does not allow some, white space is folded, and
/// marks of direction change the order of what follows.
pub(crate) fn is_shown(c: char) -> bool {
    !matches!(c,
        '\u{0}'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{fffe}' | '\u{ffff}'
        | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// A text as content or as the value of an attribute; what cannot be shown becomes U+FFFD.
pub(super) fn esc(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            '\t' | '\n' | '\r' => safe.push(' '),
            c => safe.push(if is_shown(c) { c } else { '\u{fffd}' }),
        }
    }
    safe
}

/// A sentence whose numbers stay with their units.
pub(super) fn sentence(text: &str) -> String {
    esc(&nobreak(text))
}

/// A number of a drawing: at most two digits after the point.
pub(super) fn num(value: f64) -> String {
    let text = format!("{value:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" || text.is_empty() { "0".to_owned() } else { text.to_owned() }
}

/// A position in percent.
pub(super) fn pct(part: f64) -> String {
    format!("{}%", num(100.0 * part))
}

/// The variable that colours what belongs to side `idx`.
pub(super) fn colour(idx: usize) -> String {
    format!("--c:var(--s{})", idx % 8)
}

/// A section of the page.
pub(super) fn section(id: &str, title: &str, body: &str) -> String {
    format!("<section id=\"{id}\">\n<h2>{}</h2>\n{body}</section>\n", esc(title))
}

pub(super) fn note(text: &str) -> String {
    format!("<p class=\"note\">{}</p>\n", esc(text))
}

/// What the colours of several sides mean; nothing for one.
pub(super) fn keys(names: &[String]) -> String {
    if names.len() < 2 {
        return String::new();
    }
    let key = |(idx, name): (usize, &String)| {
        format!("<span><i class=\"key\" style=\"{}\"></i>{}</span>", colour(idx), esc(name))
    };
    let keys: String = names.iter().enumerate().map(key).collect();
    format!("<div class=\"keys\">{keys}</div>\n")
}

/// One line of a bar chart: a label, and for each side a value with its text, and what is beside it.
pub(super) struct BarRow {
    pub(super) label: String,
    pub(super) values: Vec<(f64, String, String)>,
}

/// Bars of all rows on one scale.
pub(super) fn bars(rows: &[BarRow]) -> String {
    let all = rows.iter().flat_map(|row| row.values.iter().map(|(value, ..)| *value));
    let most = all.fold(0.0, f64::max);
    let mut text = "<div class=\"bars\">\n".to_owned();
    for row in rows {
        text += &format!("<div class=\"l\">{}</div><div>", esc(&row.label));
        for (idx, (value, shown, beside)) in row.values.iter().enumerate() {
            // The longest bar leaves room for its number.
            let width = if most > 0.0 { 0.58 * value / most } else { 0.0 };
            let beside = if beside.is_empty() {
                String::new()
            } else {
                format!(" <small>{}</small>", esc(beside))
            };
            text += &format!(
                "<div class=\"bar\" style=\"{}\"><i style=\"width:{}\"></i><span>{}{beside}</span></div>",
                colour(idx),
                pct(width),
                esc(shown)
            );
        }
        text += "</div>\n";
    }
    text + "</div>\n"
}

/// What the strengths of a colour mean.
pub(super) fn ramp(from: &str, to: &str) -> String {
    let steps: String =
        (0..=8).map(|k| format!("<i style=\"opacity:{}\"></i>", num(f64::from(k) / 8.0))).collect();
    format!("<p class=\"legend\">{}<span class=\"ramp\">{steps}</span>{}</p>\n", esc(from), esc(to))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_text_is_markup() {
        let found = esc("<a href=\"x\" b='y'>&\u{1}\u{202e}\n");
        assert_eq!(found, "&lt;a href=&quot;x&quot; b=&#39;y&#39;&gt;&amp;\u{fffd}\u{fffd} ");
    }

    #[test]
    fn numbers_of_drawings_are_short() {
        let found = [0.0, -0.001, 1.5, 100.0, 0.126].map(num);
        assert_eq!(found, ["0", "0", "1.5", "100", "0.13"]);
    }
}
