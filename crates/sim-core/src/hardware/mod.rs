//! The machine's door: what things cost here, and how long an idle CPU takes to react.

mod idle;
mod prices;

pub(crate) use idle::IdleGovernor;
pub(crate) use prices::Prices;
