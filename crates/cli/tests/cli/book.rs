//! The book shows what the command prints: every block of docs/tutorial.md and docs/explain.md that
//! begins with `$ simsched`. `UPDATE_GOLDEN=1` renews them.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::prints_in;

const DOCS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs");
const OPEN: &str = "```console\n$ simsched ";

/// Where commands stand whose output is not shown.
const SILENT: &str = "```sh\n";

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

/// The page with the outputs that its commands have today in this folder.
fn renewed(page: &str, folder: &Path) -> String {
    let mut parts = page.split(OPEN);
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (command, rest) = part.split_once('\n').unwrap();
        let (_, after) = rest.split_once("```").unwrap();
        text += &format!("{OPEN}{command}\n{}```{after}", shown(&prints_in(folder, command)));
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

#[test]
fn the_tutorial_shows_what_its_commands_print() {
    let Some(page) = page("tutorial.md") else { return };
    assert!(page.matches(OPEN).count() > 3, "the tutorial has commands");
    check("tutorial.md", &page, &renewed(&page, &folder("tutorial")));
}

#[test]
fn the_page_on_explain_shows_what_it_says_of_the_runs_before_it() {
    let Some(page) = page("explain.md") else { return };
    let (_, runs) = page.split_once(SILENT).unwrap();
    let (runs, rest) = runs.split_once("```").unwrap();
    assert!(runs.lines().count() == 2 && rest.contains(OPEN), "two runs, and what differs");
    let folder = folder("explain");
    for run in runs.lines() {
        prints_in(&folder, run.strip_prefix("simsched ").unwrap());
    }
    check("explain.md", &page, &renewed(&page, &folder));
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
