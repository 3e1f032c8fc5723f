//! What is wrong in a plan of a sweep is said before anything runs.

use proptest::prelude::*;

use crate::common::{check, file, json, simsched};

#[test]
fn what_is_wrong_in_a_plan_is_told_with_its_line_before_anything_runs() {
    let good = "topo = 't8'\nworkload = 'hackbench -g 1'\n";
    let cases = [
        (
            "[grid]\npolcy = ['cfs']\n",
            "plan.toml:4: grid: unknown key `polcy`",
            "did you mean `policy`",
        ),
        ("[grid]\nseed = 3\n", "plan.toml:4: grid.seed: found 3", "a list of values"),
        ("[grid]\nseed = []\n", "plan.toml:4: seed: found no value", ""),
        ("[grid]\nseed = [1, 1]\n", "plan.toml:4: seed: found '1' a second time", ""),
        ("[grid]\nseed = [-1]\n", "plan.toml:4: seed: found '-1'", "0..="),
        ("[grid]\npolicy = ['cfs',\n 'cfsx']\n", "plan.toml:5: ", "`cfsx`"),
        ("[grid]\nsettings.SIS_UTLI = [true]\n", "plan.toml:4: ", "`SIS_UTIL`"),
        ("[grid]\nworkload = ['hackbench -z']\n", "plan.toml:4: ", "invalid option"),
        ("[gird]\nseed = [1]\n", "plan.toml:3: unknown key `gird`", "did you mean `grid`"),
        ("json = 'x'\n", "plan.toml:3: unknown key `json`", ""),
        ("seeds = 0\n", "plan.toml:3: seeds: found 0", "1..=10000"),
        ("seeds = 2\n[grid]\nseed = [1]\n", "plan.toml: seed: found two axes", ""),
        ("[axis.Load]\n", "plan.toml:3: axis: found the name \"Load\"", ""),
        ("[axis.seed]\n", "plan.toml:3: axis: found the name \"seed\"", "no key"),
        ("[axis.digest]\n", "plan.toml:3: axis: found the name \"digest\"", "report"),
        ("[axis.load]\nx = { topoo = 't8' }\n", "plan.toml:4: axis.load.x: unknown key", "`topo`"),
        (
            "[grid]\nseed = [1, 2]\n[[exclude]]\nsede = 1\n",
            "plan.toml:6: exclude: no axis `sede`",
            "`seed`",
        ),
        (
            "[grid]\nseed = [1, 2]\n[[exclude]]\nseed = 3\n",
            "plan.toml:6: seed: found 3",
            "one of 1; 2",
        ),
        ("[grid]\nseed = [1]\n[[exclude]]\nseed = 1\n", "all cells are excluded", ""),
    ];
    for (text, place, hint) in cases {
        let path = file("plan.toml", &format!("{good}{text}"));
        check(&format!("sweep {} -o nowhere/out", path.display()), 2, &[place, hint]);
    }
    let path = file("plan.toml", "seeds = 2\n");
    check(&format!("sweep {} --dry-run", path.display()), 2, &["plan.toml: topo is missing"]);
    check("sweep nowhere.toml --dry-run", 2, &["nowhere.toml", "No such file"]);
    check("sweep x.toml -o y --shard 3/2", 2, &["--shard", "'3/2'", "such as 2/8"]);
}

/// All keys of a report at its top are names that no axis can have, or have parts.
#[test]
fn no_axis_can_be_called_like_a_column() {
    let report = json("run -q --topo t8 --json - -- hackbench -g 1 -f 1 -l 1");
    for (key, value) in report.as_object().unwrap() {
        if value.is_object() || value.is_array() || key == "schema" {
            continue;
        }
        let text = format!("topo = 't8'\n[axis.{key}]\nx = {{ seed = 1 }}\n");
        let path = file("taken.toml", &text);
        check(&format!("sweep {} --dry-run", path.display()), 2, &["axis: found the name"]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_brings_the_reader_of_plans_down(
        table in "(grid|axis|axis\\.a|grid\\.settings|exclude|seeds|\\[exclude\\])",
        key in "(topo|policy|seed|seeds|settings|workload|settings\\.hz|[a-z_]{1,8})",
        value in "(\\['[ -&(-~]{0,12}', 3\\]|-?[0-9]{1,25}|true|\\[\\]|\\[\\[1\\]\\]|\\{ a = 1 \\}|\\{ seed = 1 \\}|[0-9]\\.[0-9e]{1,3})",
    ) {
        let path = file("random-plan.toml", &format!("topo = 't8'\n[{table}]\n{key} = {value}\n"));
        let output = simsched(&format!("sweep {} --dry-run", path.display()));
        let said = String::from_utf8(output.stderr).unwrap();
        let code = output.status.code();
        prop_assert!(code == Some(0) || code == Some(2), "{:?}: {}", code, said);
        prop_assert!(code == Some(0) || said.starts_with(&format!("simsched: {}", path.display())), "{}", said);
    }
}
