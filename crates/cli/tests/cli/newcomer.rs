//! `simsched new-policy`: the crate that it writes, and what it refuses. That the crate compiles and runs is
//! held by `.ci/newcomer`.

use std::fs;
use std::path::PathBuf;

use crate::common::{check, prints, simsched};

fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    folder
}

#[test]
fn the_crate_has_the_policy_its_test_and_the_command() {
    let folder = folder("mine");
    let said = prints(&format!("new-policy first_try -o {}", folder.display()));
    assert!(said.contains("--policy first_try"), "{said}");
    let read = |file: &str| fs::read_to_string(folder.join(file)).unwrap();
    let manifest: toml::Table = read("Cargo.toml").parse().unwrap();
    assert_eq!(manifest["package"]["name"].as_str(), Some("first_try"));
    let library = manifest["dependencies"]["simsched"]["path"].as_str().unwrap();
    assert!(PathBuf::from(library).join("src/lib.rs").is_file());
    assert!(read("src/lib.rs").contains("struct FirstTry"));
    for file in ["src/lib.rs", "src/main.rs", "tests/conformance.rs", "README.md"] {
        assert!(read(file).contains("first_try") && !read(file).contains("{name}"), "{file}");
    }
}

#[test]
fn a_name_or_a_folder_that_is_taken_is_refused_and_nothing_is_written() {
    let folder = folder("refused");
    let to = format!("-o {}", folder.display());
    check(&format!("new-policy Mine {to}"), 2, &["NAME", "'Mine'", "lower-case"]);
    check(&format!("new-policy eevdf {to}"), 2, &["NAME", "no policy and no patch"]);
    check(&format!("new-policy fn {to}"), 2, &["NAME", "no word of Rust"]);
    check(&format!("new-policy mine {to} --library nowhere"), 2, &["--library", "nowhere"]);
    assert!(!folder.exists());
    fs::create_dir(&folder).unwrap();
    check(&format!("new-policy mine {to}"), 2, &["refused", "expected none"]);
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
    let deep = folder.join("a/b/c");
    assert_eq!(simsched(&format!("new-policy mine -o {}", deep.display())).status.code(), Some(0));
}
