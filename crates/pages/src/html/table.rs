//! The figures of all sides, and how they differ from the first.

use super::View;
use super::markup::{colour, esc};
use crate::explain::signed;
use crate::measure::{Change, MEASURES, Measure, Verdict};
use crate::side::Side;

/// A row for each number that any side has.
pub(super) fn figures(view: &View<'_>) -> String {
    if view.sides.is_empty() {
        return String::new();
    }
    let others = view.others();
    let is_compared = |idx: usize| others.contains(&idx);
    let mut head = "<th scope=\"col\"></th>".to_owned();
    for (idx, name) in view.names.iter().enumerate() {
        let span = if is_compared(idx) { " colspan=\"2\"" } else { "" };
        head += &format!(
            "<th scope=\"col\"{span}><i class=\"key\" style=\"{}\"></i>{}</th>",
            colour(idx),
            esc(name)
        );
    }
    let mut rows = String::new();
    for measure in &MEASURES {
        if view.sides.iter().all(|side| measure.values(side).is_none()) {
            continue;
        }
        rows += &format!("<tr><th scope=\"row\">{}</th>", esc(measure.label));
        for (idx, side) in view.sides.iter().enumerate() {
            rows += &value(measure, side);
            if is_compared(idx) {
                rows += &change(measure, measure.change(view.sides[0], side));
            }
        }
        rows += "</tr>\n";
    }
    let legend = if others.is_empty() {
        ""
    } else {
        "<p class=\"legend\">After ± of a mean: half its 95 % interval; in parentheses behind a change: the ends of its own. Bold: the change is at least 1 % and \
         its interval leaves out zero. Grey: within 3 %, or not to be told from chance. Without an \
         interval (one seed that was run as a whole) a change of 3 % and more is shown as one, and may be chance. Green is \
         better, red is worse.</p>\n"
    };
    format!(
        "<div class=\"scroll\"><table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}</tbody>\n\
         </table></div>\n{legend}"
    )
}

fn value(measure: &Measure, side: &Side) -> String {
    let Some(spread) = measure.spread(side) else { return "<td class=\"faint\">-</td>".to_owned() };
    let own = || Some(measure.own_interval(side)? / 100.0 * spread.mean);
    let width = spread.ci95.or_else(own).filter(|ci95| *ci95 > 0.0);
    let width = width.map_or_else(String::new, |ci95| {
        format!(" <small>± {}</small>", esc(&measure.shown(ci95)))
    });
    format!("<td data-v=\"{}\">{}{width}</td>", spread.mean, esc(&measure.shown(spread.mean)))
}

fn change(measure: &Measure, change: Option<Change>) -> String {
    let Some(change) = change else { return "<td class=\"chg faint\">-</td>".to_owned() };
    let mut class = "chg".to_owned();
    match change.verdict {
        Verdict::Same | Verdict::Chance => class += " faint",
        Verdict::Differs => {
            class += match change.is_good(measure.better) {
                Some(true) => " good",
                Some(false) => " bad",
                None => "",
            };
            class += if change.ends.is_some() { " sure" } else { "" };
        }
    }
    let ends = change.ends.filter(|_| change.half().is_some());
    let width = ends.map_or_else(String::new, |(low, high)| {
        format!(" <small>({} to {})</small>", esc(&signed(low)), esc(&signed(high)))
    });
    let text = change.pct.map_or_else(|| "from nothing".to_owned(), signed);
    format!("<td class=\"{class}\">{}{width}</td>", esc(&text))
}
