//! Sweeps: what belongs to a cell, and what may lie in a folder.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::common::{check, file, prints};
use crate::sweeps::{fresh, nr_kept, sweep, tree};

const TASKS: &str = r#"{ "tasks": { "a": { "loop": 5, "run": 1000, "sleep": 1000 } } }"#;

/// The ids of the cells of a plan, with what they are.
fn ids(plan: &Path) -> Vec<(String, String)> {
    let text = prints(&format!("sweep {} --dry-run", plan.display()));
    let cells = text.lines().filter_map(|line| line.split_once("  "));
    cells.map(|(id, what)| (id.to_owned(), what.to_owned())).collect()
}

/// Which cells have other ids than before.
fn changed(before: &[(String, String)], after: &[(String, String)]) -> Vec<String> {
    assert_eq!(before.len(), after.len());
    let pairs = before.iter().zip(after).filter(|(old, new)| old.0 != new.0);
    pairs.map(|(_, (_, what))| what.clone()).collect()
}

/// Whichever axis varies fastest: with the seeds as the slow one, each seed meets both files.
#[test]
fn a_cell_is_another_one_when_the_file_of_its_workload_changes() {
    let [a, b] = ["folder-a.json", "folder-b.json"].map(|name| file(name, TASKS));
    let (words_a, words_b) = (format!("rt-app {}", a.display()), format!("rt-app {}", b.display()));
    let axes = [
        format!("seed = [1, 2]\nworkload = ['{words_a}', '{words_b}']\n"),
        format!("workload = ['{words_a}', '{words_b}']\nseed = [1, 2]\n"),
    ];
    for axes in axes {
        fs::write(&a, TASKS).unwrap();
        let plan = file("folder-plan.toml", &format!("topo = 't8'\n[grid]\n{axes}"));
        let before = ids(&plan);
        assert_eq!(before.iter().map(|(id, _)| id).collect::<BTreeSet<_>>().len(), 4);
        fs::write(&a, TASKS.replace("1000", "2000")).unwrap();
        let changed = changed(&before, &ids(&plan));
        assert_eq!(changed.len(), 2, "{changed:?}");
        assert!(changed.iter().all(|what| what.contains(&words_a)), "{changed:?}");
    }
}

#[test]
fn a_cell_is_another_one_when_its_recording_changes() {
    let recording = file("folder-recording.txt", "");
    let record = |workload: &str| {
        let path = recording.display();
        prints(&format!("run --topo t8 -q --ftrace {path} -- {workload}"));
    };
    record("lab:pingpong-1w20");
    let words = format!("workload = 'replay {}'", recording.display());
    let plan = file("folder-replay.toml", &format!("topo = 't8'\nseeds = 2\n{words}\n"));
    let before = ids(&plan);
    assert_eq!(ids(&plan), before);
    record("lab:periodic-N");
    assert_eq!(changed(&before, &ids(&plan)).len(), 2);
}

const PLAN: &str = "topo = 't8'\nworkload = 'hackbench -g 1 -f 1 -T -p -l 2'\n";

#[test]
fn a_folder_that_is_refused_is_left_as_it_was() {
    let (plan, folder) = (file("refused.toml", PLAN), fresh("refused"));
    fs::create_dir_all(&folder).unwrap();
    // The second looks like what a killed process leaves, and is none of ours.
    for name in ["data", ".simsched-notes.tmp"] {
        fs::write(folder.join(name), "mine").unwrap();
    }
    let before = tree(&folder);
    let args = format!("sweep {} -o {}", plan.display(), folder.display());
    check(&args, 2, &["found a folder with other files"]);
    assert!(tree(&folder) == before && !folder.join("cells").exists());
    fs::remove_dir_all(&folder).unwrap();
    fs::create_dir_all(folder.join("cells")).unwrap();
    fs::write(folder.join("cells/prison.json"), "mine").unwrap();
    check(&args, 2, &["found a folder with other files"]);
}

/// Before its description has its name there may be the folder of the cells and a temporary file.
#[test]
fn a_sweep_that_was_killed_as_it_began_goes_on() {
    let (plan, folder) = (file("begun.toml", PLAN), fresh("begun"));
    fs::create_dir_all(folder.join("cells")).unwrap();
    fs::write(folder.join(".simsched-0aB1cD2e.tmp"), "{").unwrap();
    sweep(&plan, &folder, "");
    let undisturbed = fresh("begun-undisturbed");
    sweep(&plan, &undisturbed, "");
    assert!(tree(&folder) == tree(&undisturbed));
}

#[test]
fn of_more_parts_than_cells_some_are_empty_and_all_merge() {
    let plan = file("few.toml", &format!("{PLAN}seeds = 2\n"));
    let folders: Vec<_> = (1..=5).map(|n| fresh(&format!("few-{n}"))).collect();
    for (n, folder) in folders.iter().enumerate() {
        sweep(&plan, folder, &format!("--shard {}/5", n + 1));
    }
    let kept: Vec<usize> = folders.iter().map(|folder| nr_kept(folder)).collect();
    assert_eq!(kept.iter().sum::<usize>(), 2, "{kept:?}");
    let (whole, merged) = (fresh("few-whole"), fresh("few-merged"));
    sweep(&plan, &whole, "");
    let parts: Vec<String> = folders.iter().map(|f| f.display().to_string()).collect();
    prints(&format!("merge {} -o {}", parts.join(" "), merged.display()));
    assert!(tree(&merged) == tree(&whole));
}

#[test]
fn a_description_whose_cells_were_changed_is_refused() {
    let (plan, folder) = (file("edited.toml", &format!("{PLAN}seeds = 2\n")), fresh("edited"));
    sweep(&plan, &folder, "");
    let path = folder.join("sweep.json");
    let mut manifest: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    manifest["cells"][1]["values"][0] = "3".into();
    fs::write(&path, manifest.to_string()).unwrap();
    let args = format!("merge {} -o {}", folder.display(), fresh("edited-out").display());
    check(&args, 2, &["sweep.json: found something else"]);
}

/// Which shard it is stands in no hash of the plan, and in the checksum of the file.
#[test]
fn a_description_that_names_another_shard_is_refused() {
    let (plan, folder) = (file("other-shard.toml", PLAN), fresh("other-shard"));
    sweep(&plan, &folder, "--shard 1/2");
    let path = folder.join("sweep.json");
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains("\"1/2\""), "{text}");
    fs::write(&path, text.replace("\"1/2\"", "\"2/2\"")).unwrap();
    let args = format!("merge {} -o {}", folder.display(), fresh("other-shard-out").display());
    check(&args, 2, &["sweep.json: found something else"]);
}

#[test]
fn merging_names_the_cell_that_it_cannot_read() {
    let (plan, folder) = (file("torn.toml", &format!("{PLAN}seeds = 2\n")), fresh("torn"));
    sweep(&plan, &folder, "");
    let cell = fs::read_dir(folder.join("cells")).unwrap().next().unwrap().unwrap().path();
    let text = fs::read_to_string(&cell).unwrap();
    let args = format!("merge {} -o {}", folder.display(), fresh("torn-out").display());
    let named = format!("simsched: {}: ", cell.display());
    for odd in [&text[..text.len() / 2], "", "{}"] {
        fs::write(&cell, odd).unwrap();
        check(&args, 2, &[&named, "expected this cell", "the same sweep runs the cell again"]);
    }
    fs::write(&cell, [0x80, 0xff]).unwrap();
    check(&args, 2, &[&named, "the file is not text"]);
    fs::remove_file(&cell).unwrap();
    fs::create_dir(&cell).unwrap();
    check(&args, 2, &[&named, "directory"]);
    fs::remove_dir(&cell).unwrap();
    sweep(&plan, &folder, "");
    assert_eq!(fs::read_to_string(&cell).unwrap(), text);
    let taken = format!("merge {} -o {}", folder.display(), plan.display());
    check(&taken, 2, &["torn.toml: found a file, expected the folder of a sweep"]);
    prints(&args);
}

/// One number of one kept cell is changed by hand.
#[test]
fn a_cell_that_was_altered_is_run_again() {
    let (plan, folder) = (file("altered.toml", ALTERED), fresh("altered"));
    sweep(&plan, &folder, "");
    let before = tree(&folder);
    let cell = before.keys().find(|path| path.starts_with("cells")).unwrap();
    let path = folder.join(cell);
    let text = fs::read_to_string(&path).unwrap();
    let (head, tail) = text.split_once("\"context_switches\": ").unwrap();
    fs::write(&path, format!("{head}\"context_switches\": 7{tail}")).unwrap();
    let merge = format!("merge {} -o {}", folder.display(), fresh("altered-merged").display());
    check(&merge, 2, &[cell.file_name().unwrap().to_str().unwrap(), "checksum", "altered"]);
    fs::remove_file(folder.join("results.csv")).unwrap();
    let again = format!("sweep -q {} -o {}", plan.display(), folder.display());
    check(&again, 0, &["warning: 1 of 2 kept cells", "run again"]);
    assert!(tree(&folder) == before);
}

const ALTERED: &str = "topo = 't8'\nseeds = 2\nworkload = 'hackbench -g 1 -f 2 -T -p -l 5'\n";
