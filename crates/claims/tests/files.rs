//! Claim files: what is read, and what is said of what is wrong.

#![expect(clippy::unwrap_used, reason = "a test stops where it fails")]

use simsched_claims::{Better, Claim, Kind, Refused, Values, read};

const RIGHT: &str = r#"
[[claim]]
id = "S2.hb.time"
source = "sched/fair: Introduce WAKEUP_BIAS_PREV to reduce migrations, 2023-10-17"
topology = "genoa.toml"
baseline = "cfs"
patched = "cfs+wakeup_bias_prev"
workload = "hackbench -g 32 -f 20 --threads --pipe -l 480000 -s 100"
metric = "time"
unit = "s"
better = "lower"
baseline_value = 49.0
patched_value = 29
baseline_std_pct = 1.0
kind = "end_to_end"
options = { group = "container", hz = 1000, SIS_UTIL = false }
"#;

fn right() -> Claim {
    read(RIGHT, "x.toml").unwrap().remove(0).unwrap()
}

#[test]
fn a_claim_is_read_whole() {
    let claim = right();
    assert_eq!((claim.id.as_str(), claim.file.as_str()), ("S2.hb.time", "x.toml"));
    assert_eq!(claim.workload, "hackbench -g 32 -f 20 --threads --pipe -l 480000 -s 100");
    assert_eq!((claim.better, claim.kind), (Better::Lower, Kind::EndToEnd));
    assert_eq!(claim.published.values, Values::Both { baseline: 49.0, patched: 29.0 });
    assert_eq!(claim.published.baseline_std_pct, Some(1.0));
    assert_eq!(claim.published.patched_std_pct, None);
    let options: Vec<_> = claim.options.iter().map(|(k, v)| format!("{k}={v}")).collect();
    assert_eq!(options, ["SIS_UTIL=off", "group=container", "hz=1000"]);
}

#[test]
fn a_ratio_stands_in_place_of_both_values() {
    let text = RIGHT.replace("baseline_value = 49.0\npatched_value = 29", "ratio = 0.59");
    let claim = read(&text, "x.toml").unwrap().remove(0).unwrap();
    assert_eq!(claim.published.ratio(), Some(0.59));
}

/// What is published of a time is how long the run took, in whatever unit.
#[test]
fn how_long_the_real_run_took_is_said_or_published_or_not_known() {
    let of = |text: &str| read(text, "x.toml").unwrap().remove(0).unwrap().real_seconds;
    assert_eq!(of(RIGHT), [Some(49.0), Some(29.0)]);
    assert_eq!(of(&RIGHT.replace("\"s\"", "\"ms\"")), [Some(0.049), Some(0.029)]);
    assert_eq!(of(&RIGHT.replace("kind", "real_seconds = 60\nkind")), [Some(60.0); 2]);
    let both = RIGHT.replace("kind", "real_seconds = [4.5, 3]\nkind");
    assert_eq!(of(&both), [Some(4.5), Some(3.0)]);
    let ratio = RIGHT.replace("baseline_value = 49.0\npatched_value = 29", "ratio = 0.59");
    assert_eq!(of(&ratio), [None; 2]);
}

#[test]
fn a_parameter_needs_no_run() {
    let text = "[[claim]]\nid = \"p\"\nsource = \"s\"\ntopology = \"milan-7763@nps4\"\n\
                patched = \"cfs\"\nmetric = \"imb_numa_nr:NUMA-A\"\npatched_value = 4\n\
                kind = \"parameter\"\n";
    let claim = read(text, "x.toml").unwrap().remove(0).unwrap();
    assert_eq!(claim.published.values, Values::Exactly(4.0));
    assert_eq!((claim.published.ratio(), claim.metric.part.as_str()), (None, "NUMA-A"));
}

/// The claim with `right` replaced by `broken` is refused at `key`, and the message holds `parts`.
#[track_caller]
fn check((right, broken): (&str, &str), key: &str, parts: &[&str]) {
    assert_eq!(RIGHT.matches(right).count(), 1, "the claim has `{right}` once");
    // The claims before and after are read all the same.
    let other = RIGHT.replace("S2.hb.time", "other");
    let last = RIGHT.replace("S2.hb.time", "last");
    let text = format!("{other}{}{last}", RIGHT.replace(right, broken));
    let claims = read(&text, "dir/x.toml").unwrap();
    assert!(claims[0].is_ok() && claims[2].is_ok());
    let refused: &Refused = claims[1].as_ref().unwrap_err();
    assert_eq!(&*refused.key, key);
    let text = refused.to_string();
    for part in parts.iter().chain(&["dir/x.toml", key, "found ", "expected "]) {
        assert!(text.contains(part), "no `{part}` in: {text}");
    }
}

#[test]
fn what_is_wrong_names_file_claim_key_found_expected_and_the_nearest() {
    let id = "claim S2.hb.time:";
    check(
        ("metric = \"time\"", "metric = \"tiem\""),
        "metric",
        &[id, "\"tiem\"", "did you mean `time`"],
    );
    check(("better = \"lower\"", "better = \"less\""), "better", &[id, "lower, higher, none"]);
    check(("kind = \"end_to_end\"", "kind = \"endtoend\""), "kind", &[id, "`end_to_end`"]);
    check(("unit = \"s\"", "unti = \"s\""), "unti", &[id, "did you mean `unit`"]);
}

/// Names are columns of tables, and no column is 65,536 wide.
#[test]
fn a_name_has_at_most_200_characters() {
    let long = "x".repeat(201);
    for (key, right) in [("id", "id = \"S2.hb.time\""), ("metric", "metric = \"time\"")] {
        let broken = format!("{key} = \"{long}\"");
        check((right, &broken), key, &["found 201 characters", "at most 200"]);
    }
    let refused =
        read(&RIGHT.replace("S2.hb.time", &long), "x.toml").unwrap().remove(0).unwrap_err();
    assert_eq!(&*refused.id, "#1", "it would be a column of a table, too");
    let longest = RIGHT.replace("S2.hb.time", &long[1..]);
    assert!(read(&longest, "x.toml").unwrap()[0].is_ok());
}

#[test]
fn a_missing_value_is_named() {
    check(("patched_value = 29\n", ""), "patched_value", &["found nothing", "ratio"]);
    check(("baseline_value = 49.0\n", ""), "baseline_value", &["found nothing"]);
    check(("id = \"S2.hb.time\"\n", ""), "id", &["claim #2", "unique"]);
    check(("topology = \"genoa.toml\"\n", ""), "topology", &["--topo"]);
    check(("metric = \"time\"\n", ""), "metric", &["found nothing"]);
}

#[test]
fn a_value_of_the_wrong_type_is_named() {
    check(("= 49.0", "= \"49\""), "baseline_value", &["\"49\"", "a number"]);
    check(("= 49.0", "= nan"), "baseline_value", &["nan"]);
    check(("= 49.0", "= 0"), "baseline_value", &["above 0"]);
    check(("baseline = \"cfs\"", "baseline = 3"), "baseline", &["found 3", "policy"]);
    check(("_std_pct = 1.0", "_std_pct = -1"), "baseline_std_pct", &["-1"]);
    check(("hz = 1000", "hz = [1]"), "options.hz", &["a list"]);
    check(("{ group = \"container\", hz = 1000, SIS_UTIL = false }", "3"), "options", &["a table"]);
    check(("patched_value = 29", "patched_value = 29\nratio = 2"), "ratio", &["either"]);
    check(("patched_value = 29", "patched_value = -29"), "patched_value", &["-29"]);
}

/// Their quotient would be infinite, and so would be the square of the other.
#[test]
fn a_number_that_cannot_be_computed_with_is_refused() {
    let range = "0 or a number from 1e-30 to 1e30";
    check(("= 49.0", "= 5e-324"), "baseline_value", &["found 5e-324", range]);
    check(("= 49.0", "= -1e300"), "baseline_value", &["found -1e300", range]);
    check(("_std_pct = 1.0", "_std_pct = 1e308"), "baseline_std_pct", &["found 1e308", range]);
}

#[test]
fn a_kind_fits_its_metric() {
    check(("kind = \"end_to_end\"", "kind = \"parameter\""), "kind", &["end_to_end", "time"]);
    check(("metric = \"time\"", "metric = \"imb_numa_nr:NUMA-A\""), "kind", &["\"parameter\""]);
}

#[test]
fn a_unit_is_one_of_its_metric() {
    let parts = ["\"parsecs\"", "ms"];
    check(("unit = \"s\"", "unit = \"parsecs\""), "unit", &parts);
    let ratio = RIGHT.replace("baseline_value = 49.0\npatched_value = 29", "ratio = 0.59");
    let ratio = ratio.replace("unit = \"s\"", "unit = \"normalised\"");
    assert!(read(&ratio, "x.toml").unwrap()[0].is_ok());
}

#[test]
fn a_good_direction_fits_its_metric() {
    check(("better = \"lower\"", "better = \"higher\""), "better", &["time", "\"lower\""]);
    let throughput = RIGHT.replace("metric = \"time\"", "metric = \"throughput\"");
    let throughput = throughput.replace("unit = \"s\"", "unit = \"tx/s\"");
    let refused = read(&throughput, "x.toml").unwrap().remove(0).unwrap_err();
    assert_eq!(&*refused.key, "better");
    let higher = throughput.replace("\"lower\"", "\"higher\"");
    assert!(read(&higher, "x.toml").unwrap()[0].is_ok());
}

/// The first claim begins in line 2 of the text, its `metric` stands in line 9, and the second
/// claim begins 15 lines further down.
#[test]
fn a_refused_claim_names_the_line_of_its_key() {
    let lines: Vec<&str> = RIGHT.lines().collect();
    assert_eq!((lines[1], lines[8]), ("[[claim]]", "metric = \"time\""));
    let line =
        |text: &str, nth: usize| read(text, "x.toml").unwrap()[nth].clone().unwrap_err().line;
    assert_eq!(line(&RIGHT.replace("\"time\"", "\"tiem\""), 0), 9);
    let second = RIGHT.replace("S2.hb.time", "b").replace("metric = \"time\"\n", "");
    assert_eq!(line(&format!("{RIGHT}{second}"), 1), 2 + lines.len());
    let options = RIGHT.replace("hz = 1000", "hz = [1]");
    assert_eq!(line(&options, 0), lines.len());
}

#[test]
fn an_id_stands_once_in_a_file() {
    let claims = read(&format!("{RIGHT}{RIGHT}"), "x.toml").unwrap();
    assert!(claims[0].is_ok());
    assert!(claims[1].as_ref().unwrap_err().to_string().contains("a second time"));
}

#[test]
fn a_file_without_claims_is_refused_as_a_whole() {
    let said = |text: &str| read(text, "x.toml").unwrap_err().to_string();
    assert!(said("[[claim]]\nid = ").starts_with("x.toml:2:"), "{}", said("[[claim]]\nid = "));
    assert!(said("").contains("[[claim]]"));
    assert!(said("claim = 3").contains("found 3"));
    assert!(said("[[claims]]").contains("did you mean `claim`"));
    assert!(read("claim = [3]", "x.toml").unwrap()[0].is_err());
}

#[test]
fn a_message_is_one_line_whatever_stands_in_the_file() {
    let said = |text: String| match read(&text, "x.toml") {
        Ok(mut claims) => claims.remove(0).unwrap_err().to_string(),
        Err(error) => error.to_string(),
    };
    let odd = "\"a\\nb\\u001b[2J\"";
    for (text, part) in [
        (RIGHT.replace("\"time\"", odd), "found \"a\\nb\\u{1b}[2J\""),
        (RIGHT.replace("\"S2.hb.time\"", odd).replace("49.0", "nan"), "claim a\\nb\\u{1b}[2J:"),
        (RIGHT.replace("unit =", &format!("{odd} =")), "claim S2.hb.time: a\\nb\\u{1b}[2J:"),
        (format!("{odd} = 3"), "x.toml: a\\nb\\u{1b}[2J: found 3"),
        (format!("claim = {odd}"), "found \"a\\nb"),
    ] {
        let said = said(text);
        assert!(said.contains(part) && !said.contains(char::is_control), "{said:?}");
    }
}
