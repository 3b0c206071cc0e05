//! `cto export`: one portable archive of a run, or one page.

mod html;

use std::path::{Path, PathBuf};

use contract::text::show_controls;
use harness::{ExportRunError, ExportSource, Home, ReverifyError};
use serde_json::json;

use crate::context::Context;
use crate::error::CommandError;
use crate::output::{bytes, count_text};
use crate::seek::trusted;
pub(crate) use html::export_html;

/// Writes a verified run as one archive.
pub(crate) fn export_archive(
    context: &Context,
    run: &str,
    to: Option<&Path>,
    with_baseline: bool,
) -> Result<u8, CommandError> {
    let found = context.find_run(run)?;
    let keys = trusted(context, &[])?.keys_of(&found);
    let bundle = found.bind_bundle(&keys)?;
    let run_id = &bundle.report().run_id;
    let home = Home::existing(&context.config.place())?;
    let to = to.map_or_else(|| PathBuf::from(format!("{run_id}.cto.tar.zst")), Path::to_owned);
    let harness = with_baseline.then(|| context.harness_at(&context.config.place())).transpose()?;
    let source = ExportSource { home: &home, bundle: &bundle, keys: &keys, with_baseline: harness.as_ref() };
    let done = harness::export_run(&source, &to)?;
    let output = context.output;
    let path = done.path.display().to_string();
    if output.json {
        output.print_json(&json!({
            "archive_bytes": done.archive_bytes,
            "bytes": done.bytes,
            "files": done.files,
            "path": path,
            "run_id": run_id,
            "statements": done.statements,
            "with_baseline": done.with_baseline,
        }))?;
    } else if output.terminal {
        let paint = output.paint;
        let (files, statements) =
            (count_text(done.files, "file", "files"), count_text(done.statements, "statement", "statements"));
        output.print(&format!(
            "exported  {}  {files}, {statements} about it, {}\n\n  {}\n\n{}  {}     on the other machine\n",
            run_id.suffix(),
            bytes(done.archive_bytes),
            show_controls(&path),
            paint.dim("next"),
            paint.command(&format!("cto import {} --key harness.pub", show_controls(&path)))
        ));
    } else {
        output.print(&format!(
            "exported {run_id} files={} statements={} bytes={} archive_bytes={}\npath {}\n",
            done.files,
            done.statements,
            done.bytes,
            done.archive_bytes,
            show_controls(&path)
        ));
    }
    Ok(0)
}

impl From<ExportRunError> for CommandError {
    fn from(error: ExportRunError) -> Self {
        match &error {
            ExportRunError::Verify(_) => Self::fail(&error).hint("cto verify RUN     what does not hold"),
            ExportRunError::Unfit { .. } => {
                Self::blocked_with(&error).hint("hand the bundle over as a directory: cp -r, or a tar of your own")
            }
            ExportRunError::Exists(_) => Self::usage(&error).hint("name another file with -o FILE, or move it away"),
            ExportRunError::Place(..) => Self::usage(&error).hint("name a file you can write with -o FILE"),
            ExportRunError::Baseline(error) => {
                let hint = match error {
                    ReverifyError::NoResult => "export it without --with-baseline: it has no result to verify again",
                    _ => "bring the repository back to where the contract names it, with that commit",
                };
                Self::blocked_with(error).hint(hint)
            }
            ExportRunError::Read(..) | ExportRunError::Encode(_) => Self::blocked_with(&error).hint("cto doctor"),
        }
    }
}
