//! The invariants of ARCHITECTURE.md that can be read off the sources: who imports whom, who names
//! whom, where no floating point is.

#![expect(clippy::unwrap_used, reason = "a test stops where it fails")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use simsched_policies::catalog as policies;
use simsched_topology::builtin_names;
use simsched_workloads::catalog as workloads;

fn krate(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name)
}

/// The Rust sources below `folder`, by path.
fn sources(folder: &Path) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            found.insert(path, text);
        }
    }
    assert!(!found.is_empty(), "{} has sources", folder.display());
    found
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '-'))
}

/// None of these words stands in the sources of `name`; its tests may use what they like.
fn check_absent(name: &str, forbidden: &[&str]) {
    let is_test = |path: &Path| path.ends_with("tests.rs");
    let code = sources(&krate(name).join("src")).into_iter().filter(|(path, _)| !is_test(path));
    for (path, text) in code {
        let text = text.split("#[cfg(test)]\nmod tests").next().unwrap();
        let found = words(text).find(|word| forbidden.contains(word));
        assert_eq!(found, None, "in {}", path.display());
    }
}

/// The testkit's examples use the small machines of the kernel lab.
#[test]
fn the_core_names_no_policy_no_patch_no_workload_and_no_machine() {
    let is_lab = |name: &&str| ["t8", "t16", "t32", "t64"].contains(name);
    let patches = policies::features("cfs").into_iter().filter(|feature| feature.is_patch);
    let mut names: Vec<&str> = builtin_names().into_iter().filter(|name| !is_lab(name)).collect();
    names.extend(policies::policies().iter().map(|policy| policy.name));
    names.extend(patches.map(|feature| feature.key));
    // Random numbers, sockets and what goes through memory are streams, too.
    let is_word = |name: &&str| *name == "stream";
    names.extend(workloads::ENTRIES.iter().map(|entry| entry.name).filter(|name| !is_word(name)));
    assert!(names.len() > 10, "{names:?}");
    check_absent("sim-core", &names);
}

#[test]
fn there_is_no_floating_point_below_the_workloads() {
    for name in ["topology", "sim-core", "policies"] {
        check_absent(name, &["f32", "f64"]);
    }
}

/// The packages of ours on which `name` depends in the section of its Cargo.toml.
fn dependencies(name: &str) -> Vec<String> {
    let manifest = fs::read_to_string(krate(name).join("Cargo.toml")).unwrap();
    let (_, rest) = manifest.split_once("\n[dependencies]\n").unwrap();
    let section = rest.split("\n[").next().unwrap();
    let keys = section.lines().filter_map(|line| line.split_once(" = ")).map(|(key, _)| key);
    keys.map(str::to_owned).collect()
}

#[test]
fn imports_point_down() {
    let allowed = [
        ("topology", &[][..]),
        ("sim-core", &["simsched-topology"]),
        ("policies", &["simsched-core", "simsched-topology"]),
        ("workloads", &["simsched-core", "simsched-topology"]),
        ("lab", &["simsched-core", "simsched-policies", "simsched-topology", "simsched-workloads"]),
        ("claims", &["simsched-topology"]),
        ("trace", &[]),
        ("import", &["simsched-topology"]),
        ("pages", &[]),
        ("kernel", &["simsched-core", "simsched-policies", "simsched-topology"]),
        (
            "simsched",
            &[
                "simsched-cli",
                "simsched-core",
                "simsched-policies",
                "simsched-topology",
                "simsched-workloads",
            ],
        ),
    ];
    for (name, allowed) in allowed {
        let ours = |package: &String| package.starts_with("simsched-");
        let found: Vec<String> = dependencies(name).into_iter().filter(ours).collect();
        assert_eq!(found, allowed, "{name}");
    }
}

#[test]
fn the_core_and_the_policies_write_no_format() {
    for name in ["sim-core", "policies"] {
        let formats = ["serde", "serde_json", "toml"];
        let found = dependencies(name).into_iter().find(|key| formats.contains(&key.as_str()));
        assert_eq!(found, None, "{name}");
    }
}

/// The modules of the core, from the ground up: each imports those before it only.
const CORE_MODULES: [&str; 18] = [
    "ids",
    "time",
    "names",
    "rng",
    "error",
    "pelt",
    "launcher",
    "workload",
    "world",
    "ipc",
    "policy",
    "config",
    "observer",
    "hardware",
    "agenda",
    "testkit",
    "simulator",
    "observe",
];

#[test]
fn the_modules_of_the_core_import_downwards() {
    let src = krate("sim-core").join("src");
    let place = |name: &str| CORE_MODULES.iter().position(|module| *module == name);
    for (path, text) in sources(&src) {
        let inside = path.strip_prefix(&src).unwrap().with_extension("");
        let module = inside.iter().next().unwrap().to_str().unwrap();
        if module == "lib" || path.ends_with("tests.rs") {
            continue;
        }
        let own = place(module).unwrap_or_else(|| panic!("{module} has a place in the order"));
        let code = text.split("#[cfg(test)]\nmod tests").next().unwrap();
        let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
        for import in lines.flat_map(|line| line.split("crate::").skip(1)) {
            let name = words(import).next().unwrap();
            let other = place(name).unwrap_or_else(|| panic!("{}: crate::{name}", path.display()));
            assert!(other <= own, "{} imports {name}, which is above it", path.display());
        }
    }
}
