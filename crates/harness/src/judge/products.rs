//! Products of builds among the changed files, by default deny.
//!
//! A build tool takes an existing product for fresh, so that the source in the patch is
//! never compiled and the tests run unseen code.

use contract::Reason;
use contract::paths::PathRules;
use contract::product::{ContentKind, content_kind, tool_leftover};
use contract::text::{listed, path_text, show_controls};
use tree::{ListingEntry, ObjectDatabase, PathChange, PathMode, TreeError};

/// At most this many are named in a sentence.
const NAMED: usize = 5;

/// Products that a patch carries.
#[derive(Debug, Default)]
pub(crate) struct Products {
    /// Path, and what it is.
    refused: Vec<(Vec<u8>, &'static str)>,
    /// Paths of those that the contract names.
    pub(crate) carried: Vec<Vec<u8>>,
}

/// Looks for products among added and changed files. A product of the baseline that stays
/// as it was is no change.
pub(crate) fn judge_products(
    store: &ObjectDatabase,
    rules: &PathRules,
    changes: &[PathChange],
) -> Result<Products, TreeError> {
    let mut reader = store.reader();
    let mut products = Products::default();
    for change in changes {
        let Some(after) = written_entry(change) else { continue };
        let kind = content_kind(&change.path, &reader.blob(after.oid)?);
        let named = rules.names_literally(&change.path);
        match refused(rules, change, after, kind) {
            Some(_) if named && matches!(kind, ContentKind::Text | ContentKind::Inert) => {}
            Some(_) if named => products.carried.push(change.path.clone()),
            Some(what) => products.refused.push((change.path.clone(), what)),
            None => {}
        }
    }
    Ok(products)
}

/// The file that a change leaves, where its content is new.
pub(crate) fn written_entry(change: &PathChange) -> Option<ListingEntry> {
    let is_file = |entry: &ListingEntry| matches!(entry.mode, PathMode::File | PathMode::Executable);
    let is_new = |after: &ListingEntry| change.before.is_none_or(|before| before.oid != after.oid || !is_file(&before));
    change.after.filter(|after| is_file(after) && is_new(after))
}

/// Objection to a file unless the contract names it; none if it is no product.
fn refused(rules: &PathRules, change: &PathChange, after: ListingEntry, kind: ContentKind) -> Option<&'static str> {
    // New data of the exam is absent from the exam's tree, where nothing can run on it.
    let data_of_exam = change.before.is_none() && after.mode == PathMode::File && rules.is_protected(&change.path);
    tool_leftover(&change.path).or(match kind {
        ContentKind::Text | ContentKind::Inert => None,
        ContentKind::Machine(what) => Some(what),
        ContentKind::Binary if data_of_exam => None,
        ContentKind::Binary => Some("neither text nor a picture, font, sound, video or PDF"),
    })
}

impl Products {
    /// The blocker that the refused ones make.
    pub(crate) fn blocker(&self) -> Option<(Reason, String)> {
        let each = self.refused.iter().map(|(path, what)| format!("`{}` ({what})", show_controls(&path_text(path))));
        let text = format!("the patch carries what builds make: {}", listed(each, NAMED));
        (!self.refused.is_empty()).then_some((Reason::BuildProductInPatch, text))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tree::Oid;

    use super::*;
    use crate::run::tests::{Trial, contract};
    use crate::tests::two_sided;

    const FILE: PathMode = PathMode::File;

    fn entry(mode: PathMode, oid: u8) -> ListingEntry {
        ListingEntry { mode, oid: Oid([oid; 20]) }
    }

    #[test]
    fn only_a_file_with_new_content_is_written() {
        let link = PathMode::Link;
        for (before, after, is_written) in [
            (None, Some(entry(FILE, 1)), true),
            (None, Some(entry(PathMode::Executable, 1)), true),
            (Some(entry(FILE, 1)), Some(entry(FILE, 2)), true),
            (Some(entry(link, 1)), Some(entry(FILE, 1)), true),
            (Some(entry(FILE, 1)), Some(entry(PathMode::Executable, 1)), false),
            (None, Some(entry(link, 1)), false),
            (None, Some(entry(PathMode::Gitlink, 1)), false),
            (Some(entry(FILE, 1)), None, false),
        ] {
            let change = PathChange { path: b"a".to_vec(), before, after };
            assert_eq!(written_entry(&change), after.filter(|_| is_written), "{change:?}");
        }
    }

    const PROGRAM: &[u8] = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0>\0";
    const DATA: &[u8] = b"\x00\x01\x02\xff\xfe";

    /// One file of a patch: the reason against it, and the paths that it carries by name.
    fn judge(
        allowed: &str,
        path: &str,
        content: &[u8],
        mode: PathMode,
        is_new: bool,
    ) -> (Option<(Reason, String)>, usize) {
        let trial = Trial::new();
        let store = ObjectDatabase::create_store(&trial.folder().join("store"), trial.harness.git.clone()).unwrap();
        let rules = contract(json!({"allowed_paths": [allowed]})).path_rules(&[contract::Ecosystem::Python]).unwrap();
        let before = (!is_new).then_some(entry(FILE, 1));
        let after = Some(ListingEntry { mode, oid: store.put_blob(content).unwrap() });
        let products =
            judge_products(&store, &rules, &[PathChange { path: path.as_bytes().to_vec(), before, after }]).unwrap();
        (products.blocker(), products.carried.len())
    }

    #[test]
    fn what_builds_make_is_refused_unless_the_contract_names_it() {
        let (blocker, carried) = judge("**", "app", PROGRAM, FILE, true);
        two_sided(Reason::BuildProductInPatch, blocker.clone(), judge("app", "app", PROGRAM, FILE, true).0);
        let (reason, text) = blocker.unwrap();
        assert!(text.starts_with("the patch carries what builds make: `app` ("), "{text}");
        assert_eq!((reason, carried), (Reason::BuildProductInPatch, 0));
        assert_eq!(judge("app", "app", PROGRAM, FILE, true), (None, 1), "named");
        assert_eq!(judge("**", "app.py", b"text\n", FILE, true), (None, 0), "control: text");
        let (_, leftover) = judge("**", "a/__pycache__/b", b"text\n", FILE, true).0.unwrap();
        assert!(leftover.ends_with("`a/__pycache__/b` (compiled modules of Python)"), "{leftover}");
        assert_eq!(judge("a/__pycache__/b", "a/__pycache__/b", b"text\n", FILE, true), (None, 0), "named, and text");
    }

    #[test]
    fn new_data_of_the_exam_is_no_product() {
        assert_eq!(judge("**", "tests/data/a.bin", DATA, FILE, true), (None, 0));
        for (path, mode, is_new) in [
            ("data/a.bin", FILE, true),
            ("tests/data/a.bin", FILE, false),
            ("tests/data/a.bin", PathMode::Executable, true),
        ] {
            let (blocker, _) = judge("**", path, DATA, mode, is_new);
            assert!(
                blocker.is_some_and(|(_, text)| text.contains("neither text nor a picture")),
                "{path} {mode:?} {is_new}"
            );
        }
    }
}
