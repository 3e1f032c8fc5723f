//! What the commands of `tests/data/outputs/commands.txt` print and write has not moved: short texts are
//! kept as they are, longer ones and written files by their length and hash.
//!
//! `UPDATE_GOLDEN=1` keeps what they print now. `SIMSCHED_OTHER=BINARY` compares with that binary to the
//! byte instead, and leaves both sides in `target/tmp/outputs` for `diff -r`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Longer texts are kept by their hash.
const LONGEST: usize = 3_000;

fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/outputs")
}

/// The repository, as it stands in place of `{repo}`.
fn repository() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    path.to_str().unwrap().to_owned()
}

/// Names and arguments of all commands, in their order.
fn commands() -> Vec<(String, String)> {
    let text = fs::read_to_string(data().join("commands.txt")).unwrap();
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let commands = lines.map(|line| line.split_once(": ").unwrap());
    commands.map(|(name, args)| (name.to_owned(), args.to_owned())).collect()
}

/// Runs all commands with `binary`, each in a folder below `folder`, where its output is kept as files
/// `stdout`, `stderr` and `exit` beside those that it writes.
fn run_all(binary: &Path, folder: &Path) {
    if folder.exists() {
        fs::remove_dir_all(folder).unwrap();
    }
    let repository = repository();
    for (name, args) in commands() {
        let own = folder.join(&name);
        fs::create_dir_all(&own).unwrap();
        let words = args.split_whitespace().map(|word| word.replace("{repo}", &repository));
        let mut command = Command::new(binary);
        // The width of help texts, and what a shell may have set.
        command.env_remove("COLUMNS").env_remove("RAYON_NUM_THREADS");
        let output = command.args(words).current_dir(&own).stdin(Stdio::null()).output().unwrap();
        fs::write(own.join("stdout"), &output.stdout).unwrap();
        fs::write(own.join("stderr"), &output.stderr).unwrap();
        fs::write(own.join("exit"), output.status.code().unwrap().to_string()).unwrap();
    }
}

/// All files below `folder` by their path in it. The version of the executable, which stands in the
/// files of a sweep, and the path of the repository are no output.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if path.is_dir() {
            let below = files(&path).into_iter();
            found.extend(below.map(|(file, bytes)| (format!("{name}/{file}"), bytes)));
        } else {
            found.insert(name, masked(fs::read(&path).unwrap()));
        }
    }
    found
}

fn masked(bytes: Vec<u8>) -> Vec<u8> {
    let text = match String::from_utf8(bytes) {
        Ok(text) => text.replace(&repository(), "{repo}"),
        Err(error) => return error.into_bytes(),
    };
    // The checksum is of the version, too.
    without(without(text, "\"version\": \""), "\n  \"checksum\": \"").into_bytes()
}

/// The text without the value of this key, which is a text, where it first stands.
fn without(text: String, key: &str) -> String {
    let Some(begin) = text.find(key).map(|at| at + key.len()) else { return text };
    let end = begin + text[begin..].find('"').unwrap();
    format!("{}-{}", &text[..begin], &text[end..])
}

/// FNV-1a over 64 bits.
fn hash(bytes: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
}

/// What is kept of a command: its line, its exit code, and each output as text or hash.
fn kept(args: &str, files: &BTreeMap<String, Vec<u8>>) -> String {
    let code = String::from_utf8_lossy(&files["exit"]);
    let mut text = format!("$ simsched {args}\nexit code {code}\n");
    for (name, bytes) in files.iter().filter(|(name, _)| *name != "exit") {
        let is_output = ["stdout", "stderr"].contains(&name.as_str());
        match std::str::from_utf8(bytes) {
            Ok("") if is_output => {}
            Ok(said) if is_output && said.len() <= LONGEST => {
                text += &format!("{name}:\n{said}");
                text += if said.ends_with('\n') { "" } else { "\n" };
            }
            _ => text += &format!("{name}: {} bytes, {:016x}\n", bytes.len(), hash(bytes)),
        }
    }
    text
}

#[test]
fn each_command_has_one_kept_output_and_each_output_a_command() {
    let mut names: Vec<String> = commands().into_iter().map(|(name, _)| name + ".txt").collect();
    names.sort();
    let kept = fs::read_dir(data()).unwrap().map(|entry| entry.unwrap().file_name());
    let mut kept: Vec<String> = kept.map(|name| name.into_string().unwrap()).collect();
    kept.retain(|name| name != "commands.txt" && name != "plan.toml");
    kept.sort();
    assert_eq!(names, kept);
}

#[test]
#[expect(clippy::disallowed_methods, reason = "goldens are renewed on demand only")]
fn no_output_has_moved() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("outputs");
    let new = folder.join("new");
    run_all(Path::new(env!("CARGO_BIN_EXE_simsched")), &new);
    if let Some(other) = std::env::var_os("SIMSCHED_OTHER") {
        return same_as(Path::new(&other), &folder);
    }
    let mut moved = Vec::new();
    for (name, args) in commands() {
        let found = kept(&args, &files(&new.join(&name)));
        let path = data().join(format!("{name}.txt"));
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            fs::write(&path, &found).unwrap();
        } else if fs::read_to_string(&path).ok().as_ref() != Some(&found) {
            moved.push(format!("{name}: kept in {}, found\n{found}", path.display()));
        }
    }
    assert!(moved.is_empty(), "{} outputs have moved\n{}", moved.len(), moved.join("\n"));
}

/// Compares what has been run with what `other` does, to the byte.
fn same_as(other: &Path, folder: &Path) {
    let old = folder.join("old");
    run_all(other, &old);
    let (old, new) = (files(&old), files(&folder.join("new")));
    let names: Vec<&String> = old.keys().chain(new.keys()).collect();
    let moved: Vec<&&String> =
        names.iter().filter(|name| old.get(**name) != new.get(**name)).collect();
    assert!(moved.is_empty(), "{moved:?} differ below {}", folder.display());
}
