//! The part of an index that tells git the tree of each directory, so that it need not make
//! them again.
//!
//! Without it the first commit writes every tree anew, finds each in the pack it began
//! with, and touches that pack; in a workspace of layers that copies all of the history up.

use std::collections::HashMap;
use std::convert::Infallible;

use crate::error::TreeError;
use crate::object::listing::{Listing, PathMode, TreeLine, parse_tree};
use crate::oid::Oid;

/// The extension for an index that holds exactly this listing.
pub(crate) fn extension(listing: &Listing) -> Result<Vec<u8>, TreeError> {
    let mut trees: HashMap<Oid, Vec<u8>> = HashMap::new();
    let Ok(root) = listing.fold_trees::<Infallible>(&mut |tree| {
        let oid = Oid::of_object("tree", tree);
        trees.insert(oid, tree.to_vec());
        Ok(oid)
    });
    let (rows, _) = rows(&trees, b"", root)?;
    let mut out = b"TREE".to_vec();
    out.extend_from_slice(&(rows.len() as u32).to_be_bytes());
    out.extend(rows);
    Ok(out)
}

/// The row of a tree and those of its subtrees, and how many entries of the index they cover.
fn rows(trees: &HashMap<Oid, Vec<u8>>, name: &[u8], oid: Oid) -> Result<(Vec<u8>, usize), TreeError> {
    let bytes = trees.get(&oid).ok_or(TreeError::Missing { oid })?;
    let is_tree = |line: &TreeLine<'_>| PathMode::from_bits(line.bits).is_none();
    let (below, entries): (Vec<_>, Vec<_>) = parse_tree(bytes)?.into_iter().partition(is_tree);
    let mut covered = entries.len();
    let mut rows_below = Vec::new();
    for line in &below {
        let (rows, count) = rows(trees, line.name, line.oid)?;
        covered += count;
        rows_below.extend(rows);
    }
    let mut out = name.to_vec();
    out.extend_from_slice(format!("\0{covered} {}\n", below.len()).as_bytes());
    out.extend_from_slice(&oid.0);
    out.extend(rows_below);
    Ok((out, covered))
}
