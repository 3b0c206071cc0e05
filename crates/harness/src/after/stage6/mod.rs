//! Documents of stage 6, made from sealed bundles. Nothing here starts an engine or changes
//! a repository.

mod commands;
pub(crate) mod comparison;
mod newest;
pub(crate) mod refresh;
mod secret_fields;
