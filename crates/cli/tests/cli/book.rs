//! The book shows what the command prints: every block of docs/tutorial.md that begins with `$ simsched`.
//! `UPDATE_GOLDEN=1` renews them.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::prints;

const DOCS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs");
const OPEN: &str = "```console\n$ simsched ";

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

/// The page with the outputs that its commands have today.
fn renewed(page: &str) -> String {
    let mut parts = page.split(OPEN);
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (command, rest) = part.split_once('\n').unwrap();
        let (_, after) = rest.split_once("```").unwrap();
        text += &format!("{OPEN}{command}\n{}```{after}", shown(&prints(command)));
    }
    text
}

#[test]
#[expect(clippy::disallowed_methods, reason = "how goldens are renewed; no result depends on it")]
fn the_tutorial_shows_what_its_commands_print() {
    let path = PathBuf::from(DOCS).join("tutorial.md");
    // A published package has no book beside it.
    let Ok(page) = fs::read_to_string(&path) else { return };
    assert!(page.matches(OPEN).count() > 3, "the tutorial has commands");
    let today = renewed(&page);
    if page != today && std::env::var("UPDATE_GOLDEN").is_ok() {
        fs::write(&path, today).unwrap();
        return;
    }
    let first = page.lines().zip(today.lines()).find(|(kept, new)| kept != new);
    assert_eq!(
        first, None,
        "docs/tutorial.md shows another output; see CONTRIBUTING.md on goldens"
    );
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
