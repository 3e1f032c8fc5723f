//! The results of `simsched validate` that are kept in `claims/kept`: README.md tells what they say, and a
//! sample of their claims still comes out as it was kept.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::common::json;

/// The files of claims with the name that README.md has for each.
const FAMILIES: [(&str, &str); 5] = [
    ("cache_aware_v4", "cache-aware load balancing, version 4"),
    ("cache_aware_wakeup", "cache-aware wakeups"),
    ("wakeup_bias_prev", "WAKEUP_BIAS_PREV"),
    ("tg_load_avg_per_node", "`tg->load_avg` per node"),
    ("imb_numa_nr", "the allowed NUMA imbalance"),
];

/// Claims whose runs take a few seconds each; a run of the families that are not here takes minutes.
const SAMPLE: [&str; 10] = [
    "S3.hb.spr.f2.g1",
    "S3.hb.spr2x30.f2.g1",
    "S3.hb.gen.f2.g1",
    "S3.schb.spr.t2",
    "S0.schb.x.t4.wakeup_lat_p99.9",
    "S0.schb.x.t16.wakeup_lat_p50",
    "S0.schb.7543.w4",
    "S4.stream.nps4.v4.copy",
    "S4.stream.nps4.v4.1.scale",
    "S4.stream.nps4.v4.2.add",
];

fn repository(path: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join(path)
}

/// What is kept of a family; none where a published package has no claims beside it.
fn kept(family: &str) -> Option<Value> {
    let text = fs::read_to_string(repository(&format!("claims/kept/{family}.json"))).ok()?;
    Some(serde_json::from_str(&text).unwrap())
}

/// The claims that were run.
fn run(kept: &Value) -> impl Iterator<Item = &Value> {
    let claims = kept["claims"].as_array().unwrap().iter();
    claims.filter(|claim| claim["state"] == "judged" && claim["kind"] != "parameter")
}

fn class<'a>(claim: &'a Value, side: &str) -> &'a str {
    claim["result"][side]["class"].as_str().unwrap()
}

/// `name` and what came out, as a row of a table.
fn row(name: &str, kept: &Value) -> String {
    let agrees = |claim: &&Value| class(claim, "published") == class(claim, "simulated");
    let (all, agree) = (run(kept).count(), run(kept).filter(agrees).count());
    let of = |name: &'static str| {
        let published = || run(kept).filter(move |claim| class(claim, "published") == name);
        (published().count(), published().filter(agrees).count())
    };
    let classes = ["better", "neutral", "worse"].map(of);
    let parts = classes.iter().filter(|(all, _)| *all > 0);
    #[expect(clippy::cast_precision_loss, reason = "counts of claims")]
    let parts: Vec<f64> = parts.map(|(all, hits)| *hits as f64 / *all as f64).collect();
    #[expect(clippy::cast_precision_loss, reason = "three classes")]
    let by_means = parts.iter().sum::<f64>() / parts.len().max(1) as f64;
    let mut errors: Vec<f64> =
        run(kept).map(|claim| claim["result"]["error_points"].as_f64().unwrap()).collect();
    errors.sort_by(f64::total_cmp);
    let middle = errors.len() / 2;
    let median = match errors.len() % 2 {
        0 => f64::midpoint(errors[middle - 1], errors[middle]),
        _ => errors[middle],
    };
    let [gains, neutral, losses] = classes.map(|(all, hits)| match all {
        0 => "-".to_owned(),
        _ => format!("{hits} of {all}"),
    });
    format!(
        "| {name} | {agree} of {all} | {gains} | {losses} | {neutral} | {by_means:.2} | {median:.1} |\n"
    )
}

#[test]
#[expect(clippy::disallowed_methods, reason = "how goldens are renewed; no result depends on it")]
fn the_readme_tells_how_often_published_results_come_out() {
    let path = repository("README.md");
    let Ok(readme) = fs::read_to_string(&path) else { return };
    let mut table = String::from(
        "| published change | class comes out | gains | losses | neutral | accuracy | median error |\n\
         | --- | --- | --- | --- | --- | --- | --- |\n",
    );
    for (family, name) in FAMILIES {
        table += &kept(family).map_or_else(
            || format!("| {name} | not measured yet | | | | | |\n"),
            |kept| row(name, &kept),
        );
    }
    let begin = "<!-- What claims/kept/ says; `UPDATE_GOLDEN=1 cargo test -p simsched-cli kept` renews it. -->\n";
    let (before, rest) = readme.split_once(begin).unwrap();
    let (shown, after) = rest.split_once("\n\n").unwrap();
    let shown = format!("{shown}\n");
    if shown != table && std::env::var("UPDATE_GOLDEN").is_ok() {
        fs::write(&path, format!("{before}{begin}{table}\n{after}")).unwrap();
        return;
    }
    assert_eq!(shown, table, "README.md; see CONTRIBUTING.md on goldens");
}

/// docs/figures.md quotes the scores of every file that is kept, and no others: `docs/figures.py` writes them,
/// and this finds them forgotten.
#[test]
fn the_figures_quote_the_scores_that_are_kept() {
    let Ok(page) = fs::read_to_string(repository("docs/figures.md")) else { return };
    let (_, part) = page.split_once("\n## Published results\n").unwrap();
    let shown: BTreeSet<&str> =
        part.lines().filter(|line| line.starts_with("| ")).skip(2).collect();
    let mut due = BTreeSet::new();
    for (family, _) in FAMILIES {
        let Some(kept) = kept(family) else { continue };
        let kinds = kept["score_by_kind"].as_object().unwrap().iter();
        for (kind, score) in
            kinds.map(|(kind, it)| (kind.as_str(), it)).chain([("all", &kept["score"])])
        {
            let count = |name: &str| score[name].as_u64().unwrap();
            let value =
                |name: &str| score[name].as_f64().map_or("-".to_owned(), |it| format!("{it:.2}"));
            if count("judged") > 0 {
                due.insert(format!(
                    "| {family} | {} | {} | {} | {} | {} | {} |",
                    kind.replace('_', " "),
                    count("judged"),
                    count("agree"),
                    count("undecided"),
                    value("balanced_accuracy"),
                    value("median_error_points"),
                ));
            }
        }
    }
    assert_eq!(
        shown,
        due.iter().map(String::as_str).collect(),
        "docs/figures.py renews docs/figures.md"
    );
}

/// Each says with which program it was made, and is whole.
#[test]
fn what_is_kept_is_whole_and_says_what_made_it() {
    let Ok(list) = fs::read_to_string(repository("claims/kept/README.md")) else { return };
    for (family, _) in FAMILIES {
        let Some(kept) = kept(family) else { continue };
        assert_eq!((&kept["partial"], &kept["quick"]), (&false.into(), &false.into()), "{family}");
        assert_eq!(kept["schema"], 2, "{family}");
        let row = list.lines().find(|line| line.starts_with(&format!("| `{family}.json` |")));
        let commit = row.and_then(|row| row.split('`').nth(3)).unwrap_or_default();
        assert!(commit.len() >= 7 && commit.chars().all(|c| c.is_ascii_hexdigit()), "{row:?}");
        let claims = fs::read_to_string(repository(&format!("claims/{family}.toml"))).unwrap();
        let all = kept["claims"].as_array().unwrap();
        assert_eq!(claims.matches("[[claim]]").count(), all.len(), "{family}");
        for claim in all {
            let id = format!("id = \"{}\"", claim["id"].as_str().unwrap());
            assert!(claims.contains(&id) && claim["state"] == "judged", "{id}");
        }
    }
}

/// What was kept need not be what the program finds now: a change of numbers that moves a claim of the sample
/// by more than its interval, or by a point, makes new results due.
#[test]
fn a_sample_of_what_is_kept_comes_out_again() {
    let found: Vec<Value> = FAMILIES.iter().filter_map(|(family, _)| kept(family)).collect();
    let all = |id: &str| -> Option<Value> {
        let mut claims = found.iter().flat_map(|kept| kept["claims"].as_array().unwrap());
        claims.find(|claim| claim["id"] == id).cloned()
    };
    let known: Vec<Value> = SAMPLE.iter().filter_map(|id| all(id)).collect();
    if known.is_empty() {
        return;
    }
    let seeds = found[0]["seeds"].as_u64().unwrap();
    let only: String =
        known.iter().map(|it| format!(" --only {}", it["id"].as_str().unwrap())).collect();
    let claims = repository("claims");
    let again = json(&format!("validate -q --seeds {seeds} --json - {}{only}", claims.display()));
    let again = again["claims"].as_array().unwrap();
    for old in known {
        let new = again.iter().find(|claim| claim["id"] == old["id"]).unwrap();
        let pct = |claim: &Value| claim["result"]["simulated"]["improvement_pct"].as_f64().unwrap();
        let half = old["result"]["interval"]["half_points"].as_f64().unwrap_or(0.0);
        let moved = (pct(new) - pct(&old)).abs();
        assert!(moved <= half.max(1.0), "{}: {} kept, now {}", old["id"], pct(&old), pct(new));
    }
}
