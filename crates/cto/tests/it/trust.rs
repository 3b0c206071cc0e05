//! Trust of a home: keys, workspaces, and the records that people sign.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

mod keys;
mod records;
mod scene;
pub(crate) mod security_key;
mod signing;
mod workspaces;
