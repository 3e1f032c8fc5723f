//! What `compare --json` has judged itself: its metrics where it kept no runs, and its sweep.

use serde_json::{Map, Value};

use super::markup::{esc, note};
use crate::document::Document;
use crate::explain::signed;
use crate::measure::tidy;
use crate::side::{plain, text};

pub(super) fn of(documents: &[Document]) -> String {
    let comparisons =
        documents.iter().filter_map(|document| Some((document, document.comparison.as_ref()?)));
    let mut html = String::new();
    for (document, top) in comparisons {
        if document.sides.is_empty() {
            html += &metrics(top);
            html += &note(
                "This comparison kept no runs, so there are neither distributions nor maps: it was \
                 written by an older simsched, or stopped before a run was done. Run its command again \
                 to get them.",
            );
        }
        html += &sweep(top);
    }
    html
}

fn array<'a>(value: &'a Map<String, Value>, key: &str) -> impl Iterator<Item = &'a Value> {
    value.get(key).and_then(Value::as_array).into_iter().flatten()
}

/// The means of all policies, and what they gain.
fn metrics(top: &Map<String, Value>) -> String {
    let mut head = "<th scope=\"col\"></th>".to_owned();
    for policy in array(top, "policies") {
        head += &format!("<th scope=\"col\">{}</th>", esc(policy["policy"].as_str().unwrap_or("")));
    }
    let mut rows = String::new();
    for metric in array(top, "metrics").filter_map(Value::as_object) {
        let unit = text(metric, "unit");
        let unit = if unit.is_empty() { String::new() } else { format!(" ({unit})") };
        rows += &format!("<tr><th scope=\"row\">{}{}</th>", esc(text(metric, "name")), esc(&unit));
        for cell in array(metric, "policies") {
            let mean = cell["mean"].as_f64();
            let shown = mean.map_or_else(|| "-".to_owned(), tidy);
            let gain = cell["paired"]["difference_pct"].as_f64();
            let sure = cell["paired"]["significant"].as_bool() == Some(true);
            let class = if sure { "sure" } else { "faint" };
            let gain = gain.map_or_else(String::new, |gain| {
                format!(" <span class=\"{class}\">{}</span>", esc(&signed(gain)))
            });
            rows += &format!("<td>{}{gain}</td>", esc(&shown));
        }
        rows += "</tr>\n";
    }
    format!(
        "<div class=\"scroll\"><table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}</tbody>\n\
         </table></div>\n<p class=\"legend\">In percent the change from the first policy. Bold: at least \
         five seeds that vary, and a 95 % interval that leaves out zero.</p>\n"
    )
}

/// Which parameters of the machine change a class.
fn sweep(top: &Map<String, Value>) -> String {
    let Some(sweep) = top.get("sweep_hw").and_then(Value::as_object) else { return String::new() };
    let mut rows = String::new();
    for flip in array(sweep, "flips").filter_map(Value::as_object) {
        for change in array(flip, "changes").filter_map(Value::as_object) {
            let cells = [
                text(flip, "parameter").to_owned(),
                flip.get("usual").map(plain).unwrap_or_default(),
                flip.get("value").map(plain).unwrap_or_default(),
                text(change, "metric").to_owned(),
                text(change, "policy").to_owned(),
                format!("{} in place of {}", text(change, "to"), text(change, "from")),
            ];
            let cells: String =
                cells.iter().map(|cell| format!("<td>{}</td>", esc(cell))).collect();
            rows += &format!("<tr>{cells}</tr>\n");
        }
    }
    if rows.is_empty() {
        return note("No physical parameter of the machine changes a class of this comparison.");
    }
    format!(
        "<h3>Physical parameters that change a class</h3>\n<div class=\"scroll\"><table>\n<thead><tr>\
         <th>parameter</th><th>usual</th><th>value</th><th>metric</th><th>policy</th><th>is then</th>\
         </tr></thead>\n<tbody>\n{rows}</tbody>\n</table></div>\n"
    )
}
