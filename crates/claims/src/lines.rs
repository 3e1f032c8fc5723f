//! `Lines`: in which lines of a file its claims and their keys stand.

use std::collections::BTreeMap;

use toml::de::{DeTable, DeValue};

/// The lines of the claims of a file, from 1.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    /// By claim: where it begins, and where each of its keys stands.
    claims: Vec<(usize, BTreeMap<String, usize>)>,
}

impl Lines {
    /// The lines of `text`, which is known to be TOML.
    pub(crate) fn of(text: &str) -> Lines {
        let Ok(root) = DeTable::parse(text) else { return Lines::default() };
        let Some(DeValue::Array(claims)) = root.get_ref().get("claim").map(|it| it.get_ref())
        else {
            return Lines::default();
        };
        let lines = claims.iter().map(|claim| {
            let keys = match claim.get_ref() {
                DeValue::Table(table) => table
                    .iter()
                    .map(|(key, _)| (key.get_ref().to_string(), line(text, key.span().start)))
                    .collect(),
                _ => BTreeMap::new(),
            };
            (line(text, claim.span().start), keys)
        });
        Lines { claims: lines.collect() }
    }

    /// The line of this key of the claim, such as `options.hz`; of the claim if it has no such key.
    pub(crate) fn line(&self, claim: usize, key: &str) -> usize {
        let Some((start, keys)) = self.claims.get(claim) else { return 1 };
        let outer = key.split('.').next().unwrap_or(key);
        keys.get(key).or_else(|| keys.get(outer)).copied().unwrap_or(*start)
    }
}

/// The line in which the byte at `offset` stands, from 1.
pub(crate) fn line(text: &str, offset: usize) -> usize {
    let before = &text.as_bytes()[..offset.min(text.len())];
    1 + before.iter().filter(|byte| **byte == b'\n').count()
}
