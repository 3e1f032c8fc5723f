//! The forms in which `lscpu` of different ages prints its table.

use crate::common::{imported, machine, refused};
use simsched_topology::CpuId;

const TABLE: &str = "# CPU,Core,Socket,Node,,L1d,L1i,L2,L3\n\
                     0,0,0,0,,0,0,0,0\n1,1,0,0,,1,1,1,0\n2,0,0,0,,0,0,0,0\n3,1,0,0,,1,1,1,0\n";

/// Four CPUs in two cores behind one cache, CPUs 0 and 2 in one of them.
fn is_that_machine(text: &str) {
    let imported = imported(text);
    let counts = imported.counts;
    assert_eq!((counts.cpus, counts.cores, counts.packages, counts.llcs), (4, 2, 1, 1), "{text}");
    assert_eq!(machine(&imported, None).smt_mask(CpuId(0)).to_string(), "0,2");
}

#[test]
fn ends_of_lines_marks_of_bytes_and_a_missing_header_change_nothing() {
    is_that_machine(TABLE);
    is_that_machine(&TABLE.replace('\n', "\r\n"));
    is_that_machine(&format!("\u{feff}{TABLE}"));
    let bare = TABLE.split_once('\n').expect("a header").1;
    is_that_machine(bare);
    let note = "there is no header: the columns are taken as those of `lscpu -p`";
    assert!(imported(bare).notes.iter().any(|found| found == note));
    // Without the empty column before the caches nobody knows which columns they are.
    let said = refused("0,0,0\n1,1,0\n");
    assert!(said.contains("found neither the XML of hwloc"), "{said}");
}

/// The columns of `-e` in util-linux 2.34 and 2.38, and JSON of both: strings at first, numbers later.
#[test]
fn the_tables_of_old_and_new_versions_are_read() {
    is_that_machine(
        "CPU NODE SOCKET CORE L1d:L1i:L2:L3 ONLINE MAXMHZ    MINMHZ\n\
         0   0    0      0    0:0:0:0       yes    3900.0000 1000.0000\n\
         1   0    0      1    1:1:1:0       yes    3900.0000 1000.0000\n\
         2   0    0      0    0:0:0:0       yes    3900.0000 1000.0000\n\
         3   0    0      1    1:1:1:0       yes    3900.0000 1000.0000\n",
    );
    let json = |quote: &str, online: &str| {
        let row = |(cpu, core): (u32, u32)| {
            format!(
                "{{\"cpu\": {quote}{cpu}{quote}, \"node\": {quote}0{quote}, \"socket\": {quote}0{quote}, \
                 \"core\": {quote}{core}{quote}, \"l1d:l1i:l2:l3\": \"{core}:{core}:{core}:0\", \
                 \"online\": {online}}}"
            )
        };
        let rows = [(0, 0), (1, 1), (2, 0), (3, 1)].map(row).join(",\r\n");
        format!("\u{feff}{{\r\n\"cpus\": [{rows}]\r\n}}\r\n")
    };
    is_that_machine(&json("\"", "\"yes\""));
    is_that_machine(&json("", "true"));
}

/// `-a` prints CPUs that are off: of `-p` all their cells are empty.
#[test]
fn cpus_that_are_off_are_left_out() {
    let off = format!("{TABLE}4,,,,,,,,\n");
    is_that_machine(&off);
    assert!(imported(&off).notes.iter().any(|note| note.starts_with("CPUs 4 are offline")));
    is_that_machine(
        "CPU NODE SOCKET CORE L1d:L1i:L2:L3 ONLINE\n0 0 0 0 0:0:0:0 yes\n1 0 0 1 1:1:1:0 yes\n\
         2 0 0 0 0:0:0:0 yes\n3 0 0 1 1:1:1:0 yes\n4 - - - - no\n",
    );
}

/// util-linux 2.38 with `-J -e -a`: what is not known of a CPU that is off stands there without quotes.
#[test]
fn a_bare_dash_in_the_json_is_nothing() {
    let row = |cpu: u32, rest: &str| format!("{{\n\"cpu\": {cpu},\n{rest}\n}}");
    let on = |core: u32| {
        format!(
            "\"node\": 0,\n\"socket\": 0,\n\"core\": {core},\n\"l1d:l1i:l2:l3\": \"{core}:{core}:{core}:0\",\n\
             \"online\": true"
        )
    };
    let off =
        "\"node\": -,\n\"socket\": -,\n\"core\": -,\n\"l1d:l1i:l2:l3\": \"-\",\n\"online\": false";
    let rows = [row(0, &on(0)), row(1, &on(1)), row(2, &on(0)), row(3, &on(1)), row(4, off)];
    is_that_machine(&format!("{{\n\"cpus\": [\n{}\n]\n}}\n", rows.join(",")));
    let last = off.replace("\"online\": false", "\"maxmhz\": -");
    is_that_machine(&format!("{{\"cpus\": [{},{}]}}", rows[..4].join(","), row(4, &last)));
}

#[test]
fn columns_that_hold_no_numbers_are_understood() {
    let named = "CPU CORE SOCKET L1d:L1i:L2:L3 MODELNAME ONLINE\n";
    let row = |cpu: u32, core: u32, model: &str| {
        format!("{cpu} {core} 0 {core}:{core}:{core}:0 {model} yes\n")
    };
    let alike = |model: &str| {
        [(0, 0), (1, 1), (2, 0), (3, 1)].map(|(cpu, core)| row(cpu, core, model)).concat()
    };
    is_that_machine(&format!("{named}{}", alike("AMD EPYC 7451 24-Core Processor")));
    let said = refused(&format!("{named}{}{}", row(0, 0, "Cortex-A53"), row(1, 1, "Cortex-A72")));
    assert!(said.contains("(Cortex-A53: CPUs 0; Cortex-A72: CPUs 1)"), "{said}");
    let said = refused(&format!("Model name: Cortex-A53\nModel name: Cortex-A72\n{TABLE}"));
    assert!(said.starts_with("source:2: cores of different kinds are not simulated"), "{said}");
    let said = refused("# CPU,Core,Book,L1d:L1i:L2:L3\n0,0,0,0:0:0:0\n");
    assert!(said.contains("CPUs 0 are a book of s390"), "{said}");
}

/// arm64: cores that firmware puts into clusters (util-linux 2.38).
#[test]
fn the_column_of_clusters_is_a_level() {
    let text = "Architecture: aarch64\n# CPU,Core,Cluster,Socket,Node,L1d:L1i:L2:L3\n\
                0,0,0,0,0,0:0:0:0\n1,1,0,0,0,1:1:1:0\n2,2,1,0,0,2:2:2:0\n3,3,1,0,0,3:3:3:0\n";
    assert!(imported(text).toml.contains("cores_per_cluster = 2"));
}

/// Totals as `lscpu` 2.38 prints them: counts, and the CPUs of each node.
fn totals(counts: [u32; 4], nodes: &[&str]) -> Vec<(String, String)> {
    let [threads, cores, sockets, llcs] = counts;
    let mut told: Vec<(String, String)> = [
        ("Architecture", "x86_64".to_owned()),
        ("On-line CPU(s) list", format!("0-{}", threads * cores * sockets - 1)),
        ("Thread(s) per core", threads.to_string()),
        ("Core(s) per socket", cores.to_string()),
        ("Socket(s)", sockets.to_string()),
        ("L2 cache", format!("{} MiB ({} instances)", cores * sockets, cores * sockets)),
        ("L3 cache", format!("{} MiB ({llcs} instances)", 32 * llcs)),
    ]
    .map(|(key, value)| (key.to_owned(), value))
    .to_vec();
    let node = |(n, cpus): (usize, &&str)| (format!("NUMA node{n} CPU(s)"), (*cpus).to_owned());
    told.extend(nodes.iter().enumerate().map(node));
    told
}

/// As text, as flat JSON of util-linux 2.34, and as its tree since 2.37.
fn printed(told: &[(String, String)]) -> [String; 3] {
    let field =
        |(key, value): &(String, String)| format!("{{\"field\":\"{key}:\",\"data\":\"{value}\"");
    let flat: Vec<String> = told.iter().map(|told| field(told) + "}").collect();
    let (first, rest) = (field(&told[0]), flat[1..].join(","));
    [
        told.iter().map(|(key, value)| format!("{key}:    {value}\n")).collect(),
        format!("{{\"lscpu\": [{}]}}", flat.join(",")),
        format!("{{\"lscpu\": [{first}, \"children\": [{rest}]}}]}}"),
    ]
}

/// One numbering of CPUs fits each of these: siblings far apart, near, and sockets in turn.
#[test]
fn totals_are_a_machine_where_only_one_numbering_fits() {
    for (counts, nodes, siblings, llc) in [
        ([2, 4, 2, 4], &["0-3,8-11", "4-7,12-15"][..], "0,8", "0-1,8-9"),
        ([2, 4, 2, 2], &["0-7", "8-15"][..], "0-1", "0-7"),
        (
            [2, 4, 2, 2],
            &["0,2,4,6,8,10,12,14", "1,3,5,7,9,11,13,15"][..],
            "0,8",
            "0,2,4,6,8,10,12,14",
        ),
        ([1, 4, 1, 2], &["0-3"][..], "0", "0-1"),
    ] {
        for text in printed(&totals(counts, nodes)) {
            let imported = imported(&text);
            let machine = machine(&imported, None);
            assert_eq!(machine.smt_mask(CpuId(0)).to_string(), siblings, "{text}");
            assert_eq!(machine.llc_span(machine.llc_of(CpuId(0))).to_string(), llc, "{text}");
            assert_eq!(imported.counts.llc_kib, Some(32 * 1024));
            assert!(imported.notes.iter().any(|note| note.starts_with("totals do not tell")));
        }
    }
}

#[test]
fn totals_that_several_numberings_fit_are_refused() {
    let offline = |mut told: Vec<(String, String)>| {
        told[1].1 = "0-6".to_owned();
        told
    };
    let no_instances = |mut told: Vec<(String, String)>| {
        told.last_mut().expect("a cache").1 = "32768K".to_owned();
        told
    };
    for told in [
        totals([2, 4, 1, 1], &["0-7"]),
        totals([2, 4, 2, 2], &["0-15"]),
        offline(totals([1, 4, 2, 2], &["0-3", "4-7"])),
        no_instances(totals([1, 4, 1, 1], &[])),
    ] {
        for text in printed(&told) {
            let said = refused(&text);
            assert!(said.starts_with("source: found the totals of plain lscpu"), "{said}");
        }
    }
}

/// Real output of lscpu 2.38.1: its totals and its table are one machine.
#[test]
fn totals_and_table_of_one_server_agree() {
    let text = include_str!("data/lscpu/cascadelake.txt");
    let (head, _) = text.split_once("# The following").expect("totals before the table");
    let machines = [head, text].map(|text| machine(&imported(text), None));
    for cpu in machines[0].cpus() {
        let seen = |m: &simsched_topology::Topology| {
            (*m.smt_mask(cpu), *m.llc_span(m.llc_of(cpu)), *m.node_span(m.node_of(cpu)))
        };
        assert_eq!(seen(&machines[0]), seen(&machines[1]), "CPU {cpu}");
    }
    assert_eq!(machines[0].nr_cpus(), 80);
}

#[test]
fn second_level_caches_of_one_core_and_of_several_are_said() {
    let text = "# CPU,Core,Socket,Node,,L1d,L1i,L2,L3\n0,0,0,0,,0,0,0,0\n1,0,0,0,,0,0,0,0\n\
                2,1,0,0,,1,1,1,0\n3,2,0,0,,2,2,1,0\n";
    let notes = imported(text).notes;
    assert!(notes.iter().any(|note| note.starts_with("second-level caches serve 1 to 2 cores")));
}
