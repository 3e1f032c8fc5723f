//! `Page`: lines of text, each with a label.

use super::units::{count, percent};
use crate::report::Counts;

/// Lines of text, each with a label.
#[derive(Default)]
pub(super) struct Page(pub(super) String);

/// In which order the parts of a whole are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// In their own: causes by their kind, distances from near to far.
    AsListed,
    /// The greatest first.
    BySize,
}

impl Page {
    pub(super) fn text(&mut self, text: &str) {
        self.0.push_str(text.trim_end());
        self.0.push('\n');
    }

    pub(super) fn gap(&mut self) {
        self.0.push('\n');
    }

    pub(super) fn line(&mut self, label: &str, text: &str) {
        self.text(&format!("{label:<12}{text}"));
    }

    pub(super) fn value(&mut self, label: &str, value: &str, share: &str) {
        self.text(&format!("{label:<28}{value:>16}{share:>10}"));
    }

    pub(super) fn part(&mut self, label: &str, part: u64, whole: Option<u64>) {
        let share = whole.map_or_else(String::new, |whole| percent(part, whole));
        self.value(label, &count(part), &share);
    }

    /// A number with what is said beside it.
    pub(super) fn beside(&mut self, label: &str, number: u64, text: &str) {
        self.value(label, &count(number), text);
    }

    /// All parts of a whole; those of nothing are left out.
    pub(super) fn parts(&mut self, label: &str, parts: &Counts, whole: u64, order: Order) {
        let mut parts: Vec<(&str, u64)> = parts
            .iter()
            .map(|(name, part)| (name.as_str(), part.as_u64().unwrap_or(0)))
            .filter(|(_, part)| *part > 0)
            .collect();
        if parts.is_empty() {
            return;
        }
        if order == Order::BySize {
            parts.sort_by_key(|(_, part)| std::cmp::Reverse(*part));
        }
        self.text(&format!("  {label}"));
        for (name, part) in parts {
            self.part(&format!("    {name}"), part, Some(whole));
        }
    }
}
