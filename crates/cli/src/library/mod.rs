//! What programs call: simulations, their runs and metrics, comparisons and pages.
//!
//! The crate `simsched` re-exports all of it under the names that its documentation uses.

mod choice;
mod comparison;
mod error;
mod machine;
mod metric;
mod page;
mod runs;
mod seeds;
mod simulation;
mod window;

pub use choice::{PolicyChoice, WorkloadChoice, policy, workload};
pub use comparison::{Compared, Comparison, Difference, Row, Side};
pub use error::{Error, ErrorKind};
pub use machine::{Machine, MachineChoice};
pub use metric::{Basis, Better, Metric, MetricError, Number};
pub use page::{Document, pages};
pub use runs::{Run, Runs};
pub use seeds::Seeds;
pub use simsched_pages::paired::Paired;
pub use simsched_pages::student::Spread;
pub use simulation::Simulation;
pub use window::{Collect, Precision, Span, Window};
