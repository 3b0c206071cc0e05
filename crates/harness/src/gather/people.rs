//! Keys of people and terms of the approval policy, as the home and the workspace have them
//! now.

use std::io;

use contract::approval::{ApprovalPolicy, PolicyTerms, merge_policies};
use contract::signer::SignerStanding;
use contract::{Stage, Stamp};
use cortex::{LoadPolicyError, PersonSigners, RecordPlaces, load_approval_policy};
use evidence::signer_key::SignerKey;

/// Failure to read who may approve, or on which terms.
#[derive(Debug, thiserror::Error)]
pub enum ReadTrustError {
    #[error("the keys that may approve cannot be read: {0}")]
    Signers(#[source] io::Error),
    #[error(transparent)]
    Policy(#[from] LoadPolicyError),
}

/// Keys that may sign for people.
#[derive(Debug)]
pub struct People(PersonSigners);

impl People {
    /// Reads the lists of keys. An unreadable list is an error, never an empty one.
    pub fn read(places: &RecordPlaces) -> Result<Self, ReadTrustError> {
        PersonSigners::read(places).map(Self).map_err(ReadTrustError::Signers)
    }

    /// Judges a key for a namespace at a time.
    pub fn judge(&self, key: &SignerKey, namespace: &str, at: Stamp) -> SignerStanding {
        self.0.judge(key, namespace, at)
    }

    /// Judges a key that signs now. A compromised key signs nothing new, whatever the clock
    /// says.
    pub fn judge_signing_now(&self, key: &SignerKey, namespace: &str, now: Stamp) -> SignerStanding {
        self.0.judge_undated(key, namespace, now)
    }

    /// Name to show for a key.
    pub fn name_of(&self, key: &SignerKey) -> Option<String> {
        self.0.name_of(key)
    }
}

/// The approval policies of home and workspace.
#[derive(Debug)]
pub struct Policies {
    home: ApprovalPolicy,
    workspace: Option<ApprovalPolicy>,
}

impl Policies {
    /// Reads the approval policies of home and workspace.
    pub fn read(places: &RecordPlaces) -> Result<Self, ReadTrustError> {
        let (home, workspace) = load_approval_policy(places)?;
        Ok(Self { home, workspace })
    }

    /// Terms in force for a stage and target.
    pub fn terms(&self, stage: Stage, target: Option<&str>) -> PolicyTerms {
        merge_policies(&self.home, self.workspace.as_ref(), stage, target)
    }
}
