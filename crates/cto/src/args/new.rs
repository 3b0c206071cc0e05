//! Arguments of `cto new`.

use std::path::PathBuf;

use clap::Args;

/// Arguments of `cto new`.
#[derive(Debug, Args)]
#[command(after_help = "\
Reads languages, lock files, test commands and CI files; runs nothing. Writes the contract into the workspace's \
contracts/, or into the home's, and overwrites no file. On a terminal without --from and --issue it asks what to do.

Examples:
  cto new --from \"fix the crash in parse()\" --repo ~/src/site
  cto new --issue issue-42.md --allow src/parse/ --out fix-parse.yaml

Exit codes: 0 written, 2 wrong usage.")]
pub(crate) struct NewArgs {
    /// What is to be done
    #[arg(long, value_name = "TEXT")]
    pub(crate) from: Option<String>,
    /// A file that says what is to be done, such as the text of an issue
    #[arg(long, value_name = "FILE", conflicts_with = "from")]
    pub(crate) issue: Option<PathBuf>,
    /// The repository
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) repo: PathBuf,
    /// A path that may change; default: the folders of sources. Repeat it for more
    #[arg(long, value_name = "PATH")]
    pub(crate) allow: Vec<String>,
    /// The contract's file
    #[arg(long, short, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}
