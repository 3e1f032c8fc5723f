//! `imb_numa_nr`: how many tasks a NUMA node may have too many, in all versions that were discussed.

use super::flags::SdFlags;
use super::fresh::Fresh;

/// The rule for the imbalance that NUMA domains tolerate.
///
/// With X the first domain above the LLC, L the weight of the LLC, s any domain above X:
///
/// | rule | at X | at s |
/// | --- | --- | --- |
/// | `V5_16` | nothing is stored: allowed while fewer than weight(s)/4 tasks run | the same |
/// | `V3` | max(1, (L/2) / (LLCs in X * nodes)) | the same number |
/// | `V4` | I = max(2, (L*L / weight(X)) / 4) | I * (weight(s) / weight(X)) |
/// | `V4_1` | as `V4` | I * max(1, weight(s) / weight(first ancestor without `PREFER_SIBLING`)) |
/// | `V4_1Fix`, `V4_2` | as `V4` | as `V4_1`; they compare otherwise |
/// | `V5_18` | n = weight(X)/L; n, or weight(X)/4 if n is 1 | I * max(1, weight(s) / weight(first NUMA domain)) |
/// | `Merged` | the same with weight(X)/8, at least 1 | the same |
///
/// All divisions are of integers. Up to the LLC the value is 0.
///
/// Source: "sched/fair: Adjust the allowed NUMA imbalance when SD_NUMA spans multiple LLCs", v3 (2021-12-01),
/// v4 (2021-12-10), the change proposed to it on 2021-12-13, what was measured on top of that on 2021-12-21,
/// and as merged in 5.18; since 5.19 "sched/numa: Adjust imb_numa_nr to a better approximation of memory
/// channels".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum NumaImbalance {
    /// Up to 5.17: a quarter of the domain, computed where it is used.
    V5_16,
    /// The third draft.
    V3,
    /// The fourth draft.
    V4,
    /// The fourth draft with the change that was proposed to it.
    V4_1,
    /// That, with a fork that counts the child (the off-by-one of `find_idlest_group()`).
    V4_1Fix,
    /// The numbers of `V4_1` with the comparison of `V3`, in forks and in balancing.
    V4_2,
    /// As merged in 5.18.
    V5_18,
    /// As it is since 5.19.
    #[default]
    Merged,
}

impl NumaImbalance {
    /// All rules, from old to new.
    pub const ALL: [Self; 8] = [
        Self::V5_16,
        Self::V3,
        Self::V4,
        Self::V4_1,
        Self::V4_1Fix,
        Self::V4_2,
        Self::V5_18,
        Self::Merged,
    ];

    /// The name in options and reports: a kernel's number, such as `5.16`, or a draft's, such as
    /// `v4.1`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::V5_16 => "5.16",
            Self::V3 => "v3",
            Self::V4 => "v4",
            Self::V4_1 => "v4.1",
            Self::V4_1Fix => "v4.1fix",
            Self::V4_2 => "v4.2",
            Self::V5_18 => "5.18",
            Self::Merged => "merged",
        }
    }

    /// One line for people: from when the rule is, and what it allows.
    #[must_use]
    pub const fn doc(self) -> &'static str {
        match self {
            Self::V5_16 => {
                "up to 5.17: no number is stored, a quarter of the domain's CPUs may run tasks"
            }
            Self::V3 => {
                "draft of 2021-12-01: half an LLC's CPUs over the LLCs of all nodes, the same everywhere"
            }
            Self::V4 => {
                "draft of 2021-12-10: a quarter of an LLC's CPUs over a node's LLCs, times the nodes"
            }
            Self::V4_1 => "proposed on 2021-12-13: as v4, counted from the first NUMA level",
            Self::V4_1Fix => "measured on 2021-12-21: as v4.1, and a fork counts the child, too",
            Self::V4_2 => "measured on 2021-12-21: as v4.1, but less than the number, as in v3",
            Self::V5_18 => {
                "5.18: a node's number of LLCs, or a quarter of its CPUs if it has one LLC"
            }
            Self::Merged => {
                "since 5.19: a node's number of LLCs, or an eighth of its CPUs if it has one LLC"
            }
        }
    }

    /// The rule of this name; a kernel's number may have a `v` before it.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        let is_kernel = |rule: &Self| rule.name().starts_with(|first: char| first.is_ascii_digit());
        let bare = |rule: &Self| name.strip_prefix('v').filter(|_| is_kernel(rule)).unwrap_or(name);
        Self::ALL.into_iter().find(|rule| rule.name() == bare(rule))
    }

    /// Below how many running tasks an imbalance is tolerated in a NUMA domain of this weight, if
    /// the rule stores no `imb_numa_nr`.
    #[must_use]
    pub const fn unstored_limit(self, weight: u32) -> Option<u32> {
        match self {
            Self::V5_16 => Some(Self::limit_5_16(weight)),
            _ => None,
        }
    }

    /// `V5_16`: imbalance is tolerated in a domain of this weight while fewer tasks than this run.
    #[must_use]
    pub const fn limit_5_16(weight: u32) -> u32 {
        weight / 4
    }

    /// The value at X.
    fn at_first(self, weight: u32, llc: u32, nr_nodes: u32) -> u32 {
        let nr_llcs = weight / llc;
        let few_or = |share: u32| if nr_llcs == 1 { weight / share } else { nr_llcs };
        match self {
            Self::V5_16 => 0,
            Self::V3 => ((llc / 2) / (nr_llcs * nr_nodes)).max(1),
            Self::V4 | Self::V4_1 | Self::V4_1Fix | Self::V4_2 => ((llc * llc / weight) / 4).max(2),
            Self::V5_18 => few_or(4),
            Self::Merged => few_or(8).max(1),
        }
    }

    /// What the value at X is multiplied with at a domain above it.
    fn factor(self, weight: u32, above: &[Fresh]) -> u32 {
        let first = above[0].weight;
        let base = |is_base: fn(&Fresh) -> bool| {
            above[1..].iter().find(|sd| is_base(sd)).map_or(first, |sd| sd.weight)
        };
        match self {
            Self::V5_16 | Self::V3 => 1,
            Self::V4 => weight / first,
            Self::V4_1 | Self::V4_1Fix | Self::V4_2 => {
                (weight / base(|sd| !sd.flags.contains(SdFlags::PREFER_SIBLING))).max(1)
            }
            Self::V5_18 | Self::Merged => {
                (weight / base(|sd| sd.flags.contains(SdFlags::NUMA))).max(1)
            }
        }
    }
}

/// Stores the allowance in the fresh domains of one CPU, bottom-up, before any degenerates.
pub(super) fn store(tree: &mut [Fresh], rule: NumaImbalance, nr_nodes: u32) {
    let shares = |sd: &Fresh| sd.flags.contains(SdFlags::SHARE_LLC);
    let Some(at) = (1..tree.len()).find(|&i| !shares(&tree[i]) && shares(&tree[i - 1])) else {
        return;
    };
    let imb = rule.at_first(tree[at].weight, tree[at - 1].weight, nr_nodes);
    for i in at..tree.len() {
        let factor = if i == at { 1 } else { rule.factor(tree[i].weight, &tree[at..]) };
        tree[i].imb_numa_nr = imb * factor;
    }
}
