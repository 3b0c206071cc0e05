//! One request as its ledger entries tell it. Every signature is checked again from the
//! ledger's own bytes; a document whose signature does not hold, or that is about another
//! request, is left out, and one that was recorded before is not read a second time:
//! nobody who can append entries may repeat what a person signed once.

use std::collections::BTreeSet;

use contract::approval::{
    Approval, ApprovalSchema, Denial, Hold, HoldState, RecordedDocument, Request, RequestSchema, Revocation,
};
use contract::decision::Refusal;
use contract::signer::SignerStanding;
use contract::{Digest, Stamp};
use evidence::signer_key::SignerKey;
use evidence::sshsig::{SshSignature, verify_signature};
use ledger::{Entry, EntryKind, Ledger, ReadLedgerError, RequestBytes, RequestRow, UnusableRequest};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// A request and everything that was signed about it.
#[derive(Debug)]
pub struct RequestRecord {
    pub row: RequestRow,
    /// None if this program cannot read it, or if its digest is another.
    pub request: Option<Request>,
    /// Canonical text of the request.
    pub text: String,
    /// Signature of the request; none if it is unsigned.
    pub signature: Option<SshSignature>,
    /// The time that the ledger had reached with its entry, which may be dated back.
    pub recorded_at: Stamp,
    /// Gates that refused when it was requested, beside that of the approval itself.
    pub missing: Vec<Refusal>,
    /// The command that requested it.
    pub command: Option<String>,
    pub approvals: Vec<SignedDocument<Approval>>,
    pub denials: Vec<SignedDocument<Denial>>,
    /// In the order of their entries.
    pub holds: Vec<SignedDocument<Hold>>,
    pub revocations: Vec<SignedDocument<Revocation>>,
    /// All of the above was read from these bytes, and from nothing else but the row.
    bytes: RequestBytes,
}

/// A document whose signature holds.
#[derive(Debug, Clone)]
pub struct SignedDocument<T> {
    pub document: T,
    pub text: String,
    pub armour: String,
    pub signature: SshSignature,
    /// The time that the ledger had reached with its entry, which may be dated back.
    pub recorded_at: Stamp,
    /// Number of its ledger entry.
    pub seq: u64,
    /// The key had no passphrase when it signed.
    pub is_unprotected: bool,
}

impl<T: Clone> SignedDocument<T> {
    /// Digest of the document's own text, over which the signature was made.
    pub fn sha256(&self) -> Digest {
        Digest::of_bytes(self.text.as_bytes())
    }

    /// Document for the gates. Its key is judged at the time of its entry.
    pub fn recorded(&self, standing: &dyn Fn(&SignerKey, &str, Stamp) -> SignerStanding) -> RecordedDocument<T> {
        let standing = standing(self.signature.key(), ApprovalSchema::NAMESPACE, self.recorded_at);
        RecordedDocument {
            document: self.document.clone(),
            sha256: self.sha256(),
            signature: self.signature.clone().into_fact(standing),
            recorded_at: self.recorded_at,
        }
    }
}

/// Says which request a document is about, and whose key it names.
trait AboutRequest {
    fn request(&self) -> (Digest, &str);
}

macro_rules! about_request {
    ($($kind:ty),*) => {
        $(impl AboutRequest for $kind {
            fn request(&self) -> (Digest, &str) {
                (self.request_digest, &self.key_fingerprint)
            }
        })*
    };
}

about_request!(Approval, Denial, Hold, Revocation);

impl RequestRecord {
    /// Reads the request with everything that people said about it.
    pub fn read_request(ledger: &Ledger, row: RequestRow) -> Result<Self, ReadLedgerError> {
        Self::read_from(ledger.request_bytes(row.request)?, row)?.date(ledger)
    }

    /// Reads the request again; none where the ledger holds the very bytes that this record
    /// was read from. A signature that held for them holds for them still. Whether its key
    /// counts is another question, which the caller puts anew.
    pub fn read_changed(&self, ledger: &Ledger) -> Result<Option<Self>, ReadLedgerError> {
        let bytes = ledger.request_bytes(self.row.request)?;
        if bytes == self.bytes {
            return Ok(None);
        }
        Self::read_from(bytes, self.row.clone())?.date(ledger).map(Some)
    }

    /// Raises the times of entries that are dated before an earlier one. Keys are judged by
    /// them, so that nobody dates an approval or the end of a hold to before its key was
    /// retired. Only what an engine may still be started by is looked at.
    fn date(mut self, ledger: &Ledger) -> Result<Self, ReadLedgerError> {
        if !matches!(self.row.closed(), None | Some(UnusableRequest::Held)) {
            return Ok(self);
        }
        for release in self.holds.iter_mut().filter(|hold| hold.document.state == HoldState::Released) {
            release.recorded_at = ledger.entry_dated(release.seq, release.recorded_at)?;
        }
        let latest = ledger.latest_time()?;
        let is_over = |approval: &SignedDocument<Approval>| Some(approval.document.expires_at) <= latest;
        if self.approvals.iter().all(is_over) {
            return Ok(self);
        }
        self.recorded_at = ledger.entry_dated(self.row.seq, self.recorded_at)?;
        for approval in self.approvals.iter_mut().filter(|approval| !is_over(approval)) {
            approval.recorded_at = ledger.entry_dated(approval.seq, approval.recorded_at)?;
        }
        Ok(self)
    }

    fn read_from(bytes: RequestBytes, row: RequestRow) -> Result<Self, ReadLedgerError> {
        let entries = bytes.parse()?;
        let first = entries.iter().find(|entry| entry.is_kind(EntryKind::ApprovalRequested));
        let detail = first.and_then(read_detail).unwrap_or_default();
        let RequestDetail { document: text, signature: armour, missing, command, .. } = detail;
        let request = serde_json::from_str::<Request>(&text).ok().filter(|request| is_of(request, &text, row.request));
        let signature =
            armour.and_then(|armour| verify_signature(&armour, text.as_bytes(), RequestSchema::NAMESPACE).ok());
        let of = |kind: EntryKind| entries.iter().filter(move |entry| entry.is_kind(kind));
        let holds = entries
            .iter()
            .filter(|entry| entry.is_kind(EntryKind::ApprovalHeld) || entry.is_kind(EntryKind::ApprovalReleased));
        Ok(Self {
            approvals: read_signed(of(EntryKind::ApprovalGranted), row.request),
            denials: read_signed(of(EntryKind::ApprovalDenied), row.request),
            holds: read_signed(holds, row.request),
            revocations: read_signed(of(EntryKind::ApprovalRevoked), row.request),
            recorded_at: row.requested_at,
            missing: missing.unwrap_or_default(),
            command,
            row,
            request,
            text,
            signature,
            bytes,
        })
    }

    /// True if one of its approvals was signed with a key that has no passphrase.
    pub fn is_unprotected(&self) -> bool {
        self.approvals.iter().any(|approval| approval.is_unprotected)
    }

    /// True if one of its approvals passes over the policy.
    pub fn has_broken_glass(&self) -> bool {
        self.approvals.iter().any(|approval| approval.document.break_glass_reason.is_some())
    }

    /// Name that commands take.
    pub fn name(&self) -> String {
        format!("req-{}", self.row.seq)
    }
}

/// True if the plan inside is the one that the digest names. A request is written
/// canonically, so that the very bytes of its plan have that digest; a plan that somebody
/// wrote down in another way is made canonical first.
fn is_of(request: &Request, text: &str, digest: Digest) -> bool {
    #[derive(Deserialize)]
    struct PlanText<'t> {
        #[serde(borrow)]
        plan: &'t RawValue,
    }
    let written =
        || serde_json::from_str::<PlanText<'_>>(text).map(|read| Digest::of_bytes(read.plan.get().as_bytes()));
    let is_written = || written().is_ok_and(|found| found == digest);
    request.request_digest == digest && (is_written() || request.plan.digest().is_ok_and(|found| found == digest))
}

/// Detail of a ledger entry that keeps a document about a request, with its signature.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RequestDetail {
    pub document: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
    /// The command that requested it, and the gates that it lacked: of the request itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<Vec<Refusal>>,
    /// True of an approval by a key without a passphrase.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unprotected: bool,
}

impl RequestDetail {
    /// Detail of a document with its signature.
    pub fn of_document(text: &str, armour: Option<&str>) -> Self {
        Self { document: text.to_owned(), signature: armour.map(str::to_owned), ..Self::default() }
    }
}

fn read_detail(entry: &Entry) -> Option<RequestDetail> {
    RequestDetail::deserialize(entry.body.get("detail")?).ok()
}

/// Documents in the order of their first entries.
fn read_signed<'e, T: DeserializeOwned + AboutRequest + Clone>(
    entries: impl Iterator<Item = &'e Entry>,
    request: Digest,
) -> Vec<SignedDocument<T>> {
    let mut read = BTreeSet::new();
    let documents = entries.filter_map(|entry| read_document(entry, request));
    documents.filter(|document| read.insert(document.sha256())).collect()
}

fn read_document<T: DeserializeOwned + AboutRequest>(entry: &Entry, request: Digest) -> Option<SignedDocument<T>> {
    let RequestDetail { document: text, signature, unprotected: is_unprotected, .. } = read_detail(entry)?;
    let armour = signature?;
    let signature = verify_signature(&armour, text.as_bytes(), ApprovalSchema::NAMESPACE).ok()?;
    let document: T = serde_json::from_str(&text).ok()?;
    let is_meant = document.request() == (request, signature.fingerprint().as_str());
    let recorded_at = entry.time.parse().ok()?;
    let (seq, signed) = (entry.seq, signature);
    is_meant.then(|| SignedDocument { document, text, armour, signature: signed, recorded_at, seq, is_unprotected })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use contract::Stage;
    use ledger::{RequestIntent, RequestStep};
    use serde_json::json;

    use super::*;

    #[test]
    fn a_record_is_read_again_where_any_byte_is_new() {
        let folder = tempfile::tempdir().unwrap();
        let ledger = Ledger::open_file(&folder.path().join("ledger.db")).unwrap();
        let at = |seconds: u64| Stamp::from_unix(Duration::from_secs(1_772_359_200 + seconds)).unwrap();
        let (request, other) = (Digest::of_bytes(b"plan"), Digest::of_bytes(b"another plan"));
        for request in [request, other] {
            let (task_id, stage) = ("made".to_owned().try_into().unwrap(), Stage::OWNED_REPOSITORY);
            let detail = json!(RequestDetail::of_document("the text of a request", None));
            ledger.request_recorded(at(0), &RequestIntent { request, task_id, stage, detail }).unwrap();
        }
        let record = RequestRecord::read_request(&ledger, ledger.request_row(request).unwrap().unwrap()).unwrap();
        assert!(record.read_changed(&ledger).unwrap().is_none(), "the control");
        let said = json!(RequestDetail::of_document("{}", Some("no signature")));
        ledger.request_stepped(other, RequestStep::Granted, at(1), &said).unwrap();
        assert!(record.read_changed(&ledger).unwrap().is_none(), "somebody spoke of another request");
        ledger.request_stepped(request, RequestStep::Held, at(2), &said).unwrap();
        let changed = record.read_changed(&ledger).unwrap().expect("somebody spoke of this one");
        assert!(changed.read_changed(&ledger).unwrap().is_none());
        assert_eq!(changed.holds.len(), 0, "a document without a signature that holds is left out");
    }
}
