//! Single rules of cache-aware load balancing against the kernel's numbers: epochs, which processes are not gathered,
//! whether utilization may go from one LLC to another, and the average number of running threads.

use simsched_policies::fair::CacheAwareVersion::Merged;
use simsched_policies::fair::{
    Direction, LlcLimits, LlcRule, LlcStats, LlcVerdict, MmId, Occupancy, Processes,
    update_avg_scale,
};
use simsched_topology::CpuId;

use crate::common::{Row, for_each_row, vectors_73};

const CPU: CpuId = CpuId(0);
const MM: MmId = MmId(0);

/// A CPU and a process on it, whose epochs end and which are charged then.
#[test]
fn vectors_7_3_cache_epoch() {
    vectors_73("cache_epoch.csv", 1500, |file| for_each_row(file, check_epoch));
}

fn check_epoch(row: &Row<'_>) {
    let processes = Processes::of_tasks([Some(0); 2].into_iter());
    let jiffies = row.get("jiffies");
    let mut all = Occupancy::new(1, &processes, 2, row.get("period"), jiffies);
    all.set_cpu(CPU, ["cpu_epoch_in", "cpu_next_in", "cpu_runtime_in"].map(|it| row.get(it)));
    all.set_part(CPU, MM, ["p_epoch_in", "p_runtime_in"].map(|it| row.get(it)));
    let epoch = all.account(jiffies, CPU, MM, row.get("x"));
    row.expect("cpu_epoch", epoch);
    row.expect("frac", all.fraction(jiffies, CPU, MM));
    for (column, value) in ["cpu_epoch", "cpu_next", "cpu_runtime"].into_iter().zip(all.cpu(CPU)) {
        row.expect(column, value);
    }
    for (column, value) in ["p_epoch", "p_runtime"].into_iter().zip(all.part(CPU, MM)) {
        row.expect(column, value);
    }
}

/// A scale without limit is the greatest 32-bit number.
#[test]
fn vectors_7_3_cache_exclude() {
    vectors_73("cache_exclude.csv", 1600, |file| {
        for_each_row(file, |row| {
            let limits = LlcLimits { version: Merged, aggr_tolerance: row.get("tolerance") };
            for (column, mul) in [("scale1", 1), ("scale256", 256)] {
                row.expect(column, limits.scale(mul).unwrap_or(i32::MAX.unsigned_abs().into()));
            }
            let [nr_running_avg, smt, llc_cpus] =
                ["nr_running_avg", "smt_threads", "llc_cpus"].map(|it| row.get(it));
            let bad = limits.invalid_llc_nr(row.get("threads"), nr_running_avg, smt, llc_cpus);
            row.expect("bad_threads", u8::from(bad));
            let [footprint, bytes] = ["footprint_pages", "llc_bytes"].map(|it| row.get(it));
            let bad = limits.exceed_llc_capacity(row.flag("numa_balancing"), footprint, bytes);
            row.expect("bad_size", u8::from(bad));
        })
    });
}

#[test]
fn vectors_7_3_cache_policy() {
    vectors_73("cache_policy.csv", 4164, |file| {
        for_each_row(file, |row| {
            let [overaggr_pct, imb_pct] = ["overaggr_pct", "imb_pct"].map(|it| row.get(it));
            let rule = LlcRule::new(overaggr_pct, imb_pct, row.get::<u64>("smt_threads") > 1);
            let stats =
                |[util, cap]: [&str; 2]| LlcStats { util: row.get(util), capacity: row.get(cap) };
            let [src, dst] = [["src_util", "src_cap"], ["dst_util", "dst_cap"]].map(stats);
            let u: u64 = row.get("u");
            let fits_src = rule.fits(src.util.saturating_sub(u), src.capacity);
            row.expect("fits_src", u8::from(fits_src));
            row.expect("fits_dst", u8::from(rule.fits(dst.util.wrapping_add(u), dst.capacity)));
            let direction = match row.flag("to_pref") {
                true => Direction::ToPreferred,
                false => Direction::Leaving,
            };
            let name = match rule.judge(src, dst, u, direction) {
                LlcVerdict::Forbid => "forbid",
                LlcVerdict::Llc => "llc",
                LlcVerdict::Unrestricted => "unrestricted",
            };
            row.expect("result", name.to_owned());
        })
    });
}

#[test]
fn vectors_7_3_cache_running_avg() {
    vectors_73("cache_running_avg.csv", 900, |file| {
        for_each_row(file, |row| {
            let [avg, sample] = ["avg_in", "sample"].map(|it| row.get(it));
            row.expect("avg_out", update_avg_scale(avg, sample, row.get("llc_cpus")));
        })
    });
}
