//! Times of the files in a check's tree, so that no build tool takes a product for newer
//! than its source.

use std::collections::BTreeMap;

use contract::Coverage;
use contract::product::{ContentKind, Generator, content_kind, generator_of};
use tree::{FileAge, Listing};

use super::Examiner;
use crate::judge::products::written_entry;
use crate::run::file::Stopped;
use crate::run::program_view::ProgramView;

/// Folder of programs of Node's package managers, in a tree or a setup layer.
const NODE_PROGRAMS: &str = "node_modules/.bin";
/// Upper bound on the names that are read in it.
const MOST_PROGRAMS: usize = 10_000;

/// Ages of the files of a tree that are not as in the baseline.
#[derive(Debug, Clone)]
pub(super) struct Ages(BTreeMap<Vec<u8>, FileAge>);

impl Ages {
    /// Age of a path; unchanged unless the patch touched it.
    pub(super) fn age_of(&self, path: &[u8]) -> FileAge {
        self.0.get(path).copied().unwrap_or(FileAge::Unchanged)
    }
}

impl Examiner<'_> {
    /// Dates everything that differs from the baseline: changed text is new, products are
    /// old. Text from a generator that cannot be started here stays newer than its source,
    /// and the bundle says so.
    pub(super) fn ages(&mut self, listing: &Listing, program_view: &ProgramView) -> Result<Ages, Stopped> {
        let mut reader = self.trees.store.reader();
        let mut ages = BTreeMap::new();
        for change in tree::changes(self.trees.baseline, listing) {
            let Some(after) = written_entry(&change) else { continue };
            let kind = content_kind(&change.path, &reader.blob(after.oid)?);
            let generator = generator_of(&change.path, |source| listing.0.contains_key(source));
            let age = match (kind, generator) {
                (ContentKind::Text, None) => FileAge::Changed,
                (ContentKind::Text, Some(generator)) if !self.can_generate(generator, program_view) => {
                    self.found.coverage.insert(Coverage::ProductNotRebuilt);
                    FileAge::Settled
                }
                _ => FileAge::Product,
            };
            ages.insert(change.path, age);
        }
        Ok(Ages(ages))
    }

    fn can_generate(&self, generator: &Generator, program_view: &ProgramView) -> bool {
        let path = self.setting.path();
        let installed = |program: &str| {
            let layers = self.furnished.layer.iter().map(|layer| &layer.files);
            layers.into_iter().any(|files| {
                untrusted_fs::plain_names(files, NODE_PROGRAMS.as_bytes(), MOST_PROGRAMS)
                    .iter()
                    .any(|name| name == program.as_bytes())
            })
        };
        let found = |program: &&&str| {
            program_view.find_program(program, &path, program_view.tree()).is_some() || installed(program)
        };
        generator.programs.iter().any(|program| found(&program))
    }
}
