//! No guarded run has changed: its digest is that of `benches/digests.txt`, whole, paused, and with pipe
//! operations one by one.
//!
//! `UPDATE_DIGESTS=1` writes the table anew, for a change that is meant to change runs.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::thread;

use simsched_benches::digests::{Drive, Guarded, Kept, plan, table};

/// All runs of the plan, each driven in all three ways, by as many threads as there are CPUs.
fn run_all() -> Vec<(Guarded, Kept)> {
    let plan = plan();
    let rows = Mutex::new((0, vec![None; plan.len()]));
    let work = || loop {
        let k = {
            let next = &mut rows.lock().expect("no run panics while it takes the next").0;
            *next += 1;
            *next - 1
        };
        let Some(run) = plan.get(k) else { return };
        let whole = run.run(Drive::Whole);
        assert!(whole.events > 1_000, "{} does too little: {whole:?}", run.name());
        assert_eq!(whole, run.run(Drive::Paused), "paused: {}", run.name());
        let one_by_one = run.run(Drive::OneByOne);
        assert_eq!(whole.digest, one_by_one.digest, "one by one: {}", run.name());
        rows.lock().expect("no run panics while it is kept").1[k] = Some(whole);
    };
    thread::scope(|scope| {
        let nr_threads = thread::available_parallelism().map_or(1, usize::from);
        let threads: Vec<_> = (0..nr_threads).map(|_| scope.spawn(work)).collect();
        threads.into_iter().for_each(|thread| thread.join().expect("a guarded run"));
    });
    let rows = rows.into_inner().expect("no thread has panicked").1;
    plan.into_iter().zip(rows).map(|(run, kept)| (run, kept.expect("all have run"))).collect()
}

#[test]
#[expect(clippy::disallowed_methods, reason = "who changes runs on purpose says so")]
fn no_guarded_run_has_changed() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("digests.txt");
    let found = table(&run_all());
    if std::env::var_os("UPDATE_DIGESTS").is_some() {
        fs::write(&path, &found).expect("the table can be written");
    }
    let kept = fs::read_to_string(&path).expect("the table can be read");
    let (kept, found): (BTreeSet<&str>, BTreeSet<&str>) =
        (kept.lines().collect(), found.lines().collect());
    let list = |lines: Vec<&&str>| lines.iter().map(|l| format!("\n  {l}")).collect::<String>();
    let gone = list(kept.difference(&found).collect());
    let new = list(found.difference(&kept).collect());
    assert!(gone.is_empty() && new.is_empty(), "kept:{gone}\nfound:{new}");
}

#[test]
fn every_run_of_the_plan_stands_there_once() {
    let names: BTreeSet<String> = plan().iter().map(Guarded::name).collect();
    assert_eq!(names.len(), plan().len());
}

/// A run that decides as another one does guards nothing of its own.
#[test]
fn no_two_runs_are_the_same() {
    let text = include_str!("../digests.txt");
    let digests = text.lines().filter(|line| !line.starts_with('#')).map(|line| &line[..16]);
    let (count, distinct) = (digests.clone().count(), digests.collect::<BTreeSet<_>>().len());
    assert_eq!(count, distinct);
}
