//! `SimError`: deadlock, livelock, a policy that broke its contract.

use crate::time::SimTime;

/// Why a run could not go on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SimError {
    /// Nothing can happen any more, and tasks still wait.
    #[error("deadlock at {at}: {}", list(.blocked))]
    Deadlock {
        /// When.
        at: SimTime,
        /// Each waiting task, and what it waits for.
        blocked: Vec<Blocked>,
    },
    /// A task goes on for ever at one instant.
    #[error("livelock at {at}: task {task} ({name}) does op after op and no time passes")]
    Livelock {
        /// When.
        at: SimTime,
        /// Which task.
        task: u32,
        /// Its name.
        name: String,
    },
    /// The run has come to the last instant that its clock can show: 2^53 - 1 ns, 104 days.
    #[error("the clock of a run ends at {at} (2^53 ns, 104 days), expected a run that ends before")]
    ClockEnd {
        /// When.
        at: SimTime,
    },
    /// A policy gave an answer that it may not give.
    #[error("the policy broke its contract at {at}: {contract}")]
    PolicyBroke {
        /// When.
        at: SimTime,
        /// What it did.
        contract: String,
    },
    /// A policy cannot go on ([`Cx::fail`](crate::Cx::fail)).
    #[error("the policy failed at {at}: {why}")]
    PolicyFailed {
        /// When.
        at: SimTime,
        /// Why, in its words.
        why: String,
    },
    /// A workload asked for something impossible.
    #[error("the workload broke its contract at {at}: {contract}")]
    WorkloadBroke {
        /// When.
        at: SimTime,
        /// What it did.
        contract: String,
    },
    /// The machine lacks what the workload needs.
    #[error("{0}")]
    Machine(String),
    /// A setting of the simulator that does not exist or does not take this value.
    #[error("{0}")]
    Setting(String),
}

/// A task that waits for something that will not come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blocked {
    /// Its id.
    pub task: u32,
    /// Its name.
    pub name: String,
    /// What it waits for.
    pub waits_for: String,
}

/// At most this many waiting tasks are spelled out in the message.
const SHOWN: usize = 12;

fn list(blocked: &[Blocked]) -> String {
    let mut text: Vec<String> = blocked
        .iter()
        .take(SHOWN)
        .map(|b| format!("task {} ({}) waits for {}", b.task, b.name, b.waits_for))
        .collect();
    if blocked.len() > SHOWN {
        text.push(format!("and {} more", blocked.len() - SHOWN));
    }
    text.join("; ")
}
