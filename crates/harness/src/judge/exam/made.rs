//! Files of a patch at places where setup or build of the baseline make something.
//!
//! They are absent from the exam: a tool that knows by content what it has built would find
//! everything built already, and the source of the patch would never be compiled. What is
//! made in their place is what is tested, so that the bundle says where that has other
//! bytes than the patch.

use contract::Coverage;
use contract::product::lock_file;
use contract::text::{path_text, show_controls};
use tree::{Listing, folders_above};
use untrusted_fs::{is_there_beneath, read_plain};

use super::Examiner;
use super::exam_tree::ExamTree;
use crate::run::file::Stopped;

/// Size of a file up to which it is compared.
const LARGEST: u64 = 64 << 20;

impl Examiner<'_> {
    /// Takes them out of the exam's tree. A lock file stays: setup and build go by it.
    pub(super) fn leave_out_made(&mut self, exam: &mut Listing) {
        let made = exam.0.keys().filter(|path| self.is_made(path) && lock_file(path).is_none());
        for path in made.cloned().collect::<Vec<_>>() {
            if let Some(entry) = exam.0.remove(&path) {
                self.left_out.push((path, entry));
            }
        }
    }

    /// True for a path that the baseline does not have and at which its setup or build make
    /// something, or inside a folder that they make.
    pub(super) fn is_made(&self, path: &[u8]) -> bool {
        !self.trees.baseline.0.contains_key(path) && (self.before.builds(path) || self.is_set_up(path))
    }

    fn is_set_up(&self, path: &[u8]) -> bool {
        let Some(layer) = &self.furnished.layer else { return false };
        let new_folders = folders_above(path).filter(|folder| !self.trees.baseline.has_below(folder));
        let mut new = new_folders.chain([path]);
        new.any(|path| is_there_beneath(&layer.files, path))
    }

    /// Notes for each whether the exam's own setup and build make the same.
    pub(super) fn compare_with_made(&mut self, exam_tree: &ExamTree) -> Result<(), Stopped> {
        for (path, entry) in std::mem::take(&mut self.left_out) {
            let carried = self.trees.store.blob(entry.oid)?;
            let made = exam_tree.made_in().find_map(|place| read_plain(place, &path, LARGEST));
            let how = match &made {
                Some(made) if *made == carried => "and make it the same",
                Some(_) => "and make it otherwise",
                None => "but not this file",
            };
            if made.as_ref() != Some(&carried) {
                self.found.coverage.insert(Coverage::ProductNotRebuilt);
            }
            let path = show_controls(&path_text(&path));
            self.say(&format!("`{path}` is where setup or build make a file, {how}; the exam runs without it"));
        }
        Ok(())
    }
}
