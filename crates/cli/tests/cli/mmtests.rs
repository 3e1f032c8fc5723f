//! Results as mmtests lays them out.

use std::path::PathBuf;

use crate::common::{json, simsched};

/// A folder of this test run that is not there.
fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    folder
}

/// The number that mmtests takes out of a log of hackbench: the third word of a line `Total time:`.
fn total_time(log: PathBuf) -> f64 {
    let log = std::fs::read_to_string(log).unwrap();
    let line = log.lines().find(|line| line.contains("Total time:")).unwrap();
    line.split_whitespace().nth(2).unwrap().parse().unwrap()
}

#[test]
fn each_seed_is_an_iteration_with_the_time_of_its_report() {
    let folder = folder("mmtests-seeds");
    let told = json(&format!(
        "run --quiet --topo t8 --seeds 3 --json - --mmtests {} -- hackbench -g 2 -f 2 -l 5 -T -p",
        folder.display()
    ));
    let runs = told["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 3);
    for (nth, run) in runs.iter().enumerate() {
        let logs = folder.join(format!("cfs/iter-{nth}/hackbench-thread-pipes/logs"));
        let elapsed = run["elapsed_ns"].as_u64().unwrap() as f64 / 1e9;
        assert!((total_time(logs.join("hackbench-2")) - elapsed).abs() < 1e-9);
        assert!(folder.join(format!("cfs/iter-{nth}/tests-timestamp")).is_file());
    }
}

#[test]
fn each_side_of_a_comparison_has_its_folder() {
    let folder = folder("mmtests-sides");
    let compare = format!(
        "compare --quiet --topo t8 --policy cfs --policy cfs@5.16 --seeds 2 --json - --mmtests {} \
         -- hackbench -g 1 -f 2 -l 5",
        folder.display()
    );
    json(&compare);
    for side in ["cfs", "cfs@5.16"] {
        for nth in 0..2 {
            let logs = folder.join(format!("{side}/iter-{nth}/hackbench-process-sockets/logs"));
            assert!(total_time(logs.join("hackbench-1")) > 0.0);
        }
    }
    // Results are not mixed with those of an earlier run.
    let again = simsched(&compare);
    assert_eq!(again.status.code(), Some(2));
    let said = String::from_utf8_lossy(&again.stderr).into_owned();
    let mend = format!("delete {}, or name another folder", folder.join("cfs").display());
    assert!(said.contains("found results of an earlier run") && said.contains(&mend), "{said}");
}

/// The second iteration cannot be written: the first would be taken for all results.
#[test]
fn of_results_that_could_not_be_written_nothing_is_left() {
    let folder = folder("mmtests-half");
    std::fs::create_dir_all(folder.join("cfs")).unwrap();
    std::fs::write(folder.join("cfs/iter-1"), "in the way").unwrap();
    let logs = folder.join("cfs/iter-0/hackbench-thread-pipes/logs");
    std::fs::create_dir_all(&logs).unwrap();
    std::fs::write(logs.join(".simsched-0aB1cD2e.tmp"), "left by a killed process").unwrap();
    let args = format!(
        "run --quiet --topo t8 --seeds 2 --json - --mmtests {} -- hackbench -g 2 -f 2 -l 5 -T -p",
        folder.display()
    );
    crate::common::check(&args, 2, &["iter-1"]);
    let left: Vec<_> = std::fs::read_dir(&logs).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
    assert!(!folder.join("cfs/iter-0/tests-timestamp").exists());
}

/// A policy beside itself: no difference, and results of both.
#[test]
fn a_policy_that_is_compared_with_itself_has_two_folders() {
    let folder = folder("mmtests-itself");
    let compared = json(&format!(
        "compare --quiet --topo t8 --policy cfs --policy cfs --seeds 2 --json - --mmtests {} \
         -- hackbench -g 1 -f 2 -l 5",
        folder.display()
    ));
    let metrics = compared["metrics"].as_array().unwrap();
    assert!(metrics.iter().any(|metric| metric["name"] == "time"));
    for metric in metrics {
        assert_eq!(metric["policies"][0]["values"], metric["policies"][1]["values"]);
    }
    for nth in 0..2 {
        let [one, other] = ["cfs", "cfs-2"].map(|side| {
            let logs = folder.join(format!("{side}/iter-{nth}/hackbench-process-sockets/logs"));
            total_time(logs.join("hackbench-1"))
        });
        assert!(one > 0.0 && (one - other).abs() < 1e-12, "{one} and {other}");
    }
}

#[test]
fn what_mmtests_has_no_place_for_is_refused_before_it_runs() {
    let folder = folder("mmtests-refused");
    let output = simsched(&format!(
        "run --quiet --topo t8 --mmtests {} -- tbench 1 -t 1000",
        folder.display()
    ));
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2));
    assert!(errors.contains("mmtests has no place for it"), "{errors}");
    assert!(!folder.exists());
    let taken = crate::common::file("mmtests-taken", "").display().to_string();
    let args = format!("run --topo t8 --mmtests {taken} -- hackbench -g 1 -l 5");
    let sentence = format!("--mmtests: {taken}: found a file, expected a folder");
    crate::common::check(&args, 2, &[&sentence]);
}
