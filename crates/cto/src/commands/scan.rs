//! `cto scan`: what looks like a secret in files, folders or standard input.

use std::path::{Path, PathBuf};

use contract::text::show_controls;
use harness::{FileSecret, ScannedFiles, scan_files};

use crate::error::CommandError;
use crate::output::{Output, count_text};

/// Prints what looks like a secret.
pub(crate) fn scan_paths(output: Output, paths: &[PathBuf]) -> Result<u8, CommandError> {
    if let Some(missing) = paths.iter().find(|path| *path != Path::new("-") && path.symlink_metadata().is_err()) {
        let message = format!("{} is not there", show_controls(&missing.display().to_string()));
        return Err(CommandError::usage(message).hint("cto scan PATH     a file, a folder, or - for standard input"));
    }
    let scanned = scan_files(paths, || Box::new(std::io::stdin()));
    if output.json {
        output.print_json(&scanned)?;
    } else {
        print(output, &scanned);
    }
    Ok(u8::from(!scanned.is_clean()))
}

fn print(output: Output, scanned: &ScannedFiles) {
    let files = count_text(scanned.files_scanned as usize, "file", "files");
    let found = match scanned.hits.len() {
        0 => format!("nothing that looks like a secret in {files}\n"),
        some => format!("{} in {files}\n", count_text(some, "hit", "hits")),
    };
    if output.terminal {
        output.print(&found);
    }
    scanned.hits.iter().for_each(|hit| output.print(&line(output, hit)));
    for unread in &scanned.unread {
        output.print(&format!("{}: not read: {}\n", show_controls(&unread.file), show_controls(&unread.reason)));
    }
    if let Some(hit) = scanned.hits.iter().find(|hit| hit.value_sha256.is_some()).filter(|_| output.terminal) {
        output.print(&how_to_allow(output, hit));
    }
}

fn line(output: Output, hit: &FileSecret) -> String {
    let place = format!("{}:{}:{}", show_controls(&hit.file), hit.line, hit.column);
    let digest = hit.value_sha256.map_or_else(|| "-".to_owned(), |digest| digest.to_string());
    match output.terminal {
        true => format!("  {:<28}  {place}\n      {}\n", hit.rule, output.paint.dim(&format!("value sha256 {digest}"))),
        false => format!("{place} {} {} {digest}\n", hit.rule, hit.encoding),
    }
}

/// Entry of a contract that allows a value which is no secret.
fn how_to_allow(output: Output, hit: &FileSecret) -> String {
    let digest = hit.value_sha256.map_or_else(String::new, |digest| digest.to_string());
    let path = show_controls(hit.file.trim_start_matches("./"));
    let entry = format!(
        "  secret_allowances:\n    - {{rule: {}, path: \"{path}\", value_sha256: {digest}, reason: \"why it is none\"}}",
        hit.rule
    );
    format!(
        "\nA value that is no secret is allowed in the contract, at its path in the repository:\n{}\n",
        output.paint.command(&entry)
    )
}
