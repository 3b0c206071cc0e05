//! Reasons why an object store could not be used, in words for the operator.

use std::io;

/// Failure to do something with an object.
#[derive(Debug, thiserror::Error)]
#[error("cannot {doing} {name} in {store}: {fault}")]
pub struct UseObjectError {
    pub store: String,
    pub doing: &'static str,
    pub name: String,
    #[source]
    pub fault: ObjectFault,
}

/// The kind of a failure.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ObjectFault {
    #[error("this program was built without the feature fleet")]
    NoFleet,
    /// The store is on another machine and the connection to it would not be encrypted.
    #[error("it is on another machine, and nothing protects the way: {0}")]
    Unprotected(&'static str),
    #[error("{0}")]
    Tls(String),
    #[error("{0}")]
    Io(#[source] io::Error),
    #[error("it does not answer in time")]
    Slow,
    #[error("the answer ends in the middle")]
    Truncated,
    /// An answer that is no HTTP, or none that an object store gives.
    #[error("the answer cannot be understood: {0}")]
    Garbled(&'static str),
    #[error("it has more than {limit} bytes")]
    TooLarge { limit: u64 },
    /// Redirections are not followed: a credential goes to the configured endpoint alone.
    #[error("it sends us elsewhere (status {status}), which is not followed")]
    Redirected { status: u16 },
    #[error("it answers with status {status}{}", .code.as_ref().map(|code| format!(" ({code})")).unwrap_or_default())]
    Refused { status: u16, code: Option<String> },
}

impl UseObjectError {
    /// Remedy for the operator, as one sentence.
    pub fn remedy(&self) -> &'static str {
        match &self.fault {
            ObjectFault::NoFleet => "Build it with `--features fleet`, or use a released program.",
            ObjectFault::Unprotected(_) | ObjectFault::Tls(_) => {
                "Give an https:// endpoint and name the PEM file of its certificate authorities: `evidence.ca`."
            }
            ObjectFault::Refused { status: 401 | 403, .. } => {
                "Check the variables that `evidence.access_key_env` and `evidence.secret_key_env` name, and what the credential may do."
            }
            _ => "Check that the store runs, `evidence.url` and `evidence.endpoint`; then: cto doctor --fleet",
        }
    }
}
