//! The part of a tree that setup sees. It is laid out alone, so that nothing else can be read.

use std::collections::BTreeSet;

use contract::setup_inputs::SetupInputs;
use contract::task::Environment;
use tree::{Listing, ObjectDatabase};

use crate::run::file::Stopped;

/// Files of one tree as setup sees them.
pub(super) struct SetupView {
    pub(super) listing: Listing,
    /// Id of that listing.
    pub(super) tree: String,
    /// True if `setup_inputs` leave the rest of the tree out.
    pub(super) is_part: bool,
}

impl SetupView {
    /// Selects the paths that the contract's `setup_inputs` name; all paths if it names
    /// none.
    pub(super) fn of_environment(
        environment: &Environment,
        store: &ObjectDatabase,
        listing: &Listing,
    ) -> Result<Self, Stopped> {
        if environment.setup_inputs.is_empty() {
            return Ok(Self { tree: listing.tree_id().to_string(), listing: listing.clone(), is_part: false });
        }
        let inputs = SetupInputs::read_globs(&environment.setup_inputs)?;
        let paths: BTreeSet<&[u8]> = listing.0.keys().map(Vec::as_slice).collect();
        let content = |path: &[u8]| store.blob(listing.0.get(path)?.oid).ok();
        let visible = inputs.visible_paths(&paths, &content);
        let seen = listing.0.iter().filter(|(path, _)| visible.contains(path.as_slice()));
        let listing = Listing(seen.map(|(path, entry)| (path.clone(), *entry)).collect());
        Ok(Self { tree: listing.tree_id().to_string(), listing, is_part: true })
    }
}
