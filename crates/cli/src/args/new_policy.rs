//! The arguments of `simsched new-policy`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::Text;

/// The arguments of `simsched new-policy`.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  simsched new-policy first_idle -o ../first_idle")]
pub(crate) struct NewPolicyArgs {
    /// The name of the policy and of its crate: lower-case letters, digits and `_`
    #[arg(value_name = "NAME", value_parser = Text::ANY)]
    pub(crate) name: String,

    /// The folder to write, which must not exist; if not given, NAME
    #[arg(long, short, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) output: Option<PathBuf>,

    /// The folder of the library, `crates/simsched` of a checkout; if not given, that of the checkout from
    /// which this command was built, if it is still there, or else the published version
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) library: Option<PathBuf>,
}
