//! `cto import`: the run of an archive, checked and taken into this home.

use std::path::{Path, PathBuf};

use contract::text::show_controls;
use harness::{ImportArchiveError, Imported, TakenIn};
use serde_json::json;

use crate::context::Context;
use crate::error::CommandError;
use crate::output::{Output, count_text};
use crate::seek::trusted_for_review;

/// Takes the run of an archive in, after verifying it.
pub(crate) fn import_run(context: &Context, file: &Path, keys: &[PathBuf]) -> Result<u8, CommandError> {
    let keys = trusted_for_review(context, keys)?;
    let (taken, before) = match harness::import_archive(&context.config.place(), file, &keys.keys)? {
        Imported::Taken(taken) => (taken, false),
        Imported::Here(taken) => (taken, true),
    };
    let output = context.output;
    let report = &taken.report;
    if output.json {
        output.print_json(&json!({
            "attestation_sha256": taken.attestation_sha256,
            "bundle": taken.bundle.display().to_string(),
            "run_id": report.run_id,
            "signer": taken.signer,
            "statements": taken.statements,
            "status": report.status,
            "was_here": before,
        }))?;
    } else if output.terminal {
        output.print(&people(output, &taken, before));
    } else {
        let word = if before { "here" } else { "imported" };
        output.print(&format!(
            "{word} {} verdict={} statements={} signer={}\nbundle {}\n",
            report.run_id,
            report.status,
            taken.statements,
            taken.signer,
            show_controls(&taken.bundle.display().to_string())
        ));
    }
    Ok(0)
}

fn people(output: Output, taken: &TakenIn, before: bool) -> String {
    let paint = output.paint;
    let run = taken.report.run_id.suffix();
    let first = if before {
        format!("{run} is here already, and it is the same")
    } else {
        format!("{run} is checked and taken in")
    };
    let rows = [
        ("verdict", paint.paint_status(taken.report.status)),
        ("signed by", format!("ed25519 {}", taken.signer)),
        ("with it", count_text(taken.statements, "signed statement", "signed statements")),
        ("bundle", show_controls(&taken.bundle.display().to_string())),
    ];
    let rows: String =
        rows.iter().map(|(label, text)| format!("  {} {text}\n", paint.dim(&format!("{label:<10}")))).collect();
    format!("imported  {first}\n\n{rows}\n{}  {}\n", paint.dim("next"), paint.command(&format!("cto show {run}")))
}

impl From<ImportArchiveError> for CommandError {
    fn from(error: ImportArchiveError) -> Self {
        let message = format!("{error}. Nothing was kept.");
        match error {
            ImportArchiveError::NotAnArchive(..) => Self::usage(message).hint("give a file that `cto export` wrote"),
            ImportArchiveError::DoesNotVerify(failures) if failures.iter().any(|failure| failure.check == "signer") => {
                Self::fail(message)
                    .hint("--key FILE with the sender's public key, obtained separately from the archive")
            }
            ImportArchiveError::DoesNotVerify(_) | ImportArchiveError::Refused { .. } => {
                Self::fail(message).hint("ask the sender for the archive again")
            }
            ImportArchiveError::Another { .. } => Self::fail(message).hint("import it into another home: --home DIR"),
            ImportArchiveError::Home(error) => error.into(),
            ImportArchiveError::Read(..) | ImportArchiveError::Write(..) | ImportArchiveError::Ledger(_) => {
                Self::blocked_with(message).hint("free disk space or fix what is named, then import it again")
            }
        }
    }
}
