//! The page.

use roxmltree::{Document as Xml, Node, ParsingOptions};
use serde_json::{Value, json};
use simsched_pages::{page, read};

use crate::made::{at, document, run, seeds, with};

pub(crate) fn xml(text: &str) -> Xml<'_> {
    let options = ParsingOptions { allow_dtd: true, ..ParsingOptions::default() };
    Xml::parse_with_options(text, options).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

pub(crate) fn page_of(values: &[Value]) -> String {
    let name = |idx: usize| format!("{}.json", ["a", "b", "c", "d"][idx]);
    let documents: Vec<_> =
        values.iter().enumerate().map(|(idx, value)| document(&name(idx), value)).collect();
    page(&documents)
}

fn two() -> String {
    page_of(&[run("cfs", 1), with(run("bias", 1), &[("elapsed_ns", json!(8_000_000))])])
}

pub(crate) fn text(node: Node<'_, '_>) -> String {
    node.descendants().filter(Node::is_text).filter_map(|node| node.text()).collect()
}

pub(crate) fn has_class(node: &Node<'_, '_>, class: &str) -> bool {
    node.attribute("class").is_some_and(|classes| classes.split(' ').any(|c| c == class))
}

fn section<'a>(xml: &'a Xml<'a>, id: &str) -> Node<'a, 'a> {
    let found = xml.descendants().find(|node| node.attribute("id") == Some(id));
    found.unwrap_or_else(|| panic!("there is no section {id}"))
}

#[test]
fn a_page_is_well_formed_and_asks_for_nothing() {
    let html = two();
    let xml = xml(&html);
    for node in xml.descendants().filter(Node::is_element) {
        for attribute in node.attributes() {
            let value = attribute.value();
            assert!(!value.contains("://"), "{} of {:?}", attribute.name(), node.tag_name());
            assert!(!attribute.name().starts_with("on"), "{}", attribute.name());
            if ["href", "src", "srcset", "action"].contains(&attribute.name()) {
                assert!(value.starts_with('#') || value == "data:,", "{value}");
            }
        }
        let name = node.tag_name().name();
        assert!(!["iframe", "object", "embed", "img", "image", "use"].contains(&name), "{name}");
        if name == "style" || name == "script" {
            let inside = text(node);
            for word in ["url(", "@import", "://", "fetch(", "XMLHttp", "import("] {
                assert!(!inside.contains(word), "{word} in {name}");
            }
        }
    }
    assert!(!html.contains("http://") && !html.contains("https://"));
}

#[test]
fn every_link_of_the_page_leads_somewhere() {
    let html = two();
    let xml = xml(&html);
    let links = xml.descendants().filter_map(|node| node.attribute("href")?.strip_prefix('#'));
    let links: Vec<&str> = links.collect();
    assert_eq!(
        links,
        ["summary", "short", "figures", "latency", "migrations", "use", "costs", "machine"]
    );
    links.iter().for_each(|id| assert!(!text(section(&xml, id)).is_empty()));
}

#[test]
fn the_same_files_make_the_same_bytes() {
    assert_eq!(two(), two());
}

/// The cells of the table by row.
fn rows(xml: &Xml<'_>) -> Vec<Vec<String>> {
    let body = section(xml, "figures").descendants().find(|n| n.has_tag_name("tbody")).unwrap();
    let cells = |row: Node<'_, '_>| row.children().filter(Node::is_element).map(text).collect();
    body.children().filter(|node| node.has_tag_name("tr")).map(cells).collect()
}

#[test]
fn the_table_has_the_numbers_of_the_files() {
    let html = two();
    let xml = xml(&html);
    let rows = rows(&xml);
    let row =
        |label: &str| rows.iter().find(|row| row[0] == label).unwrap_or_else(|| panic!("{label}"));
    assert_eq!(row("time of the program")[1..], ["10.00 ms", "8.000 ms", "-20.0 %"]);
    assert_eq!(row("migrations")[1..], ["1,000", "1,000", "+0.0 %"]);
    assert_eq!(row("wakeup latency, p99")[1..3], ["40.00 us", "40.00 us"]);
    // 80 ms of CPU time in 20 ms
    assert_eq!(row("busy CPUs")[1], "4");
    let exact: Vec<&str> = section(&xml, "figures")
        .descendants()
        .filter_map(|node| node.attribute("data-v"))
        .collect();
    assert_eq!(exact[..2], ["10000000", "8000000"]);
}

/// Three seeds of 9, 10 and 11 ms: the mean is 10, and half the interval 4.303 / sqrt(3) = 2.484.
#[test]
fn several_seeds_are_shown_with_their_interval() {
    let html = page_of(&[seeds("cfs", &[0.9, 1.0, 1.1], &["elapsed_ns"])]);
    let xml = xml(&html);
    assert_eq!(rows(&xml)[0], ["time of the program", "10.00 ms ± 2.484 ms"]);
    assert!(text(section(&xml, "summary")).contains("1 to 3"));
}

#[test]
fn migrations_are_shown_by_cause_and_from_llc_to_llc() {
    let html = page_of(&[run("cfs", 1)]);
    let xml = xml(&html);
    let part = section(&xml, "migrations");
    let cells: Vec<(&str, &str, String)> = part
        .descendants()
        .filter(|node| node.has_tag_name("rect"))
        .map(|node| (node.attribute("y").unwrap(), node.attribute("x").unwrap(), text(node)))
        .collect();
    let want = [
        ("0", "0", "LLC 0 to LLC 0: 600"),
        ("0", "1", "LLC 0 to LLC 1: 300"),
        ("1", "2", "LLC 1 to LLC 2: 77"),
        ("3", "0", "LLC 3 to LLC 0: 23"),
    ];
    assert_eq!(cells, want.map(|(from, to, title)| (from, to, title.to_owned())));
    assert!(text(part).contains("400 of 1,000 between LLCs (40.0 %)"));
    let bars: Vec<String> = part.descendants().filter(|n| has_class(n, "bar")).map(text).collect();
    assert_eq!(bars[..3], ["800 80.0 %", "40 4.0 %", "160 16.0 %"]);
}

/// Places are in thousandths: a quarter of the wakeups, half and a quarter, each where its bucket ends.
#[test]
fn the_distribution_is_that_of_the_histogram() {
    let html = page_of(&[run("cfs", 1)]);
    let xml = xml(&html);
    let mut curves = section(&xml, "latency").descendants().filter(|node| has_class(node, "curve"));
    let path = curves.next().unwrap().attribute("d").unwrap();
    let points: Vec<(f64, f64)> = path[1..]
        .split('L')
        .map(|point| point.split_once(' ').unwrap())
        .map(|(x, y)| (x.parse().unwrap(), y.parse().unwrap()))
        .collect();
    // From 1,000 to 100,000 ns on a log scale; from the top down.
    let across = |span: f64| ((libm::log10(span) - 3.0) / 2.0 * 1000.0 * 100.0).round() / 100.0;
    let want = [
        (across(1_023.0), 1000.0),
        (across(1_023.0), 750.0),
        (across(3_071.0), 750.0),
        (across(3_071.0), 250.0),
        (across(95_000.0), 250.0),
        (across(95_000.0), 0.0),
    ];
    assert_eq!(points, want);
}

#[test]
fn every_cpu_is_drawn_in_its_socket_with_how_busy_it_was() {
    let html = page_of(&[run("cfs", 1)]);
    let xml = xml(&html);
    let machine = section(&xml, "machine");
    let titles: Vec<&str> =
        machine.descendants().filter_map(|node| node.attribute("title")).collect();
    assert_eq!(titles.len(), 16);
    assert_eq!((titles[0], titles[15]), ("CPU 0: 50.0 %", "CPU 15: 0.0 %"));
    let sockets: Vec<Node<'_, '_>> =
        machine.descendants().filter(|node| has_class(node, "pkg")).collect();
    assert!(text(sockets[1]).contains("socket 1: 4 cores and 2 LLCs"));
    assert!(text(sockets[1]).contains("LLC 2: 25.0 %"));
}

#[test]
fn what_is_busy_over_time_is_drawn_and_what_idles_is_not() {
    let html = page_of(&[run("cfs", 1)]);
    let xml = xml(&html);
    let strokes: Vec<(&str, &str)> = section(&xml, "use")
        .descendants()
        .filter(|node| has_class(node, "level"))
        .map(|node| (node.attribute("stroke-opacity").unwrap(), node.attribute("d").unwrap()))
        .collect();
    // LLC 0: 150 of 400 percent, then 50; LLC 3, behind the two gaps of a socket: 100 in the second interval.
    let llcs = &strokes[..3];
    assert_eq!(llcs, [("0.12", "M1 0.5h1"), ("0.25", "M1 4.3h1"), ("0.38", "M0 0.5h1")]);
    let names: Vec<String> =
        section(&xml, "use").descendants().filter(|node| has_class(node, "r")).map(text).collect();
    assert_eq!(names[..2], ["socket 0, node 0, LLC 0", "socket 1, node 1, LLC 2"]);
    // CPU 0 and 15 at full, CPU 2 at half in both.
    let cpus = &strokes[3..];
    assert_eq!(cpus[0], ("0.5", "M0 2.5h2"));
    assert_eq!((cpus[1].0, cpus[1].1.starts_with("M0 0.5h1M1 ")), ("1", true));
}

#[test]
fn older_files_make_a_page_that_says_what_is_missing() {
    let mut old = run("cfs", 1);
    for key in ["machine", "migrations_by_llc", "cpu_utilisation", "histograms", "series"] {
        old.as_object_mut().unwrap().remove(key);
    }
    let html = page_of(&[old]);
    let xml = xml(&html);
    assert!(text(section(&xml, "use")).contains("--series"));
    for id in ["latency", "migrations", "machine"] {
        assert!(text(section(&xml, id)).contains("older simsched"), "{id}");
    }
    // What it has is shown.
    assert_eq!(rows(&xml)[0], ["time of the program", "10.00 ms"]);
}

#[test]
fn other_machines_and_workloads_are_shown_and_not_compared() {
    let other = with(run("cfs", 1), &[("scenario.workload", json!("schbench"))]);
    let html = page_of(&[run("cfs", 1), other]);
    let xml = xml(&html);
    let warning = xml.descendants().find(|node| has_class(node, "warn")).unwrap();
    assert!(text(warning).contains("not compared: the workload differs"), "{}", text(warning));
    assert!(!xml.descendants().any(|node| node.attribute("id") == Some("short")));
    assert_eq!(rows(&xml)[0].len(), 3, "a label and two values");
}

#[test]
fn what_is_doubtful_is_said_at_the_top() {
    let cut = json!({
        "stationary": false, "span_ns": 1_000_000, "work": 100, "work_unit": "messages",
        "work_total": 1_000
    });
    let precision = json!({ "exact": false, "reached": false, "stationary": true, "figures": {} });
    let doubtful = [
        with(run("a", 1), &[("end", json!("duration")), ("partial", json!(true))]),
        with(run("b", 1), &[("cut", cut)]),
        with(run("c", 1), &[("precision", precision)]),
    ];
    let html = page_of(&doubtful);
    let xml = xml(&html);
    let warning = text(xml.descendants().find(|node| has_class(node, "warn")).unwrap());
    for said in
        ["a@6.1: the run ended by --duration", "span only", "not stationary", "extrapolated"]
    {
        assert!(warning.contains(said), "{said}: {warning}");
    }
}

/// A span of 1 ms has a tenth of the messages: the whole takes 10 ms and ten times the switches.
#[test]
fn a_run_that_was_cut_counts_for_the_whole_work() {
    let cut =
        json!({ "span_ns": 1_000_000, "work": 100, "work_unit": "messages", "work_total": 1_000 });
    let run = with(run("cfs", 1), &[("cut", cut), ("elapsed_ns", Value::Null)]);
    let html = page_of(&[run]);
    let xml = xml(&html);
    let rows = rows(&xml);
    assert_eq!(rows[0], ["time of the program", "10.00 ms"]);
    assert!(rows.contains(&vec!["task switches (perf)".to_owned(), "40,000".to_owned()]));
    assert!(rows.contains(&vec!["context switches".to_owned(), "90,000".to_owned()]));
    assert!(rows.contains(&vec!["migrations".to_owned(), "10,000".to_owned()]));
    let part = text(section(&xml, "migrations"));
    assert!(part.contains("8,000 80.0 %"), "by cause: {part}");
    assert!(part.contains("4,000 of 10,000 between LLCs (40.0 %)"), "{part}");
}

#[test]
fn reasons_that_are_not_listed_are_counted_together() {
    let reasons: Vec<(String, Value)> =
        (1..=13).map(|nth| (format!("reason_{nth}"), json!(10 * nth))).collect();
    let reasons = Value::Object(reasons.into_iter().collect());
    let html = page_of(&[with(run("cfs", 1), &[("migrations.by_reason", reasons)])]);
    let xml = xml(&html);
    let part = section(&xml, "migrations");
    let labels: Vec<String> =
        part.descendants().filter(|node| has_class(node, "l")).map(text).collect();
    assert_eq!(labels.last().unwrap(), "3 others");
    let bars: Vec<String> = part.descendants().filter(|n| has_class(n, "bar")).map(text).collect();
    // 10, 20 and 30 of 1,000
    assert_eq!(bars.last().unwrap(), "60 6.0 %");
}

/// 4 % of 10 ms; the other run is exact, so the difference of 3.5 % may be chance.
#[test]
fn one_run_is_shown_with_the_interval_that_it_tells_itself() {
    let precision = json!({ "exact": false, "figures": { "time": { "ci95_pct": 4.0 } } });
    let values = [("precision", precision), ("elapsed_ns", json!(10_350_000))];
    let html = page_of(&[run("cfs", 1), with(run("bias", 1), &values)]);
    let xml = xml(&html);
    assert_eq!(
        rows(&xml)[0][1..],
        ["10.00 ms", "10.35 ms ± 414.0 us", "+3.5 % (-0.6 % to +7.6 %)"]
    );
    let cell = section(&xml, "figures").descendants().find(|n| has_class(n, "chg")).unwrap();
    assert!(has_class(&cell, "faint"), "{:?}", cell.attribute("class"));
}

#[test]
fn a_comparison_is_a_page_with_a_side_for_each_policy() {
    let policy = |name: &str| json!({ "policy": name, "policy_full": name, "settings": {}, "runs": [run(name, 1)] });
    let mut comparison = json!({
        "schema": 2, "topology": "small", "mode": "default", "topology_file": "built-in",
        "workload": "hackbench -g 1", "seed": 1, "seeds": 1, "notes": ["x has no effect"],
        "policies": [policy("cfs"), policy("bias")],
        "metrics": [{ "name": "time", "unit": "s", "better": "lower",
                      "policies": [{ "mean": 2.5 }, { "mean": 5.0, "paired": { "difference_pct": 100.0 } }] }]
    });
    let html = page_of(&[comparison.clone()]);
    assert_eq!(rows(&xml(&html))[0][1..], ["10.00 ms", "10.00 ms", "+0.0 %"]);
    assert!(html.contains("x has no effect"));
    let code = xml(&html).descendants().filter(|node| node.has_tag_name("code")).count();
    assert_eq!(code, 1, "one command for both");
    // Without its runs the metrics of the file are shown.
    for policy in ["policies.0", "policies.1"] {
        at(&mut comparison, policy).as_object_mut().unwrap().remove("runs");
    }
    let html = page_of(&[comparison]);
    let shown = text(section(&xml(&html), "recorded"));
    assert!(shown.contains("time (s)2.500") && shown.contains("5 +100.0 %"), "{shown}");
    assert!(shown.contains("kept no runs"));
}

#[test]
fn whatever_a_file_says_is_text() {
    let hostile =
        "\"><script>alert(1)</script><img src=x onerror='x'>&lt;\u{0}\u{1b}[31m\u{202e}]]>";
    let values = [
        ("scenario.policy", json!(hostile)),
        ("scenario.policy_full", json!(hostile)),
        ("scenario.workload", json!(hostile)),
        ("scenario.topology", json!(hostile)),
        ("scenario.settings", json!({ hostile: hostile })),
        ("digest", json!(hostile)),
        ("end", json!(hostile)),
        ("migrations.by_cause", json!({ hostile: 5 })),
        ("costs", json!({ hostile: 5 })),
    ];
    let run = with(run("cfs", 1), &values);
    let documents = [
        read("<b>.json", &run.to_string()).unwrap(),
        read("b\".json", &with(run, &[("elapsed_ns", json!(1))]).to_string()).unwrap(),
    ];
    let html = page(&documents);
    let xml = xml(&html);
    let scripts = xml.descendants().filter(|node| node.has_tag_name("script")).count();
    assert_eq!(scripts, 1);
    assert!(!xml.descendants().any(|node| node.has_tag_name("img") || node.has_tag_name("b") && node.text().is_some()));
    assert!(text(section(&xml, "summary")).contains("<script>alert(1)</script>"));
}
