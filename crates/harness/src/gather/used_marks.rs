//! Marks outside of the ledger that a request was used: a reference of the target, or a file of the home.

use std::io::{self, ErrorKind};

use contract::Digest;
use tree::{Landing, TreeError, UsedMark};
use untrusted_fs::own_files;

use crate::gather::target::Target;
use crate::run::harness::Harness;
use crate::run::used::used_file;

/// Failure to look for a mark. One that cannot be looked for may be there.
#[derive(Debug, thiserror::Error)]
pub enum FindMarkError {
    #[error(transparent)]
    Target(#[from] TreeError),
    #[error("used/{request} cannot be looked for: {error}")]
    Home {
        request: Digest,
        #[source]
        error: io::Error,
    },
}

/// Mark of the target, else of the home.
pub(crate) fn find_used_mark(
    harness: &Harness,
    target: &Target,
    request: Digest,
) -> Result<Option<String>, FindMarkError> {
    let source = target.copy.as_ref().and_then(|copy| copy.source.as_ref()).map(|(source, _)| source);
    if let (Some(source), Some(mark)) = (source, UsedMark::new(&request.to_string()))
        && matches!(source.find_mark(&mark)?, Some(Landing::There(_)))
    {
        return Ok(Some(mark.to_string()));
    }
    find_home_mark(harness, request)
}

/// Mark of the home. Only a file that is surely not there is none.
pub(crate) fn find_home_mark(harness: &Harness, request: Digest) -> Result<Option<String>, FindMarkError> {
    match own_files::symlink_metadata(used_file(harness, request)) {
        Ok(_) => Ok(Some(format!("used/{request}"))),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(FindMarkError::Home { request, error }),
    }
}
