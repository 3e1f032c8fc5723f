//! How much of a run `simsched validate` measures, and what a program says itself of that part.

use serde_json::Value;

use crate::common::{file, json};

/// A claim on a small machine whose sides are the same.
fn claim(id: &str, workload: &str, metric: &str, better: &str) -> String {
    format!(
        "[[claim]]\nid = \"{id}\"\nsource = \"a test\"\ntopology = \"milan-7543\"\n\
         baseline = \"cfs\"\npatched = \"cfs@6.1\"\nworkload = \"{workload}\"\n\
         metric = \"{metric}\"\nbetter = \"{better}\"\nratio = 1\nkind = \"end_to_end\"\n\n"
    )
}

fn sides(name: &str, text: &str, more: &str) -> Vec<Value> {
    let path = file(name, text);
    let found = json(&format!("validate -q --seeds 1 --json - {more} {}", path.display()));
    let claims = found["claims"].as_array().unwrap().iter();
    claims.map(|claim| claim["result"]["baseline"].clone()).collect()
}

fn mean(side: &Value) -> f64 {
    side["mean"].as_f64().unwrap()
}

/// Requests are counted once a second, and a worker alone does some 1.9 ms of work for each: without a
/// word about spans there are enough samples for a percentile.
#[test]
fn a_program_that_samples_by_the_second_is_measured_for_its_interval() {
    let command = "schbench -m 1 -t 2 -r 30 -i 2";
    let text = claim("rps", command, "rps:p20", "higher")
        + &claim("p99", command, "wakeup_latency:p99", "lower");
    let found = sides("by-the-second.toml", &text, "--quick");
    assert_eq!(found[0]["cut"]["span_ns"], 2_000_000_000_u64);
    assert!((800.0..1_100.0).contains(&mean(&found[0])), "{}", found[0]);
    // Its own latency is one of whole microseconds.
    assert!(mean(&found[1]).fract() == 0.0, "{}", found[1]);
    // With -z it forgets after each interval what it has counted: the second one is measured.
    let command = "schbench -m 1 -t 2 -r 30 -i 2 -z 2";
    let found = sides("once-more.toml", &claim("rps", command, "rps:p20", "higher"), "--quick");
    assert_eq!(found[0]["cut"]["span_ns"], 2_000_000_000_u64);
    assert!(found[0]["cut"]["warmup_ns"].as_u64() >= Some(2_000_000_000), "{}", found[0]);
}

/// The workers' first wakeups find deeply idle CPUs; the percentiles of the span know nothing of them.
#[test]
fn what_a_program_counted_before_the_span_is_forgotten() {
    let of = |seconds: u32| {
        let command = format!("schbench -m 1 -t 4 -r {seconds} -i 2");
        claim("max", &command, "wakeup_latency:p99.9", "lower").replace("milan-7543", "spr-2x60")
    };
    let whole = mean(&sides("remembered.toml", &of(1), "--span whole")[0]);
    let part = mean(&sides("forgotten.toml", &of(30), "--quick")[0]);
    assert!(part < 20.0 && whole > 100.0, "{part} {whole}");
}

/// STREAM tells the best of its loops: of a part of a run it would have some kernels only.
#[test]
fn stream_is_measured_as_a_whole() {
    let command = "stream --threads 4 --array-size 64000000 --ntimes 3";
    let text: String = ["copy", "scale", "add", "triad"]
        .map(|kernel| claim(kernel, command, &format!("bandwidth:{kernel}"), "higher"))
        .concat();
    for side in sides("stream-whole.toml", &text, "--quick") {
        assert!(mean(&side) > 1000.0 && side["cut"].is_null(), "{side}");
    }
}

/// All its cycles are alike: from a part of them follows the time of all.
#[test]
fn the_time_of_a_model_follows_from_its_cycles() {
    let text = claim("time", "verilator --threads 4 --cycles 30000", "time", "lower");
    let [whole, part] = ["--span whole", "--span 20ms --warmup 20ms"]
        .map(|more| sides("cycles.toml", &text, more).remove(0));
    assert_eq!(part["cut"]["work_unit"], "cycles");
    assert_eq!(part["cut"]["work_total"], 30_000);
    assert!((mean(&part) / mean(&whole) - 1.0).abs() < 0.02, "{part} {whole}");
}

/// Recorded baselines leave their node after one to three of the times in which a balancer moves a running
/// task: what is measured by default begins behind one such time, and goes on up to the limit.
#[test]
fn a_run_of_unknown_length_is_measured_up_to_the_limit_behind_five_intervals() {
    let text = claim("time", "hackbench -g 1 -f 2 -T -p -l 100000000", "time", "lower");
    let side = sides("unknown.toml", &text, "--limit 2s").remove(0);
    // 128 CPUs.
    assert_eq!(side["cut"]["span_ns"], 1_360_000_000_u64, "{side}");
    assert!(side["cut"]["warmup_ns"].as_u64() >= Some(640_000_000), "{side}");
    assert_eq!((&side["cut"]["early"], &side["real_run_ns"]), (&false.into(), &Value::Null));
    let quick = sides("quick.toml", &text, "--quick").remove(0);
    assert_eq!(quick["cut"]["span_ns"], 100_000_000_u64, "{quick}");
    assert_eq!(quick["cut"]["early"], true, "{quick}");
}

/// Controls: one that took longer is cut, and so is one of which nobody says how long it took.
#[test]
fn a_run_that_took_less_than_the_limit_is_simulated_as_a_whole() {
    let known = "real_seconds = 0.4\nkind";
    let text = claim("time", "hackbench -g 1 -f 2 -T -p -l 400000", "time", "lower");
    let text = text.replace("kind", known);
    let of = |name: &str, more: &str| sides(name, &text, more).remove(0);
    let whole = of("known.toml", "--limit 400ms");
    assert!(whole["cut"].is_null() && whole["real_run_ns"] == 400_000_000_u64, "{whole}");
    let part = of("known-longer.toml", "--limit 200ms");
    assert_eq!(part["cut"]["span_ns"], 100_000_000_u64, "{part}");
    // A program that runs for a fixed time says so itself.
    let netperf = claim("rate", "netperf -t UDP_RR -n 1 -l 1", "throughput", "higher");
    let itself = sides("itself.toml", &netperf, "--limit 1s").remove(0);
    assert!(itself["cut"].is_null() && itself["real_run_ns"] == 1_000_000_000_u64, "{itself}");
}
