//! Arguments of `cto sandbox` and `cto scan`.

use std::path::PathBuf;

use clap::Args;

/// Arguments of `cto sandbox`.
#[derive(Debug, Args)]
#[command(after_help = "\
The command sees the folder as it is. What it writes is gone afterwards. There is no terminal inside, but standard \
input is passed on. The exit code is the command's own.

Examples:
  cto sandbox -- ls -la / /home/user
  cto sandbox --contract task.yaml -- npm test
  echo 'id; mount' | cto sandbox -- sh")]
pub(crate) struct SandboxArgs {
    /// Folder to mount as the workspace
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) dir: PathBuf,
    /// Contract whose mounts, path, variables and limits apply
    #[arg(long, value_name = "FILE")]
    pub(crate) contract: Option<PathBuf>,
    /// Seconds it may take
    #[arg(long, value_name = "S", default_value_t = 600, value_parser = clap::value_parser!(u64).range(1..=604_800))]
    pub(crate) timeout: u64,
    /// The command
    #[arg(required = true, last = true, value_name = "CMD")]
    pub(crate) argv: Vec<String>,
}

/// Arguments of `cto scan`.
#[derive(Debug, Args)]
#[command(after_help = "\
A hit shows its rule, its place and the digest of its value, never the value. Links are not followed.

Examples:
  cto scan .
  git diff | cto scan -
  cto scan src --json

Exit codes: 0 nothing found, 1 something found or a file not read, 2 no such path.")]
pub(crate) struct ScanArgs {
    /// Files and folders, or - for standard input
    #[arg(required = true, value_name = "PATH|-")]
    pub(crate) paths: Vec<PathBuf>,
}
