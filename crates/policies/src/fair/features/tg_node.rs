//! Which node's counter a write of `tg->load_avg` changes, where there is one for each node.
//!
//! Source: "sched/fair: Make tg->load_avg per node", A. Lu, 2023, in its two versions (spec 04
//! section 10).

/// Which node's counter a write changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TgNode {
    /// That of the CPU that executes (version 2): a writer touches memory of its own node only.
    #[default]
    Executing,
    /// That of the runqueue's CPU (version 1): a waker, or a balancer, on another node goes there.
    Runqueue,
}

impl TgNode {
    /// The words of the setting.
    pub const VALUES: &'static [&'static str] = &["executing", "runqueue"];

    /// The word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            TgNode::Executing => "executing",
            TgNode::Runqueue => "runqueue",
        }
    }

    /// The rule of this word.
    #[must_use]
    pub fn from_name(name: &str) -> Option<TgNode> {
        [TgNode::Executing, TgNode::Runqueue].into_iter().find(|rule| rule.name() == name)
    }
}
