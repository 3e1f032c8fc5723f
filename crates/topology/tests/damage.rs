//! A damaged machine file is read or refused, and never brings the program down.

use proptest::prelude::*;
use simsched_topology::{
    CpuId, Domains, Kernel, MachineReport, NumaImbalance, Topology, builtin_names, builtin_text,
    render_show,
};

/// A shipped file with one line dropped, doubled, or one of its numbers changed.
fn damaged() -> impl Strategy<Value = String> {
    let names = builtin_names();
    (0..names.len(), any::<prop::sample::Index>(), 0..3u8, 0..2000u32).prop_map(
        move |(file, at, how, number)| {
            let text = builtin_text(names[file]).expect("built in");
            let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
            let at = at.index(lines.len());
            match how {
                0 => drop(lines.remove(at)),
                1 => lines.insert(at, lines[at].clone()),
                _ => {
                    let start = lines[at].find("= ").map_or(0, |i| i + 2);
                    let digits =
                        lines[at][start..].chars().take_while(char::is_ascii_digit).count();
                    lines[at].replace_range(start..start + digits, &number.to_string());
                }
            }
            lines.join("\n")
        },
    )
}

/// A shipped file cut off somewhere, or with a few characters put in.
fn broken() -> impl Strategy<Value = String> {
    let names = builtin_names();
    let junk = "[=\\[\\]{}#,.\"'a1é\n\u{0} ]{0,4}";
    (0..names.len(), any::<prop::sample::Index>(), any::<bool>(), junk).prop_map(
        move |(file, at, is_cut, junk)| {
            let text = builtin_text(names[file]).expect("built in");
            let (before, after) = text.split_at(at.index(text.len()));
            format!("{before}{junk}{}", if is_cut { "" } else { after })
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn a_damaged_file_is_read_or_refused(text in damaged()) {
        match Topology::parse(&text, "damaged.toml", None) {
            Ok(topology) => {
                let domains = Domains::build(&topology, Kernel::V6_12, NumaImbalance::V4_1);
                let last = CpuId::new(topology.nr_cpus() - 1);
                let shown = render_show(&MachineReport::of(&topology, &domains, last));
                prop_assert!(shown.lines().all(|line| line.len() <= 100));
            }
            Err(error) => {
                let message = error.to_string();
                prop_assert!(message.contains("damaged.toml") || message.contains("costs/"), "{message}");
                prop_assert!(!message.contains('\n'), "one line: {message}");
            }
        }
    }

    #[test]
    fn a_broken_file_is_read_or_refused_on_one_line(text in broken()) {
        if let Err(error) = Topology::parse(&text, "broken.toml", None) {
            let message = error.to_string();
            prop_assert!(message.contains("broken.toml:") || message.contains("costs/"), "{message}");
            prop_assert!(!message.contains(char::is_control), "one line: {message:?}");
        }
    }
}

/// One that ends no line is no character of a key.
#[test]
fn what_is_said_of_a_key_with_a_carriage_return_is_one_line() {
    let error = Topology::parse("a\rb = 3\n", "m.toml", None).expect_err("no TOML").to_string();
    assert!(error.starts_with("m.toml:1: `a\\rb`: "), "{error:?}");
    assert!(!error.contains(char::is_control), "{error:?}");
}
