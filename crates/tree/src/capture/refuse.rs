//! What of a captured tree must not be part of a result.

use super::{Capture, Refused, RefusedWhy};
use crate::error::TreeError;
use crate::link::{Links, escapes};
use crate::listing::{Entry, Mode};
use crate::manifest::Manifest;
use crate::name::{is_gitmodules, leaf};
use crate::store::Store;

const LEFTOVER_DIRECTORIES: [&[u8]; 2] = [b"__pycache__", b"node_modules"];
const LEFTOVER_ENDINGS: [&[u8]; 3] = [b".pyc", b".so", b".class"];

/// Adds the refusals that need the whole tree, and takes out what git would not carry.
pub(super) fn judge(out: &mut Capture, links: &Links, manifest: &Manifest, store: &Store) -> Result<(), TreeError> {
    let mut found: Vec<Refused> = Vec::new();
    let mut before: Option<Links> = None;
    for (path, entry) in &out.listing.0 {
        let changed = manifest.entry(path) != Some(*entry);
        found.extend(new_matter(path, entry).filter(|_| changed).map(|why| Refused { path: path.clone(), why }));
        if entry.mode == Mode::Link && escapes(links, path) {
            let before = match &mut before {
                Some(links) => links,
                none => none.insert(baseline_links(manifest, store)?),
            };
            // An unchanged link that already led out of the baseline is the baseline's affair.
            if changed || !escapes(before, path) {
                found.push(Refused { path: path.clone(), why: RefusedWhy::LinkLeavesRepository });
            }
        }
    }
    found.extend(lost_gitlinks(out, manifest));
    for refused in found.iter().filter(|refused| refused.why == RefusedWhy::GitName) {
        out.listing.0.remove(&refused.path);
    }
    out.refused.append(&mut found);
    out.refused.sort_by(|a, b| (&a.path, a.why).cmp(&(&b.path, b.why)));
    out.nested_repositories.sort_unstable();
    Ok(())
}

fn new_matter(path: &[u8], entry: &Entry) -> impl Iterator<Item = RefusedWhy> {
    let rows = [
        (std::str::from_utf8(path).is_err(), RefusedWhy::NotUtf8),
        (is_leftover(path), RefusedWhy::CompiledLeftover),
        (entry.mode == Mode::Link && is_gitmodules(leaf(path)), RefusedWhy::GitName),
    ];
    rows.into_iter().filter(|(holds, _)| *holds).map(|(_, why)| why)
}

fn is_leftover(path: &[u8]) -> bool {
    let mut directories = path.split(|b| *b == b'/');
    let name = directories.next_back().unwrap_or_default();
    directories.any(|dir| LEFTOVER_DIRECTORIES.contains(&dir)) || LEFTOVER_ENDINGS.iter().any(|end| name.ends_with(end))
}

fn baseline_links(manifest: &Manifest, store: &Store) -> Result<Links, TreeError> {
    let before = manifest.recorded.iter().filter(|(_, recorded)| recorded.entry.mode == Mode::Link);
    let (paths, oids): (Vec<_>, Vec<_>) = before.map(|(path, recorded)| (path.clone(), recorded.entry.oid)).unzip();
    let targets = store.reader().blobs(&oids)?;
    Ok(paths.into_iter().zip(targets).filter_map(|(path, target)| Some((path, target?))).collect())
}

fn lost_gitlinks(out: &Capture, manifest: &Manifest) -> Vec<Refused> {
    let gitlinks = manifest.recorded.iter().filter(|(_, recorded)| recorded.entry.mode == Mode::Gitlink);
    let lost = gitlinks.filter(|(path, recorded)| out.listing.0.get(*path) != Some(&recorded.entry));
    lost.map(|(path, _)| Refused { path: path.clone(), why: RefusedWhy::GitlinkChanged }).collect()
}
