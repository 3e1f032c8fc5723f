//! `simsched validate --resume`: what was measured need not be measured again, what has changed must.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::common::{check, file, simsched};

/// So many claims of small runs, each of a load of its own: one side more than there are claims.
pub(crate) fn claims(count: usize, loops: usize) -> String {
    let claim = |nth: usize| {
        format!(
            "[[claim]]\nid = \"c{nth}\"\nsource = \"a test\"\ntopology = \"t8\"\n\
             baseline = \"cfs+latency_ns={}\"\npatched = \"cfs\"\n\
             workload = \"hackbench -g 2 -f 4 -T -p -l {loops}\"\nmetric = \"time\"\n\
             better = \"lower\"\nratio = 1\nkind = \"end_to_end\"\n\n",
            7_000_000 + nth
        )
    };
    (0..count).map(claim).collect()
}

fn kept(name: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_file(&path);
    path
}

/// What is printed, and how many runs were known before.
fn validated(claims: &Path, kept: &Path) -> (String, u32) {
    validated_with("--span whole", claims, kept)
}

fn validated_with(how: &str, claims: &Path, kept: &Path) -> (String, u32) {
    validated_with_all((how, ""), claims, kept)
}

/// With options before and behind the file that is written.
fn validated_with_all((how, more): (&str, &str), claims: &Path, kept: &Path) -> (String, u32) {
    let (claims, kept) = (claims.display(), kept.display());
    let args = format!("validate {how} --seeds 2 --json - --resume {kept} {more} {claims}");
    let output = simsched(&args);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{said}");
    let known = said.lines().find_map(|line| line.strip_prefix("simsched: note: "));
    let known = known.and_then(|line| line.split(" of ").next()?.parse().ok());
    (String::from_utf8(output.stdout).unwrap(), known.unwrap_or(0))
}

#[test]
fn what_is_kept_gives_the_same_result_again() {
    let (claims, kept) = (file("again.toml", &claims(2, 20)), kept("again.kept"));
    let (first, known) = validated(&claims, &kept);
    assert_eq!(known, 0);
    let (second, known) = validated(&claims, &kept);
    assert_eq!(known, 6, "three sides, two seeds");
    assert_eq!(first, second);
}

#[test]
fn what_was_measured_in_haste_does_not_stand_for_a_long_run() {
    let (claims, kept) = (file("haste.toml", &claims(1, 20)), kept("haste.kept"));
    assert_eq!(validated_with("--quick", &claims, &kept).1, 0);
    assert_eq!(validated_with("", &claims, &kept).1, 0);
    assert_eq!(validated_with("--limit 2s", &claims, &kept).1, 0);
    let (found, known) = validated_with("--limit 2s", &claims, &kept);
    assert_eq!(known, 4, "two sides, two seeds");
    assert!(found.contains("\"limit_ns\": 2000000000"), "{found}");
}

/// Each part keeps its own file; with all of them nothing is left to be run.
#[test]
fn shards_are_put_together_by_what_they_kept() {
    let text = claims(3, 20).replacen("-l 20", "-l 21", 1).replacen("-l 20", "-l 22", 1);
    let claims = file("shards.toml", &text);
    let parts = ["1/2", "2/2"].map(|shard| {
        let kept = kept(&format!("shard{}.kept", &shard[..1]));
        assert_eq!(validated_with(&format!("--shard {shard}"), &claims, &kept).1, 0);
        kept
    });
    let (whole, all) = (kept("whole.kept"), kept("all.kept"));
    let [one, two] = parts.each_ref().map(|part| part.display());
    // The first of the files is the one that is written.
    let (found, known) =
        validated_with_all(("", &format!("--resume {one} --resume {two}")), &claims, &all);
    assert_eq!(known, 12, "three loads, two sides, two seeds");
    assert_eq!(found, validated_with("", &claims, &whole).0);
}

#[test]
fn a_part_that_is_not_there_is_said() {
    let (claims, kept) = (file("lost.toml", &claims(1, 20)), kept("lost.kept"));
    let args =
        format!("validate --resume {} --resume lost.part {}", kept.display(), claims.display());
    let output = simsched(&args);
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("found no file 'lost.part', expected measurements"), "{said}");
}

#[test]
fn a_claim_that_has_changed_is_measured_anew_and_no_other() {
    let kept = kept("changed.kept");
    validated(&file("changed.toml", &claims(2, 20)), &kept);
    let text = claims(3, 20);
    assert_eq!(validated(&file("changed.toml", &text), &kept).1, 6, "a claim more");
    let other = text.replacen("\"time\"", "\"migrations\"", 1);
    // Its two sides are asked for a number more; one of them serves the other claims, too.
    assert_eq!(validated(&file("changed.toml", &other), &kept).1, 4, "another metric");
    let text = text.replace("-l 20", "-l 21");
    assert_eq!(validated(&file("changed.toml", &text), &kept).1, 0, "another workload");
}

#[test]
fn a_machine_file_that_has_changed_is_another_machine() {
    let machine =
        fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../topologies/t8.toml"));
    let machine = machine.unwrap();
    let own = file("resumed-machine.toml", &machine);
    let text = claims(1, 20).replace("\"t8\"", &format!("\"{}\"", own.display()));
    let (claims, kept) = (file("machine-claims.toml", &text), kept("machine.kept"));
    validated(&claims, &kept);
    assert_eq!(validated(&claims, &kept).1, 4);
    fs::write(&own, format!("{machine}\n# changed\n")).unwrap();
    assert_eq!(validated(&claims, &kept).1, 0);
}

#[test]
fn another_version_begins_anew() {
    let (claims, kept) = (file("version.toml", &claims(1, 20)), kept("version.kept"));
    let (first, _) = validated(&claims, &kept);
    let mut file: Value = serde_json::from_str(&fs::read_to_string(&kept).unwrap()).unwrap();
    file["version"] = "0.0.0 0000000000000000".into();
    fs::write(&kept, file.to_string()).unwrap();
    let (second, known) = validated(&claims, &kept);
    assert_eq!((first, known), (second, 0));
}

#[test]
fn a_file_that_holds_something_else_is_left_alone() {
    let claims = file("else.toml", &claims(1, 20));
    for text in ["", "{}", "{\"what\": \"a diary\"}", "[[claim]]"] {
        let other = file("else.kept", text);
        let args = format!("validate --resume {} {}", other.display(), claims.display());
        let output = simsched(&args);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("else.kept', which holds something else"), "{said}");
        assert_eq!(fs::read_to_string(&other).unwrap(), text);
    }
}

#[test]
fn results_and_measurements_go_to_different_files() {
    let claims = file("same-file.toml", &claims(1, 20));
    let path = kept("same.kept");
    let (path, claims) = (path.display(), claims.display());
    let output = simsched(&format!("validate --json {path} --resume {path} {claims}"));
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8(output.stderr).unwrap().contains("--json and --resume"));
}

/// What was measured is not taken from a file in which somebody changed a digit.
#[test]
fn a_file_that_was_altered_is_refused() {
    let (claims, kept) = (file("altered-claims.toml", &claims(1, 20)), kept("altered.kept"));
    validated(&claims, &kept);
    let text = fs::read_to_string(&kept).unwrap();
    let at = text.find("\"runs\"").unwrap();
    let at = at + text[at..].find(|c: char| c.is_ascii_digit() && c != '7').unwrap();
    fs::write(&kept, format!("{}7{}", &text[..at], &text[at + 1..])).unwrap();
    let (claims, kept) = (claims.display().to_string(), kept.display().to_string());
    let args = format!("validate -q --span whole --seeds 2 --resume {kept} {claims}");
    check(&args, 2, &["--resume", &kept, "checksum", "altered"]);
}

/// The words of the workload are the same, and what they name is not.
#[test]
fn a_changed_file_of_the_workload_is_measured_anew() {
    let task = |loops: u32| {
        let phase = format!("\"loop\": {loops}, \"run\": 1000, \"sleep\": 1000");
        file("stale-rt-app.json", &format!("{{ \"tasks\": {{ \"a\": {{ {phase} }} }} }}"))
    };
    let load = format!("rt-app {}", task(3).display());
    let text = claims(1, 5).replace("hackbench -g 2 -f 4 -T -p -l 5", &load);
    let text = text.replace("metric = \"time\"", "metric = \"task_switches\"");
    let (claims, kept) = (file("stale-rt-app.toml", &text), kept("stale-rt-app.kept"));
    let (short, before) = validated(&claims, &kept);
    assert_eq!(before, 0);
    let (again, before) = validated(&claims, &kept);
    assert!(again == short && before > 0);
    task(9);
    let (long, before) = validated(&claims, &kept);
    assert!(long != short && before == 0, "{before} runs were known");
}
