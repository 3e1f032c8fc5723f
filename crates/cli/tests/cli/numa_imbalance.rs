//! `topo show --set numa_imbalance=RULE`: the worked numbers of all rules.

use serde_json::Value;

use crate::common::{json, prints, simsched};

/// The domains of CPU 0, bottom-up.
fn domains(machine: &str, rule: &str) -> Vec<Value> {
    let shown = json(&format!("topo show {machine} --json --set numa_imbalance={rule}"));
    let name = if rule == "v5.16" { "5.16" } else { rule };
    assert_eq!(shown["numa_imbalance"], name);
    shown["sched_domains"].as_array().unwrap().clone()
}

/// `key` of the domains that join NUMA nodes.
fn numa(machine: &str, rule: &str, key: &str) -> Vec<Option<u64>> {
    let domains = domains(machine, rule);
    let numa = domains.iter().filter(|sd| sd["name"] == "NUMA");
    numa.map(|sd| sd[key].as_u64()).collect()
}

#[track_caller]
fn check(mode: &str, rule: &str, expected: &[u64]) {
    let machine = format!("milan-7763@{mode}");
    let found = numa(&machine, rule, "imb_numa_nr");
    let expected: Vec<Option<u64>> = expected.iter().copied().map(Some).collect();
    assert_eq!(found, expected, "{mode} {rule}");
    assert!(numa(&machine, rule, "imb_allowed_below").iter().all(Option::is_none));
}

/// Two sockets of Zen 3 with 128 CPUs and 8 LLCs each.
#[test]
fn each_rule_has_its_numbers_on_two_sockets_of_zen_3() {
    for (rule, nps1, nps2, nps4) in [
        ("v3", [1].as_slice(), [1, 1], [1, 1]),
        ("v4", &[4], [4, 8], [8, 16]),
        ("v4.1", &[2], [2, 4], [2, 4]),
        ("v4.1fix", &[2], [2, 4], [2, 4]),
        ("v4.2", &[2], [2, 4], [2, 4]),
        ("5.18", &[8], [4, 8], [2, 4]),
        ("merged", &[8], [4, 8], [2, 4]),
    ] {
        check("nps1", rule, nps1);
        check("nps2", rule, &nps2);
        check("nps4", rule, &nps4);
    }
}

#[test]
fn linux_5_16_stores_nothing_and_has_a_limit() {
    for (mode, limits) in [("nps1", vec![64]), ("nps2", vec![32, 64]), ("nps4", vec![32, 64])] {
        let machine = format!("milan-7763@{mode}");
        let limits: Vec<Option<u64>> = limits.into_iter().map(Some).collect();
        for rule in ["5.16", "v5.16"] {
            assert_eq!(numa(&machine, rule, "imb_allowed_below"), limits, "{mode}");
            assert!(numa(&machine, rule, "imb_numa_nr").iter().all(|&stored| stored == Some(0)));
        }
    }
    let text = prints("topo show milan-7763@nps2 --set numa_imbalance=5.16");
    for line in ["imb_numa_nr by rule 5.16:", "allowed below 64 tasks", "allowed below 32 tasks"] {
        assert!(text.contains(line), "{text}");
    }
}

#[test]
fn the_level_below_the_nodes_has_a_number_as_well() {
    let all = |machine: &str, rule: &str| -> Vec<u64> {
        domains(machine, rule).iter().map(|sd| sd["imb_numa_nr"].as_u64().unwrap()).collect()
    };
    assert_eq!(all("milan-7763@nps1", "merged"), [0, 0, 8, 8]);
    assert_eq!(all("milan-7763@nps2", "merged"), [0, 0, 4, 4, 8]);
    assert_eq!(all("milan-7763@nps4", "merged"), [0, 0, 2, 2, 4]);
    assert_eq!(all("milan-7763@nps4", "v4.1"), [0, 0, 2, 2, 4]);
    assert_eq!(all("genoa@nps1", "merged"), [0, 0, 12, 12]);
    assert_eq!(all("genoa@nps2", "merged"), [0, 0, 6, 6, 12]);
    assert_eq!(all("genoa@nps4", "merged"), [0, 0, 3, 3, 6]);
}

/// One LLC per node: an eighth of its CPUs, and a quarter in 5.18.
#[test]
fn a_node_with_one_llc_allows_a_part_of_its_cpus() {
    let first = |machine: &str, rule: &str| numa(machine, rule, "imb_numa_nr")[0];
    assert_eq!(
        [first("spr@snc-off", "merged"), first("spr@snc-off", "5.18")],
        [Some(14), Some(28)]
    );
    assert_eq!(numa("spr@snc4", "merged", "imb_numa_nr"), [Some(3), Some(6)]);
    assert_eq!([first("icelake", "merged"), first("cascadelake", "merged")], [Some(8), Some(6)]);
}

#[test]
fn the_text_shows_the_worked_numbers() {
    let text = prints("topo show milan-7763@nps4 --set numa_imbalance=v4.1");
    let found: Vec<&str> =
        text.lines().filter_map(|line| line.split("imb_numa_nr ").nth(1)).collect();
    // From the sockets down to the threads of a core.
    assert_eq!(found, ["by rule v4.1:", "4", "2", "2", "0", "0"], "{text}");
    assert!(text.contains("\n  (proposed on 2021-12-13: as v4, counted from"), "{text}");
    let plain = prints("topo show milan-7763@nps4");
    assert_eq!(plain, prints("topo show milan-7763@nps4 --set numa_imbalance=merged"));
}

#[test]
fn another_setting_or_rule_is_refused() {
    for (set, expected) in [
        ("numa_imbalance=v5", "expected one of 5.16, v3, v4, v4.1, v4.1fix, v4.2, 5.18, merged"),
        ("numa_imbalanc=v4", "did you mean `numa_imbalance`?"),
        ("SIS_UTIL=off", "only numa_imbalance"),
    ] {
        let output = simsched(&format!("topo show t16 --set {set}"));
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2));
        assert!(errors.contains(expected), "{errors}");
    }
}
