//! docs/settings.md lists what the catalogs have. `UPDATE_GOLDEN=1` writes it anew.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use simsched_core::SETTINGS;
use simsched_policies::catalog::{self, FeatureInfo, SettingInfo};
use simsched_workloads::catalog::ENTRIES;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/settings.md");

const HEAD: &str = "\
# Policies, features, settings and workloads

Made from the catalogs by `UPDATE_GOLDEN=1 cargo test -p simsched-cli --test cli reference`; the command tells
the same (`simsched policies`, `simsched policies show NAME`, `simsched workloads NAME`).

A policy is an expression: a base, its version, and what is added to it, as `cfs@5.16+SIS_UTIL=on`,
`cfs+wakeup_bias_prev+tg_per_node` or `eevdf@7.3+cache_aware`.
A feature is added by `+NAME` and taken away by `+NAME=off`; a setting by `+NAME=VALUE` or `--set NAME=VALUE`.
A feature that is a patch may stand alone: `wakeup_bias_prev` is `cfs+wakeup_bias_prev`, and `cache_aware` and its variants stand on the scheduler they were written for, `eevdf` (`simsched policies show NAME` tells the whole name).
";

/// A bar would end the cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

fn row(page: &mut String, cells: &[&str]) {
    let cells: Vec<String> = cells.iter().map(|text| cell(text)).collect();
    writeln!(page, "| {} |", cells.join(" | ")).unwrap();
}

fn table(page: &mut String, title: &str, head: &[&str]) {
    writeln!(page, "\n## {title}\n").unwrap();
    row(page, head);
    row(page, &vec!["---"; head.len()]);
}

/// What several policies have, with the names of these.
type Merged<T> = Vec<(Vec<&'static str>, T)>;

/// The policies that have a `T`, by the name of it, in the order in which they are listed.
fn merged<T>(of: impl Fn(&str) -> Vec<T>, key: impl Fn(&T) -> &'static str) -> Merged<T> {
    let mut all: Merged<T> = Vec::new();
    for policy in catalog::policies() {
        for item in of(policy.name) {
            match all.iter_mut().find(|(_, known)| key(known) == key(&item)) {
                Some((policies, _)) => policies.push(policy.name),
                None => all.push((vec![policy.name], item)),
            }
        }
    }
    all
}

fn policies(page: &mut String) {
    table(page, "Policies", &["base", "versions", "what it is", "source"]);
    for policy in catalog::policies() {
        let versions = policy.versions.join(", ");
        row(page, &[&format!("`{}`", policy.name), &versions, policy.doc, policy.source]);
    }
    for policy in catalog::policies() {
        for version in catalog::versions(policy.name) {
            let default = if version.default { ", the default" } else { "" };
            writeln!(page, "\n`{}@{}`{default}: {}.", policy.name, version.name, version.doc)
                .unwrap();
            if !version.differences.is_empty() {
                writeln!(page, "It differs from the version before it:\n").unwrap();
            }
            for difference in version.differences {
                writeln!(page, "- {} [{}]", difference.what, difference.source).unwrap();
            }
        }
    }
}

fn features(page: &mut String, patches: bool) {
    let title = if patches { "Patches" } else { "Features of the kernel" };
    table(page, title, &["feature", "of", "default", "what it does when it is on", "source"]);
    for (of, feature) in merged(catalog::features, |feature: &FeatureInfo| feature.key) {
        if feature.is_patch == patches {
            let default = if feature.default { "on" } else { "off" };
            let name = format!("`{}`", feature.key);
            row(page, &[&name, &of.join(", "), default, feature.doc, feature.source]);
        }
    }
}

fn settings(page: &mut String) {
    table(
        page,
        "Settings of policies",
        &["setting", "of", "default", "takes", "what it is", "source"],
    );
    for (of, setting) in merged(catalog::settings, |setting: &SettingInfo| setting.key) {
        let (name, of) = (format!("`{}`", setting.key), of.join(", "));
        let takes = format!("{} {}", setting.range, setting.unit);
        row(page, &[&name, &of, &setting.default, takes.trim(), setting.doc, setting.source]);
    }
    table(page, "Settings of kernel and machine", &["setting", "default", "takes", "what it is"]);
    for setting in SETTINGS {
        row(page, &[&format!("`{}`", setting.name), setting.default, setting.range, setting.doc]);
    }
}

fn workloads(page: &mut String) {
    table(page, "Workloads", &["workload", "what it does", "its options"]);
    for entry in ENTRIES {
        let options = format!("`simsched workloads {}`", entry.name);
        row(page, &[&format!("`{}`", entry.name), entry.doc, &options]);
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "how goldens are renewed; no result depends on it")]
fn the_reference_lists_every_policy_feature_setting_and_workload() {
    let mut page = HEAD.to_owned();
    policies(&mut page);
    features(&mut page, true);
    features(&mut page, false);
    settings(&mut page);
    workloads(&mut page);
    let kept = fs::read_to_string(Path::new(PAGE)).unwrap_or_default();
    if kept != page && std::env::var("UPDATE_GOLDEN").is_ok() {
        fs::write(PAGE, page).unwrap();
        return;
    }
    assert!(kept == page, "docs/settings.md is not what the catalogs list: UPDATE_GOLDEN=1");
}
