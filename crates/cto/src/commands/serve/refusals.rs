//! Attempts of a run's sandboxes as its page shows them, with the line of the contract that
//! would allow each.

use contract::sandbox::{Attempt, AttemptKind, AttemptVerdict};
use hermes::RefusalFacts;
use serde::Deserialize;

/// Attempts of a page; the rest is in the file itself.
const MOST_ATTEMPTS: usize = 100;

/// The part of `sandbox.json` that is read here, whatever its version.
#[derive(Deserialize)]
struct Recorded {
    #[serde(default)]
    attempts: Vec<Attempt>,
}

/// Attempts of a record, and how many are left out.
pub(super) fn read_refusals(sandbox: &[u8]) -> (Vec<RefusalFacts>, u64) {
    let attempts = serde_json::from_slice::<Recorded>(sandbox).map(|recorded| recorded.attempts).unwrap_or_default();
    let left_out = attempts.len().saturating_sub(MOST_ATTEMPTS) as u64;
    (attempts.into_iter().take(MOST_ATTEMPTS).map(describe_attempt).collect(), left_out)
}

fn describe_attempt(attempt: Attempt) -> RefusalFacts {
    let (allowed_by, advice) = advise(&attempt);
    let Attempt { cell, what, by, count, judged, .. } = attempt;
    let counts_as = match judged {
        AttemptVerdict::ForbiddenAction => "forbidden action",
        AttemptVerdict::Violation => "violation",
        AttemptVerdict::Note => "note",
    };
    RefusalFacts { cell, what, by, count, counts_as, allowed_by, advice }
}

/// Key of the contract that would allow an attempt, and advice. The ten forbidden actions,
/// decoys, and the filter are the same for every contract.
fn advise(attempt: &Attempt) -> (Option<&'static str>, &'static str) {
    match (attempt.judged, attempt.kind) {
        (AttemptVerdict::ForbiddenAction, _) => (None, "None: no engine may do it, whatever its contract says."),
        (_, AttemptKind::Connection) => (
            Some("environment.setup_network"),
            "lets setup reach the host before the engine starts; an engine reaches none.",
        ),
        (_, AttemptKind::Execution) => {
            (Some("environment.mounts"), "shows a program that is missing; the attempt itself needs no line.")
        }
        (_, AttemptKind::Call) => (None, "None: the filter is the same for every contract."),
        (_, AttemptKind::Canary) => (None, "None: it is a decoy, which no task needs."),
        (_, AttemptKind::GitConfiguration) => {
            (None, "None: the harness takes the changed files, not the configuration.")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_attempt_has_its_line_or_none() {
        let read = |kind: &str, judged: &str| {
            let attempt = serde_json::json!({
                "cell": "engine", "kind": kind, "what": "x", "by": null, "count": 2, "judged": judged, "action": null,
            });
            let document = serde_json::json!({"attempts": [attempt], "schema_version": "9"}).to_string();
            let (mut refusals, _) = read_refusals(document.as_bytes());
            let one = refusals.remove(0);
            (one.counts_as, one.allowed_by)
        };
        assert_eq!(read("connection", "violation"), ("violation", Some("environment.setup_network")));
        assert_eq!(read("execution", "note"), ("note", Some("environment.mounts")));
        assert_eq!(read("execution", "forbidden_action"), ("forbidden action", None));
        for kind in ["call", "canary", "git_configuration"] {
            assert_eq!(read(kind, "violation"), ("violation", None), "{kind}");
        }
        assert_eq!(read_refusals(b"{}").0.len(), 0);
        assert_eq!(read_refusals(b"no json").0.len(), 0);
    }
}
