//! Signatures of records: `FILE.sig` beside the file, by a key that `trust/allowed_signers`
//! in the home allows.

use std::io;
use std::path::Path;
use std::sync::Arc;

use contract::Stamp;
use contract::signer::SignerStanding;
use contract::text::show_controls;
use evidence::sshsig::{VerifySignatureError, verify_signature};

use crate::load::read_bounded;
use crate::people::PersonSigners;
use crate::places::RecordPlaces;

/// Namespace of signatures of records: `ssh-keygen -Y sign -n cto-record@v1`.
pub const RECORD_NAMESPACE: &str = "cto-record@v1";

/// Keys whose signatures of records count at a given time.
#[derive(Debug)]
pub struct RecordSigners {
    people: Result<PersonSigners, Arc<io::Error>>,
    now: Stamp,
}

/// Reason why the signature beside a record does not count.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CheckSignatureError {
    #[error("its signature cannot be read: {0}")]
    Read(#[source] io::Error),
    #[error("its signature does not hold: {error}{remedy}")]
    Invalid {
        #[source]
        error: VerifySignatureError,
        /// Command that makes one that counts, where the record itself may be good.
        remedy: String,
    },
    #[error("the keys that may sign cannot be read: {0}")]
    ReadAllowed(#[source] Arc<io::Error>),
    #[error("it is signed by {signer}, whom allowed_signers does not allow: the key {}", .standing.sentence())]
    NotAllowed { signer: String, standing: SignerStanding },
}

impl RecordSigners {
    /// Reads the list of allowed signers. An unreadable list allows no signer, and the
    /// error is reported with each signature.
    pub fn read_allowed(places: &RecordPlaces, now: Stamp) -> Self {
        Self { people: PersonSigners::read_lists(places).map_err(Arc::new), now }
    }

    /// Finds the key that signed these bytes of a file; none without a signature. A
    /// signature that does not hold is an error, since a person put it there on purpose.
    pub(crate) fn find_signer(&self, file: &Path, bytes: &[u8]) -> Result<Option<String>, CheckSignatureError> {
        let mut beside = file.as_os_str().to_owned();
        beside.push(".sig");
        let signature = match read_bounded(Path::new(&beside)) {
            Ok(signature) => signature,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(CheckSignatureError::Read(error)),
        };
        let signature = verify_signature(&String::from_utf8_lossy(&signature), bytes, RECORD_NAMESPACE)
            .map_err(|error| CheckSignatureError::Invalid { error, remedy: signing_remedy(error, file) })?;
        let people = self.people.as_ref().map_err(|error| CheckSignatureError::ReadAllowed(Arc::clone(error)))?;
        let signer = signature.fingerprint();
        match people.judge_undated(signature.key(), RECORD_NAMESPACE, self.now) {
            SignerStanding::Allowed => Ok(Some(signer)),
            standing => Err(CheckSignatureError::NotAllowed { signer, standing }),
        }
    }
}

/// Ends the text of an error with what to do, where another key would help.
fn signing_remedy(error: VerifySignatureError, file: &Path) -> String {
    match error {
        VerifySignatureError::Key(_) => {
            let name = file.file_name().map(|name| show_controls(&name.to_string_lossy())).unwrap_or_default();
            format!("; sign it anew with `ssh-keygen -Y sign -n {RECORD_NAMESPACE} -f ~/.ssh/id_ed25519 {name}`")
        }
        VerifySignatureError::Shape | VerifySignatureError::Namespace | VerifySignatureError::Signature => {
            String::new()
        }
    }
}
