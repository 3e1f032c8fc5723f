//! `WorkloadError`: which program, which option, what was wrong.

use simsched_topology::did_you_mean;

/// Why a workload could not be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WorkloadError {
    /// No such program.
    #[error("there is no workload `{name}` (known: {known}){}", did_you_mean(.nearest))]
    UnknownProgram {
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
        /// What may have been meant.
        nearest: Vec<String>,
    },
    /// No such scenario.
    #[error(
        "there is no scenario `{name}` (see `simsched workloads {program}`){}",
        did_you_mean(.nearest)
    )]
    UnknownScenario {
        /// How the scenarios are listed.
        program: &'static str,
        /// What was asked for.
        name: String,
        /// What may have been meant.
        nearest: Vec<String>,
    },
    /// No such option.
    #[error("{program}: {what}{}", did_you_mean(.nearest))]
    UnknownOption {
        /// Of which program.
        program: &'static str,
        /// What was given, in the words of `getopt_long`.
        what: String,
        /// What may have been meant.
        nearest: Vec<String>,
    },
    /// The list of options is asked for.
    #[error("{program}: see `simsched workloads {program}` for its options")]
    Help {
        /// Of which program.
        program: &'static str,
    },
    /// A program that is made of what stands in a file, and was given none.
    #[error("{program}: the file was not read")]
    NeedsFile {
        /// Which program.
        program: &'static str,
    },
    /// An option that the program has, but with or without a value, or with one that it does not
    /// take, or that cannot be simulated.
    #[error("{program}: {what}")]
    Usage {
        /// Which program.
        program: &'static str,
        /// What was wrong, in words.
        what: String,
    },
    /// A program of instructions that cannot be run.
    #[error("program `{program}`: {what}")]
    Program {
        /// Its name.
        program: String,
        /// What was wrong, in words.
        what: String,
    },
    /// More of something than a run can hold.
    #[error("{what}: {count} are more than the {limit} that a run can hold")]
    TooMany {
        /// Of what.
        what: &'static str,
        /// How many.
        count: u64,
        /// How many there may be.
        limit: u64,
    },
}
