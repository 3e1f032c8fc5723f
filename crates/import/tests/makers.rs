//! Who made the CPUs of a tree without `/proc/cpuinfo`, and whose prices it has.

use crate::common::{REQUEST, imported, imported_tree, machine, tree_of};
use simsched_import::{Imported, Request, Source, Tree, import, priced};
use simsched_topology::Topology;

/// What Linux shows of a machine, but `/proc/cpuinfo`, with these files more.
fn tree(name: &str, more: &[(&str, &str)]) -> Tree {
    let known = Topology::builtin(name, None).expect("built in");
    let mut tree = tree_of(&known, "", |cpu| u32::from(cpu.0));
    for (path, text) in more {
        let path = format!("host/sys/devices/system/{path}");
        let place = Tree::place(&path).unwrap_or_else(|| panic!("{path} is not read"));
        tree.insert(place, format!("{text}\n"));
    }
    tree
}

/// What is said of maker and prices.
fn said(imported: &Imported) -> Vec<&str> {
    let about =
        |note: &&str| note.contains("maker") || note.contains("prices") || note.contains("only");
    imported.notes.iter().map(String::as_str).filter(about).collect()
}

fn is_zen(imported: &Imported) -> bool {
    machine(imported, None).reclaim_distance() == 32
}

/// As Linux 6.18 shows it on an EPYC 7003, on a Xeon 8480+, and on Hygon.
#[test]
fn modalias_tells_maker_family_and_model() {
    for (alias, shape, nearest, vendor) in [
        ("ven0002fam0019mod0001", "genoa", "milan", "AuthenticAMD"),
        ("ven0002fam0019mod0011", "genoa", "genoa", "AuthenticAMD"),
        ("ven0000fam0006mod008F", "genoa", "spr", "GenuineIntel"),
        ("ven0000fam0006mod0055", "spr", "cascadelake", "GenuineIntel"),
    ] {
        let alias = format!("cpu:type:x86,{alias}:feature:,0000,0001,0002");
        let imported = imported_tree(&tree(shape, &[("cpu/modalias", &alias)]));
        let family = imported.nearest.split('-').next();
        assert_eq!(family, Some(nearest), "{alias}: {}", imported.nearest);
        assert!(imported.toml.contains(&format!("\nvendor = \"{vendor}\"\n")), "{alias}");
        assert_eq!(is_zen(&imported), vendor == "AuthenticAMD");
        let assumed = |note: &&String| note.contains("architecture") || note.contains("maker");
        assert!(imported.notes.iter().find(assumed).is_none(), "{:?}", imported.notes);
    }
    let hygon =
        tree("milan-7543", &[("cpu/modalias", "cpu:type:x86,ven0009fam0018mod0001:feature:")]);
    assert!(is_zen(&imported_tree(&hygon)), "a Zen by another name");
}

#[test]
fn a_cpuinfo_counts_more_than_modalias() {
    let known = Topology::builtin("spr", None).expect("built in");
    let xeon = "vendor_id : GenuineIntel\ncpu family : 6\nmodel : 85\n";
    let mut tree = tree_of(&known, xeon, |cpu| u32::from(cpu.0));
    let alias = "cpu:type:x86,ven0002fam0019mod0011:feature:";
    tree.insert("cpu/modalias".to_owned(), alias.to_owned());
    let imported = imported_tree(&tree);
    assert!(imported.nearest == "cascadelake" && !is_zen(&imported), "{}", imported.nearest);
}

#[test]
fn what_is_no_modalias_of_a_known_maker_tells_nothing() {
    for alias in [
        "",
        "cpu:type:x86",
        "cpu:type:x86,ven",
        "cpu:type:x86,ven0002fam00",
        "cpu:type:x86,ven00\u{e4}2fam0019mod0001:feature:",
        "cpu:type:x86,ven000Afam0007mod003B:feature:",
        "ven0002fam0019mod0001",
    ] {
        let imported = imported_tree(&tree("genoa", &[("cpu/modalias", alias)]));
        assert!(!imported.toml.contains("\nvendor = "), "{alias}");
        assert!(said(&imported)[0].contains("does not tell who made the CPUs"), "{alias}");
    }
}

#[test]
fn what_only_one_makers_cpus_show_is_a_sign() {
    let safe = "Mitigation: Safe RET";
    let no_code = "Vulnerable: Safe RET, no microcode";
    let bhi = "Mitigation: Enhanced / Automatic IBRS; IBPB: conditional; RSB filling; PBRSB-eIBRS: SW sequence; BHI: BHI_DIS_S";
    for (path, text, is_amd) in [
        ("cpu/vulnerabilities/spec_rstack_overflow", safe, true),
        ("cpu/vulnerabilities/spec_rstack_overflow", no_code, true),
        ("cpu/vulnerabilities/tsa", "Mitigation: Clear CPU buffers", true),
        ("cpu/cpu0/cpufreq/scaling_driver", "amd-pstate-epp", true),
        ("cpu/cpufreq/policy0/scaling_driver", "amd-pstate", true),
        ("cpu/cpu0/cpufreq/scaling_driver", "intel_pstate", false),
        ("cpu/cpufreq/policy3/scaling_driver", "intel_cpufreq", false),
        ("cpu/cpuidle/current_driver", "intel_idle", false),
        ("cpu/vulnerabilities/gather_data_sampling", "Mitigation: Microcode", false),
        ("cpu/vulnerabilities/spectre_v2", bhi, false),
    ] {
        for shape in ["genoa", "spr"] {
            let imported = imported_tree(&tree(shape, &[(path, text)]));
            let maker = if is_amd { "AMD" } else { "Intel" };
            let amd = ["genoa", "genoa-4n32", "milan-7543", "milan-7763"];
            assert_eq!(amd.contains(&imported.nearest.as_str()), is_amd, "{path}: {text}");
            assert_eq!(is_zen(&imported), is_amd);
            assert!(imported.notes.iter().all(|note| !note.contains("names no architecture")));
            let [note] = said(&imported)[..] else { panic!("{:?}", imported.notes) };
            let start = format!("the maker of the CPUs is told by a sign: {path} says \"");
            assert!(note.starts_with(&start), "{note}");
            assert!(note.ends_with(&format!(", as on CPUs of {maker} only")), "{note}");
        }
    }
}

/// Drivers of both makers, and gaps that a CPU does not have.
#[test]
fn what_both_show_is_no_sign_and_the_choice_of_prices_is_told() {
    let spectre = "Mitigation: Enhanced / Automatic IBRS; IBPB: conditional; STIBP: always-on; PBRSB-eIBRS: Not affected; BHI: Not affected";
    let both = [
        ("cpu/vulnerabilities/spec_rstack_overflow", "Not affected"),
        ("cpu/vulnerabilities/srbds", "Not affected"),
        ("cpu/vulnerabilities/gather_data_sampling", "Unknown: Dependent on hypervisor status"),
        ("cpu/vulnerabilities/spectre_v2", spectre),
        ("cpu/cpu0/cpufreq/scaling_driver", "acpi-cpufreq"),
        ("cpu/cpuidle/current_driver", "acpi_idle"),
    ];
    let imported = imported_tree(&tree("genoa", &both));
    assert_eq!(
        said(&imported),
        [
            "the source does not tell who made the CPUs: prices are from genoa (AMD), the nearest in \
          shape; a copy of /proc/cpuinfo beside the tree, as cpuinfo, tells the maker, and --prices MACHINE \
          takes those of another"
        ]
    );
    assert!(!is_zen(&imported), "that is not known");
}

#[test]
fn signs_of_two_makers_are_none() {
    let both =
        [("cpu/vulnerabilities/tsa", "Vulnerable"), ("cpu/cpuidle/current_driver", "intel_idle")];
    let imported = imported_tree(&tree("genoa", &both));
    let [signs, prices] = said(&imported)[..] else { panic!("{:?}", imported.notes) };
    assert!(
        signs.contains("\"intel_idle\", as on CPUs of Intel only, but cpu/vulnerabilities/tsa")
    );
    assert!(prices.contains("does not tell who made the CPUs"), "{prices}");
}

#[test]
fn a_cpuinfo_beside_the_tree_is_read_wherever_the_tree_lies() {
    for path in ["cpuinfo", "./cpuinfo", "host/cpuinfo", "host/proc/cpuinfo", "proc/cpuinfo"] {
        assert_eq!(Tree::place(path).as_deref(), Some("cpuinfo"), "{path}");
    }
    assert_eq!(Tree::place("host/usr/bin/cpuinfo"), None);
}

#[test]
fn prices_are_from_the_machine_that_is_asked_for() {
    assert!(priced().contains(&"milan-7763") && !priced().contains(&"t8"));
    let genoa = tree("genoa", &[("cpu/modalias", "cpu:type:x86,ven0002fam0019mod0011:feature:")]);
    for name in priced() {
        let request = Request { prices: Some(name), ..REQUEST };
        let imported = import(Source::Tree(&genoa), &request).expect("a machine");
        assert_eq!(imported.nearest, name);
        assert!(imported.toml.contains(&format!(
            "# Prices are not measured here: those marked so are from {name}, as asked for.\n"
        )));
        assert!(imported.toml.contains(&format!("src = \"from {name}, as asked for")), "{name}");
        let reclaims = machine(&imported, None).reclaim_distance();
        assert_eq!(reclaims, 32, "who made it does not change with the prices");
        assert!(said(&imported).is_empty(), "{:?}", imported.notes);
    }
    // Intel's packages have one LLC: what it takes to the next one is from the nearest that has it.
    let request = Request { prices: Some("spr"), ..REQUEST };
    let imported = import(Source::Tree(&genoa), &request).expect("a machine");
    assert!(imported.toml.contains("src = \"from genoa, the nearest known machine"));
}

#[test]
fn where_no_machine_of_the_maker_is_known_that_is_said() {
    let table = "0,0,0,0,,0,0,0,0\n1,1,0,0,,1,1,1,0\n";
    let with =
        |head: &str| imported(&format!("{head}# CPU,Core,Socket,Node,,L1d,L1i,L2,L3\n{table}"));
    let bare = with("");
    let note = said(&bare)[0];
    assert!(
        note.starts_with("the source does not tell who made the CPUs: prices are from "),
        "{note}"
    );
    let end = "; the output of lscpu -B in front of the table tells the maker, and --prices MACHINE takes \
               those of another";
    assert!(note.ends_with(end), "{note}");
    let other = with("Architecture: x86_64\nVendor ID: Shanghai\n");
    assert!(said(&other)[0].starts_with("no machine of Shanghai is known: prices are from "));
    let arm = with("Architecture: aarch64\nVendor ID: ARM\n");
    assert!(
        said(&arm)[0].starts_with("no machine of this architecture is known: prices are from ")
    );
    for told in ["Vendor ID: GenuineIntel\n", "Vendor ID: AuthenticAMD\n"] {
        assert!(said(&with(&format!("Architecture: x86_64\n{told}"))).is_empty());
    }
}
