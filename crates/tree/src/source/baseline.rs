//! The tree that HEAD names, copied into a store of the harness and shown to be one that a
//! work tree can hold.

use super::SourceRepository;
use crate::error::{Limit, TreeError};
use crate::object::listing::{Listing, PathMode};
use crate::object::name::parent;
use crate::oid::Oid;
use crate::source_problem::SourceProblem;
use crate::store::ObjectDatabase;
use crate::store::batch::{Absent, AbsentWhy, absent_in};

/// The system's own limit for a name.
const LONGEST_NAME: usize = 255;
/// The system's limit for a path, less room for the folder that the work tree lies in.
const LONGEST_PATH: usize = 4096 - 256;
/// Deepest nesting of a baseline: as deep as a captured result may be.
const DEEPEST: usize = 128;
const LARGEST_FILE: u64 = 1 << 30;
const LARGEST_TREE: u64 = 64 << 30;
const LONGEST_LINK: u64 = 4095;

/// Starting point of a run.
#[derive(Debug)]
pub struct SourceBaseline {
    /// Commit of HEAD.
    pub commit: Oid,
    pub tree: Oid,
    /// Every path with its mode and content.
    pub listing: Listing,
    /// Submodules and LFS pointers: paths whose content git objects do not hold.
    pub absent: Vec<Absent>,
}

impl SourceRepository {
    /// Copies everything that HEAD reaches into `store`. Any fault of the repository's
    /// content is reported as its own.
    pub fn baseline(&self, store: &ObjectDatabase) -> Result<SourceBaseline, TreeError> {
        self.require_known_format(&self.settings(store)?)?;
        let commit = self.fetch_into(store)?;
        self.examine_baseline(store, commit).map_err(|error| self.blame_source(error))
    }

    /// Checks names, sizes and missing content of a commit's tree. Fails on anything that a
    /// work tree could not hold.
    pub(super) fn examine_baseline(&self, store: &ObjectDatabase, commit: Oid) -> Result<SourceBaseline, TreeError> {
        let listing = store.list_tree(commit)?;
        require_names(&listing)?;
        let (sizes, absent) = absent_in(&listing, store)?;
        if let Some(left_out) = absent.iter().find(|absent| absent.why == AbsentWhy::NotHeld) {
            return Err(self.refuse_source(SourceProblem::NotFetched(format!("\"{}\"", left_out.path.escape_ascii()))));
        }
        require_sizes(&sizes)?;
        self.require_links(&listing, store)?;
        let tree = store.tree_of(commit)?;
        // Old trees have modes that are written otherwise today; only then does each have
        // to be looked at.
        if listing.tree_id() != tree {
            store.require_modes(tree)?;
        }
        Ok(SourceBaseline { commit, tree, listing, absent })
    }

    /// Fails on link targets that the system cannot store. Their destinations are checked
    /// when something follows them.
    fn require_links(&self, listing: &Listing, store: &ObjectDatabase) -> Result<(), TreeError> {
        let links: Vec<_> = listing.0.iter().filter(|(_, entry)| entry.mode == PathMode::Link).collect();
        let oids: Vec<Oid> = links.iter().map(|(_, entry)| entry.oid).collect();
        for ((path, _), target) in links.iter().zip(store.reader().blobs(&oids)?) {
            let target = target.unwrap_or_default();
            if target.is_empty() || target.contains(&0) || target.len() as u64 > LONGEST_LINK {
                let why = format!("path \"{}\" is a link that leads to no path", path.escape_ascii());
                return Err(self.refuse_source(SourceProblem::UnfitPath(why)));
            }
        }
        Ok(())
    }
}

fn require_names(listing: &Listing) -> Result<(), TreeError> {
    for path in listing.0.keys() {
        let refuse = |problem| Err(TreeError::Name { path: path.clone(), problem });
        if path.len() > LONGEST_PATH {
            return refuse("is longer than the system's paths");
        }
        if path.split(|byte| *byte == b'/').any(|name| name.len() > LONGEST_NAME) {
            return refuse("has a name longer than 255 bytes");
        }
        if parent(path).split(|byte| *byte == b'/').count() > DEEPEST {
            return Err(TreeError::Limit { limit: Limit::Depth, path: path.clone() });
        }
    }
    Ok(())
}

fn require_sizes(sizes: &[(&Vec<u8>, u64)]) -> Result<(), TreeError> {
    let mut total = 0_u64;
    for (path, size) in sizes {
        total = total.saturating_add(*size);
        let limit = match (*size > LARGEST_FILE, total > LARGEST_TREE) {
            (true, _) => Limit::FileBytes,
            (_, true) => Limit::TotalBytes,
            _ => continue,
        };
        return Err(TreeError::Limit { limit, path: path.to_vec() });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::listing::ListingEntry;

    #[test]
    fn what_no_work_tree_holds_is_refused() {
        let deep = |levels: usize| format!("{}f", "d/".repeat(levels));
        let long = |length: usize| vec!["x".repeat(200); length / 201].join("/");
        for (path, fits) in [
            ("a/b".to_owned(), true),
            ("x".repeat(255), true),
            ("x".repeat(256), false),
            (deep(DEEPEST), true),
            (deep(DEEPEST + 1), false),
            (long(3800), true),
            (long(4096), false),
        ] {
            let entry = ListingEntry { mode: PathMode::File, oid: Oid([0; 20]) };
            let listing = Listing([(path.clone().into_bytes(), entry)].into());
            assert_eq!(require_names(&listing).is_ok(), fits, "{path}");
        }
    }

    #[test]
    fn sizes_are_added_up() {
        let path = b"f".to_vec();
        for (sizes, fits) in [
            (vec![LARGEST_FILE; 64], true),
            (vec![LARGEST_FILE; 65], false),
            (vec![LARGEST_FILE + 1], false),
            (vec![u64::MAX, u64::MAX], false),
        ] {
            let rows: Vec<_> = sizes.iter().map(|size| (&path, *size)).collect();
            assert_eq!(require_sizes(&rows).is_ok(), fits, "{sizes:?}");
        }
    }
}
