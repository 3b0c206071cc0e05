//! Keys of people and terms of the approval policy, as the home and the workspace have them
//! now.

use std::io;
use std::path::Path;

use contract::approval::{ApprovalPolicy, PolicyTerms, merge_policies};
use contract::signer::SignerStanding;
use contract::{Stage, Stamp};
use cortex::{LoadPolicyError, PersonSigners, RecordPlaces, load_approval_policy};
use evidence::signer_key::SignerKey;
use tree::RepositoryPlace;

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
    pub fn read_lists(places: &RecordPlaces) -> Result<Self, ReadTrustError> {
        PersonSigners::read_lists(places).map(Self).map_err(ReadTrustError::Signers)
    }

    /// Reads the lists again; none where they hold the very bytes that these were read from.
    pub(crate) fn read_changed(&self, places: &RecordPlaces) -> Result<Option<Self>, ReadTrustError> {
        self.0.read_changed(places).map(|lists| lists.map(Self)).map_err(ReadTrustError::Signers)
    }

    /// Judges a key for a namespace at a time.
    pub fn judge_key(&self, key: &SignerKey, namespace: &str, at: Stamp) -> SignerStanding {
        self.0.judge_key(key, namespace, at)
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
    pub fn read_files(places: &RecordPlaces) -> Result<Self, ReadTrustError> {
        let (home, workspace) = load_approval_policy(places)?;
        Ok(Self { home, workspace })
    }

    /// Terms in force for a stage and target.
    pub fn terms(&self, stage: Stage, target: Option<&str>) -> PolicyTerms {
        let is_target = |path: &str| target.is_some_and(|target| is_of_rule(target, path));
        merge_policies(&self.home, self.workspace.as_ref(), stage, &is_target)
    }
}

/// True if a rule that names a path is about the target. A link, a linked work tree or a
/// second mount is another path to the same repository, and no way around the rule. Paths
/// that lead nowhere are compared as texts.
fn is_of_rule(target: &str, path: &str) -> bool {
    let is_same_text = target.trim_end_matches('/') == path.trim_end_matches('/');
    is_same_text
        || RepositoryPlace::find_place(Path::new(target)).lies_in(&RepositoryPlace::find_place(Path::new(path)))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_rule_is_about_a_repository_and_not_about_one_of_its_names() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name).display().to_string();
        fs::create_dir_all(at("srv/shop/.git")).unwrap();
        fs::create_dir_all(at("srv/shop/src")).unwrap();
        fs::create_dir_all(at("srv/shop-2/.git")).unwrap();
        symlink(at("srv/shop"), at("link")).unwrap();
        symlink(at("srv"), at("folder")).unwrap();
        let rule = at("srv/shop");
        for (target, expected) in [
            ("srv/shop", true),
            ("srv/shop/", true),
            ("link", true),
            ("folder/shop", true),
            ("srv/shop/src", true),
            ("srv/shop-2", false),
            ("srv", false),
            ("gone", false),
        ] {
            assert_eq!(is_of_rule(&at(target), &rule), expected, "{target}");
            assert_eq!(is_of_rule(&at(target), &at("link")), expected, "{target}, of a rule that names a link");
        }
        assert!(is_of_rule(&at("srv/shop"), &at("folder")), "a folder stands for what lies in it");
        assert!(is_of_rule(&at("gone"), &at("gone/")) && !is_of_rule(&at("gone"), &at("gone-2")));
    }
}
