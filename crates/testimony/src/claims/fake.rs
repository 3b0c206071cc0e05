//! The fake engine: its last line `{"type":"result","claims":{..}}`.

use contract::claim::Saying;
use contract::fake::{ClaimedOutcome, Claims, Review};

use super::said::FoundClaims;
use super::stream::{events, once_each, parse_event};

#[derive(serde::Deserialize)]
struct ResultLine {
    claims: Claims,
}

/// Reads the claims of the last result line.
pub(super) fn read_fake_claims(stdout: &[u8]) -> FoundClaims {
    let results = events(stdout).filter(|(kind, _)| kind == "result");
    results
        .filter_map(|(_, line)| parse_event::<ResultLine>(line))
        .last()
        .map(|result| said(result.claims))
        .unwrap_or_default()
}

fn said(claims: Claims) -> FoundClaims {
    let mut said = FoundClaims::default();
    if let Some(status) = claims.status {
        said.field("claims.status", Saying::Success(status == ClaimedOutcome::Success));
    }
    if let Some(passed) = claims.tests_passed {
        said.field("claims.tests_passed", Saying::TestsPassed(passed));
    }
    if let Some(id) = claims.commit {
        said.field("claims.commit", Saying::Commit(id));
    }
    // An empty list is written on purpose here: a case leaves the key out to say nothing.
    if let Some(files) = claims.files_changed {
        said.field("claims.files_changed", Saying::FilesChanged(once_each(files.into_iter())));
    }
    if let Some(review) = claims.review {
        let word = match review {
            Review::Approved => "review: approved",
            Review::Rejected => "review: rejected",
        };
        said.field("claims.review", Saying::Other(word.to_owned()));
    }
    said.prose = claims.message.unwrap_or_default();
    said
}
