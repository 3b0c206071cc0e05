//! Products of builds among the changed files, by default deny.
//!
//! A build tool takes a product that it finds for fresh, so that the source in the patch is never compiled and the tests run
//! what nobody sees.

use contract::Reason;
use contract::paths::PathRules;
use contract::product::{ContentKind, content_kind, tool_leftover};
use contract::text::{listed, path_text, shown};
use tree::{Change, Entry, Mode, Store, TreeError};

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

/// Looks for products among added and changed files. A product of the baseline that stays as it was is no change.
pub(crate) fn judge_products(store: &Store, rules: &PathRules, changes: &[Change]) -> Result<Products, TreeError> {
    let mut reader = store.reader();
    let mut products = Products::default();
    for change in changes {
        let Some(after) = written(change) else { continue };
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
pub(crate) fn written(change: &Change) -> Option<Entry> {
    let is_file = |entry: &Entry| matches!(entry.mode, Mode::File | Mode::Executable);
    let is_new = |after: &Entry| change.before.is_none_or(|before| before.oid != after.oid || !is_file(&before));
    change.after.filter(|after| is_file(after) && is_new(after))
}

/// What stands against a file unless the contract names it.
fn refused(rules: &PathRules, change: &Change, after: Entry, kind: ContentKind) -> Option<&'static str> {
    // New data of the exam is absent from the exam's tree, where nothing can run on it.
    let data_of_exam = change.before.is_none() && after.mode == Mode::File && rules.is_protected(&change.path);
    tool_leftover(&change.path).or(match kind {
        ContentKind::Text | ContentKind::Inert => None,
        ContentKind::Machine(what) => Some(what),
        ContentKind::Binary if data_of_exam => None,
        ContentKind::Binary => Some("neither text nor a picture, font, sound, film or page"),
    })
}

impl Products {
    /// The blocker that the refused ones make.
    pub(crate) fn blocker(&self) -> Option<(Reason, String)> {
        let each = self.refused.iter().map(|(path, what)| format!("`{}` ({what})", shown(&path_text(path))));
        let text = format!("the patch carries what builds make: {}", listed(each, NAMED));
        (!self.refused.is_empty()).then_some((Reason::BuildProductInPatch, text))
    }
}
