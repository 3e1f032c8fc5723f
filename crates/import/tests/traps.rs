//! What descriptions of real machines have that one would not expect, each in the smallest file.

use crate::common::{REQUEST, imported, machine, refused};
use simsched_import::{Llc, Request, Source, Tree, import};
use simsched_topology::{Arch, CpuId, NodeId};

/// hwloc's XML with these objects below the machine, and this behind them.
fn xml(objects: &str, rest: &str) -> String {
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n\
         <topology version=\"2.0\">\n<object type=\"Machine\" os_index=\"0\">\n{objects}</object>\n{rest}\n</topology>\n"
    )
}

/// A core with these PUs behind a cache of its own: level, KiB.
fn core(level: u32, kib: u64, pus: &[u32]) -> String {
    let mask = mask(pus);
    let pu = |n: &u32| format!("<object type=\"PU\" os_index=\"{n}\"/>");
    let pus: String = pus.iter().map(pu).collect();
    let bytes = kib * 1024;
    format!(
        "<object type=\"L{level}Cache\" cpuset=\"{mask}\" cache_size=\"{bytes}\">\
         <object type=\"Core\" cpuset=\"{mask}\">{pus}</object></object>\n"
    )
}

fn mask(numbers: &[u32]) -> String {
    let words = numbers.iter().max().map_or(1, |most| most / 32 + 1);
    let word = |word: u32| {
        let bits = numbers.iter().filter(|&&n| n / 32 == word).fold(0u32, |b, n| b | 1 << (n % 32));
        if bits == 0 { String::new() } else { format!("0x{bits:08x}") }
    };
    (0..words).rev().map(word).collect::<Vec<_>>().join(",")
}

fn node(number: u32, more: &str, cpus: &[u32]) -> String {
    format!("<object type=\"NUMANode\" os_index=\"{number}\" cpuset=\"{}\" {more}/>\n", mask(cpus))
}

fn distances(kind: &str, nodes: &str, values: &str) -> String {
    format!(
        "<distances2 {kind}><indexes length=\"1\">{nodes}</indexes>\
         <u64values length=\"1\">{values}</u64values></distances2>"
    )
}

const LATENCY: &str = "type=\"NUMANode\" kind=\"5\" name=\"NUMALatency\" indexing=\"os\"";

#[test]
fn a_cpuset_has_empty_words() {
    let cores = core(3, 1024, &[0, 1]) + &core(3, 1024, &[96, 97]);
    assert!(cores.contains("\"0x00000003,,,\""));
    let imported = imported(&xml(&cores, ""));
    assert_eq!((imported.counts.cpus, imported.counts.cores), (4, 2));
    let machine = machine(&imported, None);
    assert_eq!([0, 1, 2, 3].map(|cpu| machine.os_cpu(CpuId(cpu))), [0, 1, 96, 97]);
    assert_eq!(machine.smt_mask(CpuId(2)).to_string(), "2-3");
}

#[test]
fn a_node_may_be_wrapped_in_a_memory_side_cache_which_is_no_cache_of_a_cpu() {
    let memory = format!(
        "<object type=\"MemCache\" cpuset=\"0x3\" cache_size=\"1073741824\" depth=\"1\">{}</object>",
        node(0, "", &[0, 1])
    );
    let imported = imported(&xml(&(memory + &core(3, 1024, &[0, 1])), ""));
    assert_eq!((imported.counts.nodes, imported.counts.llc_kib), (1, Some(1024)));
    assert!(imported.notes.iter().any(|note| note.contains("memory-side caches (1024 MiB)")));
}

#[test]
fn nodes_that_hold_memory_only_have_no_cpus_of_their_own() {
    let cores = core(3, 1024, &[0]) + &core(3, 1024, &[1]);
    // HBM has a lower number than the memory of CPU 1, and memory of all CPUs a higher one.
    let nodes = node(0, "subtype=\"DRAM\"", &[0])
        + &node(1, "subtype=\"HBM\"", &[1])
        + &node(2, "", &[1])
        + &node(3, "", &[0, 1])
        + "<object type=\"NUMANode\" os_index=\"4\" cpuset=\"0x0\"/>\n";
    let table = distances(
        LATENCY,
        "0 1 2 3 4",
        "10 20 20 20 20 20 10 20 20 20 20 20 10 20 20 20 20 20 10 20 20 20 20 20 10",
    );
    let imported = imported(&xml(&(nodes + &cores), &table));
    let machine = machine(&imported, None);
    assert_eq!([0, 1].map(|node| machine.os_node(NodeId(node))), [0, 2]);
    assert_eq!(machine.node_span(NodeId(1)).to_string(), "1");
    assert_eq!(machine.node_distance(NodeId(0), NodeId(1)), 20);
    let note = "nodes without CPUs are left out (1,3-4): no sched domain knows them";
    assert!(imported.notes.iter().any(|found| found == note), "{:?}", imported.notes);
}

#[test]
fn only_latencies_between_nodes_from_the_system_are_distances() {
    let objects =
        core(3, 1024, &[0]) + &core(3, 1024, &[1]) + &node(4, "", &[0]) + &node(7, "", &[1]);
    let others = distances("type=\"NUMANode\" kind=\"9\" indexing=\"os\"", "4 7", "1 2 3 4")
        + "<distances2hetero nbobjs=\"2\" kind=\"25\"><indexes length=\"9\">OSDev:3 Package:1 </indexes>\
           <u64values length=\"4\">1 0 0 1 </u64values></distances2hetero>"
        + &distances("type=\"Package\" kind=\"5\" indexing=\"gp\"", "4 7", "10 99 99 10")
        + &distances(LATENCY, "7 4", "10 33 33 10");
    let machine = machine(&imported(&xml(&objects, &others)), None);
    assert_eq!(machine.node_distance(NodeId(0), NodeId(1)), 33);
    assert_eq!(machine.os_node(NodeId(1)), 7);
}

#[test]
fn a_fourth_level_cache_is_no_last_level_of_linux() {
    let cores = core(3, 1024, &[0]) + &core(3, 1024, &[1]);
    let outer =
        format!("<object type=\"L4Cache\" cpuset=\"0x3\" cache_size=\"65536\">{cores}</object>");
    let imported = imported(&xml(&outer, ""));
    assert_eq!((imported.counts.llcs, imported.counts.llc_kib), (2, Some(1024)));
    assert!(imported.notes.iter().any(|note| note.contains("a fourth-level cache is left out")));
}

/// `cpu_llc_id` is that of the second level where there is no third.
#[test]
fn a_second_level_cache_is_the_last_where_there_is_no_third() {
    let imported = imported(&xml(&(core(2, 4096, &[0, 1]) + &core(2, 4096, &[2, 3])), ""));
    assert_eq!((imported.counts.llcs, imported.counts.llc_kib), (2, Some(4096)));
}

/// Cores that share a second-level cache below the third are the level CLS.
#[test]
fn cores_that_share_a_second_level_cache_are_a_cluster() {
    let pair = |a: u32| {
        let inner = core(1, 32, &[a]) + &core(1, 32, &[a + 1]);
        let mask = mask(&[a, a + 1]);
        format!("<object type=\"L2Cache\" cpuset=\"{mask}\" cache_size=\"65536\">{inner}</object>")
    };
    let all = format!(
        "<object type=\"L3Cache\" cpuset=\"0xf\" cache_size=\"1048576\">{}{}</object>",
        pair(0),
        pair(2)
    );
    let imported = imported(&xml(&all, ""));
    assert!(imported.toml.contains("cores_per_cluster = 2\n"), "{}", imported.toml);
}

#[test]
fn what_cannot_be_expressed_is_refused_with_what_and_where() {
    let two = |a: &str, b: &str| xml(&format!("{a}{b}"), "");
    let kinds = "<cpukind cpuset=\"0x1\"><info name=\"CoreType\" value=\"IntelAtom\"/></cpukind>\
                 <cpukind cpuset=\"0x2\"><info name=\"CoreType\" value=\"IntelCore\"/></cpukind>";
    let plain = core(3, 1024, &[0]) + &core(3, 1024, &[1]);
    let unequal = core(2, 1024, &[0]) + &core(2, 2048, &[1]);
    let nodes = plain.clone() + &node(0, "", &[0]) + &node(1, "", &[1]);
    for (text, expected) in [
        (
            two("<object type=\"L3Cache\" cpuset=\"0x3\"/>", &unequal),
            "source: caches of level 2 differ in size (CPUs 0: 1024 KiB, CPUs 1: 2048 KiB), expected one size for all",
        ),
        (
            xml(&plain, kinds),
            "source: cores of different kinds are not simulated (CoreType IntelAtom: CPUs 0; CoreType IntelCore: CPUs 1)",
        ),
        (
            two(&core(3, 1024, &[0, 1]), &core(3, 1024, &[1, 2])),
            "source: CPU 1 is in two cores, expected one",
        ),
        (
            two(&core(3, 1024, &[0]), "<object type=\"PU\" os_index=\"5\"/>"),
            "source: CPUs 5 are in no core, expected each CPU in one",
        ),
        (
            two(&core(3, 1024, &[0]), &core(2, 1024, &[1])),
            "source: CPUs 1 are in no cache of level 3, expected each CPU in one",
        ),
        (
            xml(&nodes, &distances(LATENCY, "0 1", "10 20 30 10")),
            "source: from node 0 to node 1 the distance is 20, back it is 30; expected the same both ways",
        ),
        (
            xml(&nodes, &distances(LATENCY, "0 1", "10 9 9 10")),
            "source: from node 0 to node 1 the distance is 9; expected 11 to 254",
        ),
        (
            xml(&nodes, &distances(LATENCY, "0 1", "10 20 20")),
            "source:10: the distances of NUMA nodes are not one number for each pair of the indexes",
        ),
        (
            xml(&(plain.clone() + &node(0, "", &[0])), ""),
            "source: CPUs 1 are in no NUMA node, expected each CPU in one",
        ),
        (
            xml(&plain, "<info name=\"Architecture\" value=\"ia64\"/>"),
            "source: the architecture is ia64, whose sched domains are not simulated; expected x86_64, ppc64le, aarch64 or riscv64",
        ),
        (xml("", ""), "source: found no object of type PU, expected one for each CPU"),
        (
            xml("<object type=\"PU\" os_index=\"-1\"/>", ""),
            "source:5: os_index of a PU is \"-1\", expected a number from 0 to 65535",
        ),
        (
            xml("<object type=\"Core\" cpuset=\"0xf...f\"/>", ""),
            "source:5: cpuset is \"0xf...f\", expected 32-bit words in hexadecimal, the highest first, such as \"0xff,,0x0f\"",
        ),
    ] {
        assert_eq!(refused(&text), expected);
    }
}

#[test]
fn another_version_or_another_document_is_refused() {
    let text = xml(&core(3, 1024, &[0]), "");
    let cases = [
        ("version=\"4.0\"", "\"4.0\""),
        ("", "1.x (none is given)"),
        // It stands in the file that is written, where it could say anything.
        ("version=\"2.0&#10;numa = 1\"", "\"2.0\\nnuma = 1\""),
    ];
    for (version, found) in cases {
        let text = text.replacen("version=\"2.0\"", version, 1);
        let text = text.replacen("<?xml  encoding", "<?xml version=\"1.0\" encoding", 1);
        let expected = format!("source:3: found hwloc XML of version {found}, expected 2.x or 3.0");
        assert!(refused(&text).starts_with(&expected), "{}", refused(&text));
    }
    assert!(
        refused("<html/>")
            .starts_with("source:1: found <html>, expected <topology version=\"2.0\">")
    );
    assert!(
        refused("<topology version=\"2.0\">\n<object").starts_with("source:2: the file is no XML")
    );
}

#[test]
fn without_any_cache_somebody_has_to_say_who_shares_one() {
    let mask = "0x3";
    let pus = "<object type=\"PU\" os_index=\"0\"/><object type=\"PU\" os_index=\"1\"/>";
    let text = xml(
        &format!(
            "<object type=\"Package\" cpuset=\"{mask}\">\
        <object type=\"Core\" cpuset=\"0x1\"/><object type=\"Core\" cpuset=\"0x2\"/>{pus}</object>"
        ),
        "",
    );
    assert!(refused(&text).contains("found no second- or third-level cache"));
    for (llc, llcs) in [(Llc::Core, 2), (Llc::Package, 1)] {
        let request = Request { llc: Some(llc), ..REQUEST };
        let imported = import(Source::Text(&text), &request).expect("a machine");
        assert_eq!((imported.counts.llcs, imported.counts.llc_kib), (llcs, None));
    }
}

/// A tree of `/sys/devices/system` by path and text.
fn tree(files: &[(&str, &str)]) -> Tree {
    let mut tree = Tree::default();
    for (path, text) in files {
        tree.insert(Tree::place(path).unwrap_or_else(|| panic!("{path}")), (*text).to_owned());
    }
    tree
}

const CPU0: &[(&str, &str)] = &[
    ("host/proc/cpuinfo", "CPU implementer : 0x48\n"),
    ("host/sys/devices/system/cpu/online", "0\n"),
    ("host/sys/devices/system/cpu/cpu0/topology/core_cpus", "00000000,00000001\n"),
    ("host/sys/devices/system/cpu/cpu0/topology/package_cpus", "00000000,00000001\n"),
    ("host/sys/devices/system/cpu/cpu0/cache/index2/level", "3\n"),
    ("host/sys/devices/system/cpu/cpu0/cache/index2/size", "32M\n"),
    ("host/sys/devices/system/cpu/cpu0/cache/index2/shared_cpu_map", "00000000,00000001\n"),
];

#[test]
fn masks_and_lists_with_zeros_behind_them_are_read() {
    let list = ("host/sys/devices/system/cpu/cpu0/topology/cluster_cpus_list", "0\n\0");
    let tree = tree(&[CPU0, &[list]].concat());
    let imported = import(Source::Tree(&tree), &REQUEST).expect("a machine");
    assert_eq!((imported.counts.cpus, imported.counts.llc_kib), (1, Some(32 * 1024)));
    assert_eq!(machine(&imported, None).arch(), Arch::Generic, "aarch64");
}

#[test]
fn a_damaged_tree_is_refused_with_its_path() {
    let cpu = |name: &str| format!("host/sys/devices/system/cpu/{name}");
    for (path, text, expected) in [
        (
            cpu("online"),
            "0-1",
            "source:cpu/online: CPUs 1 are online, but the tree has no cpu/cpuN/topology of them",
        ),
        (
            cpu("online"),
            "zero",
            "source:cpu/online: found \"zero\", expected a list such as \"0-3,8\"",
        ),
        (
            cpu("cpu0/topology/core_cpus"),
            "2",
            "source:cpu/cpu0/topology: the siblings of CPU 0 are 1, without itself",
        ),
        (
            cpu("cpu0/cache/index2/level"),
            "9",
            "source:cpu/cpu0/cache/index2/level: expected a level from 1 to 5",
        ),
        (
            "node/node0/distance".to_owned(),
            "10 20",
            "source:node/node0/distance: found 2 distances for 1 nodes",
        ),
    ] {
        let tree = tree(&[CPU0, &[(path.as_str(), text)]].concat());
        let error = import(Source::Tree(&tree), &REQUEST).expect_err("refused");
        assert_eq!(error.to_string(), expected);
    }
    let nothing = import(Source::Tree(&Tree::default()), &REQUEST).expect_err("refused");
    assert!(nothing.to_string().starts_with("source: found no CPU that is online"));
}

#[test]
fn books_of_s390_are_refused() {
    let book = ("host/sys/devices/system/cpu/cpu0/topology/book_siblings", "00000000,00000001");
    let second: Vec<(&str, &str)> = vec![
        ("host/sys/devices/system/cpu/online", "0-1"),
        ("host/sys/devices/system/cpu/cpu1/topology/core_cpus", "2"),
        ("host/sys/devices/system/cpu/cpu1/topology/package_cpus", "2"),
        book,
    ];
    let tree = tree(&[CPU0, &second].concat());
    let error = import(Source::Tree(&tree), &REQUEST).expect_err("refused").to_string();
    assert_eq!(error, "source: CPUs 0 are a book of s390, a level that is not simulated");
}

/// Trees of hwloc's tests were changed by hand and their lists were left; Linux writes both from one set.
#[test]
fn of_a_mask_and_a_list_that_differ_the_mask_is_taken_and_that_is_said() {
    let file = |name: &str| format!("host/sys/devices/system/cpu/cpu0/topology/{name}");
    let (mask, list) = (file("package_cpus"), file("package_cpus_list"));
    let second = [
        ("host/sys/devices/system/cpu/online", "0-1"),
        ("host/sys/devices/system/cpu/cpu1/topology/core_cpus", "2"),
        ("host/sys/devices/system/cpu/cpu1/topology/package_cpus", "2"),
        ("host/sys/devices/system/cpu/cpu1/cache/index2/level", "3"),
        ("host/sys/devices/system/cpu/cpu1/cache/index2/shared_cpu_map", "2"),
    ];
    let imported = |mask_text: &str, list_text: &str| {
        let pair = [(mask.as_str(), mask_text), (list.as_str(), list_text)];
        import(Source::Tree(&tree(&[CPU0, &second, &pair].concat())), &REQUEST)
    };
    let taken = imported("1", "0-1").expect("a machine");
    assert_eq!(taken.counts.packages, 2);
    let note = "the mask cpu/cpu0/topology/package_cpus holds CPUs 0, but the list beside it 0-1: masks are \
                taken, as hwloc does";
    assert!(taken.notes.iter().any(|found| found == note), "{:?}", taken.notes);
    let offline = imported("1", "0,5").expect("CPU 5 does not run");
    assert!(offline.notes.iter().all(|found| !found.contains("the list beside it")));
    let error = imported("3", "0").expect_err("CPU 1 says it is alone").to_string();
    assert_eq!(error, "source: CPU 1 is in two packages, expected one");
}

/// A tree of `/sys` alone has no `/proc/cpuinfo`.
#[test]
fn the_architecture_of_a_tree_is_told_by_files_that_only_one_has() {
    for (name, arch) in [
        ("regs/identification/midr_el1", Arch::Generic),
        ("pir", Arch::Power),
        ("online", Arch::X86),
    ] {
        let file = format!("host/sys/devices/system/cpu/cpu0/{name}");
        let tree = tree(&[&CPU0[1..], &[(file.as_str(), "1")]].concat());
        let imported = import(Source::Tree(&tree), &REQUEST).expect("a machine");
        assert_eq!(machine(&imported, None).arch(), arch, "{name}");
    }
    let file = "host/sys/devices/system/cpu/cpu0/polarization";
    let tree = tree(&[&CPU0[1..], &[(file, "horizontal")]].concat());
    let error = import(Source::Tree(&tree), &REQUEST).expect_err("refused").to_string();
    assert!(error.starts_with("source: the architecture is s390x"), "{error}");
}

#[test]
fn the_architecture_chooses_the_levels() {
    for (name, arch) in [
        ("x86_64", Arch::X86),
        ("ppc64le", Arch::Power),
        ("powerpc64", Arch::Power),
        ("aarch64", Arch::Generic),
        ("riscv64", Arch::Generic),
    ] {
        let info = format!("<info name=\"Architecture\" value=\"{name}\"/>");
        let imported = imported(&xml(&core(3, 1024, &[0, 1]), &info));
        assert_eq!(machine(&imported, None).arch(), arch, "{name}");
    }
}
