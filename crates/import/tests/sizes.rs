//! Caches that differ in size, and those that tell which cores Linux sees.

use crate::common::{imported, machine, refused};
use simsched_topology::{CpuId, LlcId};

/// hwloc's XML of these objects of one package of a maker and family.
fn xml(vendor: &str, family: u32, objects: &str) -> String {
    format!(
        "<topology version=\"2.0\"><object type=\"Machine\" os_index=\"0\">\
         <object type=\"Package\" cpuset=\"0xf\"><info name=\"CPUVendor\" value=\"{vendor}\"/>\
         <info name=\"CPUFamilyNumber\" value=\"{family}\"/>{objects}</object></object></topology>"
    )
}

fn cache(level: u32, mib: u64, cpuset: &str, within: &str) -> String {
    let bytes = mib << 20;
    format!(
        "<object type=\"L{level}Cache\" cpuset=\"{cpuset}\" cache_size=\"{bytes}\">{within}</object>"
    )
}

/// Two cores of one thread each.
fn cores(first: u32) -> String {
    let core = |cpu: u32| {
        let mask = format!("0x{:x}", 1 << cpu);
        format!(
            "<object type=\"Core\" cpuset=\"{mask}\"><object type=\"PU\" os_index=\"{cpu}\"/></object>"
        )
    };
    core(first) + &core(first + 1)
}

/// As on a Ryzen of which one die has more cache stacked upon it.
#[test]
fn last_level_caches_of_different_size_keep_theirs() {
    let objects = cache(3, 96, "0x3", &cores(0)) + &cache(3, 32, "0xc", &cores(2));
    let imported = imported(&xml("AuthenticAMD", 25, &objects));
    let note = "last-level caches differ in size (CPUs 0-1: 98304 KiB; CPUs 2-3: 32768 KiB)";
    assert!(imported.notes.iter().any(|found| found == note), "{:?}", imported.notes);
    assert_eq!((imported.counts.llcs, imported.counts.llc_kib), (2, None));
    let machine = machine(&imported, None);
    let sizes = [0, 1].map(|llc| machine.llc_kib(LlcId(llc)));
    assert_eq!(sizes, [Some(96 * 1024), Some(32 * 1024)]);
}

/// `match_smt` takes two CPUs with one `cu_id` for threads of one core; hwloc counts two cores.
#[test]
fn the_two_cores_of_a_module_of_amd_are_threads_for_linux() {
    let modules = cache(2, 2, "0x3", &cores(0)) + &cache(2, 2, "0xc", &cores(2));
    let objects = cache(3, 6, "0xf", &modules);
    let bulldozer = imported(&xml("AuthenticAMD", 21, &objects));
    assert_eq!(bulldozer.counts.cores, 2);
    assert!(bulldozer.notes.iter().any(|note| note.contains("a module of AMD's family 15h")));
    assert_eq!(machine(&bulldozer, None).smt_mask(CpuId(2)).to_string(), "2-3");
    let others = imported(&xml("AuthenticAMD", 16, &objects));
    assert_eq!(others.counts.cores, 4);
    let said = refused(&xml("AuthenticAMD", 21, &cache(3, 6, "0xf", &(cores(0) + &cores(2)))));
    assert!(said.contains("second-level caches of one or two CPUs each"), "{said}");
}
