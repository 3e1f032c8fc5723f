//! Scenario files: what a file says is what a command line says, and a report can be had again.

use std::path::{Path, PathBuf};

use proptest::prelude::*;
use serde_json::Value;

use crate::common::{check, file, json, prints, simsched};

const WORKLOAD: &str = "hackbench -g 1 -f 2 -T -p -l 5";

fn digest(args: &str) -> String {
    json(args)["digest"].as_str().unwrap().to_owned()
}

#[test]
fn a_file_says_what_a_command_line_says() {
    let text = "topo = 't16'\npolicy = 'cfs@6.5'\nseed = 7\nduration = '3ms'\nllc_interval = true\n\
                workload = 'hackbench -g 1 -f 2 -T -p -l 5'\n[settings]\nhz = 1000\nSIS_UTIL = false\n";
    let path = file("says.toml", text);
    let line = "--topo t16 --policy cfs@6.5 --seed 7 --duration 3ms --llc-interval --set hz=1000 \
                --set SIS_UTIL=off";
    let want = prints(&format!("run --quiet --json - {line} -- {WORKLOAD}"));
    assert_eq!(prints(&format!("run --quiet --json - {}", path.display())), want);
    let words = text.replace(
        &format!("'{WORKLOAD}'"),
        &format!("{:?}", WORKLOAD.split(' ').collect::<Vec<_>>()),
    );
    assert_eq!(
        prints(&format!("run --quiet --json - {}", file("words.toml", &words).display())),
        want
    );
}

#[test]
fn the_command_line_wins_over_the_file() {
    let text = "topo = 't8'\nseed = 3\nprecision = '5%'\nprecision_limit = '2M'\n\
                workload = 'hackbench -g 4'\nsettings = { hz = 300, SIS_UTIL = 'off' }\n";
    let path = file("wins.toml", text);
    let over = "--seed 4 --duration 2ms --set hz=1000 --policy cfsx";
    check(
        &format!("run {} {over}", path.display()),
        2,
        &["simsched: failed to find policy `cfsx`"],
    );
    let report = json(&format!(
        "run -q --json - {} {} -- {WORKLOAD}",
        path.display(),
        over.replace(" --policy cfsx", "")
    ));
    let scenario = &report["scenario"];
    assert_eq!((&scenario["seed"], &scenario["duration_ns"]), (&4.into(), &2_000_000.into()));
    assert_eq!(scenario["settings"], serde_json::json!({ "hz": "1000", "SIS_UTIL": "off" }));
    assert_eq!(
        scenario["workload_args"],
        serde_json::json!(WORKLOAD.split(' ').collect::<Vec<_>>())
    );
    assert!(scenario.get("precision_pct").is_none(), "--duration rules it out");
}

/// A machine of our own in a folder of its own.
fn own_machine(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).unwrap();
    let machine = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../topologies/t8.toml");
    std::fs::copy(machine, folder.join("mine.toml")).unwrap();
    folder
}

#[test]
fn a_machine_is_looked_for_beside_the_scenario() {
    let folder = own_machine("beside");
    let path = folder.join("s.toml");
    std::fs::write(&path, format!("topo = 'mine.toml'\nworkload = '{WORKLOAD}'\n")).unwrap();
    let report = json(&format!("run -q --json - {}", path.display()));
    assert_eq!(report["scenario"]["topology_file"], folder.join("mine.toml").display().to_string());
    assert_eq!(
        report["digest"],
        digest(&format!("run -q --json - --topo t8 -- {WORKLOAD}")).as_str()
    );
}

#[test]
fn what_is_wrong_in_a_file_is_told_with_its_line_and_the_nearest_name() {
    let cases = [
        (
            "topo = 't8'\npolcy = 'cfs'\n",
            "bad.toml:2: unknown key `polcy`",
            "did you mean `policy`",
        ),
        ("topo = 't8'\nzebra = 1\n", "bad.toml:2: unknown key `zebra`", "topo, policy, seed"),
        ("topo = 't8'\n\n[settings]\nSIS_UTLI = true\n", "bad.toml:4: ", "`SIS_UTIL`"),
        ("topo = 'genao'\n", "bad.toml:1: ", "did you mean `genoa`"),
        ("topo = 't8'\nseed = -1\n", "bad.toml:2: seed: found '-1'", "0..="),
        ("topo = 't8'\nduration = '5m'\n", "bad.toml:2: duration: found '5m'", "500ms"),
        ("topo = 't8'\nworkload = 'hackbnch'\n", "bad.toml:2: ", "did you mean `hackbench`"),
        ("topo = 't8'\nworkload = 7\n", "bad.toml:2: workload: found 7", "a list of its words"),
        ("topo = 't8'\nparanoid = 'yes'\n", "bad.toml:2: paranoid: found \"yes\"", "true or false"),
        ("topo = 't8'\nftrace = true\n", "bad.toml:2: ftrace: found true", "a text"),
        ("topo = 't8'\npolicy = 'cfs+'\n", "bad.toml:2: ", "nothing behind a `+`"),
        ("topo = 't8'\nseed = = 1\n", "bad.toml:2: no TOML", ""),
        ("seed = 1\n", "bad.toml: topo is missing", "--topo"),
        ("{ \"a\": 1 }", "bad.toml: found JSON without a `scenario`", "run --json"),
    ];
    for (text, place, hint) in cases {
        let path = file("bad.toml", text);
        check(&format!("run {}", path.display()), 2, &[place, hint]);
    }
    check("run nowhere.toml", 2, &["nowhere.toml", "no such scenario file"]);
}

/// One of each kind of run.
const KINDS: [&str; 6] = [
    "--topo t8 -- hackbench -g 1 -l 10",
    "--topo genoa@nps4 --policy eevdf --seed 18446744073709551615 -- hackbench -g 1 -f 4 -T -p -l 5",
    "--topo t16 --policy cfs@5.16+wakeup_bias_prev --set hz=300 --duration 2ms --llc-interval=500us",
    "--topo t8 --precision 5% --precision-limit 3M -- hackbench -g 2 -T -p -l 2000",
    "--topo t8 --seed 5 --seeds 3 --paranoid -- hackbench -g 1 -f 2 -T -p -l 3",
    "--topo spr-2x60 --duration 1ms -- schbench -m 1 -t 2 -r 1",
];

#[test]
fn every_report_can_be_had_again_to_the_same_bytes() {
    for (nth, kind) in KINDS.iter().enumerate() {
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("report-{nth}.json"));
        let (options, workload) = kind.split_once(" -- ").unwrap_or((kind, ""));
        let first = simsched(&format!("run -q {options} --json {} -- {workload}", path.display()));
        assert!([Some(0), Some(1)].contains(&first.status.code()), "{first:?}");
        let again = simsched(&format!("run -q --json - {}", path.display()));
        assert_eq!(again.status.code(), first.status.code(), "{kind}");
        let (want, found) =
            (std::fs::read_to_string(&path).unwrap(), String::from_utf8(again.stdout).unwrap());
        // A machine that is built in is named with its mode by a report, and by its user perhaps not.
        assert_eq!(found, want, "{kind}");
    }
}

#[test]
fn a_repetition_that_is_another_run_ends_with_code_1_and_both_digests() {
    let text = prints(&format!("run -q --topo t8 --json - -- {WORKLOAD}"));
    let report: Value = serde_json::from_str(&text).unwrap();
    let known = report["digest"].as_str().unwrap();
    let path = file("other.json", &text.replace(known, "0123456789abcdef"));
    let run = format!("run -q --json /dev/null {}", path.display());
    check(&run, 1, &["other.json", "0123456789abcdef", known]);
    // With another seed it is meant to be another.
    assert!(simsched(&format!("{run} --seed 2")).status.success());
}

/// Reports of before had neither the words of the workload nor a precision.
#[test]
fn a_report_without_the_words_of_its_workload_is_repeated_by_its_command_line() {
    let text = prints(&format!("run -q --topo t8 --json - -- {WORKLOAD}"));
    let mut report: Value = serde_json::from_str(&text).unwrap();
    report["scenario"].as_object_mut().unwrap().remove("workload_args").unwrap();
    let path = file("old.json", &report.to_string());
    assert_eq!(
        digest(&format!("run -q --json - {}", path.display())),
        report["digest"].as_str().unwrap()
    );
}

/// Schema 1 counted the start of the program; what a report says that was run is the same.
#[test]
fn a_report_of_the_schema_before_is_repeated_and_one_of_the_future_is_not() {
    let report = format!("run --quiet --whole --topo t8 --json - -- {WORKLOAD}");
    let text = prints(&report);
    let of = |schema: u32| {
        let text = text.replace("\"schema\": 2", &format!("\"schema\": {schema}"));
        file(&format!("schema-{schema}.json"), &text).display().to_string()
    };
    assert_eq!(digest(&format!("run --quiet {} --json -", of(1))), digest(&report));
    let again = prints(&format!("run --quiet {} --json -", of(2)));
    assert!(again == text, "a whole run is repeated as one");
    check(&format!("run --quiet {}", of(3)), 2, &["schema: found 3, expected 2"]);
    for (key, found) in [("\"whole\": true", "\"whole\": 1"), ("\"seed\": 1", "\"seed\": \"1\"")] {
        let path = file("odd-type.json", &text.replace(key, found)).display().to_string();
        let name = key.split('"').nth(1).unwrap();
        check(&format!("run --quiet {path}"), 2, &[&format!("scenario.{name}: found")]);
    }
}

#[test]
fn a_saved_scenario_is_the_same_run() {
    for (nth, kind) in KINDS.iter().enumerate() {
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("saved-{nth}.toml"));
        let (options, workload) = kind.split_once(" -- ").unwrap_or((kind, ""));
        let save = format!("--save-scenario {}", path.display());
        assert_eq!(prints(&format!("run {options} {save} -- {workload}")), "", "{kind}");
        let again = prints(&format!("run {} --save-scenario -", path.display()));
        assert_eq!(again, std::fs::read_to_string(&path).unwrap(), "{kind}");
    }
    let of_line = prints(&format!("run -q {}", KINDS[2]));
    let saved = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("saved-2.toml");
    assert_eq!(prints(&format!("run -q {}", saved.display())), of_line);
}

fn refuses_or_runs(text: &str) {
    let path = file("random.toml", text);
    let output = simsched(&format!("run --save-scenario /dev/null {}", path.display()));
    let said = String::from_utf8(output.stderr).unwrap();
    let code = output.status.code();
    assert!(code == Some(0) || code == Some(2), "{code:?} of {text:?}: {said}");
    assert!(
        code == Some(0) || said.starts_with(&format!("simsched: {}", path.display())),
        "{said}"
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_brings_the_reader_of_scenarios_down(text in "\\PC{0,80}") {
        refuses_or_runs(&text);
    }

    #[test]
    fn no_value_of_a_key_brings_it_down(
        key in "(topo|policy|seed|seeds|duration|precision|settings|workload|llc_interval|json|[a-z_]{1,8})",
        value in "('[ -&(-~]{0,12}'|-?[0-9]{1,25}|true|\\[1, 'a'\\]|\\{ a = 1 \\}|[0-9]\\.[0-9e]{1,3}|0x[0-9a-f]{1,40}|1979-05-27)",
    ) {
        refuses_or_runs(&format!("topo = 't8'\n{key} = {value}\n"));
    }
}
