//! A wind tunnel for the Linux fair scheduler: runs workloads on simulated servers under the kernel's own
//! rules, or under a policy of yours, and says what the scheduler did.
//!
//! ```
//! use simsched::{Metric, Simulation};
//!
//! # fn main() -> Result<(), simsched::Error> {
//! let runs = Simulation::on("t16")?
//!     .policy("eevdf")?
//!     .workload("hackbench -g 1 -f 4 -T -p -l 50")?
//!     .seeds(1..=3)
//!     .run()?;
//! println!("{} migrations", runs.metric(&Metric::MIGRATIONS)?.mean);
//! # Ok(())
//! # }
//! ```
//!
//! With the same seeds on two sides, seed by seed:
//!
//! ```
//! # use simsched::{Comparison, Metric, Simulation};
//! # fn main() -> Result<(), simsched::Error> {
//! let base = Simulation::on("t16")?.workload("hackbench -g 1 -f 4 -T -p -l 50")?.seeds(1..=3);
//! let compared = Comparison::of([base.clone(), base.policy("wakeup_bias_prev")?])?.run()?;
//! let row = compared.row(&Metric::MIGRATIONS)?;
//! println!("{:.0} -> {:.0}", row.spreads[0].mean, row.spreads[1].mean);
//! let change = row.paired[1].as_ref().expect("what is not the base is paired with it");
//! if let (Some(percent), Some(low), Some(high)) =
//!     (change.difference_pct, change.low_pct, change.high_pct)
//! {
//!     println!("{percent:+.1} % ({low:+.1} to {high:+.1} %, 95 % interval)");
//! }
//! # Ok(())
//! # }
//! ```
//!
//! A [`Simulation`] is what `simsched run` takes: a machine, a policy, a workload, settings and seeds; it
//! runs to [`Runs`], each of whose numbers has a [`Metric`]. A [`Comparison`] runs several with the same
//! seeds. [`pages::page`] draws both, and [`Runs::to_json`] and [`Compared::to_json`] write what
//! the command writes. A run is a pure function of its parts and its seed.
//!
//! A change to `select_idle_sibling()` of yours is a [`Patch`](policies::fair::Patch), which every fair policy of a
//! registry takes by name ([`Registry::with_patch`]).
//! [`policy::own`] runs a policy of yours: a type that implements [`core::Policy`]. As a [`PolicyEntry`] in a
//! [`Registry`] it has a name, features and settings, and all commands ([`command`]). [`workload::own`] runs
//! a workload that [`workloads::Builder`] puts together.

pub use simsched_cli::library::{
    Basis, Better, Collect, Compared, Comparison, Difference, Document, Error, ErrorKind, Machine,
    MachineChoice, Metric, MetricError, Number, Paired, PolicyChoice, Precision, Row, Run, Runs,
    Seeds, Side, Simulation, Span, Spread, Window, WorkloadChoice, pages, policy, workload,
};
/// The command `simsched` with the arguments of this process and the policies of a registry: what `main`
/// of a program with a policy of its own calls, to have `run`, `compare`, `sweep`, `validate`, `replay`,
/// traces and JSON for it. `lab`, which compares with recordings of kernels, and the completions of shells
/// know the policies of simsched only. Returns the exit code.
pub use simsched_cli::main_with as command;
pub use simsched_core as core;
pub use simsched_policies as policies;
pub use simsched_policies::{
    Chosen, Effort, PolicyEntry, PolicySpec, Registry, RegistryError, Tunable, catalog::ReasonInfo,
    conformance,
};
pub use simsched_topology as topology;
pub use simsched_workloads as workloads;

/// What most programs use.
pub mod prelude {
    pub use simsched_core::{Nanos, Seed};

    pub use crate::{
        Comparison, Document, Error, Machine, Metric, Simulation, Span, Window, pages, policy,
        workload,
    };
}
