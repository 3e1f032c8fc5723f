//! The kernel's choice of a CPU, with what it has looked at and why, as far as that can be seen from outside.

use simsched_core::{Far, Placement, Reason, WakeKind, Wakeup, World};
use simsched_policies::catalog::ReasonInfo;
use simsched_topology::CpuId;

use crate::library::{Answer, Library};

/// Why a CPU was chosen, or a task moved.
pub(super) const PREV: Reason = Reason(0);
const WAKER: Reason = Reason(1);
const RECENT: Reason = Reason(2);
const SCAN: Reason = Reason(3);
const NONE_IDLE: Reason = Reason(4);
const SLOW_PATH: Reason = Reason(5);
pub(super) const BALANCE: Reason = Reason(6);

/// The names of the reasons.
pub(super) const REASONS: &[&str] =
    &["prev", "waker", "other", "scan", "none_idle", "slow_path", "balance"];

/// What each means.
pub(super) const REASON_INFOS: &[ReasonInfo] = &[
    ReasonInfo { name: "prev", doc: "The CPU on which the task ran last, without a scan." },
    ReasonInfo { name: "waker", doc: "The CPU of the waker, without a scan." },
    ReasonInfo { name: "other", doc: "A third CPU without a scan, as the one before the last." },
    ReasonInfo { name: "scan", doc: "A scan found a free CPU." },
    ReasonInfo { name: "none_idle", doc: "A scan found no free CPU." },
    ReasonInfo { name: "slow_path", doc: "The idlest group and CPU were searched for." },
    ReasonInfo { name: "balance", doc: "A balancer moved the task." },
];

/// What the choice of `to` for a wakee has looked at, and why it is that CPU.
pub(super) fn placement(
    library: &mut Library,
    world: &World,
    wakeup: &Wakeup,
    to: i32,
) -> Answer<Placement> {
    let &Wakeup { prev, waker, kind, .. } = wakeup;
    let cpus = world.topology().nr_cpus();
    let found = u16::try_from(to).ok().filter(|&to| usize::from(to) < cpus).map(CpuId);
    let cpu = found.ok_or_else(|| format!("select: found CPU {to}, expected one of {cpus}"))?;
    let (scanned, far) = looked(library, world, waker);
    let (_, groups, affine) = library.class.looked();
    let reason = match kind {
        WakeKind::Fork | WakeKind::Exec => SLOW_PATH,
        _ if groups > 0 => SLOW_PATH,
        _ if scanned > 0 => {
            if world.is_idle(cpu) {
                SCAN
            } else {
                NONE_IDLE
            }
        }
        _ if cpu == prev => PREV,
        _ if cpu == waker => WAKER,
        _ => RECENT,
    };
    Ok(Placement { cpu, reason, scanned, far, groups: u16::try_from(groups).unwrap_or(0), affine })
}

/// At how many CPUs the library has looked for `reader`, and how many of them are far from it.
pub(super) fn looked(library: &mut Library, world: &World, reader: CpuId) -> (u16, Far) {
    let (looked, _, _) = library.class.looked();
    let mut far = Far::default();
    for &at in looked {
        let at = CpuId(u16::try_from(at).expect("a CPU of the machine"));
        far.count(world.topology().distance_class(reader, at));
    }
    (u16::try_from(looked.len()).unwrap_or(u16::MAX), far)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_is_listed_under_its_name() {
        assert!(REASON_INFOS.iter().map(|info| info.name).eq(REASONS.iter().copied()));
        assert_eq!(usize::from(BALANCE.0) + 1, REASONS.len());
    }
}
