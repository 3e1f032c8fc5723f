//! Bad input: one sentence that names what was found and what was expected, and exit code 2.

use crate::common::{file, simsched};

/// The command fails with code 2 and says one line that holds all of `parts`.
fn check(args: &str, parts: &[&str]) {
    let output = simsched(args);
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "simsched {args}: {text}");
    assert!(output.stdout.is_empty(), "simsched {args} prints nothing");
    assert_eq!(text.lines().count(), 1, "one sentence: {text}");
    assert!(text.starts_with("simsched: "), "{text}");
    for part in parts {
        assert!(text.contains(part), "simsched {args}: no `{part}` in: {text}");
    }
}

#[test]
fn an_unknown_machine_is_refused_with_the_nearest_names() {
    check("run --topo genao", &["`genao`", "did you mean `genoa`"]);
    check("topo show genao", &["`genao`", "did you mean `genoa`"]);
    check("topo show vax", &["`vax`", "expected one of ", "spr", "t64"]);
    check("run --topo nowhere/genoa.toml", &["nowhere/genoa.toml", "No such file"]);
    check("run --topo nowhere.toml", &["nowhere.toml", "no such file"]);
}

#[test]
fn an_unknown_mode_is_refused_with_those_that_there_are() {
    check("run --topo genoa@nps3", &["`nps3`", "nps1, nps2, nps4"]);
    check("topo show genoa.toml@snc4", &["`snc4`", "nps1, nps2, nps4"]);
}

#[test]
fn an_unknown_policy_is_refused_with_the_nearest_names() {
    check("run --topo t8 --policy cfq", &["cfq", "cfs"]);
    check("run --topo t8 --policy cfs@9.9", &["9.9", "6.1"]);
    check("policies show cfq", &["cfq", "cfs"]);
}

#[test]
fn an_unknown_feature_is_refused_with_the_nearest_names() {
    check("run --topo t8 --policy cfs+wakeup_bias_perv", &["wakeup_bias_perv", "wakeup_bias_prev"]);
}

#[test]
fn a_name_that_is_cut_short_brings_the_whole_one() {
    let meant = "policy `cfs` has no feature `wakeup_bias`; did you mean `wakeup_bias_prev`?";
    check("run --topo t8 --policy cfs+wakeup_bias", &[meant]);
    check("run --topo t8 --set wakeup_bias=on", &["feature or setting", "`wakeup_bias_prev`"]);
    check("run --topo t8 --policy cfs+", &["`cfs+`", "nothing behind a `+`", "KEY=VALUE"]);
}

#[test]
fn a_setting_that_the_policy_names_itself_is_refused_with_both() {
    let parts = ["`cfs+SIS_UTIL=off`", "--set SIS_UTIL=on", "one place"];
    check("run --topo t8 --policy cfs+SIS_UTIL=off --set SIS_UTIL=on", &parts);
    let both = "compare --topo t8 --policy cfs --policy cfs+SIS_UTIL=off";
    check(&format!("{both} --set SIS_UTIL=on"), &parts);
    let patch = ["`wakeup_bias_prev`", "--set wakeup_bias_prev=off"];
    check("run --topo t8 --policy wakeup_bias_prev --set wakeup_bias_prev=off", &patch);
    let tunable = ["`cfs+latency_ns=7000000`", "--set sched_latency_ns=6000000"];
    check("run --topo t8 --policy cfs+latency_ns=7000000 --set sched_latency_ns=6000000", &tunable);
}

#[test]
fn what_is_missing_is_told_where_it_is_listed() {
    check("compare --topo t8 -- hackbench", &["--policy", "`simsched policies`"]);
    check("compare -- hackbench", &["`simsched topo list`", "`simsched policies`"]);
    let output = simsched("compare --topo t8 -- hackbench");
    assert!(!String::from_utf8(output.stderr).unwrap().contains("topo list"));
}

#[test]
fn an_unknown_setting_is_refused_with_the_nearest_names_of_policy_and_kernel() {
    check("run --topo t8 --set SIS_UTLI=off", &["SIS_UTLI", "SIS_UTIL"]);
    check("run --topo t8 --set skew_tic=on", &["skew_tic", "skew_tick"]);
    check("run --topo t8 --policy cfs+SIS_UTLI=off", &["SIS_UTLI", "SIS_UTIL"]);
}

#[test]
fn a_wrong_value_of_a_setting_is_refused_with_its_range() {
    check("run --topo t8 --set hz=10000", &["hz", "10000", "250"]);
    check("run --topo t8 --set SIS_UTIL=maybe", &["SIS_UTIL", "maybe"]);
    check("run --topo t8 --set migration_cost_ns=-1", &["migration_cost_ns", "-1"]);
    check("run --topo t8 --set hz", &["expected KEY=VALUE"]);
}

#[test]
fn an_unknown_workload_or_option_is_refused_with_the_nearest_names() {
    check("run --topo t8 -- hackbnch", &["`hackbnch`", "did you mean `hackbench`"]);
    check("run --topo t8 -- hackbench --theads", &["'--theads'", "did you mean `--threads`"]);
    check("run --topo t8 -- hackbench -z", &["hackbench: invalid option -- 'z'"]);
    check("run --topo t8 -- hackbench -g zero", &["--groups", "'zero'", "> 0"]);
    let herd = "did you mean `lab:hogs-herd-16`?";
    check("workloads lab:hogs-hurd-16", &["`hogs-hurd-16`", herd]);
    check("workloads lab:nonsense", &["no scenario `nonsense`", "simsched workloads lab:NAME"]);
    check("workloads hackbnch", &["`hackbnch`", "did you mean `hackbench`"]);
}

#[test]
fn a_wrong_command_line_is_one_sentence() {
    check("run --tpo t8", &["--tpo", "similar argument exists: '--topo'"]);
    check("run", &["--topo"]);
    check("run --topo", &["--topo: found no value; `simsched topo list`"]);
    check("run --topo t8 --policy", &["--policy: found no value; `simsched policies`"]);
    check("topo import --live --prices", &["--prices: found no value; `simsched topo list`"]);
    check("topo show", &["MACHINE", "`simsched topo list`"]);
    check("runn", &["`simsched` has no command `runn`; did you mean `run`?"]);
    check("validte", &["`validte`; did you mean `validate`?"]);
    check("topo shwo", &["`simsched topo` has no command `shwo`; did you mean `show`?"]);
    check("helpp", &["did you mean `help`?"]);
    check("policies shwo cfs", &["unexpected argument 'cfs'", "or a command before it"]);
    check("frobnicate", &["`frobnicate`, expected one of run, compare, validate, "]);
    check("topo frobnicate", &["expected one of list, show, check, import, help"]);
    check("hackbench", &["; a workload is run by `simsched run --topo MACHINE -- hackbench`"]);
    for seeds in ["0", "-3", "many", "10001", "200000000", "99999999999999999999"] {
        let found = format!("--seeds: found '{seeds}', expected");
        check(&format!("run --topo t8 --seeds {seeds}"), &[&found, "1..=10000"]);
    }
    for seed in ["-3", "x", "18446744073709551616"] {
        let found = format!("--seed: found '{seed}', expected");
        check(&format!("run --topo t8 --seed {seed}"), &[&found, "0..=18446744073709551615"]);
    }
    for time in ["5", "-1s", "0s", "18446744074s"] {
        let found = format!("--duration: found '{time}', expected");
        check(&format!("run --topo t8 --duration {time}"), &[&found, "1ns to 9007199s"]);
    }
    let last = "18446744073709551615";
    check(
        &format!("run --topo t8 --seed {last} --seeds 2"),
        &["--seed", last, "0..=18446744073709551614 for 2 seeds"],
    );
    for cpu in ["8", "-1", "x", "70000"] {
        check(&format!("topo show t8 --cpu {cpu}"), &["--cpu", &format!("'{cpu}'"), "0-7"]);
    }
}

#[test]
fn a_file_that_cannot_be_written_is_named() {
    let args = "run --quiet --topo t8 --json nowhere/out.json -- hackbench -g 1 -f 1 -T -p -l 1";
    check(args, &["nowhere/out.json", "No such file"]);
}

/// This run would take minutes.
#[test]
fn a_file_that_cannot_be_written_is_found_before_the_run() {
    let long = "-- hackbench -g 20 -T -p -l 1000000";
    check(&format!("run --topo t8 --json nowhere/out.json {long}"), &["nowhere/out.json"]);
    check(&format!("run --topo t8 --json tests {long}"), &["tests", "directory"]);
}

#[cfg(target_os = "linux")]
#[test]
fn the_text_is_there_even_if_the_file_fails_at_the_end() {
    let output = simsched("run --quiet --topo t8 --json /dev/full -- hackbench -g 1 -f 1 -l 1");
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8(output.stdout).unwrap().contains("\ndigest "));
    assert!(String::from_utf8(output.stderr).unwrap().starts_with("simsched: /dev/full: "));
}

#[test]
fn what_is_not_found_says_where_to_look() {
    let list = "`simsched topo list`";
    for topo in ["nothing", "@nps1", "tests", "./tests", "nothing.toml"] {
        check(&format!("run --topo {topo}"), &[list]);
        check(&format!("topo show {topo}"), &[list]);
    }
    check("run --topo ./tests", &["folder"]);
    check("run", &["--topo", list]);
    check("run --topo t8 --policy rt", &["`rt`", "cfs, eevdf, fifo, ", "wakeup_bias_prev"]);
    check("run --topo t8 --policy eevdf@6.1", &["6.6, 6.12, 7.0"]);
    let known = "(known: hackbench, netperf, tbench, sysbench, stream, rt-app, schbench, schbench-old, stress-ng, verilator, replay, lab:NAME)";
    check("run --topo t8 -- sockperf", &[known]);
    check("run --topo t8 -- stress-ng", &["No stress workers invoked"]);
    check("run --topo t16 hackbench -g 1", &["'hackbench'", "put the workload after --"]);
    check("policies show vms", &["`simsched policies list`"]);
    check("policies vms", &["`simsched policies list`"]);
}

#[test]
fn a_key_in_the_wrong_place_is_told_its_right_one() {
    check("run --topo t8 --policy cfs+hz=1000", &["setting of the simulator", "--set hz=VALUE"]);
    check("run --topo t8 --policy cfs+latency_ns", &["needs a value", "latency_ns=VALUE"]);
    check("run --topo t8 --policy wakeup_bias_prev@9", &["`9`", "5.16, 6.1"]);
    let range = "1..=2147483647";
    check("run --topo t8 -- hackbench -g 99999999999", &["'99999999999'", range]);
}

const LISTED: &str = include_str!("../data/machine.toml");
const REGULAR: &str = include_str!("../data/regular.toml");

/// A machine file in which `right` is replaced by `broken`: `run` and `check` refuse it alike, and
/// name the file, the line and all of `parts`.
fn check_machine(text: &str, (right, broken): (&str, &str), line: usize, parts: &[&str]) {
    assert_eq!(text.matches(right).count(), 1, "the machine has `{right}` once");
    let name = format!("broken-{}.toml", broken.replace(|c: char| !c.is_alphanumeric(), ""));
    let path = file(&name, &text.replace(right, broken));
    let place = format!("{name}:{line}:");
    let parts: Vec<&str> = parts.iter().copied().chain([place.as_str()]).collect();
    check(&format!("topo check {}", path.display()), &parts);
    check(&format!("run --topo {}", path.display()), &parts);
}

#[test]
fn the_machines_of_these_tests_are_right() {
    for (name, text) in [("listed.toml", LISTED), ("regular.toml", REGULAR)] {
        let path = file(name, text);
        let output = simsched(&format!("topo check {}", path.display()));
        assert_eq!(output.status.code(), Some(0));
        assert!(String::from_utf8(output.stdout).unwrap().contains("8 CPUs, 2 LLCs, 2 nodes"));
    }
}

#[test]
fn a_core_over_two_llcs_is_refused() {
    let llcs = ("{ cpus = \"2-3,6-7\" }]\nnode", "{ cpus = \"2-3,6\" }, { cpus = \"7\" }]\nnode");
    check_machine(LISTED, llcs, 5, &["core[3]", "CPUs 3,7", "2 LLCs"]);
}

#[test]
fn a_node_without_cpus_is_refused() {
    let nodes = ("node = [{ cpus = \"0-1,4-5\" }", "node = [{ cpus = \"\" }");
    check_machine(LISTED, nodes, 7, &["node[0].cpus"]);
}

#[test]
fn an_asymmetric_distance_table_is_refused() {
    let parts = ["distance[1][0]", "not symmetric", "22", "21"];
    check_machine(LISTED, ("[21, 10]", "[22, 10]"), 10, &parts);
}

#[test]
fn a_diagonal_that_is_not_10_is_refused() {
    check_machine(LISTED, ("[10, 21]", "[11, 21]"), 9, &["distance[0][0]", "10", "11"]);
}

#[test]
fn a_cpu_id_that_comes_twice_is_refused() {
    let cores = ("{ cpus = \"1,5\" }", "{ cpus = \"0,5\" }");
    check_machine(LISTED, cores, 5, &["core[1].cpus", "CPU 0"]);
}

#[test]
fn zero_threads_are_refused() {
    let threads = ("threads_per_core = 2", "threads_per_core = 0");
    check_machine(REGULAR, threads, 10, &["cores.threads_per_core", " 0"]);
}

/// 2 sockets x 257 cores x 2 threads are 1,028 CPUs.
#[test]
fn more_than_1024_cpus_are_refused() {
    let cores = ("cores_per_llc = 2", "cores_per_llc = 257");
    check_machine(REGULAR, cores, 7, &["1028", "1024"]);
}

#[test]
fn an_unknown_key_is_refused_with_the_nearest() {
    let threads = ("threads_per_core = 2", "threds_per_core = 2");
    check_machine(REGULAR, threads, 10, &["threds_per_core", "threads_per_core"]);
}

#[test]
fn what_is_no_toml_is_refused_with_its_line() {
    check_machine(REGULAR, ("llcs_per_socket = 1", "llcs_per_socket 1"), 8, &["="]);
}

#[test]
fn a_precision_that_cannot_be_is_refused() {
    let expected = ["--precision", "0.1%..=50%", "such as 2%"];
    for bad in ["0%", "200%", "2", "-2%", "two%", "NaN%"] {
        check(&format!("run --topo t8 --precision {bad}"), &[&expected[..], &[bad]].concat());
    }
    let lab = "run --topo t8 --precision 2% -- lab:hogs-herd-16";
    check(lab, &["--precision", "lab:hogs-herd-16", "no measure of its progress"]);
    check("run --topo t8 --precision 2% -- stream", &["--precision", "stream", "no measure"]);
    check("run --topo t8 --precision-limit 5M", &["--precision"]);
    check("run --topo t8 --precision 2% --duration 1s", &["--precision", "--duration"]);
    check("run --topo t8 --precision 2% --precision-limit 5.5M", &["--precision-limit", "500M"]);
    let short = "run --topo t8 --precision 2% --precision-limit 1k -- hackbench -T -p";
    check(short, &["--precision-limit", "before there was anything"]);
}

/// A word of 400 KB is refused in a sentence that can be read.
#[test]
fn a_sentence_is_bounded_whatever_it_quotes() {
    let long = "y".repeat(400_000);
    let machine = file("long-key.toml", &format!("{long} = 1\n{REGULAR}"));
    let plan = file("long-plan.toml", &format!("topo = 't8'\nworkload = '{long}'\n"));
    for args in [
        format!("topo check {}", machine.display()),
        format!("sweep {} --dry-run", plan.display()),
        format!("run --topo {} -- hackbench", &long[..100_000]),
    ] {
        let output = simsched(&args);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{}", &said[..200.min(said.len())]);
        assert!(said.len() < 3_000 && said.contains("yyy") && said.lines().count() == 1);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_file_without_an_end_is_refused() {
    for args in [
        "topo check /dev/zero",
        "sweep /dev/zero --dry-run",
        "validate /dev/zero",
        "run --topo /dev/zero -- hackbench",
    ] {
        check(args, &["/dev/zero", "found more than 64 MiB"]);
    }
}

/// What a file says is shown and not obeyed: here it would clear the screen.
#[test]
fn a_terminal_is_not_steered_by_what_is_read() {
    let claim = crate::resume::claims(1, 20).replace("id = \"c0\"", "id = \"c\\u001b[2J\"");
    let claims = file("steering.toml", &claim);
    let run = file("steering-\u{1b}[2J.json", "");
    let small = crate::common::SMALL.replace("--quiet", "--quiet --json -");
    let report =
        crate::common::prints(&small).replace("\"policy\": \"", "\"policy\": \"\\u001b[2J");
    std::fs::write(&run, report).unwrap();
    let run = run.display();
    for args in [
        format!("validate --seeds 1 --span whole {}", claims.display()),
        format!("explain --anyway {run} {run}"),
        format!("run {run}"),
        format!("topo check {run}"),
    ] {
        let output = simsched(&args);
        let all = [output.stdout, output.stderr].concat();
        assert!(!all.contains(&0x1b), "{args:?}: {}", String::from_utf8_lossy(&all));
        assert!(!all.is_empty());
    }
}

/// What needs no library to be seen.
#[cfg(feature = "kernel")]
#[test]
fn what_is_no_library_is_refused_as_a_policy() {
    let run = |file: &str, parts: &[&str]| {
        check(&format!("run --topo t8 --policy kernel{file} -- hackbench -g 1 -l 1"), parts);
    };
    run("", &["`kernel`", "found no file", "kernel:FILE", "simsched kernel build"]);
    run(":nowhere.so", &["`kernel:nowhere.so`", "No such file"]);
    let text = file("no-library.txt", "no library");
    let name = format!(":{}+NO_SIS_UTIL", text.display());
    run(&name, &["no-library.txt", "expected a library of `simsched kernel build`"]);
}

/// What needs no library to be seen.
#[cfg(feature = "kernel")]
#[test]
fn what_no_library_can_stand_beside_is_refused() {
    let shadow = |args: &str, parts| {
        check(&format!("kernel shadow --topo t8 {args} -- hackbench -g 1 -l 1"), parts);
    };
    shadow(
        "--policy fifo --library x.so",
        &["--policy", "found fifo", "cfs@6.1, eevdf@6.12, eevdf@7.2, eevdf@7.3 or cache_aware"],
    );
    shadow("--policy cfq --library x.so", &["cfq", "cfs"]);
    shadow("--library nowhere.so", &["nowhere.so", "No such file"]);
    let text = file("no-library.so", "no library");
    shadow(
        &format!("--library {}", text.display()),
        &["no-library.so", "expected a library of `simsched kernel build`"],
    );
}
