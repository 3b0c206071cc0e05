//! A target that the run is not admitted to: its path occurs in no artifact, event or
//! message of the run.

use contract::approval::TargetAdmissionFacts;
use contract::model::AdmissionStatus;
use contract::record::target_admission_status;
use contract::{Coverage, Digest, Stage};
use untrusted_fs::own_files;

use crate::run::file::RunFile;

/// Begins what is written in the place of a path.
pub(crate) const REDACTED: &str = "redacted:sha256:";

/// Path as a salted digest: without the run's salt, knowing the path does not reveal it in
/// the text.
pub(crate) fn salted_digest(salt: &str, path: &str) -> String {
    format!("{REDACTED}{}", Digest::of_bytes(format!("{salt}\0{path}").as_bytes()))
}

/// True if the admission opens the target for a run of this stage.
fn is_admitted(stage: Stage, target: Option<&TargetAdmissionFacts>) -> bool {
    let admits = |target: &TargetAdmissionFacts| {
        target_admission_status(&target.admission, &target.path) == AdmissionStatus::Admitted
    };
    stage >= Stage::OWNED_REPOSITORY && target.is_some_and(admits)
}

impl RunFile<'_> {
    /// Conceals the target that contract, command or record name, unless the run is
    /// admitted to it.
    pub(crate) fn conceal_target(&mut self, target: Option<&TargetAdmissionFacts>) {
        if is_admitted(self.ask().stage, target) {
            return;
        }
        let of_record = target.and_then(|target| target.admission.record()).map(|it| it.target_repository_path.clone());
        let of_facts = target.map(|target| target.path.clone());
        let named = self.task().contract.target_repository.clone().into_iter().chain(self.task().target());
        let mut paths: Vec<String> = named.chain(of_record).chain(of_facts).collect();
        let resolved: Vec<String> = paths
            .iter()
            .filter(|path| path.starts_with('/'))
            .filter_map(|path| Some(own_files::canonicalize(path).ok()?.display().to_string()))
            .collect();
        paths.extend(resolved);
        let trimmed = paths.iter().map(|path| path.trim_end_matches('/').to_owned());
        // A path that is redacted already, or too short to tell anything, stays.
        let mut paths: Vec<String> = trimmed.filter(|path| path.len() > 1 && !path.starts_with(REDACTED)).collect();
        paths.sort();
        paths.dedup();
        for path in &paths {
            let instead = salted_digest(self.confinement().canary(), path);
            self.draft.censor_mut().conceal(path, &instead);
        }
        if !paths.is_empty() {
            self.standing.cover(Coverage::TargetRedacted);
        }
    }
}
