//! The object store before a run and at the use of an approval: tried out before anything rests on it, asked before and updated after a
//! use.

use contract::text::show_controls;
use contract::{Digest, RunId, Stage};
use ledger::{ObjectStore, ProbeStoreError, ReadLedgerError, StoreProbe, UseObjectError, WitnessedUse};

use crate::run::harness::Harness;

/// Reason why no run starts with the object store in its present state.
#[derive(Debug, thiserror::Error)]
pub enum CheckEvidenceError {
    #[error(transparent)]
    Probe(#[from] ProbeStoreError),
    #[error("stage {stage} on a ledger that lies on a server needs a witness, and no object store is named")]
    NoWitness { stage: Stage },
    #[error("stage {stage} needs the witness that this ledger has: it names {known}, and this home {ours}")]
    OtherStore { stage: Stage, known: String, ours: String },
    #[error("stage {stage} needs the witness of this ledger, and no operator's home has named one")]
    Unnamed { stage: Stage },
    #[error(transparent)]
    Ledger(#[from] ReadLedgerError),
    #[error("stage {stage} needs a witness that nobody can remove: in {store} our credential may {rights}")]
    Unguarded { stage: Stage, store: String, rights: &'static str },
}

impl CheckEvidenceError {
    /// Remedy for the operator.
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::Probe(error) => error.remedy(),
            Self::NoWitness { .. } => {
                "Name the object store of the fleet: evidence.url in your own config.yaml; docs/fleet.md."
            }
            Self::OtherStore { .. } => {
                "Set evidence.url to the store that the ledger names; where that store was moved: cto ledger continue."
            }
            Self::Unnamed { .. } => "On an operator's machine with the same evidence.url: cto ledger continue.",
            Self::Ledger(_) => "See if the ledger can be reached: cto doctor --fleet.",
            Self::Unguarded { .. } => {
                "Give this machine a credential that can only create and read; docs/fleet.md has a policy."
            }
        }
    }
}

/// Tries the object store out, where there is one. From stage 4 on it has to be one that can be a witness. A ledger on a server needs
/// one, and all homes on it the same: a use that one of them leaves must be found by the others.
pub(crate) fn check_evidence(harness: &Harness, stage: Stage) -> Result<(), CheckEvidenceError> {
    let needs_witness = stage.mutation_mode().needs_approval();
    let Some(store) = harness.home.bundles().store() else {
        let on_server = needs_witness && harness.ledger().bind_evidence("", false)?.is_some();
        return if on_server { Err(CheckEvidenceError::NoWitness { stage }) } else { Ok(()) };
    };
    let probe = store.probe()?;
    if !needs_witness {
        return Ok(());
    }
    if !store.can_witness(probe) {
        let place = store.place().to_string();
        return Err(CheckEvidenceError::Unguarded { stage, store: place, rights: name_rights(probe) });
    }
    let ours = store.place().witness_place();
    match harness.ledger().bind_evidence(&ours, false)? {
        None => Ok(()),
        Some(known) if known.is_empty() => Err(CheckEvidenceError::Unnamed { stage }),
        // A name from before endpoints were part of it, which an operator's home completes.
        Some(known) if known == ours || known == store.place().to_string() => Ok(()),
        Some(known) => Err(CheckEvidenceError::OtherStore { stage, known: show_controls(&known), ours }),
    }
}

/// The rights that a credential has beyond creating and reading.
pub fn name_rights(probe: StoreProbe) -> &'static str {
    match (probe.may_overwrite, probe.may_remove) {
        (true, true) => "overwrite and delete objects",
        (true, false) => "overwrite objects",
        (false, true) => "delete objects",
        (false, false) => "only create and read objects",
    }
}

/// The sentence of a use that the witness knows of; `None` where a run may use the request. A use by this very run counts too: then the
/// database has forgotten that it was started.
pub(crate) fn ask_witness(store: &ObjectStore, request: Digest) -> Result<Option<String>, UseObjectError> {
    Ok(store.find_witness(request)?.and_then(|used| describe_other(store, used)))
}

/// Leaves the witness of a use that the ledger has recorded. The sentence where the engine must not start.
pub(crate) fn tell_witness(store: &ObjectStore, request: Digest, run: &RunId) -> Option<String> {
    match store.witness_use(request, run) {
        Ok(used) => describe_other(store, used),
        Err(error) => Some(format!("the approval is used up, but its witness was not written: {error}")),
    }
}

fn describe_other(store: &ObjectStore, used: WitnessedUse) -> Option<String> {
    match used {
        WitnessedUse::Ours => None,
        WitnessedUse::Other(run) => {
            Some(format!("the witness in {} says that run {run} used the approval", store.place()))
        }
    }
}

#[cfg(test)]
mod tests {
    use ledger::EvidencePlace;

    use super::*;

    #[test]
    fn a_use_is_witnessed_once_for_one_start_of_a_run() {
        let folder = tempfile::tempdir().unwrap();
        let store = ObjectStore::at_place(EvidencePlace::Folder(folder.path().to_owned()), || None);
        let [one, two] =
            ["20260101T000000Z-t-aaaa", "20260101T000000Z-t-bbbb"].map(|id| id.to_owned().try_into().unwrap());
        let request = Digest::of_bytes(b"request");
        assert_eq!(ask_witness(&store, request).unwrap(), None);
        assert_eq!(tell_witness(&store, request, &one), None);
        let said = tell_witness(&store, request, &one).expect("a second start of the same run is refused");
        assert!(said.contains("20260101T000000Z-t-aaaa used the approval"), "{said}");
        assert_eq!(tell_witness(&store, request, &two).as_ref(), Some(&said));
        assert_eq!(ask_witness(&store, request).unwrap(), Some(said));
    }

    /// A witness that cannot be read is none that agrees.
    #[test]
    fn a_witness_that_cannot_be_read_stops_the_engine() {
        let folder = tempfile::tempdir().unwrap();
        let store = ObjectStore::at_place(EvidencePlace::Folder(folder.path().to_owned()), || None);
        let run = "20260101T000000Z-t-aaaa".to_owned().try_into().unwrap();
        let request = Digest::of_bytes(b"request");
        let at = folder.path().join("approval-use").join(request.to_string());
        std::fs::create_dir_all(at).unwrap();
        let said = tell_witness(&store, request, &run).unwrap();
        assert!(said.contains("its witness was not written"), "{said}");
    }
}
