//! Arguments of the commands for bundles: `verify`, `reverify`, `export`, `import`, `gc`.

use std::path::PathBuf;

use clap::Args;
use evidence::verify::Expectation;

use super::{Age, parse_age};

/// Arguments of `cto verify`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cto verify @
  cto verify ./bundle --key harness.pub --expect coverage=empty

Exit codes: 0 every check holds, 1 one does not, 2 not a bundle.")]
pub(crate) struct VerifyArgs {
    /// A run, or the path of a bundle
    #[arg(required = true, value_name = "RUN|PATH")]
    pub(crate) bundles: Vec<String>,
    /// The public key to check with: an OpenSSH line or PEM
    #[arg(long, value_name = "FILE")]
    pub(crate) key: Vec<PathBuf>,
    /// contract=DIGEST, baseline=COMMIT, signer=KEYID, max-age=N(s|m|h|d), coverage=empty
    #[arg(long, value_name = "KEY=VALUE", value_delimiter = ',')]
    pub(crate) expect: Vec<Expectation>,
}

/// Arguments of `cto reverify`.
#[derive(Debug, Args)]
#[command(after_help = "\
Only reads the bundle. The result is a signed statement beside the bundles and a ledger entry.

Examples:
  cto reverify @
  cto reverify @ --contract stricter.yaml

Exit codes: 0 the verdict holds today, 1 it does not, 3 it cannot be told.")]
pub(crate) struct ReverifyArgs {
    /// A run, or the path of a bundle
    #[arg(required = true, value_name = "RUN|PATH")]
    pub(crate) bundles: Vec<String>,
    /// Another contract for the same task; earlier blockers stay
    #[arg(long, value_name = "FILE")]
    pub(crate) contract: Option<PathBuf>,
}

/// Arguments of `cto export`.
#[derive(Debug, Args)]
#[command(after_help = "\
Two archives of the same run are the same bytes.

Examples:
  cto export @
  cto export b9tc -o /media/stick/b9tc.cto.tar.zst
  cto export --html @ -o run.html")]
pub(crate) struct ExportArgs {
    /// A run: its id, a unique beginning of it or of its last part, `@` for the last one, `@-1` for the one before
    pub(crate) run: String,
    /// File to write; default: RUN_ID.cto.tar.zst or RUN_ID.html in the current directory
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Add the baseline from the run's repository; bundles of cases hold theirs
    #[arg(long)]
    pub(crate) with_baseline: bool,
    /// Write one HTML page instead, with the bundle and a script that checks it
    #[arg(long, conflicts_with = "with_baseline")]
    pub(crate) html: bool,
}

/// Arguments of `cto import`.
#[derive(Debug, Args)]
#[command(after_help = "\
Checks everything before it keeps anything. Never uses the key in the archive: give the sender's key, obtained \
separately from the archive.

Examples:
  cto import b9tc.cto.tar.zst --key alice.pub

Exit codes: 0 taken in or there already, 1 damaged, hostile or by an unknown signer, 2 not an archive.")]
pub(crate) struct ImportArgs {
    /// The archive
    pub(crate) file: PathBuf,
    /// The public key to check with: an OpenSSH line or PEM
    #[arg(long, value_name = "FILE")]
    pub(crate) key: Vec<PathBuf>,
}

/// Arguments of `cto gc`.
#[derive(Debug, Args)]
#[command(after_help = "\
gc keeps bundles that are recent, referenced, in use or damaged. It also keeps the latest pass of each task, engine \
and stage. -v explains each run.

Examples:
  cto gc --dry-run -v
  cto gc --older-than 90d --keep 5")]
pub(crate) struct GcArgs {
    /// Print what would be removed and why; remove nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Keep bundles younger than N(s|m|h|d)
    #[arg(long, value_name = "AGE", default_value = "30d", value_parser = parse_age)]
    pub(crate) older_than: Age,
    /// Keep this many of the latest runs of each task
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) keep: u32,
}
