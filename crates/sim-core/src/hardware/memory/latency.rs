//! The latency of memory that is used by others, too.

/// Beyond this the curve does not hold, in 1024ths of the cap.
const VALID_1024: u64 = 1024 * 99 / 100;

/// How much longer than alone a load takes, in 1024ths, when `used_1024` of the controllers is used
/// and what waits there would take `queue_ps`; alone it takes `alone_ps`.
///
/// ```text
/// L / L0 = 1 + 0.44 u + 0.116 u^2 / (1.2 - u)     u < 0.99
/// ```
///
/// and not less than the queue, of which the lines that all cores have under way consist. Source:
/// section 7 of the cost model, fitted to the injector curves of five machines and checked on three
/// others within 6 %.
pub(super) fn loaded_1024(used_1024: u64, queue_ps: u64, alone_ps: u64) -> u64 {
    let used = used_1024.min(VALID_1024);
    let bent = 116 * used * used / (1000 * (1024 * 12 / 10 - used));
    let curve = 1024 + 440 * used / 1000 + bent;
    let is_full = used_1024 >= VALID_1024;
    match alone_ps {
        0 => curve,
        _ if is_full => curve.max(queue_ps * 1024 / alone_ps),
        _ => curve,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Measured with the memory latency checker on machines that are not in the fit: 109.7 of 76 ns at
    /// 0.786 of the bandwidth and 1.24 at 0.552 (Platinum 8269CY), 1.49 at 0.693 and 1.81 at 0.902
    /// (Xeon 6980P).
    #[test]
    fn the_curve_is_what_was_measured_elsewhere() {
        for (used_milli, want_milli) in [(786, 1443), (552, 1240), (693, 1490), (902, 1810)] {
            let found = loaded_1024(used_milli * 1024 / 1000, 0, 100_000) * 1000 / 1024;
            assert!(found.abs_diff(want_milli) < want_milli * 6 / 100, "{used_milli}: {found}");
        }
    }

    #[test]
    fn memory_that_nobody_uses_takes_its_time_and_a_full_one_its_queue() {
        assert_eq!(loaded_1024(0, 0, 100_000), 1024);
        assert_eq!(loaded_1024(1024, 300_000, 100_000), 3072);
        let rises = (0..1024).map(|used| loaded_1024(used, 0, 1)).collect::<Vec<_>>();
        assert!(rises.is_sorted());
    }
}
