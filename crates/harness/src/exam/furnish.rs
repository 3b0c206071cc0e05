//! What a tree of the exam stands on: the setup layer of the baseline, or one of its own where the patch changes what setup
//! rests on.

use std::path::{Path, PathBuf};

use contract::paths::PathSet;
use tree::Listing;

use super::Examiner;
use crate::environment::{Layer, Made, Setup};
use crate::posture::Cells;
use crate::run::Stopped;

impl Examiner<'_> {
    /// Why the tree of the exam cannot be set up, if it cannot. What was made is kept, so that nothing is made twice.
    pub(super) fn cannot_set_up(&mut self, exam: &Listing) -> Result<Option<String>, Stopped> {
        if self.setting.contract.environment.setup.is_empty() {
            return Ok(None);
        }
        if self.furnished.layer.is_none() {
            let root = self.setting.dir("verify-setup/baseline")?;
            let baseline = self.trees.baseline;
            tree::materialise(self.trees.store, baseline, &root)?;
            match self.make(baseline, &root)? {
                Made::Layer(layer) => self.furnished.layer = Some(layer),
                Made::Failed(why) => return Ok(Some(format!("the environment could not be set up: {why}"))),
            }
        }
        if self.rests_on_the_same(exam)? {
            return Ok(None);
        }
        let root = self.setting.dir("verify-setup/exam")?;
        let quarters = self.setting.quarters("verify-setup-exam", root.clone())?;
        let ages = self.ages(exam, &quarters)?;
        tree::materialise_aged(self.trees.store, exam, &root, &|path| ages.of(path))?;
        match self.make(exam, &root)? {
            Made::Layer(_) => Ok(None),
            Made::Failed(why) => Ok(Some(format!("the patched tree cannot be set up: {why}"))),
        }
    }

    /// The layers under a tree whose files lie at `root`.
    pub(super) fn layers(&mut self, listing: &Listing, root: &Path) -> Result<Vec<PathBuf>, Stopped> {
        if self.setting.contract.environment.setup.is_empty() {
            return Ok(Vec::new());
        }
        if self.rests_on_the_same(listing)? {
            return Ok(self.furnished.layer.iter().map(|layer| layer.files.clone()).collect());
        }
        match self.make(listing, root)? {
            Made::Layer(Layer { files, .. }) => Ok(vec![files]),
            // The commands will say what is missing.
            Made::Failed(_) => Ok(Vec::new()),
        }
    }

    fn make(&mut self, listing: &Listing, root: &Path) -> Result<Made, Stopped> {
        let tree = listing.tree_id().to_string();
        let mut setup = Setup {
            setting: self.setting,
            cancel: self.cancel,
            mounts: &self.furnished.mounts,
            cells: Cells::default(),
            log: Vec::new(),
        };
        let made = setup.layer(&tree, root)?;
        let Setup { cells, log, .. } = setup;
        self.found.cells.extend(cells);
        self.found.log.extend(log);
        // Asked for again, for another room, it is there already: what is told is how it came to be.
        if let Made::Layer(Layer { record, .. }) = &made
            && !self.found.setup.iter().any(|known| known.key == record.key)
        {
            self.found.setup.push(record.clone());
        }
        Ok(made)
    }

    /// Whether a tree has the same lock files as the baseline.
    fn rests_on_the_same(&self, listing: &Listing) -> Result<bool, Stopped> {
        let inputs = PathSet::rooted(&self.setting.contract.environment.setup_inputs)?;
        let changes = tree::changes(self.trees.baseline, listing);
        Ok(!changes.iter().any(|change| inputs.is_match(&change.path)))
    }
}
