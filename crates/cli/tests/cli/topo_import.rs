//! `simsched topo import`: from what users have to a machine that runs.

use std::fs;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::common::{check, file, prints, simsched};

/// A file of hwloc's own tests, unpacked.
fn hwloc(name: &str) -> PathBuf {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../import/tests/data/hwloc");
    let packed = fs::File::open(data.join(format!("{name}.xml.gz"))).unwrap();
    let mut text = String::new();
    flate2::read::GzDecoder::new(packed).read_to_string(&mut text).unwrap();
    // Tests run side by side, and none reads a file that another one is writing.
    static NTH: AtomicUsize = AtomicUsize::new(0);
    file(&format!("{name}-{}.xml", NTH.fetch_add(1, Ordering::Relaxed)), &text)
}

/// Two cores of two threads behind one L3, as Linux shows them.
const TREE: &[(&str, &str)] = &[
    ("sys/devices/system/cpu/online", "0-3"),
    ("sys/devices/system/node/node0/cpulist", "0-3"),
    ("sys/devices/system/node/node0/distance", "10"),
];

fn files() -> Vec<(String, String)> {
    let mut files: Vec<(String, String)> =
        TREE.iter().map(|(path, text)| ((*path).to_owned(), format!("{text}\n"))).collect();
    for cpu in 0..4 {
        let within = format!("sys/devices/system/cpu/cpu{cpu}");
        let core = if cpu % 2 == 0 { "0,2\n" } else { "1,3\n" };
        for (path, text) in [
            ("topology/core_cpus_list", core),
            ("topology/package_cpus_list", "0-3\n"),
            ("cache/index3/level", "3\n"),
            ("cache/index3/size", "32768K\n"),
            ("cache/index3/shared_cpu_list", "0-3\n"),
        ] {
            files.push((format!("{within}/{path}"), text.to_owned()));
        }
    }
    files
}

fn tarball() -> Vec<u8> {
    let mut archive = tar::Builder::new(Vec::new());
    for (path, text) in files() {
        let mut header = tar::Header::new_gnu();
        header.set_size(text.len() as u64);
        header.set_mode(0o644);
        header.set_cksum();
        archive.append_data(&mut header, format!("host/{path}"), text.as_bytes()).unwrap();
    }
    archive.into_inner().unwrap()
}

fn bytes(name: &str, bytes: &[u8]) -> String {
    let path = file(name, "");
    fs::write(&path, bytes).unwrap();
    path.display().to_string()
}

/// The machine without the comment that names its source.
fn machine(source: &str) -> String {
    let text = prints(&format!("topo import {source} --name m"));
    text.split_once("\nname = ").unwrap().1.to_owned()
}

#[test]
fn a_folder_and_its_tarballs_are_the_same_machine() {
    let root = fresh("import-tree");
    plant(&root, &[]);
    let tar = tarball();
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gz.write_all(&tar).unwrap();
    let mut bz2 = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    bz2.write_all(&tar).unwrap();
    let folder = machine(&root.display().to_string());
    assert!(folder.contains("cores_per_llc = 2\nthreads_per_core = 2\nnumbering = \"smt_split\""));
    for source in [
        root.join("sys").display().to_string(),
        root.join("sys/devices/system").display().to_string(),
        bytes("import.tar", &tar),
        bytes("import.tar.gz", &gz.finish().unwrap()),
        bytes("import.tar.bz2", &bz2.finish().unwrap()),
    ] {
        assert_eq!(machine(&source), folder, "{source}");
    }
}

/// Writes the files of the tree below `root`.
fn plant(root: &Path, more: &[(&str, &str)]) {
    let more = more.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned()));
    for (path, text) in files().into_iter().chain(more) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

/// The folder of this name of the test run, which is not there.
fn fresh(name: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&root);
    root
}

const EPYC: &str = "vendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t\t: 17\n";

#[test]
fn the_maker_of_a_tree_is_told_by_what_lies_in_it_or_beside_it() {
    for (name, path, text) in [
        ("import-proc", "proc/cpuinfo", EPYC),
        ("import-beside", "cpuinfo", EPYC),
        ("import-alias", "sys/devices/system/cpu/modalias", "cpu:type:x86,ven0002fam0019mod0011:"),
        ("import-gap", "sys/devices/system/cpu/vulnerabilities/tsa", "Mitigation: Clear\n"),
        ("import-clock", "sys/devices/system/cpu/cpufreq/policy0/scaling_driver", "amd-pstate\n"),
    ] {
        let root = fresh(name);
        plant(&root, &[(path, text)]);
        for below in ["", "sys", "sys/devices", "sys/devices/system"] {
            let machine = machine(&root.join(below).display().to_string());
            assert!(machine.contains("\nreclaim_distance = 32 "), "{name} {below}: {machine}");
            assert!(
                !machine.contains("from spr") && !machine.contains("from icelake"),
                "{machine}"
            );
        }
    }
}

/// Linux shows the clocks of a CPU by a link; other links lead in circles.
#[cfg(unix)]
#[test]
fn links_of_a_tree_are_followed_to_clocks_only() {
    use std::os::unix::fs::symlink;
    let root = fresh("import-links");
    let policy = "sys/devices/system/cpu/cpufreq/policy0";
    let files = ["scaling_driver", "cpuinfo_max_freq"].map(|name| format!("{policy}/{name}"));
    plant(&root, &[(&files[0], "amd-pstate-epp\n"), (&files[1], "3710000\n")]);
    let cpu = root.join("sys/devices/system/cpu/cpu0");
    symlink("../cpufreq/policy0", cpu.join("cpufreq")).unwrap();
    symlink("..", cpu.join("subsystem")).unwrap();
    symlink("../../system", root.join("sys/devices/system/cpu/system")).unwrap();
    let machine = machine(&root.display().to_string());
    assert!(machine.contains("max_1core = { v = 3.710, src = \"sysfs\" }"), "{machine}");
}

/// A pipe that nobody writes to.
#[cfg(target_os = "linux")]
#[test]
fn what_is_no_file_is_not_waited_for() {
    let root = fresh("import-pipe");
    plant(&root, &[]);
    let made = std::process::Command::new("mkfifo").arg(root.join("cpuinfo")).status().unwrap();
    assert!(made.success());
    for below in ["", "sys"] {
        machine(&root.join(below).display().to_string());
    }
}

#[test]
fn a_tree_of_an_unknown_maker_says_whose_prices_it_has_and_others_can_be_chosen() {
    let root = fresh("import-unknown");
    plant(&root, &[]);
    let output = simsched(&format!("topo import {}", root.display()));
    let said = String::from_utf8(output.stderr).unwrap();
    let nearest = said.lines().next().unwrap().rsplit_once("prices from ").unwrap().1;
    let note = format!("the source does not tell who made the CPUs: prices are from {nearest} (");
    assert!(said.contains(&note) && said.contains("--prices MACHINE"), "{said}");
    for name in ["milan-7543", "milan-7543.toml"] {
        let args = format!("topo import {} --prices {name}", root.display());
        let output = simsched(&args);
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains("; prices from milan-7543\n"), "{said}");
        assert!(!said.contains("who made the CPUs"), "{said}");
        assert!(prints(&args).contains("\"from milan-7543, as asked for: "));
    }
    for (wrong, hint) in [("genao", "; did you mean `genoa`?"), ("t8", "expected one of spr, ")] {
        let args = format!("topo import {} --prices {wrong}", root.display());
        check(&args, 2, &[&format!("--prices: found '{wrong}'"), hint]);
    }
}

#[test]
fn real_servers_are_imported_checked_and_run() {
    for (name, size) in [
        ("AMD-17h-Zen-2xEpyc-7451", "96 CPUs, 16 LLCs, 1 node, 2 packages"),
        ("power8gpudistances", "16 CPUs, 8 LLCs, 2 nodes, 2 packages"),
        ("memorysidecaches", "80 CPUs, 4 LLCs, 4 nodes, 2 packages"),
    ] {
        let (source, target) = (hwloc(name), file(&format!("{name}.toml"), ""));
        let (source, target) = (source.display(), target.display());
        assert_eq!(prints(&format!("topo import {source} -o {target}")), "");
        assert!(prints(&format!("topo check {target}")).contains(size));
        let run = prints(&format!("run -q --paranoid --topo {target} -- hackbench -g 1 -f 2 -l 2"));
        assert!(run.contains("\nTime: ") && run.contains("@imported"), "{run}");
    }
}

#[test]
fn text_may_be_packed_too() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../import/tests/data/hwloc");
    let packed = data.join("power8gpudistances.xml.gz");
    let plain = hwloc("power8gpudistances");
    let text = fs::read(&plain).unwrap();
    let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    encoder.write_all(&text).unwrap();
    let other = bytes("import-packed.xml.bz2", &encoder.finish().unwrap());
    let machine = |source: &str| {
        let toml = prints(&format!("topo import {source} --name m"));
        toml.split_once('\n').unwrap().1.to_owned()
    };
    let expected = machine(&plain.display().to_string());
    for source in [packed.display().to_string(), other] {
        assert_eq!(machine(&source), expected, "{source}");
    }
}

#[test]
fn what_was_read_and_left_out_is_said() {
    let output = simsched(&format!("topo import {}", hwloc("memorysidecaches").display()));
    let said = String::from_utf8(output.stderr).unwrap();
    let counts = "80 CPUs, 40 cores, 2 packages, 2 last-level caches of 28160 KiB, 4 NUMA nodes";
    assert!(said.contains(&format!("{counts}; prices from cascadelake")), "{said}");
    assert!(said.contains("note: memory-side caches (98304 MiB) are left out"), "{said}");
    let toml = String::from_utf8(output.stdout).unwrap();
    assert!(toml.contains("# Note: memory-side caches (98304 MiB) are left out"));
    assert!(toml.contains("src = \"from cascadelake, the nearest known machine: C2C-CSV\""));
}

#[test]
fn what_is_no_description_of_a_machine_is_refused() {
    let empty = tar::Builder::new(Vec::new()).into_inner().unwrap();
    let cut = &tarball()[..2000];
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("import-nothing");
    fs::create_dir_all(&folder).unwrap();
    let text = file("import-text.txt", "hello\n").display().to_string();
    for (source, expected) in [
        (
            text.clone(),
            "import-text.txt: found neither the XML of hwloc nor the output of `lscpu -p`",
        ),
        (bytes("import-odd", &[0x80, 0xff]), "import-odd: found neither text nor a tarball"),
        (bytes("import-odd.xz", b"\xfd7zXZ\0"), "| simsched topo import -"),
        (bytes("import-odd.gz", &[0x1f, 0x8b, 8]), "import-odd.gz: the file cannot be unpacked"),
        (bytes("import-cut.tar", cut), "import-cut.tar: the tarball cannot be read"),
        (bytes("import-empty.tar", &empty), "import-empty.tar: found neither"),
        (
            folder.display().to_string(),
            "import-nothing: found no sys/devices/system/cpu/cpuN/topology",
        ),
        ("nowhere.xml".to_owned(), "nowhere.xml: No such file"),
        (format!("{text} --name a@b"), "--name: found 'a@b', expected a name without `@` and `/`"),
    ] {
        let output = simsched(&format!("topo import {source}"));
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(expected) && said.lines().count() == 1, "{source}: {said}");
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn the_help_has_an_example_and_the_arguments_are_needed() {
    assert!(
        prints("topo import --help").contains("simsched topo import server.xml -o server.toml")
    );
    let output = simsched("topo import");
    assert_eq!(output.status.code(), Some(2));
}
