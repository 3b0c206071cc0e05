//! The decoys' secret, looked for in everything the run leaves: who has it has read a decoy.

use std::fs;

use contract::Reason;
use contract::report::SecretHit;

use crate::run::{Run, Stopped};

const RULE: &str = "canary";

/// Where the secret of the decoys stands in what was written so far; each place is held against the run.
pub(crate) fn search(run: &mut Run<'_>) -> Result<Vec<SecretHit>, Stopped> {
    let needle = run.canary.clone().into_bytes();
    if needle.is_empty() || run.findings.cells.last().is_none() {
        return Ok(Vec::new());
    }
    let mut hits = Vec::new();
    for name in run.draft.files().keys() {
        let path = run.draft.dir().join(name);
        let bytes = fs::read(&path).map_err(|error| Stopped::Io(path, error))?;
        if let Some(offset) = bytes.windows(needle.len()).position(|part| part == needle) {
            hits.push(SecretHit { rule: RULE.to_owned(), file: name.clone(), offset: offset as u64 });
        }
    }
    for hit in &hits {
        let text = format!("the secret of a decoy stands in {}", hit.file);
        run.findings.block(Reason::CanaryTouched, text, &hit.file);
    }
    Ok(hits)
}
