//! `simsched run -- rt-app FILE`: the file is read, its numbers are told, and what is wrong is said.

use std::process::Stdio;

use crate::common::{command, file, json, prints, simsched};

const TASKS: &str = "{
\t\"tasks\" : {
\t\t\"beat\" : { \"instance\" : 2, \"loop\" : 20, \"run\" : 1000,
\t\t\t\"timer\" : { \"ref\" : \"unique\", \"period\" : 10000 } }
\t},
\t\"global\" : { \"calibration\" : 20, \"gnuplot\" : true }
}
";

#[test]
fn the_log_of_each_thread_is_in_the_json_and_is_the_same_again() {
    let path = file("rt-app-cli.json", TASKS);
    let line = format!("run --quiet --topo t8 --paranoid --json - -- rt-app {}", path.display());
    let report = json(&line);
    let workload = &report["workload"];
    for thread in ["beat-0", "beat-1"] {
        assert_eq!(workload[format!("{thread}.rows")], 20, "{workload}");
        assert_eq!(workload[format!("{thread}.c_duration_us")], 20_000);
        assert_eq!(workload[format!("{thread}.period_misses")], 0);
    }
    assert_eq!(workload["threads"], 2);
    assert_eq!(prints(&line), prints(&line));
}

/// As the real one prints them, on its standard error.
#[test]
fn the_program_prints_its_notices_and_we_what_has_no_effect() {
    let path = file("rt-app-notices.json", TASKS);
    let output = simsched(&format!("run --topo t8 -- rt-app {}", path.display()));
    let (text, errors) = (String::from_utf8(output.stdout), String::from_utf8(output.stderr));
    let text = text.unwrap();
    assert!(text.starts_with("[rt-app] <notice> pLoad = 20ns\n"), "{text}");
    assert_eq!(text.matches("> [0] Exiting.\n").count(), 1, "{text}");
    let errors = errors.unwrap();
    let note = "simsched: note: line 6: `gnuplot` has no effect on the simulation";
    assert_eq!(errors.lines().filter(|line| line.contains("note")).collect::<Vec<_>>(), [note]);
}

/// Both sides of a comparison read it.
#[test]
fn the_standard_input_is_as_good_as_a_file() {
    let path = file("rt-app-stdin.json", TASKS);
    let line = "compare --quiet --topo t8 --policy cfs --policy eevdf --seeds 2 -- rt-app";
    let input = std::fs::File::open(&path).unwrap();
    let output = command(&format!("{line} -")).stdin(Stdio::from(input)).output().unwrap();
    let name = path.display().to_string();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text, prints(&format!("{line} {name}")).replace(&name, "-"));
}

#[test]
fn a_file_that_is_wrong_or_not_there_is_said_in_a_sentence() {
    let path = file("rt-app-wrong.json", &TASKS.replace("\"run\" : 1000", "\"run\" : \"1000\""));
    let refused = [
        (
            path.display().to_string(),
            ":3:51: `run`: expected an integer, in microseconds, found a string",
        ),
        ("no-such-file.json".to_owned(), "no-such-file.json: No such file"),
        (String::new(), "expected a JSON file"),
        ("--worken x.json".to_owned(), "--workgen"),
    ];
    for (args, words) in refused {
        let output = simsched(&format!("run --quiet --topo t8 -- rt-app {args}"));
        let errors = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{errors}");
        assert!(errors.contains(words), "{errors}");
        assert_eq!(errors.lines().count(), 1, "{errors}");
    }
}

/// A generated file of tens of thousands of tasks is read in one pass, and what it has in each task that has
/// no effect is said some times and not each.
#[test]
fn a_file_of_twenty_thousand_tasks_is_read_with_a_few_notes() {
    let task = |nth: usize| format!("\"t{nth}\": {{ \"loop\": 1, \"run\": 10, \"other\": 1 }}");
    let tasks: Vec<String> = (0..20_000).map(task).collect();
    let path = file("rt-app-many.json", &format!("{{ \"tasks\": {{\n{}\n}} }}", tasks.join(",\n")));
    let said = |quiet: &str| {
        let args =
            format!("run --topo t8 {quiet} --duration 1us --json - -- rt-app {}", path.display());
        let output = simsched(&args);
        assert_eq!(output.status.code(), Some(0));
        String::from_utf8(output.stderr).unwrap()
    };
    let notes = said("");
    assert_eq!(notes.lines().filter(|line| line.contains("note: ")).count(), 21, "{notes}");
    assert!(notes.contains("note: line 2: `other`"), "{notes}");
    assert!(notes.contains("note: and 19980 more like these"), "{notes}");
    assert_eq!(said("-q"), "");
}
