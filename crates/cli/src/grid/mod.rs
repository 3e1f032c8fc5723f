//! `simsched sweep`: a grid of scenarios, each cell of which is kept as soon as it is done.

mod axis;
mod flat;
mod manifest;
mod merge;
#[cfg(feature = "parquet")]
mod parquet;
mod plan;
mod results;
mod store;

use std::cmp::Reverse;
use std::collections::btree_map::Entry as Slot;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Mutex;

use simsched_policies::Registry;

use crate::args::{RunArgs, Shard, SweepArgs};
use crate::failure::Failure;
use crate::identity;
use crate::interrupt;
use crate::output;
use crate::parallel::in_parallel;
use crate::progress::Progress;
use crate::scenario::Scenario;
use crate::scenario_file::{self, Written};
use crate::sides::largest_first;
use crate::topo;

use flat::Table;
use manifest::{Entry, Manifest};
use plan::{Cell, Plan};
use store::Store;

pub(crate) use merge::merge;

/// What the cells of the plan in a file run.
pub(crate) fn cells(file: &Path) -> Result<Vec<Written>, Failure> {
    Ok(Plan::read(file)?.cells.into_iter().map(|cell| cell.written).collect())
}

/// A plan whose cells have been checked.
struct Checked {
    plan: Plan,
    manifest: Manifest,
    /// The cells that are run, one for each id, the largest first; by their numbers in the plan.
    jobs: Vec<usize>,
    registry: Registry,
}

/// Does what `simsched sweep` is asked for.
pub(crate) fn sweep(args: &SweepArgs, registry: &Registry) -> Result<(), Failure> {
    results::can_write(args.parquet)?;
    let checked = check(Plan::read(&args.plan)?, args.shard, registry)?;
    let folder = match &args.output {
        Some(folder) if !args.dry_run => folder,
        _ => return output::print(&listed(&checked)),
    };
    let store = Store::open(folder, &checked.manifest)?;
    interrupt::listen();
    run(&checked, &store, args.quiet)?;
    if Manifest::of_folder(folder)?.as_ref() != Some(&checked.manifest) {
        let what = "found another sweep that has begun here, expected one at a time";
        return Err(Failure::Input(format!("{}: {what}", folder.display())));
    }
    let own: BTreeSet<&str> = checked.ids().collect();
    let table = Table::of(&checked.manifest, &store, |id| own.contains(id))?;
    finish(&store, &table, args.parquet)
}

/// Writes and tells the results; cells that failed are a failure of the whole.
fn finish(store: &Store, table: &Table, parquet: bool) -> Result<(), Failure> {
    let files = results::write(store, table, parquet)?;
    output::print(&results::summary(table, &files))?;
    match results::misses(table) {
        (0, 0) => Ok(()),
        (0, _) => Err(Failure::Below),
        (failed, _) => {
            let (all, file) = (table.rows.len(), &files[0]);
            let what = format!("{failed} of {all} cells have failed: the column `error` of {file}");
            Err(Failure::Simulation(format!("{what} says why")))
        }
    }
}

impl Checked {
    /// The ids of the cells that are run.
    fn ids(&self) -> impl Iterator<Item = &str> {
        self.jobs.iter().map(|&job| self.manifest.cells[job].id.as_str())
    }
}

/// What a machine and the file of a workload are, for the id of a cell; and how large the machine is.
type Machine = (String, usize);

/// Finds out what is wrong with any cell before the first is run, and what belongs to the shard.
fn check(plan: Plan, shard: Option<Shard>, registry: &Registry) -> Result<Checked, Failure> {
    let (mut known, mut ids) = (BTreeMap::<String, Machine>::new(), BTreeSet::new());
    let mut entries = Vec::new();
    let mut sizes: Vec<(usize, usize)> = Vec::new();
    for (nth, cell) in plan.cells.iter().enumerate() {
        // Cells that differ by their seeds only are right or wrong together.
        let (machine, size) = match known.entry(cell.words_without("--seed=").join("\0")) {
            Slot::Occupied(found) => found.into_mut(),
            Slot::Vacant(new) => {
                new.insert(cell.check(&plan, registry).map_err(|why| at_cell(&plan, cell, &why))?)
            }
        };
        let id = cell.id(machine);
        if ids.insert(id.clone()) {
            sizes.push((nth, *size));
        }
        entries.push(Entry { id, values: plan.labels(cell).map(str::to_owned).collect() });
    }
    let jobs = jobs(&sizes, &entries, shard);
    let axes = plan.axes.iter().map(|axis| axis.name.clone()).collect();
    let manifest = Manifest::new(axes, entries, shard.map(|shard| shard.to_string()))?;
    Ok(Checked { plan, manifest, jobs, registry: registry.clone() })
}

/// The cells of the shard, given by number and size, the largest first.
///
/// Cells are dealt out by size, and among those of one size by id, which is as good as chance: in the order
/// of the plan a shard could get all cells with the heaviest value of an axis.
fn jobs(sizes: &[(usize, usize)], entries: &[Entry], shard: Option<Shard>) -> Vec<usize> {
    let mut dealt: Vec<&(usize, usize)> = sizes.iter().collect();
    dealt.sort_by_key(|(cell, size)| (Reverse(*size), &entries[*cell].id));
    let is_mine = |place: usize| shard.is_none_or(|shard| place % shard.of == shard.index);
    let mine = dealt.iter().enumerate().filter(|(place, _)| is_mine(*place));
    let mine: BTreeSet<usize> = mine.map(|(_, (cell, _))| *cell).collect();
    let order = largest_first(sizes.len(), |job| sizes[job].1);
    order.into_iter().map(|job| sizes[job].0).filter(|cell| mine.contains(cell)).collect()
}

/// What is wrong with a cell, and which one that is if no line of the plan is to blame.
fn at_cell(plan: &Plan, cell: &Cell, why: &Failure) -> Failure {
    let pair = |(axis, label): (&axis::Axis, &str)| format!("{}={label}", axis.name);
    let labels: Vec<String> = plan.axes.iter().zip(plan.labels(cell)).map(pair).collect();
    let text = why.to_string();
    let file =
        if text.starts_with(&plan.file) { String::new() } else { format!("{}: ", plan.file) };
    let cell =
        if labels.is_empty() { String::new() } else { format!(" (cell {})", labels.join(", ")) };
    Failure::Input(format!("{file}{text}{cell}"))
}

impl Cell {
    /// All that it runs, as words of a command line in an order of their own, but for one option.
    fn words_without(&self, option: &str) -> Vec<String> {
        let words = self.written.words().into_iter();
        let words = words.map(|word| word.to_string_lossy().into_owned());
        let mut words: Vec<String> = words.filter(|word| !word.starts_with(option)).collect();
        words.sort();
        let workload = self.written.workload.iter().flat_map(|(words, _)| words.clone());
        words.into_iter().chain(["--".to_owned()]).chain(workload).collect()
    }

    fn arguments(&self, plan: &Plan) -> Result<RunArgs, Failure> {
        scenario_file::arguments(&plan.file, &self.written)
    }

    fn scenario(&self, args: &RunArgs, registry: &Registry) -> Result<Scenario, Failure> {
        Scenario::new(args, registry).map_err(|why| scenario_file::blamed(args, why, registry))
    }

    /// The machine, if everything is right.
    fn check(&self, plan: &Plan, registry: &Registry) -> Result<Machine, Failure> {
        let args = self.arguments(plan)?;
        let scenario = self.scenario(&args, registry)?;
        Ok((machine(&args, &scenario)?, scenario.topology().nr_cpus()))
    }

    /// A hash of what it runs, where the machine is its text: the same cell of another plan has the same.
    fn id(&self, machine: &str) -> String {
        let mut words = self.words_without("--topo=");
        words.push(machine.to_owned());
        identity::hex(words.join("\0").as_bytes())
    }
}

/// What belongs to a cell and its words do not say: the machine as its text and its mode, what the workload reads, and
/// what the policy was built of.
fn machine(args: &RunArgs, scenario: &Scenario) -> Result<String, Failure> {
    let text = topo::hash(&args.topo)?;
    let file = scenario.file_hash().unwrap_or_default();
    let policy: String = scenario.policy_built_of().into_iter().map(|(_, hash)| hash).collect();
    Ok(format!("{text} {}{file}{policy}", scenario.topology().mode()))
}

/// Runs the cells that are not done yet.
fn run(checked: &Checked, store: &Store, quiet: bool) -> Result<(), Failure> {
    let Checked { plan, manifest, jobs, registry } = checked;
    let is_done = |job: &usize| store.find(&manifest.cells[*job].id).is_some();
    let order: Vec<usize> = jobs.iter().copied().filter(|job| !is_done(job)).collect();
    let altered = order.iter().filter(|&&job| store.is_altered(&manifest.cells[job].id)).count();
    if altered > 0 {
        output::say(&format!(
            "warning: {altered} of {} kept cells are not as they were written, and are run again",
            jobs.len()
        ));
    }
    let before = jobs.len() - order.len();
    if before > 0 && !quiet {
        output::say(&format!("note: {before} of {} cells were done before", jobs.len()));
    }
    let state = Mutex::new((0, Progress::start(quiet), None::<Failure>));
    let all = order.len();
    let work = |job: usize| {
        let stopped = || state.lock().is_ok_and(|state| state.2.is_some());
        if interrupt::is_asked() || stopped() {
            return;
        }
        let id = &manifest.cells[job].id;
        let kept = match measured(plan, &plan.cells[job], id, registry) {
            Ok(None) => return,
            Ok(Some(found)) => store.keep(id, &found),
            Err(why) => Err(why),
        };
        let (done, progress, failure) = &mut *state.lock().expect("nobody panics while counting");
        if let Err(why) = kept {
            failure.get_or_insert(why);
            return;
        }
        *done += 1;
        progress.cells(*done, all);
    };
    in_parallel(&order, work);
    let (done, mut progress, failure) = state.into_inner().expect("nobody panics while counting");
    progress.clear();
    if let Some(why) = failure {
        return Err(why);
    }
    if done < all {
        let (have, of) = (before + done, jobs.len());
        output::say(&format!("stopped: {have} of {of} cells are done; the same command goes on"));
        return Err(Failure::Interrupted);
    }
    Ok(())
}

/// What a cell has come to; none if it was stopped by Ctrl-C.
///
/// # Errors
/// When it is no longer what it was when the sweep began.
fn measured(
    plan: &Plan,
    cell: &Cell,
    id: &str,
    registry: &Registry,
) -> Result<Option<Kept>, Failure> {
    let args = cell.arguments(plan)?;
    let scenario = cell.scenario(&args, registry)?;
    if cell.id(&machine(&args, &scenario)?) != id {
        let what = "a file that this cell reads has changed since the sweep began";
        return Err(at_cell(plan, cell, &Failure::Input(what.to_owned())));
    }
    Ok(match scenario.measure(args.seed, None) {
        Ok(outcome) if !outcome.counts() => None,
        found => Some(found.map(|outcome| outcome.report)),
    })
}

/// The report of a cell, or why there is none.
type Kept = Result<crate::report::Report, Failure>;

/// The cells that would be run.
fn listed(checked: &Checked) -> String {
    let mine: BTreeSet<&str> = checked.ids().collect();
    let manifest = &checked.manifest;
    let of_cell = |cell: &Entry| format!("{}  {}\n", cell.id, manifest.describe(cell));
    let cells = || manifest.cells.iter().filter(|cell| mine.contains(cell.id.as_str()));
    let text: String = cells().map(of_cell).collect();
    let (nr, all) = (cells().count(), manifest.cells.len());
    let shard =
        manifest.shard.as_ref().map_or_else(String::new, |s| format!(" of {all}, shard {s}"));
    format!("{text}{nr} cells{shard}\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_file_that_changes_while_a_sweep_runs_stops_it() {
        let folder = std::env::temp_dir().join(format!("simsched-changed-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let (tasks, plan) = (folder.join("tasks.json"), folder.join("plan.toml"));
        let text = r#"{ "tasks": { "a": { "loop": 5, "run": 1000, "sleep": 1000 } } }"#;
        fs::write(&tasks, text).unwrap();
        let words = format!("topo = 't8'\nseeds = 2\nworkload = 'rt-app {}'\n", tasks.display());
        fs::write(&plan, words).unwrap();
        let registry = Registry::builtin();
        let checked = check(Plan::read(&plan).unwrap(), None, &registry).unwrap();
        let store = Store::open(&folder.join("out"), &checked.manifest).unwrap();
        fs::write(&tasks, text.replace("1000", "2000")).unwrap();
        let why = run(&checked, &store, true).unwrap_err();
        let said = why.to_string();
        assert!(matches!(why, Failure::Input(_)) && said.contains("has changed since"), "{said}");
        assert!(said.contains("plan.toml") && said.contains("(cell seed="), "{said}");
        assert!(checked.ids().all(|id| store.find(id).is_none()), "nothing of it is kept");
        fs::write(&tasks, text).unwrap();
        run(&checked, &store, true).unwrap();
        assert!(checked.ids().all(|id| store.find(id).is_some()));
        fs::remove_dir_all(folder).unwrap();
    }
}
