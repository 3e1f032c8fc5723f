//! `simsched policies` and `simsched workloads`: what there is to choose from.

use simsched_core::{Reason, SETTINGS};
use simsched_policies::{Registry, catalog as policies};
use simsched_topology::{did_you_mean, nearest};
use simsched_workloads::{catalog as workloads, lab};

use crate::args::{PoliciesArgs, PoliciesCommand};
use crate::failure::Failure;
use crate::output;
use crate::settings;

/// Does what `simsched policies` is asked for.
pub(crate) fn policies(args: &PoliciesArgs, registry: &Registry) -> Result<(), Failure> {
    match (&args.command, &args.name) {
        (Some(PoliciesCommand::Show { name }), _) | (None, Some(name)) => show(name, registry),
        (None, None) | (Some(PoliciesCommand::List), _) => output::print(&all_policies(registry)),
    }
}

/// Does what `simsched workloads` is asked for.
pub(crate) fn workloads(name: Option<&str>) -> Result<(), Failure> {
    match name {
        None => output::print(&all_workloads()),
        Some(name) if name.starts_with(lab::PREFIX) && name != lab::NAME => {
            output::print(&scenario(name)?)
        }
        Some(name) => output::print(&workload(workloads::find(name).map_err(Failure::input)?)),
    }
}

/// Something that can be named, in a line.
struct Item {
    name: String,
    /// Its default, or its versions.
    value: String,
    /// What it takes, with its unit; empty for a policy.
    takes: String,
    doc: &'static str,
    source: &'static str,
}

/// What a policy has: itself, its features and its settings.
struct Section {
    title: String,
    items: Vec<Item>,
}

fn sections(registry: &Registry) -> Vec<Section> {
    let mut sections = vec![Section { title: "POLICIES".to_owned(), items: bases(registry) }];
    for policy in registry.policies() {
        let (features, settings) =
            (features(registry, policy.name), tunables(registry, policy.name));
        let titles = [
            (format!("FEATURES of {} (+NAME, +NAME=off)", policy.name), features),
            (format!("SETTINGS of {} (+NAME=VALUE, --set NAME=VALUE)", policy.name), settings),
        ];
        let filled = titles.into_iter().filter(|(_, items)| !items.is_empty());
        sections.extend(filled.map(|(title, items)| Section { title, items }));
    }
    let items = simulator();
    sections
        .push(Section { title: "SETTINGS of the simulator (--set NAME=VALUE)".to_owned(), items });
    sections
}

fn bases(registry: &Registry) -> Vec<Item> {
    let item = |info: &policies::PolicyInfo| Item {
        name: info.name.to_owned(),
        value: info
            .versions
            .iter()
            .map(|version| format!("@{version}"))
            .collect::<Vec<_>>()
            .join(" "),
        takes: String::new(),
        doc: info.doc,
        source: info.source,
    };
    registry.policies().map(item).collect()
}

fn features(registry: &Registry, policy: &str) -> Vec<Item> {
    let item = |info: policies::FeatureInfo| Item {
        name: info.key.to_owned(),
        value: if info.default { "on" } else { "off" }.to_owned(),
        takes: "on, off".to_owned(),
        doc: info.doc,
        source: info.source,
    };
    registry.features(policy).into_iter().map(item).collect()
}

fn tunables(registry: &Registry, policy: &str) -> Vec<Item> {
    let item = |info: policies::SettingInfo| Item {
        name: info.key.to_owned(),
        value: format!("{} {}", info.default, info.unit).trim().to_owned(),
        takes: format!("{} {}", info.range, info.unit).trim().to_owned(),
        doc: info.doc,
        source: info.source,
    };
    registry.settings(policy).into_iter().map(item).collect()
}

fn simulator() -> Vec<Item> {
    let item = |info: &simsched_core::SettingInfo| Item {
        name: info.name.to_owned(),
        value: info.default.to_string(),
        takes: info.range.to_string(),
        doc: info.doc,
        source: "",
    };
    SETTINGS.iter().map(item).collect()
}

fn all_policies(registry: &Registry) -> String {
    let mut text = String::new();
    for section in sections(registry) {
        let width = section.items.iter().map(|item| item.name.len()).max().unwrap_or(0);
        text.push_str(&format!("{}\n", section.title));
        for Item { name, value, doc, source, .. } in &section.items {
            // A default may be long and stands with the item itself; versions are short.
            let versions =
                if value.starts_with('@') { format!(" ({value})") } else { String::new() };
            let source = if source.is_empty() { String::new() } else { format!(" [{source}]") };
            text.push_str(&format!("  {name:<width$}  {doc}{versions}{source}\n"));
        }
        text.push('\n');
    }
    text.push_str(
        "An expression is BASE[@VERSION](+FEATURE | +SETTING=VALUE)*; a patch may be a base, with \
         the versions of its policy.\n`simsched policies show NAME` says more, and what an \
         expression changes.\n",
    );
    text
}

/// One policy, feature or setting in full; of a policy also what it has, of an expression what it
/// changes.
fn show(name: &str, registry: &Registry) -> Result<(), Failure> {
    if name.contains(['@', '+']) {
        return changes(name, registry);
    }
    if name.contains(':') {
        return made_of_file(name, registry);
    }
    let sections = sections(registry);
    let items = || sections.iter().flat_map(|section| &section.items);
    let Some(item) = items().find(|item| item.name == name) else {
        let hint = did_you_mean(&nearest(name, items().map(|item| item.name.as_str())));
        return Err(Failure::Input(format!(
            "no policy, feature or setting is called `{name}`, `simsched policies list` lists \
             them{hint}"
        )));
    };
    let mut text = format!("{name}: {}\n", item.doc);
    let is_base = registry.entry(name).is_some();
    registry.more(name).iter().for_each(|sentence| text.push_str(&format!("  {sentence}\n")));
    line(&mut text, if is_base { "versions" } else { "default" }, &item.value);
    line(&mut text, "takes", &item.takes);
    line(&mut text, "source", item.source);
    if is_base {
        text.push_str(&versions(registry, name));
        let (features, tunables) = (features(registry, name), tunables(registry, name));
        features.iter().chain(&tunables).for_each(|item| described(&mut text, item));
        text.push_str(&reasons(registry, name));
    }
    output::print(&text)
}

/// What an expression changes against its policy without version, features and settings.
fn changes(expression: &str, registry: &Registry) -> Result<(), Failure> {
    let selection =
        registry.parse(expression, &[]).map_err(|error| settings::refused(registry, error))?;
    let mut text = format!("{}, against {}:\n", selection.name(), selection.policy());
    let changes = selection.changes();
    let width = changes.iter().map(|change| change.key.len()).max().unwrap_or(0);
    for policies::Change { key, value, default } in &changes {
        let default = if default.is_empty() { "by the number of CPUs" } else { default };
        text.push_str(&format!("  {key:<width$}  {value} (default {default})\n"));
    }
    if changes.is_empty() {
        text.push_str("  nothing differs\n");
    }
    text.push_str(&between(&registry.versions(selection.policy()), selection.kernel()));
    output::print(&text)
}

/// What a policy that is made from a file was built of, its features and its settings.
fn made_of_file(expression: &str, registry: &Registry) -> Result<(), Failure> {
    let policy =
        registry.parse(expression, &[]).map_err(|error| settings::refused(registry, error))?;
    let mut text = format!("{}\n", policy.name());
    let built_of = policy.built_of();
    built_of.iter().for_each(|(name, what)| text.push_str(&format!("  {name:<13}  {what}\n")));
    let all = policy.own_settings();
    let width = all.iter().map(|setting| setting.key.len()).max().unwrap_or(0);
    for (title, is_feature) in [
        ("\nFEATURES (+NAME, +NO_NAME)\n", true),
        ("\nSETTINGS (+NAME=VALUE, --set NAME=VALUE)\n", false),
    ] {
        text.push_str(title);
        for it in all.iter().filter(|it| it.is_feature == is_feature) {
            let takes = if is_feature { String::new() } else { format!("  ({})", it.takes) };
            text.push_str(&format!("  {:<width$}  {}{takes}\n", it.key, it.value));
        }
    }
    output::print(&text)
}

/// The versions of a policy, each with what it does otherwise than the one before it.
fn versions(registry: &Registry, policy: &str) -> String {
    let mut text = String::new();
    for version in registry.versions(policy) {
        let default = if version.default { " (default)" } else { "" };
        text.push_str(&format!("\n{policy}@{}{default}: {}\n", version.name, version.doc));
        text.push_str(&differences(version.differences));
    }
    text
}

/// What lies between a version of a policy and the default one: what each version on the way does otherwise.
fn between(versions: &[policies::VersionInfo], named: Option<&str>) -> String {
    let default = versions.iter().position(|version| version.default);
    let named = versions.iter().position(|version| Some(version.name) == named);
    let (Some(default), Some(named)) = (default, named) else { return String::new() };
    let mut text = String::new();
    let (from, to) = (named.min(default), named.max(default));
    for version in &versions[from + 1..=to] {
        let how = if named < default { "has not what came with" } else { "has what came with" };
        text.push_str(&format!("it {how} {}:\n{}", version.name, differences(version.differences)));
    }
    text
}

fn differences(all: &[policies::Difference]) -> String {
    let line = |one: &policies::Difference| format!("  - {} [{}]\n", one.what, one.source);
    all.iter().map(line).collect()
}

/// What the core's own reasons mean, in the order of their names.
const CORE_REASONS: [&str; Reason::CORE_NAMES.len()] = [
    "No policy was asked: the wakee was still on its runqueue.",
    "No policy was asked: the wakee's CPU was still switching away from it and took it back.",
    "No policy was asked: the wakee may run on one CPU only.",
    "The policy's choice was not allowed: another CPU, in the same node if there is one.",
];

/// The reasons behind the rows of `by_reason`.
fn reasons(registry: &Registry, policy: &str) -> String {
    let own = registry.reasons(policy).into_iter().map(|reason| (reason.name, reason.doc));
    let all: Vec<(&str, &str)> =
        own.chain(Reason::CORE_NAMES.into_iter().zip(CORE_REASONS)).collect();
    let width = all.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let lines = all.iter().map(|(name, doc)| format!("  {name:<width$}  {doc}\n"));
    format!("\nREASONS for the CPU of a task (by_reason)\n{}", lines.collect::<String>())
}

fn line(text: &mut String, label: &str, value: &str) {
    if !value.is_empty() {
        text.push_str(&format!("  {label:<9} {value}\n"));
    }
}

fn described(text: &mut String, item: &Item) {
    text.push_str(&format!("\n{}: {}\n", item.name, item.doc));
    line(text, "default", &item.value);
    line(text, "takes", &item.takes);
    line(text, "source", item.source);
}

fn all_workloads() -> String {
    let names = workloads::ENTRIES.iter().map(|entry| entry.name.len());
    let width = names.max().unwrap_or(0);
    workloads::ENTRIES
        .iter()
        .map(|entry| format!("{:<width$}  {}\n", entry.name, entry.doc))
        .collect()
}

/// One scenario of the kernel lab, or one kind of them.
fn scenario(word: &str) -> Result<String, Failure> {
    // Any machine will do: its number of CPUs stands in the text.
    const NR_CPUS: usize = 16;
    let name = word.strip_prefix(lab::PREFIX).unwrap_or(word);
    let kind = |(kind, doc): &(&str, &str)| format!("{}{kind}  {doc}\n", lab::PREFIX);
    if let Some(found) = lab::SCENARIOS.iter().find(|(kind, _)| *kind == name) {
        return Ok(kind(found));
    }
    let benchmark = workloads::parse(&[word.to_owned()], 0, NR_CPUS).map_err(Failure::input)?;
    let plain = name.replace("-long", "");
    let starts = |kind: &str| {
        kind.split(char::is_uppercase).next().is_some_and(|start| plain.starts_with(start))
    };
    let own = lab::SCENARIOS.iter().find(|(kind, _)| starts(kind));
    Ok(format!("{}\n{}", benchmark.banner(), own.map_or_else(String::new, kind)))
}

fn workload(entry: &workloads::Entry) -> String {
    let mut text = format!("{}: {}\n\n", entry.name, entry.doc);
    for option in entry.options {
        let value = option.value.map_or_else(String::new, |value| format!(" {value}"));
        let short = option.short.map(|short| format!("-{short}"));
        let long = option.long.map(|long| format!("--{long}"));
        let names: Vec<String> = short.into_iter().chain(long).collect();
        let name = names.join(", ") + &value;
        let default = match option.default {
            "" => String::new(),
            default => format!(" (default {default})"),
        };
        text.push_str(&format!("  {name:<22}  {}{default}\n", option.doc));
    }
    let width = entry.names.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    for (name, doc) in entry.names {
        text.push_str(&format!("  {name:<width$}  {doc}\n"));
    }
    text
}
