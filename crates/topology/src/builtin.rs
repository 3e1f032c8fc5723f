//! The machines and price lists of `topologies/`, compiled in and found by name.

use crate::error::TopologyError;
use crate::nearest::nearest;
use crate::spec::{self, ModeInfo};

macro_rules! files {
    ($folder:literal: $($name:literal),* $(,)?) => {
        &[$((
            $name,
            concat!($name, ".toml"),
            include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/topologies/", $folder, $name, ".toml")),
        )),*]
    };
}

/// Name, file name and text of each machine.
const MACHINES: &[(&str, &str, &str)] = files!("":
    "spr", "spr-2x48", "spr-2x60", "spr-2x30", "icelake", "cascadelake",
    "genoa", "genoa-4n32", "milan-7543", "milan-7763", "power10",
    "t8", "t16", "t32", "t64", "n2x8", "s2x8", "s2x16", "s2d2", "s4d2",
);

/// Name, file name and text of each price list.
const PRICE_LISTS: &[(&str, &str, &str)] = files!("costs/":
    "x86", "power10", "lab", "lab-traced", "lab-6.12", "lab-6.12-traced", "lab-7.3", "lab-7.3-traced",
);

/// The names of the machines that are built in.
#[must_use]
pub fn builtin_names() -> Vec<&'static str> {
    MACHINES.iter().map(|(name, ..)| *name).collect()
}

/// The text of the file of a machine that is built in, by its name with or without `.toml`.
#[must_use]
pub fn builtin_text(name: &str) -> Option<&'static str> {
    find(name).ok().map(|(_, text)| text)
}

/// The modes of the machine that this text describes; `file` is used in messages.
///
/// # Errors
///
/// When the text is not TOML, or its modes or its default mode are wrong.
pub fn modes(text: &str, file: &str) -> Result<Vec<ModeInfo>, TopologyError> {
    spec::modes(text, file)
}

/// Splits `genoa@nps4` into the machine and the mode; there may be no mode.
#[must_use]
pub fn split_mode(text: &str) -> (&str, Option<&str>) {
    match text.rsplit_once('@') {
        Some((machine, mode)) if !mode.contains('/') => (machine, Some(mode)),
        _ => (text, None),
    }
}

/// The file name and the text of a machine.
pub(crate) fn find(name: &str) -> Result<(&'static str, &'static str), TopologyError> {
    let bare = name.strip_suffix(".toml").unwrap_or(name);
    let found = MACHINES.iter().find(|(known, ..)| *known == bare);
    found.map(|(_, file, text)| (*file, *text)).ok_or_else(|| TopologyError::UnknownMachine {
        name: name.to_owned(),
        valid: builtin_names().into_iter().map(str::to_owned).collect(),
        nearest: nearest(bare, MACHINES.iter().map(|m| m.0))
            .into_iter()
            .map(str::to_owned)
            .collect(),
    })
}

pub(crate) fn price_lists() -> Vec<&'static str> {
    PRICE_LISTS.iter().map(|(name, ..)| *name).collect()
}

pub(crate) fn price_list(name: &str) -> Option<&'static str> {
    PRICE_LISTS.iter().find(|(known, ..)| *known == name).map(|(.., text)| *text)
}
