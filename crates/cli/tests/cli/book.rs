//! The pages of `docs/` show what the command prints: every block of theirs that begins with `$ simsched`.
//! `UPDATE_GOLDEN=1` renews them.
//!
//! The blocks of a page are done in their order, in one folder: one of TOML whose first line is the comment of a
//! file's name becomes that file, and commands stand in blocks of shell, where all lines begin with `simsched`,
//! if what they print is not shown.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{prints_in, simsched_in};

const DOCS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs");

/// What stands before a command whose output is shown.
const PROMPT: &str = "$ simsched ";

/// What a block shows of so many lines: where there are more, the first and the last, and the gap.
const MOST_LINES: usize = 45;

fn shown(output: &str) -> String {
    let lines: Vec<&str> = output.trim_end().lines().collect();
    if lines.len() <= MOST_LINES {
        return lines.join("\n") + "\n";
    }
    let (head, tail) = (&lines[..MOST_LINES - 5], &lines[lines.len() - 4..]);
    format!("{}\n[...]\n{}\n", head.join("\n"), tail.join("\n"))
}

/// What is shown of a command: what it prints, or its one sentence where that is a refusal.
fn output(folder: &Path, command: &str, kept: &str) -> String {
    if !kept.starts_with("simsched: ") {
        return shown(&prints_in(folder, command));
    }
    let refused = simsched_in(folder, command);
    assert_eq!(refused.status.code(), Some(2), "simsched {command}");
    shown(&String::from_utf8(refused.stderr).unwrap())
}

/// A block of commands with the outputs of today.
fn console(folder: &Path, block: &str) -> String {
    let mut text = String::new();
    for part in block.split(PROMPT).skip(1) {
        let (command, kept) = part.split_once('\n').unwrap();
        let output = output(folder, command, kept);
        text += &format!("{PROMPT}{command}\n{}", if output == "\n" { "" } else { &output });
    }
    text
}

/// The page with the outputs that its commands have today in this folder.
fn renewed(page: &str, folder: &Path) -> String {
    let mut text = String::new();
    for (nth, part) in page.split("```").enumerate() {
        let (language, block) = part.split_once('\n').unwrap_or((part, ""));
        let name = block.lines().next().and_then(|line| line.strip_prefix("# "));
        let is_block = nth % 2 == 1;
        text += if nth > 0 { "```" } else { "" };
        match (language, name) {
            ("console", _) if is_block && block.starts_with(PROMPT) => {
                text += &format!("console\n{}", console(folder, block));
                continue;
            }
            ("toml", Some(name)) if is_block && name.ends_with(".toml") => {
                fs::write(folder.join(name), block).unwrap();
            }
            ("sh", _) if is_block && block.lines().all(|line| line.starts_with("simsched ")) => {
                for line in block.lines() {
                    prints_in(folder, line.strip_prefix("simsched ").unwrap());
                }
            }
            _ => {}
        }
        text += part;
    }
    text
}

/// A page of the book; a published package has none beside it.
fn page(name: &str) -> Option<String> {
    fs::read_to_string(Path::new(DOCS).join(name)).ok()
}

/// An empty folder for the files that the commands of a page write.
fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir(&folder).unwrap();
    folder
}

/// The page is what it is with the outputs of today, or becomes it.
#[expect(clippy::disallowed_methods, reason = "how goldens are renewed; no result depends on it")]
fn check(name: &str, page: &str, today: &str) {
    if page != today && std::env::var("UPDATE_GOLDEN").is_ok() {
        fs::write(Path::new(DOCS).join(name), today).unwrap();
        return;
    }
    let first = page.lines().zip(today.lines()).find(|(kept, new)| kept != new);
    assert_eq!(first, None, "docs/{name} shows another output; see CONTRIBUTING.md on goldens");
    assert_eq!(page.lines().count(), today.lines().count(), "docs/{name} shows another output");
}

/// The page shows what its commands print, of which there are so many at least.
fn shows(name: &str, commands: usize, folder: &Path) {
    let Some(page) = page(name) else { return };
    assert!(page.matches(PROMPT).count() >= commands, "{name} has commands");
    check(name, &page, &renewed(&page, folder));
}

#[test]
fn the_tutorial_shows_what_its_commands_print() {
    shows("tutorial.md", 4, &folder("tutorial"));
}

#[test]
fn the_page_on_explain_shows_what_it_says_of_the_runs_before_it() {
    shows("explain.md", 1, &folder("explain"));
}

#[test]
fn the_page_on_sweeps_shows_what_its_plan_gives() {
    shows("sweep.md", 4, &folder("sweep-page"));
}

#[test]
fn the_page_on_schedstat_shows_a_reading() {
    shows("schedstat.md", 1, &folder("schedstat-page"));
}

#[test]
fn the_page_on_replays_shows_one() {
    shows("replay.md", 1, &folder("replay-page"));
}

/// The machine is a file of hwloc's own tests, as the tests of the import have it.
#[test]
fn the_page_on_imports_shows_one() {
    let folder = folder("import-page");
    let file =
        concat!(env!("CARGO_MANIFEST_DIR"), "/../import/tests/data/hwloc/memorysidecaches.xml.gz");
    if fs::copy(file, folder.join("memorysidecaches.xml")).is_ok() {
        shows("import.md", 2, &folder);
    }
}

/// The rows of mmtests' table are those of the times in the logs: least, mean and most.
#[test]
fn the_page_on_mmtests_shows_the_times_of_its_logs() {
    let Some(page) = page("mmtests.md") else { return };
    let folder = folder("mmtests-page");
    shows("mmtests.md", 0, &folder);
    let of = |policy: &str| -> Vec<f64> {
        let log = |nth| {
            let path =
                format!("results/{policy}/iter-{nth}/hackbench-thread-pipes/logs/hackbench-2");
            let text = fs::read_to_string(folder.join(path)).unwrap();
            let time = text.lines().find_map(|line| line.trim().strip_prefix("Total time: "));
            time.unwrap().split(' ').next().unwrap().parse().unwrap()
        };
        (0..3).map(log).collect()
    };
    for (policy, column) in [("cfs", 2), ("cfs@5.16", 5)] {
        let times = of(policy);
        let mean = times.iter().sum::<f64>() / 3.0;
        let least = times.iter().copied().fold(f64::INFINITY, f64::min);
        let most = times.iter().copied().fold(0.0, f64::max);
        for (row, time) in [("Min", least), ("Amean", mean), ("Max", most)] {
            let line = page.lines().find(|line| line.starts_with(&format!("{row} "))).unwrap();
            let cells: Vec<&str> = line.split_whitespace().filter(|cell| *cell != "(").collect();
            assert_eq!(
                cells[column - usize::from(column > 2)],
                format!("{time:.4}"),
                "{policy}: {line}"
            );
        }
    }
}

/// The targets of `[text](target)` in a page.
fn targets(page: &str) -> impl Iterator<Item = &str> {
    page.split("](").skip(1).filter_map(|rest| rest.split(')').next())
}

#[test]
fn links_between_the_pages_of_the_repository_lead_somewhere() {
    let Ok(pages) = fs::read_dir(DOCS) else { return };
    let mut pages: Vec<PathBuf> = pages.map(|entry| entry.unwrap().path()).collect();
    let root = Path::new(DOCS).parent().unwrap();
    pages.extend(["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"].map(|name| root.join(name)));
    for page in pages.iter().filter(|page| page.extension().is_some_and(|kind| kind == "md")) {
        let text = fs::read_to_string(page).unwrap();
        for target in targets(&text).filter(|target| !target.contains("://")) {
            let file = target.split('#').next().unwrap();
            let exists = file.is_empty() || page.with_file_name(file).exists();
            assert!(exists, "{}: there is no {target}", page.display());
        }
    }
}
