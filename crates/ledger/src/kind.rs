//! The kinds of entries, in one table.

/// The part an entry of a kind plays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KindRole {
    /// A step of every run's life. Appended by a method of its own, which also keeps the run's row.
    Life,
    /// A statement about one run: its bundle is kept for it.
    Statement,
    /// A step in the life of a request for approval. Appended by a method of its own, which also keeps the request's row.
    Request,
    /// A step in the queue of runs. Appended by a method of its own, which also keeps the queue's row. Names its run in the body, so that
    /// no bundle is kept for it.
    Queue,
    /// Something that happened in the home, to no run or to several.
    Home,
}

macro_rules! kinds {
    ($($variant:ident $name:literal $role:ident $doc:literal,)*) => {
        /// A kind of entry that this program writes.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum EntryKind {
            $(#[doc = $doc] $variant,)*
        }

        impl EntryKind {
            /// Every value, in order.
            pub const ALL: &'static [EntryKind] = &[$(Self::$variant,)*];

            /// The text that stands in the ledger.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// Part that the kind plays in the rows of runs and requests.
            pub const fn role(self) -> KindRole {
                match self { $(Self::$variant => KindRole::$role,)* }
            }
        }
    };
}

kinds! {
    RunStarted "run.started" Life "A run was accepted and its row exists.",
    EngineStarting "engine.starting" Life "The engine process is about to be started; from here on an interruption is a failure.",
    EvidenceSealed "evidence.sealed" Life "The run's bundle is sealed and in its final place.",
    EvidenceCollected "evidence.collected" Life "The run's bundle is about to be removed, because nothing rests on it.",
    EvidenceReverified "evidence.reverified" Statement "A bundle's verification was repeated.",
    EvidenceImported "evidence.imported" Statement "A bundle of another home was checked and taken in.",
    PatchTaken "patch.taken" Statement "A verified patch was committed to a branch of the operator's repository.",
    OutcomeRecorded "operator.outcome.recorded" Statement "The operator accepted or rejected the result of a run.",
    ChangeLanded "change.landed" Statement "A verified patch became one commit on a new branch of an admitted target.",
    ChangeRolledBack "change.rolled_back" Statement "A landed change was taken back.",
    ApprovalRequested "approval.requested" Request "A plan was put up for approval.",
    ApprovalGranted "approval.granted" Request "A key approved the plan.",
    ApprovalDenied "approval.denied" Request "A key denied the request, for good.",
    ApprovalHeld "approval.held" Request "The request waits until it is released.",
    ApprovalReleased "approval.released" Request "A held request waits no longer.",
    ApprovalRevoked "approval.revoked" Request "What was approved is approved no longer, for good.",
    ApprovalUsed "approval.used" Request "A run used the request up, in the transaction that starts its engine.",
    QueueSubmitted "queue.submitted" Queue "A run was put into the queue, with the digest of its contract.",
    QueueCancelled "queue.cancelled" Queue "A run of the queue is not to start, or is to stop.",
    LateRefused "run.late_refused" Queue "A step under an epoch that no longer holds was refused; what it left is kept apart.",
    TrustChanged "trust.changed" Home "The keys or workspaces that count were changed.",
    WorkerAdmitted "worker.admitted" Home "A person admitted the key of a machine, whose evidence counts with another's countersignature.",
    WorkerRemoved "worker.removed" Home "A person removed a machine: nothing that it says from now on counts.",
    RecordSigned "record.signed" Home "A person signed a record.",
    LedgerContinued "ledger.continued" Home "The operator vouched for a copied or restored home.",
    HaltSet "halt.set" Home "The kill switch was set.",
    HaltLifted "halt.lifted" Home "The kill switch was lifted.",
    OperatorActed "operator.acted" Home "An operator did something in the console, or was refused.",
    EngineEnabled "engine.enabled" Home "The operator opened an engine's gate.",
    ModelReserved "model.reserved" Home "A run has reserved what it may use of a model. Names its run in the body, so that no bundle is kept for it.",
    ModelSettled "model.settled" Home "The use of a model that a run's reservation came to.",
}

impl EntryKind {
    /// The kind of this name; `None` for one of a newer program.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.name() == name)
    }

    /// Kinds with this role, in the order of the table.
    pub(crate) fn of_role(role: KindRole) -> impl Iterator<Item = Self> {
        Self::ALL.iter().copied().filter(move |kind| kind.role() == role)
    }
}

impl std::fmt::Display for EntryKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_come_back() {
        for kind in EntryKind::ALL {
            assert_eq!(EntryKind::from_name(kind.name()), Some(*kind));
        }
        assert_eq!(EntryKind::from_name("run.begun"), None);
    }
}
