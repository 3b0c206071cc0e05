//! Signatures of records: `FILE.sig` beside the file, by a key that `trust/allowed_signers` in the home allows.

use std::io;
use std::path::Path;

use contract::Stamp;
use contract::signer::SignerStanding;
use contract::text::shown;
use evidence::signers::AllowedSigners;
use evidence::sshsig::{VerifySignatureError, verify_signature};

use super::ModelSettings;
use super::records::bounded;

/// What a signature of a record is made for: `ssh-keygen -Y sign -n cto-record@v1`.
const NAMESPACE: &str = "cto-record@v1";

/// Whose signatures count now.
#[derive(Debug)]
pub(crate) struct Signers {
    allowed: Result<AllowedSigners, io::Error>,
    now: Stamp,
}

impl Signers {
    pub(crate) fn read(settings: &ModelSettings, now: Stamp) -> Self {
        let text = settings.allowed_signers.as_deref().map_or(Ok(Vec::new()), bounded);
        let allowed = match text {
            Ok(bytes) => Ok(AllowedSigners::parse(&String::from_utf8_lossy(&bytes))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(AllowedSigners::default()),
            Err(error) => Err(error),
        };
        Self { allowed, now }
    }

    /// The key that signed these bytes of a file; nothing where nobody did. A signature that is there and does not hold is
    /// an error: whoever put it there meant something by it.
    pub(super) fn signer(&self, file: &Path, bytes: &[u8]) -> Result<Option<String>, String> {
        let mut beside = file.as_os_str().to_owned();
        beside.push(".sig");
        let signature = match bounded(Path::new(&beside)) {
            Ok(signature) => signature,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(format!("its signature cannot be read: {error}")),
        };
        let signature = verify_signature(&String::from_utf8_lossy(&signature), bytes, NAMESPACE)
            .map_err(|error| does_not_hold(error, file))?;
        let allowed = self.allowed.as_ref().map_err(|error| format!("allowed_signers cannot be read: {error}"))?;
        let (key, signer) = (signature.key(), signature.fingerprint());
        if allowed.judge_key(key, NAMESPACE, self.now) == SignerStanding::Allowed {
            Ok(Some(signer))
        } else {
            Err(format!("it is signed by {signer}, whom allowed_signers does not allow"))
        }
    }
}

/// Why a signature does not count, and what to do where the record itself may be good.
fn does_not_hold(error: VerifySignatureError, file: &Path) -> String {
    let remedy = match error {
        VerifySignatureError::Key(_) => {
            let name = file.file_name().map(|name| shown(&name.to_string_lossy())).unwrap_or_default();
            format!("; sign it anew with `ssh-keygen -Y sign -n {NAMESPACE} -f ~/.ssh/id_ed25519 {name}`")
        }
        VerifySignatureError::Shape | VerifySignatureError::Namespace | VerifySignatureError::Signature => {
            String::new()
        }
    };
    format!("its signature does not hold: {error}{remedy}")
}
