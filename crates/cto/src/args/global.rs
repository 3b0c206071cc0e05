//! Options of every command.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// Options of every command.
#[derive(Debug, Args)]
pub(crate) struct Global {
    /// Folder of runs, keys and the ledger [env: CTO_HOME]
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) home: Option<PathBuf>,
    /// The workspace whose cases and settings count [env: CTO_WORKSPACE]
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,
    /// One JSON document on stdout and nothing else there
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Only the verdict
    #[arg(long, short, global = true, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// More detail
    #[arg(long, short, global = true)]
    pub(crate) verbose: bool,
    /// Print one fact a line on a terminal too, without colour, links or redrawing
    #[arg(long, global = true)]
    pub(crate) plain: bool,
    /// When to use colour
    #[arg(long, global = true, value_name = "WHEN")]
    pub(crate) color: Option<ColorWhen>,
}

/// Times to use colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorWhen {
    Auto,
    Always,
    Never,
}
