//! The formats of git's objects and index files, and the names that are permitted in a
//! tree.

pub(crate) mod cache_tree;
pub(crate) mod commit;
pub(crate) mod index;
pub(crate) mod listing;
pub(crate) mod loose;
pub(crate) mod name;
pub(crate) mod pack;
