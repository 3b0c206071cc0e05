//! Arguments of `cto refresh`.

use clap::Args;

/// Arguments of `cto refresh`.
#[derive(Debug, Args)]
pub(crate) struct RefreshArgs {
    /// Passes of stage 5; default: the newest that count
    #[arg(value_name = "RUN")]
    pub(crate) runs: Vec<String>,
    /// The engine; default: that of the runs, else that of the newest comparison
    #[arg(long, value_name = "E")]
    pub(crate) engine: Option<String>,
}
