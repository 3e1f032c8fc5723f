//! Degeneration: domains that would do nothing are taken out when a CPU is attached to its tree.

use super::Kernel;
use super::flags::SdFlags;
use super::fresh::Fresh;

/// A change of the flags of a domain's local group that a removal brings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LocalFlags {
    /// The index of the domain's level.
    pub(super) level: usize,
    pub(super) flags: SdFlags,
}

/// Takes the useless domains of one CPU out, bottom-up.
///
/// Returns what becomes of the flags of local groups, in order; a later entry beats an earlier one.
///
/// Source: `cpu_attach_domain()`, 6.1, 6.12 and 7.3.
pub(super) fn degenerate(
    tree: &mut Vec<Fresh>,
    kernel: Kernel,
    spans_equal: impl Fn(usize, usize) -> bool,
) -> Vec<LocalFlags> {
    let mut changes = Vec::new();
    let mut at = 0;
    while at + 1 < tree.len() {
        let (child, parent) = (&tree[at], &tree[at + 1]);
        if !is_parent_useless(child, parent, spans_equal(child.level, parent.level)) {
            at += 1;
            continue;
        }
        if let Some(grandparent) = tree.get(at + 2).filter(|_| kernel != Kernel::V6_1) {
            changes.push(LocalFlags { level: grandparent.level, flags: child.flags });
        }
        let inherited = parent.flags & SdFlags::PREFER_SIBLING;
        tree[at].flags |= inherited;
        tree.remove(at + 1);
    }
    if tree.first().is_some_and(is_useless) {
        tree.remove(0);
        changes.extend(tree.first().map(|sd| LocalFlags { level: sd.level, flags: SdFlags::NONE }));
    }
    changes
}

/// One CPU, or nothing to do: neither groups to balance nor wakeups to pull.
fn is_useless(sd: &Fresh) -> bool {
    let has_groups = sd.ring.len > 1 && sd.flags.intersects(SdFlags::NEEDS_GROUPS);
    sd.weight == 1 || !(has_groups || sd.flags.contains(SdFlags::WAKE_AFFINE))
}

/// Useless by itself, or no more than its child.
fn is_parent_useless(child: &Fresh, parent: &Fresh, same_span: bool) -> bool {
    let ignored = if parent.ring.len == 1 { SdFlags::NEEDS_GROUPS } else { SdFlags::NONE };
    let adds = parent.flags & !ignored & !child.flags;
    is_useless(parent) || (same_span && adds.is_empty())
}
