//! Arguments of the records: the workboard, packets, guard, packing.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use workboard::{EvidenceKind, WorkStatus};

/// Arguments of `cto validate workspace`.
#[derive(Debug, Args)]
pub(crate) struct ValidateWorkspaceArgs {
    /// One SARIF 2.1.0 document on stdout, for editors and code hosts
    #[arg(long, conflicts_with = "json")]
    pub(crate) sarif: bool,
    /// Make the edits that have only one right result, then check again
    #[arg(long)]
    pub(crate) fix: bool,
}

/// Commands of `cto work`.
#[derive(Debug, Subcommand)]
pub(crate) enum WorkCommand {
    /// The items of the board
    List {
        /// Only items with this status
        #[arg(long, value_name = "STATUS", value_parser = work_status)]
        status: Option<WorkStatus>,
    },
    /// One item with its evidence and its documents
    Show {
        /// The item, such as DEMO-WORK-007
        id: String,
    },
    /// List the items that can be done now: `afk` without a person, `hitl` with a human decision
    Next,
    /// Move an item to another status, with the evidence for it
    #[command(after_help = "\
The board keeps every other byte. Each move needs evidence that holds, given here or attached before; a bundle is \
verified first. A run that failed is evidence for draft and blocked only.

Examples:
  cto work status DEMO-WORK-007 candidate \\
      --evidence document:DEMO-WORK-007-PRD.md
  cto work status DEMO-WORK-007 validated --evidence bundle:b9tc \\
      --evidence document:.sot/03-PROTOCOLS/DEMO-WORK-007-EVIDENCE.md

Exit codes: 0 moved, 2 wrong usage, 3 refused: see the message.")]
    Status {
        /// The item
        id: String,
        /// draft, candidate, validated or blocked
        #[arg(value_parser = work_status)]
        status: WorkStatus,
        /// KIND:REF; the kinds are bundle, document, commit, work, validator and external
        #[arg(long, value_name = "KIND:REF", value_parser = evidence_piece)]
        evidence: Vec<(EvidenceKind, String)>,
    },
    /// Print the graph of dependencies between items, with the path of each cycle
    Graph {
        /// In the DOT language
        #[arg(long)]
        dot: bool,
    },
    /// Draft the closeout of an item
    Closeout {
        /// The item
        id: String,
        /// Write it below .sot/03-PROTOCOLS; one that is there is never overwritten
        #[arg(long)]
        write: bool,
    },
}

/// Arguments of `cto records`.
#[derive(Debug, Args)]
pub(crate) struct RecordsArgs {
    #[command(subcommand)]
    pub(crate) command: Option<RecordsCommand>,
}

/// Commands of `cto records`.
#[derive(Debug, Subcommand)]
pub(crate) enum RecordsCommand {
    /// The YAML of a decision record that was kept as Markdown
    Draft {
        /// The Markdown record
        file: PathBuf,
    },
}

/// Arguments of `cto unpack`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cto --home ~/cto-new unpack team.cto-pack.tar.zst ~/team \\
      --key alice.pub --trust-sender

Exit codes: 0 unpacked, 1 damaged, hostile or by an unknown signer, 2 wrong usage, 3 sender not trusted.")]
pub(crate) struct UnpackArgs {
    /// The pack
    pub(crate) file: PathBuf,
    /// Folder for the workspace; it must not exist or be empty
    pub(crate) dir: PathBuf,
    /// Public key of the sender's harness, obtained separately from the pack
    #[arg(long, value_name = "FILE", required = true)]
    pub(crate) key: Vec<PathBuf>,
    /// Trust that harness and the people that its home trusts
    #[arg(long)]
    pub(crate) trust_sender: bool,
}

/// Arguments of `cto guard`.
#[derive(Debug, Args)]
#[command(after_help = "\
Reserves, writes and stops nothing.

Examples:
  cto guard --core ~/src/core
  cto guard --json

Exit codes: 0 passed, 2 wrong usage, 3 blocked.")]
pub(crate) struct GuardArgs {
    /// The Core workspace; default: that of harness.yaml
    #[arg(long, value_name = "DIR")]
    pub(crate) core: Option<PathBuf>,
}

/// Arguments of `cto pack`.
#[derive(Debug, Args)]
#[command(after_help = "\
Two packs of the same state are the same bytes.

Examples:
  cto pack -o team.cto-pack.tar.zst")]
pub(crate) struct PackArgs {
    /// File to write; default: NAME.cto-pack.tar.zst in the current directory
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

fn work_status(word: &str) -> Result<WorkStatus, String> {
    WorkStatus::of_word(word).ok_or_else(|| "draft, candidate, validated or blocked".to_owned())
}

fn evidence_piece(text: &str) -> Result<(EvidenceKind, String), String> {
    let refused = || "KIND:REF, with bundle, document, commit, work, validator or external as KIND".to_owned();
    let (kind, reference) = text.split_once(':').ok_or_else(refused)?;
    let kind = EvidenceKind::of_word(kind).ok_or_else(refused)?;
    if reference.trim().is_empty() { Err(refused()) } else { Ok((kind, reference.trim().to_owned())) }
}
