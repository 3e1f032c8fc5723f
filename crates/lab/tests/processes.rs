//! Where the threads of processes are in recordings of a real 7.3, who moved them and which LLC that prefers for
//! them: our metrics are those that the lab's own program has computed from the same runs.

use std::path::Path;

use simsched_lab::folder::{Folder, Variant};
use simsched_lab::summary::Summary;

#[test]
fn a_recording_gives_the_values_that_the_lab_has_computed_of_its_processes() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/7.3-n2x8");
    let mut compared = Vec::new();
    for folder in Folder::open(&path).unwrap().variants() {
        let label = match folder.variant() {
            Some(Variant::CacheAware) => "lockstep-s1",
            Some(Variant::NoCacheAware) => "off-s1",
            other => panic!("{other:?}"),
        };
        let summary = Summary::read(&path.join(label).join("summary.json")).unwrap();
        let mut count = 0;
        for scenario in folder.reference().unwrap() {
            let recorded = folder.recorded(label, &scenario).unwrap().unwrap();
            let theirs = summary.scenario(&scenario.name).unwrap();
            for metric in &scenario.metrics {
                let theirs = theirs.value(&metric.name);
                let ours = recorded.values.value(&metric.name);
                assert_eq!(ours, theirs, "{label}: {}: {}", scenario.name, metric.name);
                count += u64::from(theirs.is_some());
            }
        }
        compared.push(count);
    }
    assert_eq!(compared, [206, 37]);
}

#[test]
fn metrics_of_one_seed_alone_are_read_as_those_of_several() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/7.3-n2x8");
    let folder = Folder::open(&path).unwrap().variants().remove(0);
    let summary = Summary::read(&path.join("lockstep-s1/summary.json")).unwrap();
    for scenario in folder.reference().unwrap() {
        let alone = summary.scenario(&scenario.name).unwrap();
        for metric in &scenario.metrics {
            if let Some(value) = alone.value(&metric.name) {
                let seeds = &metric.values;
                assert!(seeds.contains(&value), "{}: {}", scenario.name, metric.name);
            }
        }
    }
}
