//! Secrets: the values that the run searches for in everything it writes, and the
//! consequences of a hit.

use std::sync::LazyLock;

use contract::event_data::SecretScanCompletedData;
use contract::report::{HitClass, SecretHit, SecretScan};
use contract::task::{SecretAllowance, TaskContract};
use contract::{Coverage, EventData, Reason};
use evidence::censor::ReadBaseline;
use evidence::{Censor, names};
use secrets::{Allowance, Known, KnownClass, RuleSet, Scanner};
use serde_json::Value;
use tree::{ObjectDatabase, Oid};

use crate::run::file::{RunFile, Stopped};
use crate::run::program_view::decoy_key_id;

/// The name of the decoys' secret in hits and markers.
const CANARY: &str = "canary";
/// Places that a blocker names.
const NAMED: usize = 3;

/// Part of a contract that looks like a secret.
#[derive(Debug)]
pub struct ContractSecret {
    /// The field, from the top of the contract.
    pub field: String,
    pub rule: String,
}

/// The censor of a run whose decoys hold this.
pub(crate) fn censor(canary: &str) -> Censor {
    let values = [canary.to_owned(), decoy_key_id(canary)];
    Censor::new(values.iter().map(|value| Known::new(CANARY, KnownClass::Canary, value.as_bytes())).collect())
}

/// The values that a contract allows in its patch.
pub(crate) fn allowances(contract: &TaskContract) -> Vec<Allowance> {
    let allowance = |allowed: &SecretAllowance| Allowance {
        rule: allowed.rule.clone(),
        path: allowed.path.clone(),
        value_sha256: *allowed.value_sha256.as_bytes(),
    };
    contract.secret_allowances.iter().map(allowance).collect()
}

/// Text for a live display, with a marker in the place of everything that has the shape of
/// a secret.
pub fn redact_shapes(text: &str) -> String {
    static SHAPES: LazyLock<Scanner> = LazyLock::new(|| Scanner::new(&[], RuleSet::standard()));
    String::from_utf8_lossy(&SHAPES.redact(text.as_bytes()).0).into_owned()
}

/// A contract lies in every bundle and in the ledger under its digest, so that nothing can
/// be taken out of it later.
pub(crate) fn secret_in(contract: &[u8]) -> Result<Option<ContractSecret>, serde_json::Error> {
    let scanner = Scanner::new(&[], RuleSet::standard());
    let Some(hit) = scanner.scan(contract).into_iter().next() else { return Ok(None) };
    let whole = serde_json::from_slice(contract)?;
    let field = field_of(&scanner, &whole, String::new()).unwrap_or_else(|| "contract".to_owned());
    Ok(Some(ContractSecret { field, rule: hit.rule.to_string() }))
}

fn field_of(scanner: &Scanner, value: &Value, at: String) -> Option<String> {
    let below = |name: &str| if at.is_empty() { name.to_owned() } else { format!("{at}.{name}") };
    match value {
        Value::String(text) => (!scanner.scan(text.as_bytes()).is_empty()).then_some(at),
        Value::Array(items) => {
            items.iter().enumerate().find_map(|(index, item)| field_of(scanner, item, below(&index.to_string())))
        }
        Value::Object(entries) => entries.iter().find_map(|(name, entry)| {
            let named = !scanner.scan(name.as_bytes()).is_empty();
            if named { Some(at.clone()) } else { field_of(scanner, entry, below(name)) }
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

/// Reads the files of a baseline commit. What cannot be read is not in the baseline, as far
/// as anybody can tell.
pub(crate) fn baseline_reader(store: ObjectDatabase, commit: Oid) -> ReadBaseline {
    Box::new(move |take| {
        let Ok(listing) = store.list_tree(commit) else { return };
        let mut reader = store.reader();
        for entry in listing.0.values().filter(|entry| entry.mode.is_regular()) {
            if let Ok(content) = reader.blob(entry.oid) {
                take(&content);
            }
        }
    })
}

impl RunFile<'_> {
    /// Turns findings of the scan into blockers and events.
    pub(crate) fn conclude_scan(&mut self) -> Result<SecretScan, Stopped> {
        let scan = self.draft.censor().result(self.draft.files().len() + LAST_FILES.len());
        for (reason, text, file) in judge_hits(&scan.hits) {
            self.standing.block_run(reason, text, file);
        }
        if self.draft.censor().is_patch_redacted() {
            self.standing.cover(Coverage::PatchRedacted);
        }
        if self.draft.censor().is_secret_allowed() {
            self.standing.cover(Coverage::SecretAllowed);
        }
        let data =
            SecretScanCompletedData { files_scanned: scan.files_scanned, hits: scan.hits.len(), status: scan.status };
        self.add_event(&EventData::SecretScanCompleted(data))?;
        Ok(scan)
    }
}

/// Blockers that hits make, each with the file of its first hit.
fn judge_hits(hits: &[SecretHit]) -> Vec<(Reason, String, &str)> {
    let rows = [
        (HitClass::Leak, Reason::SecretLeak, "what looks like a secret stood"),
        (HitClass::Canary, Reason::CanaryTouched, "the secret of a decoy stood"),
    ];
    let judge = |(class, reason, what)| {
        let of_class: Vec<&SecretHit> = hits.iter().filter(|hit| hit.class == class).collect();
        let first = of_class.first()?;
        Some((reason, format!("{what} {}", in_words(&of_class)), first.file.as_str()))
    };
    rows.into_iter().filter_map(judge).collect()
}

fn in_words(hits: &[&SecretHit]) -> String {
    let place = |hit: &&SecretHit| format!("in {} at {} ({})", hit.file, hit.offset, hit.rule);
    contract::text::listed(hits.iter().map(place), NAMED)
}

/// The files of a bundle beside those that are written as the run goes on.
const LAST_FILES: &[&str] = &[names::EVENTS, names::TRACE, names::REPORT, names::REPORT_MD];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::two_sided;

    #[test]
    fn secrets_and_decoys_stand_against_the_run_each_with_its_places() {
        let hit = |class, offset| SecretHit { file: "test.log".to_owned(), offset, rule: "token".to_owned(), class };
        let leaks: Vec<SecretHit> = (1..=4).map(|offset| hit(HitClass::Leak, offset)).collect();
        let all = [vec![hit(HitClass::Canary, 7)], leaks].concat();
        let places = "in test.log at 1 (token), in test.log at 2 (token), in test.log at 3 (token) and 1 more";
        let leak = format!("what looks like a secret stood {places}");
        let decoy = "the secret of a decoy stood in test.log at 7 (token)".to_owned();
        let judged = judge_hits(&all);
        assert_eq!(
            judged,
            [(Reason::SecretLeak, leak, "test.log"), (Reason::CanaryTouched, decoy.clone(), "test.log")]
        );
        assert_eq!(judge_hits(&all[..1]), [(Reason::CanaryTouched, decoy, "test.log")]);
        assert_eq!(judge_hits(&[]), [], "control");
        two_sided(Reason::SecretLeak, judge_hits(&all), judge_hits(&all[..1]));
        two_sided(Reason::CanaryTouched, judge_hits(&all), judge_hits(&all[1..]));
    }

    /// Without being known it would be a leak of somebody's, by the chance of its letters.
    #[test]
    fn the_name_of_a_decoys_key_is_the_decoys() {
        let canary = "q7kzm2xw5vbn3rtyq7kzm2xw5vbn3rty";
        let text = format!("aws_access_key_id = {}\n", decoy_key_id(canary));
        let classes = |mut censor: Censor| {
            censor.bytes("a.log", text.as_bytes());
            censor.result(1).hits.into_iter().map(|hit| hit.class).collect::<Vec<_>>()
        };
        assert_eq!(classes(censor(canary)), [HitClass::Canary]);
        assert_eq!(classes(Censor::new(Vec::new())), [HitClass::Leak], "control: it has the shape of one");
    }
}
