//! `Text`: a value that may be any text, of which shells are told the names that there are.

use std::ffi::{OsStr, OsString};

use clap::builder::{OsStringValueParser, PossibleValue, TypedValueParser};
use clap::{Arg, Command, Error};
use simsched_core::SETTINGS;
use simsched_policies::catalog as policies;
use simsched_topology::{MachineSummary, builtin_names};
use simsched_workloads::{catalog as workloads, lab};

/// What is said of a value that is none. What is chosen stands in reports, which are text.
const EXPECTED: &str =
    "expected text in UTF-8; a file with another name can be given by a link to it";

/// Takes any text. The names are offered when a command line is completed, and are not all that there is:
/// a machine may be a file, a policy an expression.
#[derive(Clone, Copy)]
pub(crate) struct Text {
    names: fn() -> Vec<PossibleValue>,
}

impl Text {
    /// Nothing is known of it.
    pub(crate) const ANY: Text = Text { names: Vec::new };
    /// A machine.
    pub(crate) const MACHINE: Text = Text { names: machines };
    /// A machine whose prices an imported one can have.
    pub(crate) const PRICED: Text = Text { names: priced };
    /// A policy.
    pub(crate) const POLICY: Text = Text { names: all_policies };
    /// A policy, a feature or a setting.
    pub(crate) const LISTED: Text = Text { names: listed };
    /// A workload.
    pub(crate) const WORKLOAD: Text = Text { names: programs };
}

impl TypedValueParser for Text {
    type Value = String;

    fn parse_ref(
        &self,
        command: &Command,
        arg: Option<&Arg>,
        value: &OsStr,
    ) -> Result<String, Error> {
        let text = |value: OsString| value.into_string().map_err(|_| EXPECTED);
        OsStringValueParser::new().try_map(text).parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let names = (self.names)();
        (!names.is_empty()).then(|| Box::new(names.into_iter()) as _)
    }
}

fn value(name: &'static str, doc: &str) -> PossibleValue {
    PossibleValue::new(name).help(doc.to_owned())
}

fn machines() -> Vec<PossibleValue> {
    titled(builtin_names())
}

fn priced() -> Vec<PossibleValue> {
    titled(simsched_import::priced())
}

fn titled(names: Vec<&'static str>) -> Vec<PossibleValue> {
    let machines = MachineSummary::builtins();
    let title = |name: &str| {
        let machine = machines.iter().find(|machine| machine.name == name);
        machine.map_or("", |machine| &machine.title)
    };
    names.into_iter().map(|name| value(name, title(name))).collect()
}

/// The policies, and the patches that may stand alone.
fn all_policies() -> Vec<PossibleValue> {
    features(|feature| feature.is_patch)
}

/// The policies, and those features of theirs; what several have comes once.
fn features(is_meant: fn(&policies::FeatureInfo) -> bool) -> Vec<PossibleValue> {
    let bases = policies::policies();
    let own = bases.iter().map(|base| value(base.name, base.doc));
    let mut found: Vec<PossibleValue> = own.collect();
    let all = bases.iter().flat_map(|base| policies::features(base.name));
    for feature in all.filter(is_meant) {
        add(&mut found, feature.key, feature.doc);
    }
    found
}

fn add(found: &mut Vec<PossibleValue>, name: &'static str, doc: &str) {
    if found.iter().all(|known| known.get_name() != name) {
        found.push(value(name, doc));
    }
}

fn listed() -> Vec<PossibleValue> {
    let mut found = features(|_| true);
    for setting in policies::policies().iter().flat_map(|base| policies::settings(base.name)) {
        add(&mut found, setting.key, setting.doc);
    }
    for setting in SETTINGS {
        add(&mut found, setting.name, setting.doc);
    }
    found
}

/// Scenarios of the kernel lab have many names, and are not offered.
fn programs() -> Vec<PossibleValue> {
    let entries = workloads::ENTRIES.iter().filter(|entry| entry.name != lab::NAME);
    entries.map(|entry| value(entry.name, entry.doc)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: Text) -> Vec<String> {
        let values = text.possible_values().into_iter().flatten();
        values.map(|value| value.get_name().to_owned()).collect()
    }

    /// What shells offer is taken as it stands: each name comes once, and is one of those that exist.
    #[test]
    fn every_name_that_is_offered_exists() {
        for name in names(Text::MACHINE) {
            assert!(simsched_topology::Topology::builtin(&name, None).is_ok(), "{name}");
        }
        for name in names(Text::POLICY) {
            assert!(policies::parse(&name, &[]).is_ok(), "{name}");
        }
        for name in names(Text::WORKLOAD) {
            assert!(workloads::find(&name).is_ok(), "{name}");
        }
        for text in [Text::MACHINE, Text::PRICED, Text::POLICY, Text::WORKLOAD, Text::LISTED] {
            let mut names = names(text);
            assert!(names.len() > 2);
            names.sort();
            assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
        }
        assert!(Text::ANY.possible_values().is_none());
    }

    #[test]
    fn what_is_not_offered_is_taken_too() {
        let command = Command::new("simsched");
        for text in ["here.toml", "./genoa@nps4", "cfs+wakeup_bias_prev", ""] {
            for parser in [Text::MACHINE, Text::POLICY, Text::ANY] {
                let taken = parser.parse_ref(&command, None, OsStr::new(text)).unwrap();
                assert_eq!(taken, text);
            }
        }
    }
}
