//! The text: help that works, the program's own output, files that are whole.

use std::io::Read;
use std::path::PathBuf;
use std::process::Stdio;

use crate::common::{SMALL, command, file, json, prints, simsched};

#[test]
fn every_help_text_has_an_example_that_runs() {
    let helps = [
        "--help",
        "run --help",
        "compare --help",
        "topo --help",
        "topo list --help",
        "topo show --help",
        "topo check --help",
        "policies --help",
        "policies list --help",
        "policies show --help",
        "workloads --help",
    ];
    for help in helps {
        let text = prints(help);
        assert!(text.contains("Usage: simsched"), "{text}");
        let (_, after) = text.split_once("\nExample").unwrap();
        let (_, after) = after.split_once('\n').unwrap();
        let example = after.lines().next().unwrap().trim();
        assert!(!prints(example.strip_prefix("simsched ").unwrap()).is_empty(), "{example}");
    }
}

#[test]
fn the_version_is_that_of_the_package() {
    assert_eq!(prints("--version"), format!("simsched {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn a_subcommand_without_its_verb_explains_itself() {
    let output = simsched("topo");
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8(output.stderr).unwrap().contains("Usage: simsched topo"));
}

/// The first two lines are those of hackbench 2.4 of rt-tests for these options.
#[test]
fn the_output_of_the_program_comes_first_and_as_it_prints_it() {
    let text = prints(SMALL);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines[0],
        "Running in threaded mode with 1 groups using 4 file descriptors each (== 4 tasks)"
    );
    assert_eq!(lines[1], "Each sender will pass 5 messages of 100 bytes");
    let seconds = lines[2].strip_prefix("Time: ").unwrap();
    let (whole, thousandths) = seconds.split_once('.').unwrap();
    assert!(whole.parse::<u32>().is_ok() && thousandths.len() == 3, "{seconds}");
    assert_eq!(lines[3], "");
    assert!(lines[4].starts_with("machine     t8@lab (built-in): 8 CPUs, 1 LLC"), "{}", lines[4]);
    assert!(text.lines().last().unwrap().starts_with("digest      "));
}

#[test]
fn no_workload_is_hackbench_with_threads_over_pipes() {
    let scenario = &json("run --quiet --topo t8 --json -")["scenario"];
    assert_eq!(scenario["workload"], "hackbench -g 10 -f 20 -l 100 -s 100 -T -p");
}

#[test]
fn quiet_says_nothing_on_stderr_and_else_it_is_one_line_of_speed() {
    assert!(simsched(SMALL).stderr.is_empty());
    let loud = simsched(&SMALL.replace("--quiet ", ""));
    let text = String::from_utf8(loud.stderr).unwrap();
    assert!(text.starts_with("simsched: ") && text.contains("events per second"), "{text}");
    assert_eq!(text.lines().count(), 1);
}

/// 2 groups of 4 senders and 4 receivers, each sender 30 messages to each receiver: 16 workers and
/// 2 * 4 * 4 * 30 messages.
/// At 1000 Hz there are four times the ticks of 250 Hz: the time for them says so.
/// The first run of many is the run that `--seed` alone gives.
#[test]
fn json_goes_to_its_file_and_text_to_stdout() {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("report.json");
    let run = |json: &str| format!("run --quiet --topo t8 --json {json} -- hackbench -g 1 -l 5");
    let text = prints(&run(&path.display().to_string()));
    assert!(text.starts_with("Running in "), "{text}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), prints(&run("-")));
}

#[test]
fn a_machine_file_works_where_a_name_does() {
    let path = file("own.toml", include_str!("../data/machine.toml"));
    let report = json(&format!("run --quiet --topo {} --json -", path.display()));
    assert_eq!(report["scenario"]["topology"], "listed");
    let text = prints(&format!("run --quiet --topo {}", path.display()));
    assert!(
        text.contains(&format!("machine     listed@default ({}): 8", path.display())),
        "{text}"
    );
    let shown = prints(&format!("topo show {} --cpu 5", path.display()));
    assert!(shown.contains("8 CPUs"), "{shown}");
}

#[test]
fn the_help_names_every_exit_code() {
    let help = prints("--help");
    let (_, codes) = help.split_once("The exit code is ").unwrap();
    for code in ["0 when", "1 when", "2 for", "3 when", "130 after"] {
        assert!(codes.contains(code), "{code}: {codes}");
    }
}

#[test]
fn a_scenario_of_the_lab_is_shown_by_its_own_line() {
    let herd = prints("workloads lab:hogs-long-herd-16");
    let lines: Vec<&str> = herd.lines().collect();
    assert!(lines[0].starts_with("hogs-long-herd-16 on 16 CPUs"), "{herd}");
    assert!(lines[1].starts_with("lab:hogs-herd-K  ") && lines.len() == 2, "{herd}");
    assert!(prints("workloads lab:forkstorm-K").starts_with("lab:forkstorm-K  K children"));
    assert!(prints("workloads lab:NAME").lines().count() > 5);
}

/// Genoa in NPS4: 8 nodes; CPU 100 is in socket 1, and its sched domains are SMT, MC, NODE and two
/// NUMA levels.
#[test]
fn every_machine_of_the_list_is_right_in_every_mode() {
    let names = [
        "spr",
        "spr-2x48",
        "spr-2x60",
        "spr-2x30",
        "genoa",
        "genoa-4n32",
        "milan-7543",
        "milan-7763",
        "icelake",
        "cascadelake",
        "power10",
        "t8",
        "t16",
        "t32",
        "t64",
        "n2x8",
        "s2x8",
        "s2x16",
        "s2d2",
        "s4d2",
    ];
    let list = prints("topo list");
    for name in names {
        assert!(list.lines().any(|line| line.split_whitespace().next() == Some(name)), "{name}");
        assert!(prints(&format!("topo check {name}.toml")).contains(" CPUs"));
    }
}

#[test]
fn policies_and_workloads_are_listed_with_their_sources() {
    let policies = prints("policies");
    assert_eq!(policies, prints("policies list"));
    for name in ["cfs", "wakeup_bias_prev", "SIS_UTIL", "migration_cost_ns", "skew_tick"] {
        assert!(policies.contains(name), "{name}");
    }
    let cfs = prints("policies show cfs");
    assert!(cfs.contains("6.1") && cfs.contains("SIS_UTIL"), "{cfs}");
    assert_eq!(cfs, prints("policies cfs"));
    assert!(prints("workloads").starts_with("hackbench"));
    assert!(prints("workloads hackbench").contains("--loops"));
}

#[test]
fn a_setting_is_shown_with_its_default_its_range_and_its_unit() {
    let check = |name: &str, lines: &[&str]| {
        let text = prints(&format!("policies show {name}"));
        for line in lines {
            assert!(text.lines().any(|found| found.trim() == *line), "{line}: {text}");
        }
    };
    check("migration_cost_ns", &["default   500000 ns", "takes     0..=1000000000 ns"]);
    check("tg_node", &["default   executing", "takes     executing, runqueue"]);
    check("SIS_UTIL", &["default   on", "takes     on, off"]);
    check("hz", &["takes     100, 250, 300 or 1000"]);
}

/// The list has one line for each; what else there is to say of a patch stands where it is shown.
#[test]
fn a_patch_is_shown_with_more_than_its_line() {
    let list = prints("policies list");
    let patches = simsched_policies::catalog::features("cfs").into_iter();
    for patch in patches.filter(|patch| patch.is_patch) {
        let shown = prints(&format!("policies show {}", patch.key));
        let second = shown.lines().nth(1).unwrap();
        assert!(second.ends_with(['.', ':']) && !list.contains(second.trim()), "{shown}");
    }
}

#[test]
fn every_reason_of_a_policy_is_explained() {
    for policy in ["cfs", "fifo"] {
        let report = json(&format!("run --quiet --topo t8 --policy {policy} --json -"));
        let shown = prints(&format!("policies show {policy}"));
        let (_, lines) = shown.split_once("\nREASONS ").unwrap();
        let explained: Vec<&str> =
            lines.lines().skip(1).map(|line| line.split_whitespace().next().unwrap()).collect();
        let counted = report["wakeups"]["by_reason"].as_object().unwrap();
        assert_eq!(explained, counted.keys().collect::<Vec<_>>());
        assert!(lines.lines().skip(1).all(|line| line.ends_with('.')), "{lines}");
    }
}

#[test]
fn an_expression_is_shown_as_what_it_changes() {
    let text = prints("policies show cfs@5.16");
    for line in ["SIS_UTIL        off (default on)", "numa_imbalance  5.16 (default merged)"] {
        assert!(text.contains(line), "{text}");
    }
    assert!(prints("policies cfs+latency_ns=9000000").contains("latency_ns  9000000"));
    assert!(prints("policies show cfs@6.1").contains("nothing differs"));
    // What came with each version on the way to the default one.
    let (old, new) = (prints("policies show eevdf@7.0"), prints("policies show cfs@6.5"));
    assert!(old.contains("it has not what came with 7.2:\n  - ") && old.contains("with 7.3:\n"));
    assert!(!old.contains("with 7.0") && new.contains("it has what came with 6.5:\n  - "));
    let text = prints("policies show cfs@6.5");
    for line in ["NI_RANDOM  off (default on)", "\n  - no slice is longer than latency_ns"] {
        assert!(text.contains(line), "{text}");
    }
}

#[test]
fn a_policy_lists_what_each_version_does_otherwise() {
    let text = prints("policies show cfs");
    let heads = ["\ncfs@5.16: Linux 5.16\n", "\ncfs@6.1 (default): ", "\ncfs@6.5: "];
    let found: Vec<usize> = heads.iter().map(|head| text.find(head).unwrap()).collect();
    assert!(found.is_sorted(), "{text}");
    let of_6_5 = text[found[2]..].trim_start().split("\n\n").next().unwrap();
    let lines: Vec<&str> = of_6_5.lines().skip(1).collect();
    // One line a difference, and each says where it comes from.
    assert!(
        lines.len() > 4 && lines.iter().all(|line| line.starts_with("  - ") && line.ends_with(']'))
    );
    for what in ["busiest group", "fully busy", "wait on a queue", "NI_RANDOM"] {
        assert_eq!(lines.iter().filter(|line| line.contains(what)).count(), 1, "{of_6_5}");
    }
    assert!(!prints("policies show fifo").contains("@"));
}

/// The note of a run with `args`, which is all that it says on stderr.
fn note(args: &str) -> String {
    let output = simsched(&format!("run --topo t8 {args} --duration 1us"));
    assert_eq!(output.status.code(), Some(0));
    let said = String::from_utf8(output.stderr).unwrap();
    said.lines().filter(|line| line.contains("note")).map(|line| format!("{line}\n")).collect()
}

#[test]
fn a_setting_without_effect_is_noted_once() {
    let text = note("--set sis_prop_cpu_ns=5 --policy cfs+wakeup_bias_prev_threshold=7");
    assert_eq!(
        text,
        "simsched: note: sis_prop_cpu_ns has no effect without SIS_PROP=on and SIS_UTIL=off; \
         wakeup_bias_prev_threshold has no effect without wakeup_bias_prev\n"
    );
    assert_eq!(note("--policy cfs+SIS_PROP --seeds 2").lines().count(), 1);
    assert_eq!(note("--policy cfs@5.16 --set sis_prop_cpu_ns=5"), "");
    assert_eq!(note("--set migration_cost_ns=5"), "");
}

#[test]
fn the_header_says_a_policy_with_what_set_adds() {
    let text = prints("run --quiet --topo t8 --policy cfs+NEXT_BUDDY=on --set SIS_UTIL=off");
    assert!(text.contains("policy      cfs@6.1+NEXT_BUDDY=on+SIS_UTIL=off\n"), "{text}");
}

#[test]
fn the_help_of_a_program_is_its_list_of_options() {
    let list = prints("workloads hackbench");
    assert_eq!(prints("run --topo t8 -- hackbench -h"), list);
    assert_eq!(prints("run --topo t8 -- hackbench -g 3 --help"), list);
    let help = list.lines().find(|line| line.contains("--help")).unwrap();
    assert!(!help.contains("default"), "{help}");
}

/// The numbers of the rows that follow `title` and are set in deeper, in the first column.
fn rows(text: &str, title: &str) -> Vec<u64> {
    let depth = |line: &str| line.len() - line.trim_start().len();
    let lines: Vec<&str> = text.lines().collect();
    let at = lines.iter().position(|line| *line == title).unwrap();
    let below = lines[at + 1..].iter().take_while(|line| depth(line) > depth(title));
    let numbers = below.map(|line| line.split_whitespace().nth(1).unwrap().replace(',', ""));
    numbers.map(|number| number.parse().unwrap()).collect()
}

/// The machine is full and has far and near CPUs: more than six reasons have something.
#[test]
fn the_rows_of_the_text_sum_to_their_wholes() {
    let args = "run --quiet --topo t64 --policy wakeup_bias_prev -- hackbench -g 8 -T -p -l 40";
    let text = prints(args);
    let (before, after) = text.split_once("\nwakeups ").unwrap();
    let whole = |line: &str| {
        let number = line.split_whitespace().next().unwrap().replace(',', "");
        number.parse::<u64>().unwrap()
    };
    let (_, migrations) = before.split_once("\nmigrations ").unwrap();
    for title in ["  by cause", "  by distance", "  by reason"] {
        assert_eq!(rows(before, title).iter().sum::<u64>(), whole(migrations), "{title}: {text}");
    }
    let reasons = rows(after, "  by reason");
    assert_eq!(reasons.iter().sum::<u64>(), whole(after), "{text}");
    assert!(reasons.len() > 6, "{text}");
}

#[test]
fn what_has_no_sample_is_a_dash() {
    let text = prints("run --quiet --topo t16 --duration 1us");
    let line = text.lines().find(|line| line.starts_with("  wakeup  ")).unwrap();
    assert_eq!(
        line.split_whitespace().collect::<Vec<_>>(),
        ["wakeup", "0", "-", "-", "-", "-", "-", "-"]
    );
    let text = prints("run --quiet --topo t16 --seeds 2 --duration 1us");
    let line = text.lines().find(|line| line.starts_with("  p99 ")).unwrap();
    assert_eq!(line.split_whitespace().collect::<Vec<_>>(), ["p99", "-", "-", "-"]);
    assert!(text.contains("stopped     by --duration: 2 of 2 runs"), "{text}");
    let text = prints(&SMALL.replace("--quiet", "--quiet --seeds 1"));
    let line = text.lines().find(|line| line.starts_with("context switches ")).unwrap();
    assert!(line.ends_with("             -             -"), "{line}");
    assert!(!text.contains("stopped"), "{text}");
}

/// The run lasts some 16 ms, which are not 0.016 s.
#[test]
fn the_table_of_seeds_has_the_rows_of_a_run() {
    let text = prints("run --quiet --topo t16 --seeds 3 -- hackbench -g 1 -l 5");
    let single = prints("run --quiet --topo t16 --seed 1 -- hackbench -g 1 -l 5");
    let name = |line: &str| line.split("  ").find(|part| !part.is_empty()).map(str::to_owned);
    let names: Vec<Option<String>> = text.lines().map(name).collect();
    let skipped = ["machine", "seed", "latency (us)", "wakeup", "digest"];
    let (_, after) = single.split_once("\n\n").unwrap();
    for line in after.lines().filter(|line| !line.is_empty()) {
        let name = name(line).map(|name| name.trim().to_owned());
        let is_skipped = skipped.contains(&name.as_deref().unwrap());
        assert!(is_skipped || names.contains(&name), "{line}: {text}");
    }
    for point in ["mean", "p50", "p90", "p99", "p99.9", "max"] {
        assert!(names.contains(&Some(point.to_owned())), "{point}: {text}");
    }
    let (_, time) = text.split_once("\nsimulated").unwrap();
    assert!(time.lines().next().unwrap().contains(" ms "), "{text}");
}

#[test]
fn a_reader_that_goes_away_is_no_accident() {
    let args = "topo show genoa --json";
    let mut child = command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // Closes the pipe before all of it has been read.
    drop(child.stdout.take());
    let mut errors = String::new();
    child.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
    assert_eq!((child.wait().unwrap().code(), errors.as_str()), (Some(0), ""));
}
