//! Arguments of the commands that look at runs: `runs`, `show`, `diff`, `attach`, `replay`.

use std::path::PathBuf;

use clap::Args;

use super::StatusFilter;
use super::values::{speed, web_address};

/// Arguments of `cto runs`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cto runs --status fail --limit 10
  cto runs engine:pi reason:claim_contradicted since:7d
  cto runs --since 2d
  cto runs --imported
  cto runs --since today --json")]
pub(crate) struct RunsArgs {
    /// Words as on the console: `engine:`, `status:`, `reason:`, `stage:`, `model:`, `since:`, or a task
    #[arg(value_name = "WORD")]
    pub(crate) words: Vec<String>,
    /// Only runs with this status
    #[arg(long, value_name = "STATUS")]
    pub(crate) status: Option<StatusFilter>,
    /// Only runs of this engine
    #[arg(long, value_name = "E")]
    pub(crate) engine: Option<String>,
    /// Only runs of this task
    #[arg(long, value_name = "ID")]
    pub(crate) task: Option<String>,
    /// `today`, an age such as 2d or 12h, a date, or an RFC 3339 time
    #[arg(long, value_name = "TIME")]
    pub(crate) since: Option<String>,
    /// Runs that were taken in from archives, instead of this home's own
    #[arg(long)]
    pub(crate) imported: bool,
    /// At most this many
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) limit: u32,
}

/// Arguments of `cto show`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cto show @
  cto show b9tc -v
  cto show run.cto.tar.zst
  cto show @ --markdown --bundle-url https://example.com/b9tc.cto.tar.zst")]
pub(crate) struct ShowArgs {
    /// A run by id, prefix, suffix or `@`; or the path of a bundle or an archive
    #[arg(value_name = "RUN|PATH")]
    pub(crate) run: String,
    /// As the body of a pull request; the bundle is verified first
    #[arg(long)]
    pub(crate) markdown: bool,
    /// Address under which a reviewer finds the bundle, for the body
    #[arg(long, value_name = "URL", requires = "markdown", value_parser = web_address)]
    pub(crate) bundle_url: Option<String>,
}

/// Arguments of `cto diff`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cto diff @
  cto diff b9tc | git apply --check")]
pub(crate) struct DiffArgs {
    /// A run by id, prefix, suffix or `@`; or the path of a bundle or an archive
    #[arg(value_name = "RUN|PATH")]
    pub(crate) run: String,
    /// Only files of the exam
    #[arg(long)]
    pub(crate) protected: bool,
    /// Only files outside the allowed paths, forbidden ones included
    #[arg(long)]
    pub(crate) outside: bool,
}

/// Arguments of `cto attach`.
#[derive(Debug, Args)]
#[command(after_help = "\
Only looks: Ctrl-C leaves the run alone. When the run is sealed its result is shown, and the exit code is the run's \
own.

Examples:
  cto attach @
  cto attach b9tc --plain

Exit codes: as `cto run`; 130 left before the end.")]
pub(crate) struct AttachArgs {
    /// A run: its id, a unique beginning of it or of its last part, `@` for the last one, `@-1` for the one before
    pub(crate) run: String,
}

/// Arguments of `cto replay`.
#[derive(Debug, Args)]
#[command(after_help = "\
The bundle is verified first. A terminal shows its steps as they came, in at most three seconds unless you set \
--speed. On a pipe and with --json, stdout is what `cto run` printed.

Examples:
  cto replay @
  cto replay b9tc --speed 1
  cto replay ./bundle --key harness.pub

Exit codes: 0 played, 1 the bundle does not verify, 2 not a bundle.")]
pub(crate) struct ReplayArgs {
    /// A run, or the path of a bundle
    #[arg(value_name = "RUN|PATH")]
    pub(crate) run: String,
    /// Speed; 1 is real time
    #[arg(long, value_name = "X", value_parser = speed)]
    pub(crate) speed: Option<f64>,
    /// The public key to check with: an OpenSSH line or PEM
    #[arg(long, value_name = "FILE")]
    pub(crate) key: Vec<PathBuf>,
}
