//! README.md shows what the command prints. Whether the numbers are right is for other tests to
//! say; this one makes a change of results visible in the review.

use std::fs;
use std::path::Path;

use crate::common::prints;

const README: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../README.md");
const COMMAND: &str = "run --topo genoa.toml --policy cfs -- \
                       hackbench -g 8 -f 20 --threads --pipe -l 1000 -s 100";

/// Their numbers are for the tests of the lab; here they are there and can be read.
#[test]
fn the_recordings_that_the_readme_names_are_in_the_repository() {
    let Ok(readme) = fs::read_to_string(Path::new(README)) else { return };
    let line = readme.lines().find(|line| line.starts_with("simsched lab ")).unwrap();
    let folder = Path::new(README).with_file_name(line.strip_prefix("simsched lab ").unwrap());
    let args = format!("lab --quiet --seeds 1 --only share --bar exact=1 {}", folder.display());
    assert!(prints(&args).contains("exact "), "{args}");
}

#[test]
#[expect(clippy::disallowed_methods, reason = "how goldens are renewed; no result depends on it")]
fn the_readme_shows_what_its_first_command_prints() {
    // A published package has no README beside it.
    let Ok(readme) = fs::read_to_string(Path::new(README)) else { return };
    assert!(readme.contains(&format!("cargo run --release -- {COMMAND}\n")));
    let (before, rest) = readme.split_once("```text\n").unwrap();
    let (shown, after) = rest.split_once("```").unwrap();
    let printed = prints(COMMAND);
    if shown != printed && std::env::var("UPDATE_GOLDEN").is_ok() {
        fs::write(README, format!("{before}```text\n{printed}```{after}")).unwrap();
        return;
    }
    assert_eq!(shown, printed, "README.md shows another run; see CONTRIBUTING.md on goldens");
}
