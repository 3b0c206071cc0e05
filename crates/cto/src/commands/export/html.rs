//! `cto export --html`: the page of a run with its bundle in it, as one file that checks
//! itself in a browser.

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use contract::text::show_controls;
use evidence::names;
use evidence::verify::VerifiedBundle;
use hermes::{RunFileBundle, render_run_file};
use serde_json::json;

use crate::commands::serve::gather_run;
use crate::context::Context;
use crate::error::CommandError;
use crate::output::bytes;
use crate::seek::trusted;

/// Largest bundle that a browser is given as one page.
const LARGEST_BUNDLE: u64 = 64 << 20;

/// Writes a verified run as one page.
pub(crate) fn export_html(context: &Context, run: &str, to: Option<&Path>) -> Result<u8, CommandError> {
    let found = context.find_run(run)?;
    let keys = trusted(context, &[])?.keys_of(&found);
    let bundle = found.bind_bundle(&keys)?;
    let run_id = &bundle.report().run_id;
    let signer = keys.iter().find(|key| key.key_id() == bundle.signer());
    let key = signer.map(|key| key.openssh("cto")).ok_or_else(|| CommandError::fail("the signer is not known"))?;
    let files = read_files(&bundle)?;
    let count = files.len();
    let (views, now) = context.look_only()?;
    let facts = gather_run(&views.trusting_keys(keys.clone()), run_id.as_str(), now)?;
    let text = render_run_file(facts, &RunFileBundle { key, files }).map_err(CommandError::fail)?;
    let to = to.map_or_else(|| PathBuf::from(format!("{run_id}.html")), Path::to_owned);
    write_new(&to, text.as_bytes())?;
    let (output, path) = (context.output, show_controls(&to.display().to_string()));
    if output.json {
        output.print_json(&json!({
            "bytes": text.len(), "files": count, "path": path, "run_id": run_id, "signer": bundle.signer(),
        }))?;
    } else if output.terminal {
        output.print(&format!(
            "exported  {}  one page, {}\n\n  {path}\n\nsigned by {}\nreaders compare this key with a copy that you give them separately\n",
            run_id.suffix(),
            bytes(text.len() as u64),
            bundle.signer()
        ));
    } else {
        output.print(&format!(
            "exported {run_id} files={count} bytes={} signer={}\npath {path}\n",
            text.len(),
            bundle.signer()
        ));
    }
    Ok(0)
}

/// Every signed file and the attestation.
fn read_files(bundle: &VerifiedBundle) -> Result<Vec<(String, Vec<u8>)>, CommandError> {
    let mut left = LARGEST_BUNDLE;
    let mut files = Vec::new();
    let listed = bundle.report().artifact_digests.keys().map(String::as_str);
    for name in listed.chain([names::ATTESTATION]) {
        let bytes = bundle.read_within(name, left).map_err(|_| {
            CommandError::blocked_with(format!(
                "`{}` does not fit into a page of {} MiB",
                show_controls(name),
                LARGEST_BUNDLE >> 20
            ))
            .hint(format!("cto export {}     an archive of any size", bundle.report().run_id.suffix()))
        })?;
        left = left.saturating_sub(bytes.len() as u64);
        files.push((name.to_owned(), bytes));
    }
    Ok(files)
}

fn write_new(to: &Path, text: &[u8]) -> Result<(), CommandError> {
    let opened = OpenOptions::new().write(true).create_new(true).open(to);
    opened.and_then(|mut file| file.write_all(text)).map_err(|error| {
        let place = show_controls(&to.display().to_string());
        match error.kind() {
            io::ErrorKind::AlreadyExists => CommandError::usage(format!("{place} exists already"))
                .hint("name another file with -o FILE, or move it away"),
            _ => CommandError::usage(format!("cannot write {place}: {error}"))
                .hint("name a file you can write with -o FILE"),
        }
    })
}
