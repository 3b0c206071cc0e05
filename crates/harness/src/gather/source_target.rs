//! The source repository of a run that works on a copy, looked for among the targets that
//! records of workspace and environment admit.

use std::path::Path;

use contract::Stage;
use contract::decision::SourceTarget;
use tree::RepositoryPlace;

use crate::home::ask::Ask;
use crate::home::named_repositories::{NamedTarget, ReadTargetError};
use crate::home::task::Task;
use crate::run::harness::Harness;

/// Finds an admission that the source repository belongs to, at the stages that copy one.
/// Nothing of the source is copied for it: git directories are compared.
pub(crate) fn find_source_target(harness: &Harness, task: &Task, ask: &Ask) -> Option<SourceTarget> {
    let is_copied = Stage::GATED_ENGINE < ask.stage && ask.stage < Stage::OWNED_REPOSITORY;
    let source = task.repository().filter(|_| is_copied)?;
    let further: Vec<&Path> = ask.target.as_deref().into_iter().collect();
    match harness.named_repositories.targets(&further) {
        Ok(targets) => find_admitted(source, &targets),
        Err(ReadTargetError { file, why }) => {
            Some(SourceTarget::Unread { file: file.display().to_string(), why: why.to_string() })
        }
    }
}

fn find_admitted(source: &Path, targets: &[NamedTarget]) -> Option<SourceTarget> {
    let source = RepositoryPlace::find_place(source);
    let mut admitted = targets.iter().filter(|target| target.is_admitted);
    admitted.find_map(|NamedTarget { file, path, .. }| {
        let target = RepositoryPlace::find_place(path);
        source.lies_in(&target).then(|| SourceTarget::Admitted {
            file: file.display().to_string(),
            source: source.top().display().to_string(),
            target: target.top().display().to_string(),
        })
    })
}
