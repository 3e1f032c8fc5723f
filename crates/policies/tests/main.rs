//! All tests of this crate in one program: it is compiled and linked once.

#![allow(clippy::unwrap_used, reason = "a test fails where it stands")]

mod asleep;
mod balance;
mod balance_decisions;
mod balance_flow;
mod balance_groups;
mod balance_moves;
mod cache_aware;
mod cache_aware_wakeup;
mod catalog;
mod common;
mod conformance;
mod conforms;
mod convergence;
mod decisions;
mod eevdf;
mod eevdf_invariants;
mod fair_trace;
mod group_queues;
mod groups;
mod idle_cpus;
mod inherited_flips;
mod load_avg;
mod load_invariants;
mod machine;
mod numa_imbalance;
mod order;
mod patches;
mod random_machines;
mod registry;
mod room;
mod runqueue_invariants;
mod sched_idle_balance;
mod select_task_rq;
mod select_twin;
mod util_avg;
mod vectors_7_3;
mod versions;
mod wakeup_invariants;
mod wakeups;
mod weights;
