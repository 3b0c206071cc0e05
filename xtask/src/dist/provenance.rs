//! Provenance: an in-toto statement on how the files were made, in the shape of SLSA,
//! signed as bundles are (DSSE, ed25519).

use std::path::{Path, PathBuf};

use evidence::HarnessKey;
use serde_json::{Value, json};

use super::pack::{read_file, sha256, version, write_file};
use crate::ChoreResult;
use crate::process::{command_output, program, repository_root};

/// The signed statement, and the public half of the key that signed it.
pub(super) const PROVENANCE: &str = "provenance.intoto.json";
/// File of the public key.
pub(super) const PUBLIC_KEY: &str = "provenance.pub";

/// Signs one statement about all files; it lies beside them, with the public half of its key.
pub(super) fn sign_all(files: &[PathBuf], key: &Path) -> ChoreResult {
    let Some(folder) = files.first().and_then(|file| file.parent()) else { return Ok(()) };
    let key = HarnessKey::open_or_create(key).map_err(|error| error.to_string())?;
    let subjects = files.iter().map(|file| subject(file)).collect::<ChoreResult<Vec<Value>>>()?;
    let statement = statement(subjects)?;
    let signed = evidence::dsse::sign_statement(&statement, &key).map_err(|error| error.to_string())?;
    write_file(&folder.join(PROVENANCE), &signed)?;
    let public = key.public();
    write_file(&folder.join(PUBLIC_KEY), format!("{}\n", public.openssh("cto-release").trim_end()).as_bytes())?;
    println!("signed by {}", public.key_id());
    Ok(())
}

fn subject(file: &Path) -> ChoreResult<Value> {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    Ok(json!({"name": name, "digest": {"sha256": sha256(&read_file(file)?)}}))
}

fn statement(subjects: Vec<Value>) -> ChoreResult<Value> {
    let ask = |words: &[&str]| command_output(program("git", words).current_dir(repository_root()));
    let (commit, dirty) = (ask(&["rev-parse", "HEAD"])?, ask(&["status", "--porcelain"])?);
    let rustc = command_output(&mut program("rustc", ["--version"]))?;
    let lock = sha256(&read_file(&repository_root().join("Cargo.lock"))?);
    Ok(json!({
        "_type": "https://in-toto.io/Statement/v1",
        "subject": subjects,
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": "cargo-xtask-dist/v1",
                "externalParameters": {"package": "cto", "version": version()?, "worktree_is_clean": dirty.trim().is_empty()},
                "resolvedDependencies": [
                    {"name": "source", "digest": {"gitCommit": commit.trim()}},
                    {"name": "Cargo.lock", "digest": {"sha256": lock}},
                    {"name": rustc.trim()},
                ],
            },
            "runDetails": {"builder": {"id": "cargo xtask dist"}},
        },
    }))
}
