//! Keys of workers, from the signed records of the ledger, and the countersignatures that they made.
//!
//! A fleet begins with the first admitted worker. A run that started after that, or that a worker took from a shared queue, counts for a
//! rung only if two machines stand for it: the admitted worker that sealed it, and another that verified it again.

use contract::approval::WorkerSchema;
use contract::reverification::{COUNTERSIGNATURE_TYPE, Countersignature, CountersignatureStatement};
use contract::signer::SignerStanding;
use contract::worker::{WorkerAct, WorkerRecord};
use contract::{Digest, Stamp, Status};
use evidence::dsse::open_statement;
use evidence::signer_key::SignerKey;
use evidence::sshsig::verify_signature;
use evidence::{PublicKey, names};
use ledger::{Entry, EntryKind, Ledger, ReadLedgerError, RunRow};

/// Standing of a person's key for a namespace at a time.
pub(super) type JudgeSigner<'a> = &'a dyn Fn(&SignerKey, &str, Stamp) -> SignerStanding;

/// A machine that a record admitted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerKey {
    pub key: PublicKey,
    pub record: WorkerRecord,
    pub admitted_seq: u64,
    /// The entry that removed it. What the ledger has of it from before still counts.
    pub removed_seq: Option<u64>,
}

impl WorkerKey {
    /// True unless the machine was removed before that entry.
    fn counts_at(&self, seq: u64) -> bool {
        self.removed_seq.is_none_or(|removed| seq < removed)
    }
}

/// Workers that the records of a ledger admit, by signers that count in this home.
#[derive(Debug, Clone, Default)]
pub struct WorkerKeys {
    workers: Vec<WorkerKey>,
    /// Entries whose record cannot be read, or whose signer does not count here.
    pub uncounted: Vec<u64>,
}

impl WorkerKeys {
    /// Reads every admission and removal. A removal counts with any signer; an admission needs a signer that counts.
    pub fn read_keys(ledger: &Ledger, judge: JudgeSigner<'_>) -> Result<Self, ReadLedgerError> {
        let mut keys = Self::default();
        for entry in ledger.entries_of(&[EntryKind::WorkerAdmitted, EntryKind::WorkerRemoved], None)? {
            let Some((record, signer)) = read_record(ledger.ledger_id(), &entry) else {
                keys.uncounted.push(entry.seq);
                continue;
            };
            let may_admit = || may_sign(ledger, judge, WorkerSchema::NAMESPACE, &signer, &entry);
            let is_taken = match record.act {
                WorkerAct::Removed => keys.remove_worker(&record, entry.seq),
                WorkerAct::Admitted => may_admit()? && keys.admit_worker(record, entry.seq),
            };
            if !is_taken {
                keys.uncounted.push(entry.seq);
            }
        }
        Ok(keys)
    }

    /// Admits a key, again if it was removed: a record that is older than the removal does not undo it.
    fn admit_worker(&mut self, record: WorkerRecord, seq: u64) -> bool {
        let Some(key) = PublicKey::parse_line(&record.key).filter(|key| key.key_id() == record.key_id) else {
            return false;
        };
        let is_stale =
            |known: &WorkerKey| known.removed_seq.is_none() || record.recorded_at <= known.record.recorded_at;
        let known = self.workers.iter().rev().find(|known| known.record.key_id == record.key_id);
        if known.is_some_and(is_stale) {
            return false;
        }
        self.workers.push(WorkerKey { key, record, admitted_seq: seq, removed_seq: None });
        true
    }

    fn remove_worker(&mut self, record: &WorkerRecord, seq: u64) -> bool {
        let is_it = |known: &&mut WorkerKey| known.record.key_id == record.key_id && known.removed_seq.is_none();
        let Some(known) = self.workers.iter_mut().find(is_it) else { return false };
        known.removed_seq = Some(seq);
        known.record.recorded_at = known.record.recorded_at.max(record.recorded_at);
        true
    }

    /// Workers in the order of their admission, removed ones included.
    pub fn workers(&self) -> &[WorkerKey] {
        &self.workers
    }

    /// Keys of workers that are admitted now.
    pub fn admitted_keys(&self) -> impl Iterator<Item = &PublicKey> {
        self.workers.iter().filter(|worker| worker.removed_seq.is_none()).map(|worker| &worker.key)
    }

    /// Every key that was ever admitted.
    pub(super) fn all_keys(&self) -> Vec<PublicKey> {
        self.workers.iter().map(|worker| worker.key.clone()).collect()
    }

    /// The removal of a key that is not admitted now.
    pub fn find_removed(&self, key_id: &str) -> Option<&WorkerKey> {
        let last = self.workers.iter().rev().find(|worker| worker.record.key_id == key_id);
        last.filter(|worker| worker.removed_seq.is_some())
    }

    /// True of a run that started once there was a worker.
    pub(super) fn rules_run(&self, row: &RunRow) -> bool {
        self.workers.first().is_some_and(|first| first.admitted_seq < row.seq)
    }

    /// True if the key was a worker's at the entry.
    pub(super) fn admits_key(&self, key_id: &str, seq: u64) -> bool {
        self.workers.iter().any(|worker| worker.record.key_id == key_id && worker.counts_at(seq))
    }

    /// True if a worker other than the bundle's signer has verified the bundle again, and its verdict held.
    pub(super) fn is_countersigned(
        &self,
        ledger: &Ledger,
        row: &RunRow,
        signer: &str,
    ) -> Result<bool, ReadLedgerError> {
        let Some(attestation) = row.attestation_sha256 else { return Ok(false) };
        let entries = ledger.run_entries(&row.run_id)?;
        let mut again = entries.iter().filter(|entry| entry.is_kind(EntryKind::EvidenceReverified));
        Ok(again.any(|entry| {
            let mut others =
                self.workers.iter().filter(|other| other.record.key_id != signer && other.counts_at(entry.seq));
            others.any(|other| {
                let signed = read_countersignature(entry, &other.key, attestation);
                signed.is_some_and(|signed| {
                    let is_about = signed.run_id == row.run_id && signed.ledger_id == ledger.ledger_id();
                    is_about && signed.key == other.record.key_id && signed.holds && signed.verdict_now == Status::Pass
                })
            })
        }))
    }
}

/// The countersignature of an entry, if this key signed it and it is about this attestation.
fn read_countersignature(entry: &Entry, key: &PublicKey, attestation: Digest) -> Option<Countersignature> {
    let envelope = entry.body.get("countersignature")?.as_str()?;
    let payload = open_statement(envelope.as_bytes(), key)?;
    let statement: CountersignatureStatement = serde_json::from_slice(&payload).ok()?;
    let [subject] = statement.subject.as_slice() else { return None };
    let is_about = subject.name == names::ATTESTATION && subject.digest.sha256 == attestation;
    (is_about && statement.predicate_type == COUNTERSIGNATURE_TYPE).then_some(statement.predicate)
}

/// The record of an entry, and the key that signed it.
fn read_record(ledger_id: &str, entry: &Entry) -> Option<(WorkerRecord, SignerKey)> {
    let text = |name: &str| entry.body.get(name)?.as_str();
    let (document, armour) = (text("document")?, text("signature")?);
    let signature = verify_signature(armour, document.as_bytes(), WorkerSchema::NAMESPACE).ok()?;
    let record: WorkerRecord = serde_json::from_str(document).ok()?;
    let kind = match record.act {
        WorkerAct::Admitted => EntryKind::WorkerAdmitted,
        WorkerAct::Removed => EntryKind::WorkerRemoved,
    };
    let is_own = record.ledger_id == ledger_id && record.key_fingerprint == signature.fingerprint();
    (is_own && entry.is_kind(kind)).then(|| (record, signature.key().clone()))
}

/// True if a key might sign for a namespace at the time of its entry. That an entry is dated back matters only of a key that may sign no
/// more: such a one is judged by the time that the ledger had reached.
pub(super) fn may_sign(
    ledger: &Ledger,
    judge: JudgeSigner<'_>,
    namespace: &str,
    key: &SignerKey,
    entry: &Entry,
) -> Result<bool, ReadLedgerError> {
    let Ok(own) = entry.time.parse::<Stamp>() else { return Ok(false) };
    let may_at = |at: Stamp| judge(key, namespace, at) == SignerStanding::Allowed;
    if !may_at(own) {
        return Ok(false);
    }
    let may_still = ledger.latest_time()?.is_none_or(may_at);
    Ok(may_still || may_at(ledger.entry_dated(entry.seq, own)?))
}
