//! Runs that were imported from archives, each by the content of its bundle.

use contract::{Report, RunId, Stamp};
use serde::Serialize;

use crate::Views;
use crate::find::FindRunError;

/// Run that was made in another home.
#[derive(Debug, Serialize)]
pub struct ImportedRun {
    pub run_id: RunId,
    /// Fingerprint of the key that it was checked with.
    pub signer: Option<String>,
    /// `None` where the bundle does not verify: it then has no verdict.
    #[serde(skip)]
    pub report: Option<Box<Report>>,
    pub problem: Option<String>,
}

impl Views {
    /// Imported runs, newest first, each verified. `now` tells lapsed leases.
    pub fn list_imported(&self, now: Stamp) -> Result<Vec<ImportedRun>, FindRunError> {
        let mut all = self.home.bundles.list_imported().map_err(FindRunError::Imports)?;
        all.sort_by(|a, b| b.as_str().cmp(a.as_str()));
        let view = |run_id: RunId| {
            let found = self.find_run(run_id.as_str(), now)?;
            let (report, signer, problem) = match found.bind_bundle(&found.keys(&self.keys)) {
                Ok(bundle) => {
                    let signer = bundle.signer().to_owned();
                    (Some(Box::new(bundle.into_report())), Some(signer), None)
                }
                Err(error) => (None, None, Some(error.to_string())),
            };
            Ok(ImportedRun { run_id, signer, report, problem })
        };
        all.into_iter().map(view).collect()
    }
}
