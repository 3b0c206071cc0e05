//! Layers below a tree of the exam: the setup layer of the baseline, or one of its own if
//! setup sees another view of the tree.

use std::path::PathBuf;

use contract::sandbox::{Attempt, SetupRecord};
use tree::Listing;

use super::Examiner;
use super::ages::Ages;
use crate::judge::environment::{ExamFiles, JudgedTree, Layer, LayerMaker, MadeLayer};
use crate::run::file::Stopped;

/// Layers under a tree, and what their setup tried.
pub(super) struct Layers {
    /// The first on top; or the reason why setup fails on this tree.
    pub(super) files: Result<Vec<PathBuf>, String>,
    pub(super) attempts: Vec<Attempt>,
}

impl Examiner<'_> {
    /// Makes the baseline's layer where it is not there yet; says why it cannot be made, if
    /// it cannot.
    pub(super) fn cannot_set_up(&mut self) -> Result<Option<String>, Stopped> {
        if self.setting.contract.environment.setup.is_empty() || self.furnished.layer.is_some() {
            return Ok(None);
        }
        let (made, _) = self.set_up(|setup, trees| setup.baseline_layer(trees.baseline).map(Some))?;
        Ok(match made {
            Some(MadeLayer::Layer(layer)) => {
                self.furnished.layer = Some(layer);
                None
            }
            Some(MadeLayer::Failed(why)) => Some(format!("the environment could not be set up: {why}")),
            None => None,
        })
    }

    /// The layers under a judged tree. Setup runs again where it sees another tree than the
    /// baseline's.
    pub(super) fn layers(&mut self, listing: &Listing, ages: &Ages) -> Result<Layers, Stopped> {
        let Some(base) = self.furnished.layer.clone() else {
            return Ok(Layers { files: Ok(Vec::new()), attempts: Vec::new() });
        };
        let (made, attempts) = self.set_up(|setup, trees| {
            let exam = ExamFiles { rules: trees.rules, baseline: trees.baseline };
            setup.judged_layer(&JudgedTree { listing, base: &base, age_of: &|path| ages.age_of(path), exam })
        })?;
        let files = match made {
            None => Ok(vec![base.files]),
            Some(MadeLayer::Layer(Layer { files, record, .. })) => {
                Ok([files].into_iter().chain(record.on.map(|_| base.files)).collect())
            }
            Some(MadeLayer::Failed(why)) => Err(why.to_string()),
        };
        Ok(Layers { files, attempts })
    }

    /// Makes a layer and keeps its record.
    fn set_up(
        &mut self,
        make: impl FnOnce(&mut LayerMaker<'_>, &super::Trees<'_>) -> Result<Option<MadeLayer>, Stopped>,
    ) -> Result<(Option<MadeLayer>, Vec<Attempt>), Stopped> {
        let mut setup = LayerMaker::new(self.setting, self.watch, &self.furnished.mounts, self.trees.store);
        let made = make(&mut setup, &self.trees)?;
        let LayerMaker { cells, log, attempts, .. } = setup;
        self.found.cells.add_all(cells);
        self.found.log.extend(log);
        match &made {
            Some(MadeLayer::Layer(layer)) => self.tell_setup(&layer.record),
            Some(MadeLayer::Failed(failed)) => self.tell_setup(&failed.record),
            None => {}
        }
        Ok((made, attempts))
    }

    /// Adds the record of a layer. If another tree needs the same layer, the record says
    /// how it was first made.
    pub(super) fn tell_setup(&mut self, record: &SetupRecord) {
        if self.found.setup.iter().any(|known| known.key == record.key) {
            return;
        }
        if !record.cached {
            self.spent_ms += record.commands.iter().map(|command| command.duration_ms).sum::<u64>();
        }
        self.found.setup.push(record.clone());
    }
}
