//! Codex, `exec --json`: the end of the last turn, the files of its patches, its last
//! message. Output of its commands is an intermediate observation, and no claim about the
//! end.

use super::said::FoundClaims;
use super::stream::{CappedList, Touched, events, parse_event};

#[derive(serde::Deserialize)]
struct Completed {
    item: Item,
}

#[derive(serde::Deserialize)]
struct Item {
    #[serde(rename = "type")]
    kind: String,
    text: Option<String>,
    changes: Option<CappedList<Change>>,
    status: Option<String>,
}

#[derive(serde::Deserialize)]
struct Change {
    path: String,
}

/// Reads the claims in Codex's event stream.
pub(super) fn read_codex_claims(stdout: &[u8]) -> FoundClaims {
    let mut said = FoundClaims::default();
    let mut ended = None;
    let mut touched = Touched::default();
    for (kind, line) in events(stdout) {
        match &*kind {
            "item.completed" => {
                if let Some(Completed { item }) = parse_event(line) {
                    hear(item, &mut said, &mut touched);
                }
            }
            "turn.completed" => ended = Some(("turn.completed", true)),
            "turn.failed" => ended = Some(("turn.failed", false)),
            // Also sent for a lost connection that is made again: a later end of the turn
            // counts more.
            "error" => ended = Some(("error", false)),
            _ => {}
        }
    }
    said.ended(ended);
    said.touched("file_change.changes", touched.files());
    said
}

fn hear(item: Item, said: &mut FoundClaims, touched: &mut Touched) {
    match &*item.kind {
        "agent_message" => said.prose = item.text.unwrap_or_default(),
        "file_change" if item.status.as_deref() != Some("failed") => {
            item.changes.unwrap_or_default().0.into_iter().for_each(|change| touched.done(change.path));
        }
        _ => {}
    }
}
