//! `simsched validate`: verdicts on claims, and what is wrong with claims.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::common::{command, file, json, prints, simsched};

/// A claim of a small run, with these lines changed or added.
fn claim(id: &str, lines: &[(&str, &str)]) -> String {
    let mut keys = vec![
        ("id", format!("\"{id}\"")),
        ("source", "\"a test\"".to_owned()),
        ("topology", "\"t8\"".to_owned()),
        ("baseline", "\"cfs\"".to_owned()),
        ("patched", "\"cfs+wakeup_bias_prev\"".to_owned()),
        ("workload", "\"hackbench -g 1 -f 4 -T -p -l 50\"".to_owned()),
        ("metric", "\"time\"".to_owned()),
        ("unit", "\"s\"".to_owned()),
        ("better", "\"lower\"".to_owned()),
        ("ratio", "1.0".to_owned()),
        ("kind", "\"end_to_end\"".to_owned()),
    ];
    for (key, value) in lines {
        match keys.iter_mut().find(|(known, _)| known == key) {
            Some((_, known)) => (*value).clone_into(known),
            None => keys.push((key, (*value).to_owned())),
        }
    }
    let lines = keys.iter().filter(|(_, value)| !value.is_empty());
    let lines: String = lines.map(|(key, value)| format!("{key} = {value}\n")).collect();
    format!("[[claim]]\n{lines}\n")
}

fn validated(path: &Path, more: &str) -> Value {
    json(&format!("validate --quiet --span whole --json - {more} {}", path.display()))
}

/// Baseline and patched are the same policy: the simulated change is none.
#[test]
fn equal_sides_are_neutral_and_agree_with_a_published_nothing() {
    let same = ("patched", "\"cfs@6.1\"");
    let text = claim("nothing", &[same]) + &claim("gain", &[same, ("ratio", "0.5")]);
    let found = validated(&file("equal.toml", &text), "--seeds 2");
    let [nothing, gain] = [0, 1].map(|idx| &found["claims"][idx]["result"]);
    assert_eq!(
        (&nothing["agrees"], &nothing["simulated"]["class"]),
        (&true.into(), &"neutral".into())
    );
    assert_eq!((&gain["agrees"], &gain["published"]["class"]), (&false.into(), &"better".into()));
    assert_eq!(gain["error_points"], 50.0);
    // One of one neutral, none of one better.
    assert_eq!(found["score"]["balanced_accuracy"], 0.5);
    assert_eq!(found["score"]["median_error_points"], 25.0);
}

/// The ratio is that of the means of what `simsched compare` finds.
#[test]
fn a_verdict_rests_on_the_runs_that_compare_makes() {
    let found = validated(&file("runs.toml", &claim("a", &[])), "--seeds 3 --seed 5");
    let sides = "--policy cfs --policy cfs+wakeup_bias_prev --seed 5 --seeds 3";
    let load = "-- hackbench -g 1 -f 4 -T -p -l 50";
    let compared = json(&format!("compare --quiet --topo t8 {sides} --json - {load}"));
    let time =
        compared["metrics"].as_array().unwrap().iter().find(|m| m["name"] == "time").unwrap();
    let result = &found["claims"][0]["result"];
    assert_eq!(result["baseline"]["values"], time["policies"][0]["values"]);
    assert_eq!(result["patched"]["values"], time["policies"][1]["values"]);
    let gain = time["policies"][1]["gain_pct"].as_f64().unwrap();
    let improvement = result["simulated"]["improvement_pct"].as_f64().unwrap();
    assert!((gain - improvement).abs() < 1e-9);
}

#[test]
fn every_metric_that_a_run_has_can_be_claimed() {
    let metrics = [
        "time",
        "throughput",
        "task_switches",
        "task_switches_per_cpu_second",
        "cpu_migrations",
        "cpu_migrations_per_cpu_second",
        "busy_cpus",
        "wakeup_latency:p99",
    ];
    let load = ("workload", "\"hackbench -g 2 -f 8 -T -p -l 50\"");
    let one = |metric: &&str| {
        let better = if *metric == "throughput" { "\"higher\"" } else { "\"lower\"" };
        claim(metric, &[("metric", &format!("\"{metric}\"")), ("better", better), load])
    };
    let text: String = metrics.iter().map(one).collect();
    let found = validated(&file("metrics.toml", &text), "--seeds 1");
    for (idx, metric) in metrics.into_iter().enumerate() {
        let claim = &found["claims"][idx];
        assert_eq!((&claim["metric"], &claim["state"]), (&metric.into(), &"judged".into()));
        assert!(claim["result"]["baseline"]["mean"].as_f64().unwrap() > 0.0, "{claim}");
    }
}

#[test]
fn a_name_of_the_past_is_read_as_what_it_was_with_a_note() {
    let load = ("workload", "\"hackbench -g 1 -f 4 -T -p -l 50\"");
    let text = claim("old", &[("metric", "\"migrations\""), load])
        + &claim("new", &[("metric", "\"cpu_migrations\""), load]);
    let found = validated(&file("past.toml", &text), "--seeds 1");
    let [old, new] = [&found["claims"][0], &found["claims"][1]];
    assert_eq!((&old["metric"], &old["result"]), (&new["metric"], &new["result"]));
    let note = old["notes"][0].as_str().unwrap();
    assert!(note.contains("migrations is read as cpu_migrations"), "{note}");
    assert_eq!(new["notes"], serde_json::json!([]));
}

/// The worked numbers of the thread: 2 in the socket and 4 for the pair, and a quarter of the CPU.
#[test]
fn parameters_are_computed_and_must_be_exact() {
    let parameter = |id: &str, metric: &str, value: &str| {
        let topology = ("topology", "\"milan-7763.toml@nps4\"");
        let patched = ("patched", "\"cfs+numa_imbalance=v4.1\"");
        let values = [("ratio", ""), ("patched_value", value), ("kind", "\"parameter\"")];
        let none = [("baseline", ""), ("workload", ""), ("better", ""), ("metric", metric)];
        claim(id, &[&[topology, patched][..], &values, &none].concat())
    };
    let text = parameter("outer", "\"imb_numa_nr:NUMA-A\"", "4")
        + &parameter("inner", "\"imb_numa_nr:NUMA-B\"", "2")
        + &parameter("wrong", "\"imb_numa_nr:NUMA-A\"", "3")
        + &parameter("threshold", "\"setting:wakeup_bias_prev_threshold\"", "256");
    let found = validated(&file("parameters.toml", &text), "");
    let agrees: Vec<bool> =
        (0..4).map(|idx| found["claims"][idx]["result"]["agrees"].as_bool().unwrap()).collect();
    assert_eq!(agrees, [true, true, false, true]);
    assert_eq!(found["parameters"], serde_json::json!({ "computed": 4, "agree": 3 }));
}

/// The claim is skipped with exit code 1 and one line with all of `parts`; the one after it is not.
#[track_caller]
fn check(name: &str, lines: &[(&str, &str)], parts: &[&str]) {
    let path = file(&format!("{name}.toml"), &(claim("bad", lines) + &claim("good", &[])));
    let output = simsched(&format!("validate --quiet --seeds 1 --span whole {}", path.display()));
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert_eq!(said.lines().count(), 1, "one sentence: {said}");
    let (place, id) = (path.display().to_string(), "claim bad: ");
    for part in parts.iter().copied().chain([place.as_str(), id]) {
        assert!(said.contains(part), "no `{part}` in: {said}");
    }
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.lines().any(|line| line.starts_with("good ")), "{text}");
}

#[test]
fn a_bad_claim_names_file_id_and_key_and_is_skipped() {
    check("metric", &[("metric", "\"tiem\"")], &["metric: found \"tiem\"", "did you mean `time`"]);
    check(
        "topology",
        &[("topology", "\"genao\"")],
        &["topology: ", "genao", "did you mean `genoa`"],
    );
    check("mode", &[("topology", "\"genoa@nps3\"")], &["topology: ", "nps3", "nps1, nps2, nps4"]);
    check("baseline", &[("baseline", "\"cfq\"")], &["baseline: ", "cfq", "cfs"]);
    let slip = [("patched", "\"cfs+wakeup_bias_perv\"")];
    check("patched", &slip, &["patched: ", "did you mean `wakeup_bias_prev`"]);
    check("workload", &[("workload", "\"hackbnch\"")], &["workload: ", "did you mean `hackbench`"]);
    check("option", &[("options", "{ SIS_UTLI = false }")], &["options: ", "SIS_UTIL"]);
    check("value", &[("ratio", "")], &["baseline_value: found nothing"]);
    check("type", &[("ratio", "\"half\"")], &["ratio: found \"half\", expected a number"]);
    check(
        "unit",
        &[("unit", "\"parsecs\""), ("ratio", ""), ("baseline_value", "4"), ("patched_value", "2")],
        &["unit: ", "parsecs", ".toml:9:"],
    );
    check("key", &[("metrik", "\"time\"")], &["metrik: ", "did you mean `metric`"]);
}

#[test]
fn a_metric_that_a_run_does_not_have_is_said_and_never_guessed() {
    let rps = ("metric", "\"rps:p50\"");
    let higher = ("better", "\"higher\"");
    check("rps", &[rps, higher], &["metric not available: rps:p50", "rps_p50", "messages"]);
    let copy = ("metric", "\"bandwidth:copy\"");
    check("copy", &[copy, higher], &["metric not available: bandwidth:copy"]);
    let level = [("metric", "\"imb_numa_nr:NUMA-Q\""), ("kind", "\"parameter\"")];
    let level = [&level[..], &[("ratio", ""), ("patched_value", "1")]].concat();
    check("level", &level, &["NUMA-Q", "expected one of MC"]);
}

#[test]
fn what_cannot_be_read_ends_the_command() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("no-claims");
    std::fs::create_dir_all(&folder).unwrap();
    let broken = file("broken-claims.toml", "[[claim]]\nid = \n");
    let binary = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("binary.toml");
    std::fs::write(&binary, [0xff, 0xfe]).unwrap();
    for (path, part) in [
        (PathBuf::from("nowhere.toml"), "No such file"),
        (folder, "without .toml files"),
        (broken, "broken-claims.toml:2:"),
        (binary, "not text"),
    ] {
        let output = simsched(&format!("validate {}", path.display()));
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(part) && said.lines().count() == 1, "{said}");
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn a_setting_of_one_side_is_left_out_on_the_other_and_said() {
    let lines = [("patched", "\"fifo\""), ("options", "{ SIS_UTIL = false, hz = 1000 }")];
    let found = validated(&file("options.toml", &claim("a", &lines)), "--seeds 1");
    assert_eq!(found["claims"][0]["notes"], serde_json::json!(["fifo has no setting SIS_UTIL"]));
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let path = file("threads.toml", &(claim("a", &[]) + &claim("b", &[("baseline", "\"fifo\"")])));
    let on = |threads: &str| {
        let args = format!(
            "validate --quiet --span 1ms --warmup 1ms --seeds 2 --json - {}",
            path.display()
        );
        let output = command(&args).env("RAYON_NUM_THREADS", threads).output();
        output.expect("the command runs").stdout
    };
    let one = on("1");
    assert!(!one.is_empty());
    assert_eq!(one, on("5"));
}

#[test]
fn the_page_has_a_row_for_each_claim() {
    let path = file("page-claims.toml", &claim("on|page", &[]));
    let page = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("page.md");
    let args = format!("validate --quiet --span whole --seeds 1 --page {}", page.display());
    let text = prints(&format!("{args} {}", path.display()));
    assert!(text.contains("balanced accuracy"), "{text}");
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.starts_with("# Published results"), "{page}");
    assert!(page.contains("| on\\|page | time | +0.0 % neutral |"), "{page}");
}

#[test]
fn a_page_may_be_printed_in_place_of_the_text() {
    let path = file("page-printed.toml", &claim("a", &[])).display().to_string();
    let args = format!("validate --quiet --span whole --seeds 1 --page - {path}");
    let text = prints(&args);
    assert!(text.starts_with("# Published results"), "{text}");
    assert!(!std::path::Path::new("-").exists());
}

#[test]
fn two_results_in_one_place_are_refused_before_anything_runs() {
    let path = file("one-place.toml", &claim("a", &[])).display().to_string();
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let (one, two) = (folder.join("same.out"), folder.join("./same.out"));
    let (one, two) = (one.display().to_string(), two.display().to_string());
    for (json, page) in [("-", "-"), (&one, &two)] {
        let output = simsched(&format!("validate --json {json} --page {page} {path}"));
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{text}");
        assert!(text.contains("--json and --page: found '"), "{text}");
    }
    assert!(!folder.join("same.out").exists());
}

/// A claim that cannot be read has its row in the table and its entry in the JSON, in its place.
#[test]
fn a_claim_that_is_refused_is_listed_with_the_others() {
    let text = claim("one", &[]) + &claim("bad", &[("metric", "\"tiem\"")]) + &claim("two", &[]);
    let path = file("refused.toml", &text);
    let args = format!("validate --quiet --span whole --seeds 1 --json - {}", path.display());
    let found: Value = serde_json::from_slice(&simsched(&args).stdout).unwrap();
    let of = |key: &str| -> Vec<String> {
        let claims = found["claims"].as_array().unwrap().iter();
        claims.map(|claim| claim[key].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(of("id"), ["one", "bad", "two"]);
    assert_eq!(of("state"), ["judged", "refused", "judged"]);
    let text = simsched(&args.replace("--json -", "")).stdout;
    let text = String::from_utf8(text).unwrap();
    let row = text.lines().find(|line| line.starts_with("bad ")).unwrap();
    assert!(row.ends_with("skipped, see the errors"), "{row}");
}

#[test]
fn a_file_that_is_given_twice_counts_once() {
    let path = file("twice.toml", &claim("a", &[])).display().to_string();
    let args = format!("validate --quiet --span whole --seeds 1 --json - {path} {path}");
    let output = simsched(&args);
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(found["claims"].as_array().unwrap().len(), 1);
    assert!(String::from_utf8(output.stderr).unwrap().contains("was given before"));
}

/// The published value is far from what so small a run takes.
#[test]
fn a_level_that_is_far_off_is_said_beside_the_verdict() {
    let values = [("ratio", ""), ("baseline_value", "5000.0"), ("patched_value", "5000.0")];
    let path = file("level.toml", &claim("a", &values));
    let found = validated(&path, "--seeds 1");
    let side = &found["claims"][0]["result"]["baseline"];
    let (mean, level) = (side["mean"].as_f64().unwrap(), side["level"].as_f64().unwrap());
    assert!((level - mean / 5000.0).abs() < 1e-12);
    let text = prints(&format!("validate --quiet --span whole --seeds 1 {}", path.display()));
    assert!(text.contains("(level off)") && text.contains("times the published value"), "{text}");
}

/// Of seeds that differ, an interval that reaches over a bound decides nothing: what is said to be
/// possible is what lies within it.
#[test]
fn a_claim_is_undecided_exactly_if_its_interval_holds_two_classes() {
    let text = claim("a", &[]) + &claim("b", &[("metric", "\"migrations\""), ("unit", "\"\"")]);
    let text = text.replace("unit = \"\"\n", "");
    let found = validated(&file("interval.toml", &text), "--seeds 3");
    for claim in found["claims"].as_array().unwrap() {
        let result = &claim["result"];
        let improvement = result["simulated"]["improvement_pct"].as_f64().unwrap();
        let end = |key: &str| result["interval"][key].as_f64();
        let Some((low, high)) = end("low_points").zip(end("high_points")) else {
            assert_eq!(result["patched"]["mean"], 0.0, "a ratio of nothing has no interval");
            assert_eq!(result["possible"].as_array().unwrap().len(), 1);
            continue;
        };
        assert_eq!(result["interval"]["from"], "seeds");
        assert!(low <= improvement && improvement <= high);
        let crosses = [3.0, -3.0].iter().any(|bound| low < *bound && *bound < high);
        assert_eq!(result["is_undecided"], crosses, "{result}");
        assert_eq!(result["possible"].as_array().unwrap().len() > 1, crosses);
    }
}

/// Every row that was published with a value; of version 4 those of Sapphire Rapids in two readings.
#[test]
fn the_claims_of_the_project_are_right() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../claims");
    for (name, count) in [
        ("tg_load_avg_per_node.toml", 26),
        ("wakeup_bias_prev.toml", 8),
        ("cache_aware_wakeup.toml", 29),
        ("cache_aware_v4.toml", 20 + 20 + 10),
        ("imb_numa_nr.toml", 8 + 3),
    ] {
        let text = std::fs::read_to_string(format!("{folder}/{name}")).unwrap();
        let claims = simsched_claims::read(&text, name).unwrap();
        assert_eq!(claims.len(), count);
        assert!(claims.iter().all(Result::is_ok), "{claims:?}");
    }
}

/// What the sweep lists and what stands beside the claim are the same, and make it undecided.
#[test]
fn a_sweep_says_on_which_parameters_a_class_depends() {
    let path = file("sweep.toml", &claim("a", &[("patched", "\"fifo\""), ("topology", "\"t8\"")]));
    let found = validated(&path, "--seeds 1 --sweep-hw");
    let sweep = &found["sweeps"][0];
    assert_eq!(sweep["claims"], serde_json::json!(["a"]));
    let flips = sweep["sweep_hw"]["flips"].as_array().unwrap();
    let undecided = found["claims"][0]["result"]["undecided"].as_array().unwrap();
    assert_eq!(flips.len(), undecided.len());
    assert_eq!(found["score"]["undecided"], u32::from(!flips.is_empty()));
    assert!(sweep["sweep_hw"]["other_seed_flips"].is_number());
    assert!(!sweep["sweep_hw"]["paid"].as_array().unwrap().is_empty());
}

#[test]
fn a_wrong_only_is_refused_with_the_nearest_ids() {
    let ids = ["S1.hb.spr", "S1.hb.spr.share", "S2.hb.time", "other"];
    let text: String = ids.iter().map(|id| claim(id, &[])).collect();
    let path = file("only.toml", &text).display().to_string();
    let expected = "expected the start of an id";
    for (only, end) in [
        ("--only S1.hb.psr", "; did you mean `S1.hb.spr`?"),
        ("--only s2.hb", "; did you mean `S2.hb`?"),
        ("--only othre", "; did you mean `other`?"),
        ("--only WRONG", ": S1, S2, other"),
        // One of several.
        ("--only S2 --only WRONG", ": S1, S2, other"),
    ] {
        let wrong = only.split_whitespace().last().unwrap();
        let sentence = format!("--only: found '{wrong}', {expected}{end}\n");
        crate::common::check(&format!("validate {path} {only}"), 2, &[&sentence]);
    }
    let found = validated(Path::new(&path), "--seeds 1 --only S1 --only other");
    let found = found["claims"].as_array().unwrap().iter().map(|claim| claim["id"].clone());
    assert_eq!(found.collect::<Vec<_>>(), ["S1.hb.spr", "S1.hb.spr.share", "other"]);
}

#[cfg(unix)]
#[test]
fn a_folder_with_links_in_circles_is_read_once() {
    use std::os::unix::fs::symlink;
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("circles");
    let _ = std::fs::remove_dir_all(&folder);
    // With two ways on in each of two folders, there are a million paths of twenty steps.
    for (one, other) in [("a", "b"), ("b", "a")] {
        std::fs::create_dir_all(folder.join(one)).unwrap();
        for link in ["x", "y"] {
            symlink(format!("../{other}"), folder.join(one).join(link)).unwrap();
        }
        std::fs::write(folder.join(one).join("c.toml"), claim(one, &[])).unwrap();
    }
    let found = validated(&folder, "--seeds 1");
    let found = found["claims"].as_array().unwrap().iter().map(|claim| claim["id"].clone());
    assert_eq!(found.collect::<Vec<_>>(), ["a", "b"]);
}
