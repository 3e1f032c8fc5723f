//! A recording of a real kernel, read and measured: our metrics are those that the lab's own program
//! has computed from the same run.

use std::fs;
use std::path::{Path, PathBuf};

use simsched_lab::folder::Folder;
use simsched_lab::machine::Tracer;
use simsched_lab::reference::Scenario;
use simsched_lab::summary::Summary;
use simsched_lab::value::Value;
use simsched_lab::verdict::{Class, Verdict};
use simsched_topology::{CpuId, Topology};

/// The label of the recorded seed.
const SEED: &str = "lockstep-s1";

fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/6.1-t16")
}

/// A folder of the lab called `name` below one that no other test uses, with nothing in it.
fn scratch(test: &str, name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test).join(name);
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).unwrap();
    path
}

#[test]
fn a_recording_gives_the_values_that_the_lab_has_computed_for_its_seed() {
    let folder = Folder::open(&data()).unwrap();
    let mut compared = 0;
    for scenario in folder.reference().unwrap() {
        let recorded = folder.recorded(SEED, &scenario).unwrap().unwrap();
        for metric in &scenario.metrics {
            let ours = recorded.values.value(&metric.name);
            assert_eq!(ours.as_ref(), metric.values.first(), "{}: {}", scenario.name, metric.name);
            compared += 1;
        }
    }
    assert_eq!(compared, 113);
}

#[test]
fn at_any_time_the_tasks_are_where_the_lab_has_seen_them() {
    let folder = Folder::open(&data()).unwrap();
    let summary = Summary::read(&data().join(SEED).join("summary.json")).unwrap();
    for name in ["hogs-free-17", "hogs-herd-8"] {
        let scenario = Scenario::new(name, Vec::new());
        let recorded = folder.recorded(SEED, &scenario).unwrap().unwrap();
        let theirs = summary.scenario(name).unwrap();
        for ms in [2, 5, 10, 20, 50, 100, 200, 400, 800, 1500, 5500] {
            for what in
                ["idle_cpus", "max_per_cpu", "busy_cores", "per_llc_sorted", "per_node_sorted"]
            {
                let metric = format!("{what}@{ms}");
                let value = theirs.value(&metric).unwrap();
                assert_eq!(recorded.values.value(&metric), Some(value), "{name}: {metric}");
            }
        }
    }
}

#[test]
fn a_kernel_agrees_with_itself() {
    let folder = Folder::open(&data()).unwrap();
    for scenario in folder.reference().unwrap() {
        let recorded = folder.recorded(SEED, &scenario).unwrap().unwrap();
        for metric in &scenario.metrics {
            let ours = recorded.values.value(&metric.name);
            let verdict = Verdict::of(metric.class, &metric.values, ours.as_ref());
            assert_ne!(verdict, Verdict::Missed, "{}: {}", scenario.name, metric.name);
        }
    }
}

#[test]
fn one_seed_alone_is_judged_by_the_classes_of_the_same_roles_elsewhere() {
    let path = scratch("one_seed", "6.1-t16");
    fs::create_dir(path.join(SEED)).unwrap();
    let file = Path::new(SEED).join("summary.json");
    fs::copy(data().join(&file), path.join(&file)).unwrap();

    let scenarios = Folder::open(&path).unwrap().reference().unwrap();
    let metric = |scenario: &str, metric: &str| {
        let scenario = scenarios.iter().find(|found| found.name == scenario).unwrap();
        scenario.metrics.iter().find(|found| found.name == metric).unwrap().clone()
    };
    let spread = metric("hogs-free-17", "per_llc_sorted@50");
    assert_eq!(spread.class, Class::Exact);
    assert_eq!(spread.values, [Value::sorted(vec![4, 4, 4, 5])]);
    let share = metric("share-m5-0-5-10", "share hog00(nice -5)");
    assert_eq!((share.class, share.values), (Class::Tight, vec![Value::from(0.678)]));
    let row = metric("hackbench -T -p -g 1 -f 2 -l 500", "cpu_migrations(mean of 3)");
    assert_eq!((row.class, row.values), (Class::Loose, vec![Value::from(6.0)]));
}

#[test]
fn the_classes_of_a_folder_beside_it_go_before_those_that_come_with_the_program() {
    let path = scratch("sibling", "6.1-t8");
    fs::create_dir(path.join(SEED)).unwrap();
    let summary = r#"{"scenarios":{"hogs-free-9":{"switches":100,"elapsed_ms":5.5}}}"#;
    fs::write(path.join(SEED).join("summary.json"), summary).unwrap();
    let sibling = path.with_file_name("6.1-t16");
    let _ = fs::remove_dir_all(&sibling);
    fs::create_dir_all(&sibling).unwrap();
    let compared =
        r#"{"scenarios":{"hogs-free-17":{"switches":{"class":"noisy","values":[1,9]}}}}"#;
    fs::write(sibling.join("robustness.json"), compared).unwrap();

    let scenarios = Folder::open(&path).unwrap().reference().unwrap();
    let metrics = &scenarios.first().unwrap().metrics;
    assert_eq!(metrics.len(), 1, "nothing else is known of this role");
    assert_eq!((metrics[0].name.as_str(), metrics[0].class), ("switches", Class::Noisy));
    assert_eq!(metrics[0].values, [Value::from(100.0)]);
}

/// What sysfs shows of 2 nodes x 2 caches x 3 cores x 2 threads.
fn sysfs() -> String {
    let mut text = String::new();
    for (node, far) in [(0, "10 17"), (1, "17 10")] {
        let folder = format!("/sys/devices/system/node/node{node}");
        let cpus = format!("{}-{}", node * 12, node * 12 + 11);
        text += &format!("{folder}/cpulist: {cpus}\n{folder}/distance: {far}\n");
    }
    for cpu in 0..24 {
        let folder = format!("/sys/devices/system/cpu/cpu{cpu}");
        let within =
            |size: usize| format!("{}-{}", cpu / size * size, cpu / size * size + size - 1);
        text += &format!("{folder}/topology/physical_package_id: {}\n", cpu / 12);
        text += &format!("{folder}/topology/thread_siblings_list: {}\n", within(2));
        text += &format!("{folder}/topology/package_cpus_list: {}\n", within(12));
        for (index, level, size) in [(0, 1, 1), (2, 2, 2), (3, 3, 6)] {
            text += &format!("{folder}/cache/index{index}/level: {level}\n");
            text += &format!("{folder}/cache/index{index}/shared_cpu_list: {}\n", within(size));
        }
    }
    text
}

#[test]
fn a_machine_that_is_not_built_in_is_what_its_kernel_shows() {
    let path = scratch("sysfs", "6.1-t24");
    fs::create_dir(path.join("static")).unwrap();
    fs::write(path.join("static/topology.txt"), sysfs()).unwrap();
    let machine = Folder::open(&path).unwrap().machine(Tracer::On).unwrap();
    let sizes = (machine.nr_cpus(), machine.nr_cores(), machine.nr_llcs(), machine.nr_nodes());
    assert_eq!((sizes, machine.nr_packages()), ((24, 12, 4, 2), 2));
    let far = machine.node_distance(machine.node_of(CpuId(0)), machine.node_of(CpuId(23)));
    assert_eq!(far, 17);
    assert_eq!(machine.llc_span(machine.llc_of(CpuId(7))).to_string(), "6-11");
    for (tracer, mode) in [(Tracer::On, "lab"), (Tracer::Off, "untraced")] {
        let machine = Folder::open(&path).unwrap().machine(tracer).unwrap();
        let template = Topology::builtin("t16", Some(mode)).unwrap();
        assert_eq!(machine.costs(), template.costs());
        assert_eq!(machine.idle_states(), template.idle_states());
    }
}

#[test]
fn a_machine_has_the_prices_of_the_kernel_that_was_recorded_on_it() {
    for kernel in ["6.12", "7.3"] {
        let path = scratch("later", &format!("{kernel}-t16"));
        for (tracer, mode) in [(Tracer::On, "lab"), (Tracer::Off, "untraced")] {
            let machine = Folder::open(&path).unwrap().machine(tracer).unwrap();
            let same = Topology::builtin("t16", Some(&format!("{mode}-{kernel}"))).unwrap();
            assert_eq!(machine.costs(), same.costs());
        }
    }
}

#[test]
fn without_sysfs_a_machine_is_what_was_asked_of_the_virtual_machine() {
    let path = scratch("smp", "6.1-x12");
    fs::create_dir(path.join(SEED)).unwrap();
    let run = r#"{"kernel":"6.1","smp":"-smp 12,sockets=2,dies=1,cores=3,threads=2"}"#;
    fs::write(path.join(SEED).join("run.json"), run).unwrap();
    let machine = Folder::open(&path).unwrap().machine(Tracer::On).unwrap();
    let sizes = (machine.nr_cpus(), machine.nr_cores(), machine.nr_llcs(), machine.nr_nodes());
    assert_eq!(sizes, (12, 6, 2, 2));
}

/// Folders of s2d2 and s2x8 of 7.3 were recorded with turns of 2,000 and 1,000 ns: `lockstep_quantum`.
#[test]
fn a_machine_has_turns_as_long_as_those_that_were_recorded() {
    let turn_with = |quantum: &str| {
        let path = scratch("turns", "7.3-s2d2");
        fs::create_dir_all(path.join(SEED)).unwrap();
        let run = format!(r#"{{"kernel":"7.3"{quantum}}}"#);
        fs::write(path.join(SEED).join("run.json"), run).unwrap();
        let machine = Folder::open(&path).unwrap().machine(Tracer::On);
        machine.map(|machine| machine.costs().turn).map_err(|error| error.to_string())
    };
    assert_eq!(turn_with(r#","lockstep_quantum":"2000""#), Ok(2_000));
    assert_eq!(turn_with(r#","lockstep_quantum":1000"#), Ok(1_000));
    assert_eq!(turn_with(""), Ok(1_000));
    for bad in ["0", "1", "200000", "-1", "1e9", "soon"] {
        let complaint = turn_with(&format!(r#","lockstep_quantum":"{bad}""#)).unwrap_err();
        let expected = "expected nanoseconds, from 2 to 100000";
        assert!(complaint.contains(bad) && complaint.contains(expected), "{complaint}");
    }
}

/// What opening `path` and reading all of it says.
fn complaint(path: &Path) -> String {
    let read = Folder::open(path).and_then(|folder| {
        folder.machine(Tracer::On)?;
        folder.reference()
    });
    read.unwrap_err().to_string()
}

#[test]
fn a_folder_that_is_none_of_the_labs_is_named_with_what_is_missing() {
    let absent = Path::new("no/such/6.1-t16");
    assert!(complaint(absent).starts_with("no/such/6.1-t16: "), "{}", complaint(absent));
    let named = scratch("bad", "results");
    assert!(complaint(&named).contains("found the name 'results', expected <kernel>-<topology>"));
    let unknown = scratch("bad", "6.1-t99");
    assert!(complaint(&unknown).contains("found no machine `t99`"), "{}", complaint(&unknown));
    let empty = scratch("bad", "6.1-t8");
    assert!(complaint(&empty).contains("found no recordings"), "{}", complaint(&empty));
    fs::write(empty.join("robustness.json"), "{\"scenarios\":{\"a\":{\"m\":{\"class\":\"odd\"}}}}")
        .unwrap();
    let text = complaint(&empty);
    assert!(text.contains("robustness.json: found {\"class\":\"odd\"} for `m` of `a`"), "{text}");
    fs::write(empty.join("robustness.json"), "{").unwrap();
    assert!(complaint(&empty).contains("robustness.json: found no such JSON"));
}

#[test]
fn a_seed_without_a_value_does_not_count() {
    let path = scratch("null", "6.1-t16");
    let text = r#"{"scenarios":{"x":{"a":{"class":"loose","values":[null,3,4]},
                                    "b":{"class":"noisy","values":[null,null]}}}}"#;
    fs::write(path.join("robustness.json"), text).unwrap();
    let scenarios = Folder::open(&path).unwrap().reference().unwrap();
    let metrics = &scenarios.first().unwrap().metrics;
    assert_eq!(metrics.len(), 1);
    assert_eq!(metrics[0].values, [Value::from(3.0), Value::from(4.0)]);
}

#[test]
fn a_label_that_a_folder_does_not_have_is_named_with_those_it_has() {
    let folder = Folder::open(&data()).unwrap();
    let scenario = Scenario::new("hogs-free-17", Vec::new());
    let text = folder.recorded("lockstep-s9", &scenario).err().unwrap().to_string();
    assert!(text.contains("found no label 'lockstep-s9', expected one of lockstep-s1"), "{text}");
    let absent = Scenario::new("hogs-free-1", Vec::new());
    assert!(folder.recorded(SEED, &absent).unwrap().is_none());
}
