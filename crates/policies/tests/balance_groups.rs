//! Which group is busier, and how much of what is moved from it, against the kernel's numbers.

use simsched_policies::fair::features::{BalanceImbalance, Version};
use simsched_policies::fair::{
    CpuIdleType, GroupStats, GroupType, ImbalanceRule, MigrationType, SdLbStats, SgLbStats,
    scale_rt_capacity,
};
use simsched_topology::SdFlags;

use crate::common::{Row, for_each_row};

/// The type of a group that the files call so.
pub(crate) fn group_type(name: &str) -> GroupType {
    match name {
        "has_spare" => GroupType::HasSpare,
        "fully_busy" => GroupType::FullyBusy,
        "misfit_task" | "misfit" => GroupType::MisfitTask,
        "smt_balance" => GroupType::SmtBalance,
        "asym_packing" => GroupType::AsymPacking,
        "imbalanced" => GroupType::Imbalanced,
        "llc_balance" => GroupType::LlcBalance,
        "overloaded" => GroupType::Overloaded,
        _ => panic!("{name}"),
    }
}

/// The columns `<prefix>load`, `<prefix>capacity` and so on.
fn group(row: &Row<'_>, prefix: &str, version: Version) -> SgLbStats {
    let big = |column: &str| row.get::<u64>(&format!("{prefix}{column}"));
    let small = |column: &str| row.get::<u32>(&format!("{prefix}{column}"));
    SgLbStats {
        sums: GroupStats {
            nr_running: small("nr_running"),
            h_nr_running: small("h_nr_running"),
            idle_cpus: small("idle_cpus"),
            weight: small("weight"),
            capacity: big("capacity"),
            load: big("load"),
            util: big("util"),
            misfit_load: big("misfit_load"),
            nr_pref_dst_llc: if version >= Version::V7_2 { small("pref_dst_llc") } else { 0 },
            ..GroupStats::default()
        },
        group_type: group_type(row.text(&format!("{prefix}type"))),
        avg_load: big("avg_load"),
        is_smt: false,
        cores: 0,
    }
}

/// The files of both kernels.
const BOTH: [(&str, Version); 2] = [("6.1", Version::V6_1), ("6.12", Version::V6_12)];

#[test]
fn the_busier_group_agrees_with_the_kernel() {
    for (of, version) in BOTH {
        assert_eq!(check_busier_group(&format!("{of}/pick_busiest_idlest.csv"), version), 1200);
    }
}

/// The column `c_busier`; returns the number of rows.
pub(crate) fn check_busier_group(file: &str, version: Version) -> usize {
    for_each_row(file, |row| {
        let side = |prefix: &str| SgLbStats {
            is_smt: version.is_eevdf() && row.flag(&format!("{prefix}smt")),
            ..group(row, prefix, version)
        };
        let is_busier = side("c_").is_busier_than(&side("o_"), version);
        assert_eq!(is_busier, row.flag("c_busier"), "{row:?}");
    })
}

/// The flags of the domain that the row names.
fn flags(row: &Row<'_>) -> SdFlags {
    let named = [
        ("sd_asym", SdFlags::ASYM_CPUCAPACITY),
        ("sd_llc", SdFlags::SHARE_LLC),
        ("sd_numa", SdFlags::NUMA),
    ];
    let set = named.into_iter().filter(|(column, _)| row.flag(column));
    set.fold(SdFlags::NONE, |flags, (_, flag)| flags | flag)
}

fn idle_type(name: &str) -> CpuIdleType {
    match name {
        "idle" => CpuIdleType::Idle,
        "not_idle" => CpuIdleType::NotIdle,
        "newly_idle" => CpuIdleType::NewlyIdle,
        _ => panic!("{name}"),
    }
}

fn migration_type(name: &str) -> MigrationType {
    match name {
        "load" => MigrationType::Load,
        "util" => MigrationType::Util,
        "task" => MigrationType::Task,
        "misfit" => MigrationType::Misfit,
        "llc_task" => MigrationType::LlcTask,
        _ => panic!("{name}"),
    }
}

#[test]
fn imbalances_agree_with_the_kernel() {
    for (of, version) in BOTH {
        assert_eq!(check_imbalances(&format!("{of}/calculate_imbalance.csv"), version), 1600);
    }
}

/// How much of what is moved between two groups; returns the number of rows.
pub(crate) fn check_imbalances(file: &str, version: Version) -> usize {
    let side = |row: &Row<'_>, prefix: &str| SgLbStats {
        cores: if version.is_eevdf() { row.get(&format!("{prefix}cores")) } else { 0 },
        ..group(row, prefix, version)
    };
    for_each_row(file, |row| {
        let rule = ImbalanceRule {
            flags: flags(row),
            span_weight: 0,
            imb_numa_nr: row.get("imb_numa_nr"),
            numa: BalanceImbalance::V6_0,
            version,
            idle: idle_type(row.text("idle")),
        };
        let mut sds = SdLbStats {
            total_load: row.get("total_load"),
            total_capacity: row.get("total_capacity"),
            avg_load: row.get("sds_avg_load_in"),
            prefer_sibling: row.flag("prefer_sibling"),
            busiest_stat: side(row, "b_"),
            local_stat: side(row, "l_"),
            ..SdLbStats::default()
        };
        let (kind, imbalance) = rule.calculate(&mut sds);
        assert_eq!(kind, migration_type(row.text("migration_type")), "{row:?}");
        row.expect("imbalance", imbalance);
        row.expect("l_avg_load_out", sds.local_stat.avg_load);
        row.expect("sds_avg_load_out", sds.avg_load);
    })
}

#[test]
fn what_is_left_of_a_cpu_agrees_with_the_kernel() {
    let rows = for_each_row("common/scale_rt_capacity.csv", |row| {
        let used = row.get::<u64>("rt_util") + row.get::<u64>("dl_util");
        let irq = if row.flag("has_irq") { row.get("irq_util") } else { 0 };
        row.expect("result", scale_rt_capacity(1024, used, irq));
    });
    assert_eq!(rows, 400);
}
