//! Arguments of `cto refresh`.

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct RefreshArgs {
    /// Passes of stage 5; the newest that count unless said
    #[arg(value_name = "RUN")]
    pub(crate) runs: Vec<String>,
    /// The engine; that of the runs, else that of the newest comparison, unless said
    #[arg(long, value_name = "E")]
    pub(crate) engine: Option<String>,
}
