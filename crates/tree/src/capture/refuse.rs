//! Entries of a captured tree that must not be part of a result.

use std::collections::BTreeSet;

use super::before::EarlierTree;
use super::intake::Intake;
use super::{Capture, RefusedPath, RefusedWhy};
use crate::capture::link::{Links, escapes};
use crate::error::TreeError;
use crate::object::listing::{ListingEntry, PathMode};
use crate::object::name::{is_gitmodules, leaf};
use crate::store::ObjectDatabase;

/// Adds the refusals that need the whole tree, and takes out what git would not carry. The
/// links must be all of the tree, or none where none has moved.
pub(super) fn judge_intake(intake: Intake<'_>) -> Result<Capture, TreeError> {
    let Intake { before, store, mut out, links, changed, .. } = intake;
    let mut found: Vec<RefusedPath> = Vec::new();
    for (path, entry) in changed.iter().filter_map(|path| Some((path, out.listing.0.get(path)?))) {
        found.extend(new_matter(path, entry).map(|why| RefusedPath { path: path.clone(), why }));
    }
    found.extend(leading_out(&links, &changed, before, store)?);
    found.extend(lost_gitlinks(&out, before));
    for refused in found.iter().filter(|refused| refused.why == RefusedWhy::GitName) {
        out.listing.0.remove(&refused.path);
    }
    out.refused.append(&mut found);
    out.refused.sort_by(|a, b| (&a.path, a.why).cmp(&(&b.path, b.why)));
    for paths in [&mut out.nested_repositories, &mut out.special_files, &mut out.empty_directories] {
        paths.sort_unstable();
    }
    Ok(out)
}

fn new_matter(path: &[u8], entry: &ListingEntry) -> impl Iterator<Item = RefusedWhy> {
    let rows = [
        (std::str::from_utf8(path).is_err(), RefusedWhy::NotUtf8),
        (entry.mode == PathMode::Link && is_gitmodules(leaf(path)), RefusedWhy::GitName),
    ];
    rows.into_iter().filter(|(holds, _)| *holds).map(|(_, why)| why)
}

fn leading_out(
    links: &Links,
    changed: &BTreeSet<Vec<u8>>,
    before: EarlierTree<'_>,
    store: &ObjectDatabase,
) -> Result<Vec<RefusedPath>, TreeError> {
    let mut out: Vec<&Vec<u8>> = links.keys().filter(|path| escapes(links, path)).collect();
    if out.iter().any(|path| !changed.contains(*path)) {
        // An unchanged link that already led out of the baseline is the baseline's affair.
        let earlier = links_before(before, store)?;
        out.retain(|path| changed.contains(*path) || !escapes(&earlier, path));
    }
    Ok(out.into_iter().map(|path| RefusedPath { path: path.clone(), why: RefusedWhy::LinkLeavesRepository }).collect())
}

/// The links of a tree as it was.
pub(super) fn links_before(before: EarlierTree<'_>, store: &ObjectDatabase) -> Result<Links, TreeError> {
    let (paths, oids): (Vec<_>, Vec<_>) =
        before.of_mode(PathMode::Link).into_iter().map(|(path, entry)| (path.to_vec(), entry.oid)).unzip();
    let targets = store.reader().blobs(&oids)?;
    Ok(paths.into_iter().zip(targets).filter_map(|(path, target)| Some((path, target?))).collect())
}

fn lost_gitlinks(out: &Capture, before: EarlierTree<'_>) -> Vec<RefusedPath> {
    let gitlinks = before.of_mode(PathMode::Gitlink).into_iter();
    let lost = gitlinks.filter(|(path, entry)| out.listing.0.get(*path) != Some(entry));
    lost.map(|(path, _)| RefusedPath { path: path.to_vec(), why: RefusedWhy::GitlinkChanged }).collect()
}
