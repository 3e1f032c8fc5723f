//! The page: one file with its style, its drawings and a script that it does not need.

mod cdf;
mod costs;
mod heat;
mod machine;
mod markup;
mod migrations;
mod overview;
mod plot;
mod recorded;
mod table;

use crate::document::Document;
use crate::explain::{Explanation, apart, doubts, sides};
use crate::side::Side;
pub(crate) use markup::is_shown;
use markup::{esc, section, sentence};

/// What a page is made of.
pub(super) struct View<'a> {
    documents: &'a [Document],
    /// All of all files.
    sides: Vec<&'a Side>,
    /// What to call them.
    names: Vec<String>,
}

/// One page of these files, of which there is at least one.
#[must_use]
pub fn page(documents: &[Document]) -> String {
    let view = View::of(documents);
    let mut body = overview::top(&view);
    let sections = [
        ("summary", "Summary", overview::cards(&view)),
        ("short", "In short", said(&view)),
        (
            "figures",
            if view.sides.len() > 1 { "Comparison" } else { "Figures" },
            table::figures(&view),
        ),
        ("recorded", "As compare judged", recorded::of(documents)),
        ("latency", "Latency", cdf::latencies(&view)),
        ("migrations", "Migrations", migrations::of(&view)),
        ("use", "Use of the CPUs", heat::of(&view)),
        ("costs", "Where the time goes", costs::of(&view)),
        ("machine", "The machine", machine::of(&view)),
    ];
    let shown: Vec<_> = sections.iter().filter(|(.., text)| !text.is_empty()).collect();
    body += "<nav><div>";
    for (id, title, _) in &shown {
        body += &format!("<a href=\"#{id}\">{}</a>", esc(title));
    }
    body += "</div></nav>\n<main>\n";
    body += &warnings(&view);
    shown.iter().for_each(|(id, title, text)| body += &section(id, title, text));
    body += &overview::foot(&view);
    body += "</main>\n";
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src &#39;none&#39;; \
         style-src &#39;unsafe-inline&#39;; script-src &#39;unsafe-inline&#39;; img-src data:\"/>\n\
         <meta name=\"generator\" content=\"simsched {}\"/>\n<link rel=\"icon\" href=\"data:,\"/>\n\
         <title>{}</title>\n<style>\n{}</style>\n</head>\n<body>\n{body}<script>\n{}</script>\n\
         </body>\n</html>\n",
        env!("CARGO_PKG_VERSION"),
        esc(&overview::title(&view)),
        include_str!("style.css"),
        include_str!("script.js"),
    )
}

impl<'a> View<'a> {
    fn of(documents: &'a [Document]) -> View<'a> {
        let sides: Vec<&Side> = documents.iter().flat_map(|document| &document.sides).collect();
        let short = |side: &&Side| {
            let mut name = side.name();
            // What the first is about need not be said again.
            let (machine, first) = (side.machine(), sides[0].machine());
            let parts = [(side.workload(), sides[0].workload()), (&machine, &first)];
            for (own, _) in parts.into_iter().filter(|(own, first)| own != first) {
                name = format!("{name}, {own}");
            }
            name
        };
        let mut names: Vec<String> = sides.iter().map(short).collect();
        let plain = names.clone();
        for (idx, name) in names.iter_mut().enumerate() {
            // Two of one name are told apart by their files.
            if plain.iter().filter(|other| *other == name).count() > 1 {
                *name = format!("{name} ({}{})", sides[idx].file, nth(&sides, idx));
            }
        }
        View { documents, sides, names }
    }

    /// The sides that may be compared with the first one, by their places.
    fn others(&self) -> Vec<usize> {
        let Some(base) = self.sides.first() else { return Vec::new() };
        (1..self.sides.len()).filter(|idx| apart(base, self.sides[*idx]).is_empty()).collect()
    }

    /// Whether any side has this key.
    fn any(&self, key: &str) -> bool {
        self.sides.iter().any(|side| side.has(key))
    }
}

/// Which of the sides of one file this is, if there are several.
fn nth(sides: &[&Side], idx: usize) -> String {
    let same = |side: &&&Side| side.file == sides[idx].file;
    if sides.iter().filter(same).count() < 2 {
        return String::new();
    }
    format!(", {}", 1 + sides[..idx].iter().filter(same).count())
}

/// What a reader must know before believing a number.
fn warnings(view: &View<'_>) -> String {
    let mut found: Vec<String> = Vec::new();
    for (side, name) in view.sides.iter().zip(&view.names) {
        found.extend(doubts(side).into_iter().map(|doubt| format!("{name}: {doubt}")));
    }
    for idx in 1..view.sides.len() {
        for (what, how) in apart(view.sides[0], view.sides[idx]) {
            let name = &view.names[idx];
            found.push(format!("{name} is shown and not compared: the {what} differs ({how})."));
        }
    }
    for document in view.documents {
        let notes = document.comparison.as_ref().and_then(|top| top.get("notes")?.as_array());
        found.extend(notes.into_iter().flatten().map(crate::side::plain));
    }
    if found.is_empty() {
        return String::new();
    }
    let items: String = found.iter().map(|text| format!("<li>{}</li>", esc(text))).collect();
    format!("<div class=\"warn\" role=\"note\"><ul>{items}</ul></div>\n")
}

/// The sentences of each comparison with the first side.
fn said(view: &View<'_>) -> String {
    let mut text = String::new();
    for idx in view.others() {
        let told = sides(view.sides[0], view.sides[idx]);
        text += &format!("<h3>{} against {}</h3>\n", esc(&view.names[idx]), esc(&view.names[0]));
        text += &paragraphs(&told);
    }
    if text.is_empty() { text } else { format!("<div class=\"say\">\n{text}</div>\n") }
}

/// What changed on the left, and through what on the right, where there is room.
fn paragraphs(told: &Explanation) -> String {
    let list = |title: &str, lines: &[String]| {
        if lines.is_empty() {
            return String::new();
        }
        let items: String =
            lines.iter().map(|line| format!("<li>{}</li>\n", sentence(line))).collect();
        format!("<p class=\"note\">{title}</p>\n<ul>\n{items}</ul>\n")
    };
    let left = list("What changed", &told.changed) + &list("What did not change", &told.same);
    let right = list("Through what", &told.causes) + &list("Take care", &told.cautions);
    format!("<div class=\"two\">\n<div>{left}</div>\n<div>{right}</div>\n</div>\n")
}
