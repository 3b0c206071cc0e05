//! Everything that relied on a person's key since a time, for the day on which the key
//! turns out to be compromised.

use std::collections::BTreeSet;
use std::io::Read as _;

use contract::{Digest, RunId, Stamp};
use ledger::{Entry, EntryKind, Ledger, ReadLedgerError, RunFilter};
use serde::Serialize;
use untrusted_fs::own_files;

use crate::Views;

/// Kinds of entries that hold signatures of people.
const SIGNED: &[EntryKind] = &[
    EntryKind::ApprovalRequested,
    EntryKind::ApprovalGranted,
    EntryKind::ApprovalDenied,
    EntryKind::ApprovalHeld,
    EntryKind::ApprovalReleased,
    EntryKind::ApprovalRevoked,
    EntryKind::OutcomeRecorded,
    EntryKind::ChangeRolledBack,
    EntryKind::RecordSigned,
];
/// Far more bytes than a decision has.
const LARGEST_DECISION: u64 = 64 << 20;

/// Entries and runs that rested on a key.
#[derive(Debug, Clone, Default, Serialize)]
pub struct KeyUse {
    /// Entries that name the key.
    pub entries: Vec<KeyUseEntry>,
    /// Runs that used a request with a signature of the key, rest on a record that it
    /// signed, or have an outcome by it.
    pub runs: Vec<RunId>,
}

/// Ledger entry that relied on the key.
#[derive(Debug, Clone, Serialize)]
pub struct KeyUseEntry {
    pub seq: u64,
    pub time: String,
    pub kind: String,
    pub run_id: Option<String>,
    /// Digest of the request that the entry is about.
    pub request: Option<Digest>,
    /// File of the record that was signed.
    pub file: Option<String>,
}

impl Views {
    /// Lists what rested on a key since a time. A superset: whatever names the key is listed.
    pub fn find_key_use(&self, fingerprint: &str, since: Stamp) -> Result<KeyUse, ReadLedgerError> {
        let Some(ledger) = self.ledger() else { return Ok(KeyUse::default()) };
        let mut entries = Vec::new();
        for entry in ledger.entries_of(SIGNED, None)?.iter().filter(|entry| names_key(entry, fingerprint)) {
            if is_since(ledger, entry, since)? {
                entries.push(KeyUseEntry::new(entry));
            }
        }
        let mut runs: BTreeSet<RunId> =
            entries.iter().filter_map(|entry| RunId::try_from(entry.run_id.clone()?).ok()).collect();
        for request in entries.iter().filter_map(|entry| entry.request).collect::<BTreeSet<_>>() {
            runs.extend(ledger.request_row(request)?.and_then(|row| row.used_by));
        }
        let filter = RunFilter { since: Some(since), ..RunFilter::default() };
        let later = ledger.runs_recent(&filter, usize::MAX)?.into_iter().map(|row| row.run_id);
        runs.extend(later.filter(|run| self.rests_on_key(run, fingerprint)));
        Ok(KeyUse { entries, runs: runs.into_iter().collect() })
    }

    /// True if the decision of a run names the key: it signed a record or an approval.
    fn rests_on_key(&self, run: &RunId, fingerprint: &str) -> bool {
        let Some(bundle) = self.home.bundles.find_bundle(run) else { return false };
        let mut text = Vec::new();
        let read = own_files::open_file(bundle.dir.join(evidence::names::DECISION))
            .and_then(|file| file.take(LARGEST_DECISION).read_to_end(&mut text));
        read.is_ok() && String::from_utf8_lossy(&text).contains(fingerprint)
    }
}

/// True if the ledger had reached a time with an entry, also where the entry is dated back.
fn is_since(ledger: &Ledger, entry: &Entry, since: Stamp) -> Result<bool, ReadLedgerError> {
    match entry.time.parse::<Stamp>() {
        Ok(own) if own < since => Ok(ledger.entry_dated(entry.seq, own)? >= since),
        _ => Ok(true),
    }
}

/// True if an entry mentions the key. Bodies hold documents as text, with fingerprints in
/// plain.
fn names_key(entry: &Entry, fingerprint: &str) -> bool {
    entry.body.to_string().contains(fingerprint)
}

impl KeyUseEntry {
    fn new(entry: &Entry) -> Self {
        let text = |name: &str| entry.body.get(name).and_then(|value| value.as_str());
        Self {
            seq: entry.seq,
            time: entry.time.clone(),
            kind: entry.kind.clone(),
            run_id: entry.run_id.clone(),
            request: text("request").and_then(|digest| digest.parse().ok()),
            file: text("file").map(str::to_owned),
        }
    }
}
