//! Arguments of the commands around requests and approvals.

use std::path::PathBuf;

use clap::Args;
use contract::Stamp;

use super::Asked;

/// Arguments of `cto request`.
#[derive(Debug, Args)]
#[command(after_help = "\
Stages 4 and up need an approval. The same request again, for an unchanged plan, gives the same one.

Examples:
  cto request r1-string-slugify --stage 4
  cto request task.yaml --stage 5 \\
      --target admissions/target/site.yaml --work CTO-WORK-012

Exit codes: 0 requested or there already, 2 wrong usage, 3 there is nothing to approve yet.")]
pub(crate) struct RequestArgs {
    #[command(flatten)]
    pub(crate) asked: Asked,
    /// Seconds the engine may take, if less than the contract says
    #[arg(long, value_name = "S", value_parser = clap::value_parser!(u64).range(1..=604_800))]
    pub(crate) timeout: Option<u64>,
    /// Key of the requester; default: the operator's own
    #[arg(long, value_name = "FILE")]
    pub(crate) key: Option<PathBuf>,
}

/// Arguments of `cto approve`.
#[derive(Debug, Args)]
#[command(after_help = "\
On a terminal it asks for the sentence, up to three times. On a pipe it reads one line.

Examples:
  cto approve req-143
  cto approve req-143 --ttl 3600 --key ~/.ssh/id_ed25519_sk
  cto approve req-143 --break-glass --reason \"the site is down\"

Exit codes: 0 signed, 2 wrong usage, 3 refused.")]
pub(crate) struct ApproveArgs {
    /// A request: req-N, apr-N of one of its approvals, or a unique beginning of its digest
    pub(crate) request: String,
    /// The exact sentence of the packet, instead of typing it
    #[arg(long, value_name = "S")]
    pub(crate) sentence: Option<String>,
    /// The key to sign with; default: the operator's own
    #[arg(long, value_name = "FILE")]
    pub(crate) key: Option<PathBuf>,
    /// The approval is not good before this time (RFC 3339)
    #[arg(long, value_name = "TIME", value_parser = moment)]
    pub(crate) not_before: Option<Stamp>,
    /// The approval ends at this time (RFC 3339); default: the policy's longest time
    #[arg(long, value_name = "TIME", value_parser = moment)]
    pub(crate) expires: Option<Stamp>,
    /// The approval ends this many seconds from now
    #[arg(long, value_name = "S", conflicts_with = "expires", value_parser = clap::value_parser!(u64).range(1..=31_536_000))]
    pub(crate) ttl: Option<u64>,
    /// Approve past the policy in an emergency, if the policy allows that
    #[arg(long, requires = "reason")]
    pub(crate) break_glass: bool,
    /// Reason to go past the policy
    #[arg(long, value_name = "TEXT", requires = "break_glass")]
    pub(crate) reason: Option<String>,
}

impl ApproveArgs {
    /// An approval with nothing said but the request.
    pub(crate) fn with_request(request: String) -> Self {
        Self {
            request,
            sentence: None,
            key: None,
            not_before: None,
            expires: None,
            ttl: None,
            break_glass: false,
            reason: None,
        }
    }
}

/// Arguments of `cto deny` and `cto revoke`.
#[derive(Debug, Args)]
pub(crate) struct RefuseArgs {
    /// A request: req-N, apr-N of one of its approvals, or a unique beginning of its digest
    pub(crate) request: String,
    /// Why; it is part of what is signed
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: String,
    /// The key to sign with; default: the operator's own
    #[arg(long, value_name = "FILE")]
    pub(crate) key: Option<PathBuf>,
}

/// Arguments of `cto hold`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cto hold req-143 --reason \"after the release\"
  cto hold req-143 --release --reason \"released\"")]
pub(crate) struct HoldArgs {
    #[command(flatten)]
    pub(crate) refuse: RefuseArgs,
    /// End the hold instead
    #[arg(long)]
    pub(crate) release: bool,
}

/// Arguments of `cto approvals`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cto approvals --open
  cto approvals --task CTO-143 --json")]
pub(crate) struct ApprovalsArgs {
    /// Only requests of this task
    #[arg(long, value_name = "ID")]
    pub(crate) task: Option<String>,
    /// Only requests that somebody can still decide on
    #[arg(long)]
    pub(crate) open: bool,
    /// At most this many
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) limit: u32,
    /// Only requests before this one: `next` of the previous page
    #[arg(long, value_name = "REQUEST")]
    pub(crate) before: Option<String>,
}

/// Arguments of `cto packet`.
#[derive(Debug, Args)]
#[command(after_help = "\
`cto packet promotion` is the decision packet about Core. It computes how far the evidence goes and promotes nothing.

Examples:
  cto packet req-143
  cto packet req-143 | mail -s approval op1
  cto packet promotion --markdown")]
pub(crate) struct PacketArgs {
    /// A request: req-N, apr-N of one of its approvals, or a unique beginning of its digest; or the word promotion
    pub(crate) request: String,
    /// The decision packet as a document with front matter
    #[arg(long)]
    pub(crate) markdown: bool,
}

fn moment(text: &str) -> Result<Stamp, String> {
    text.parse().map_err(|_| "a time is RFC 3339, such as 2026-11-15T02:39:55Z".to_owned())
}
