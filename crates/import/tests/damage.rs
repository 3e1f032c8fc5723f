//! No text and no tree makes the importer panic, and what it writes is a machine.

use crate::common::REQUEST;
use proptest::prelude::*;
use simsched_import::{Source, Tree, import};
use simsched_topology::Topology;

fn check(source: Source<'_>) -> Result<(), TestCaseError> {
    match import(source, &REQUEST) {
        Ok(imported) => {
            let machine = Topology::parse(&imported.toml, "m", None);
            prop_assert!(machine.is_ok(), "{machine:?}");
        }
        Err(error) => {
            let text = error.to_string();
            prop_assert!(text.starts_with("source") && !text.contains('\n'), "{text}");
        }
    }
    Ok(())
}

/// What the reader of XML says holds the character that it did not expect.
#[test]
fn a_message_is_one_line_whatever_stands_in_the_file() {
    let said = |text: &str| import(Source::Text(text), &REQUEST).expect_err("refused").to_string();
    let text = "<topology version=\"2.0\">\n<object type=\"Machine\"\u{1b}/\n></topology>";
    for text in [text, &text.replace('\u{1b}', ""), "<?xml version=\"1.0\"?>\n<a b=\"c\"/\n>"] {
        let said = said(text);
        assert!(said.starts_with("source:2: ") && !said.contains(char::is_control), "{said:?}");
    }
    assert!(said("<?xml version=\"1.0\"?>").starts_with("source:1: "));
}

/// A file of hwloc with `count` bytes at `place` replaced by `with`.
fn damaged(name: &str, place: usize, count: usize, with: &str) -> String {
    let mut text = crate::common::hwloc(name);
    let start = (0..=place % text.len()).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
    let end = (start + count).min(text.len());
    text.replace_range(start..end, with);
    text
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text(text in "\\PC*") {
        check(Source::Text(&text))?;
    }

    #[test]
    fn any_table(rows in prop::collection::vec("[0-9x,-]{0,20}", 0..20)) {
        let text = format!("# CPU,Core,Socket,Node,,L1d,L1i,L2,L3\n{}\n", rows.join("\n"));
        check(Source::Text(&text))?;
    }

    #[test]
    fn a_damaged_file_of_hwloc(place: usize, count in 0usize..80, with in "[0-9a-fx,\"<>/= ]{0,8}") {
        check(Source::Text(&damaged("power8gpudistances", place, count, &with)))?;
    }

    #[test]
    fn a_truncated_file_of_hwloc(place: usize) {
        check(Source::Text(&damaged("memorysidecaches", place, usize::MAX / 2, "")))?;
    }

    #[test]
    fn any_tree(files in prop::collection::vec((0usize..12, 0u8..3, "[0-9a-f,K-]{0,6}"), 0..40)) {
        let mut tree = Tree::default();
        for (kind, cpu, text) in files {
            let path = [
                "cpu/online", "cpu/present", "cpu/cpuN/topology/core_cpus",
                "cpu/cpuN/topology/package_cpus_list", "cpu/cpuN/cache/index1/level",
                "cpu/cpuN/cache/index1/size", "cpu/cpuN/cache/index1/shared_cpu_list",
                "cpu/cpuN/cpu_capacity", "node/nodeN/cpulist", "node/nodeN/distance",
                "cpu/cpuN/online", "node/online",
            ][kind];
            let path = path.replace('N', &cpu.to_string());
            if let Some(place) = Tree::place(&path) {
                tree.insert(place, text);
            }
        }
        check(Source::Tree(&tree))?;
    }
}
