//! The approval policies of home and workspace. A policy that cannot be read is an error,
//! never the absence of one.

use std::io;
use std::path::{Path, PathBuf};

use contract::approval::ApprovalPolicy;
use contract::source::Problems;
use contract::text::show_controls;

use crate::load::read_bounded;
use crate::places::RecordPlaces;

/// Reason why the policy cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum LoadPolicyError {
    #[error("{} cannot be read: {error}", show_controls(&.file.display().to_string()))]
    Read {
        file: PathBuf,
        #[source]
        error: io::Error,
    },
    #[error("{} is no approval policy: {}", show_controls(&.file.display().to_string()), .problems.problems.first().map(|problem| problem.plain()).unwrap_or_default().trim())]
    Shape {
        file: PathBuf,
        #[source]
        problems: Box<Problems>,
    },
}

/// Loads the home's policy, which says nothing where there is no file, and the workspace's,
/// which tightens it.
pub fn load_approval_policy(
    places: &RecordPlaces,
) -> Result<(ApprovalPolicy, Option<ApprovalPolicy>), LoadPolicyError> {
    let load = |file: Option<PathBuf>| file.map_or(Ok(None), |file| load_policy_file(&file));
    Ok((load(places.home_policy())?.unwrap_or_default(), load(places.workspace_policy())?))
}

fn load_policy_file(file: &Path) -> Result<Option<ApprovalPolicy>, LoadPolicyError> {
    let bytes = match read_bounded(file) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(LoadPolicyError::Read { file: file.to_owned(), error }),
    };
    match contract::source::load::<ApprovalPolicy>(&file.display().to_string(), &bytes) {
        Ok(loaded) => Ok(Some(loaded.value)),
        Err(problems) => Err(LoadPolicyError::Shape { file: file.to_owned(), problems: Box::new(problems) }),
    }
}

#[cfg(test)]
mod tests {
    use untrusted_fs::own_files;

    use super::*;

    /// Required approvals by home and workspace, or the words of the error.
    fn check(home: Option<&str>, workspace: Option<&str>) -> String {
        let root = tempfile::tempdir().unwrap();
        let write = |name: &str, text: Option<&str>| {
            let file = root.path().join(name);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            match text {
                Some("a folder") => std::fs::create_dir(file).unwrap(),
                Some(text) => own_files::write_file(file, text).unwrap(),
                None => {}
            }
        };
        write("trust/approval-policy.yaml", home);
        write("space/approval-policy.yaml", workspace);
        let places = RecordPlaces::new(root.path(), Some(&root.path().join("space")));
        match load_approval_policy(&places) {
            Ok((home, workspace)) => {
                let said = |policy: &ApprovalPolicy| policy.terms.approvals_required.unwrap_or(1);
                format!("{} {:?}", said(&home), workspace.as_ref().map(said))
            }
            Err(error) => error.to_string().replace(&root.path().display().to_string(), ""),
        }
    }

    #[test]
    fn a_policy_is_read_whole_or_is_an_error() {
        let two = Some("approvals_required: 2\n");
        for (home, workspace, expected) in [
            (None, None, "1 None"),
            (two, None, "2 None"),
            (None, two, "1 Some(2)"),
            (two, Some("{}"), "2 Some(1)"),
            (Some("approvals_needed: 2"), None, "/trust/approval-policy.yaml is no approval policy: "),
            (Some("approvals_required: 0"), None, "/trust/approval-policy.yaml is no approval policy: "),
            (Some("approvals_required: 1\napprovals_required: 2"), None, "is no approval policy: "),
            (two, Some("- a"), "/space/approval-policy.yaml is no approval policy: "),
            (Some(""), None, "/trust/approval-policy.yaml is no approval policy: "),
            (Some("a folder"), None, "/trust/approval-policy.yaml cannot be read: "),
            (two, Some("a folder"), "/space/approval-policy.yaml cannot be read: "),
        ] {
            let found = check(home, workspace);
            assert!(found.contains(expected), "{home:?} {workspace:?}: {found}");
        }
    }
}
