//! The fake engine: the harness's own executable, as a child that follows the script of the
//! case.

use std::path::Path;

use contract::canonical_bytes;
use contract::fake::{Claims, Review};
use evidence::stop;
use fixtures::Script;
use sandbox::Access;
use serde::Deserialize;

use untrusted_fs::own_files;

use super::engine_call::EngineCall;
use crate::run::file::{RunFile, Stopped};
use crate::run::program_view::ProgramView;

/// Command line of the fake engine. The script contains every patch, so that it needs
/// nothing but this file.
pub(super) fn prepare_fake(
    run: &RunFile<'_>,
    program_view: &mut ProgramView,
    state: &Path,
) -> Result<EngineCall, Stopped> {
    let mut steps = run.task().fake.clone().unwrap_or_default();
    if stop::has_defect("fake_does_nothing") {
        steps.steps.clear();
    }
    let state_dir = program_view.show_path(state, "state", Access::ReadWrite);
    let script = Script { steps: steps.steps, claims: steps.claims, speaks: steps.speaks, state_dir };
    let path = run.work_dir("engine")?.join("script.json");
    own_files::write_file(&path, canonical_bytes(&script)?).map_err(|error| Stopped::Io(path.clone(), error))?;
    let exe = program_view.show_path(&run.harness().exe, "engine", Access::ReadOnly);
    let path = program_view.show_path(&path, "script.json", Access::ReadOnly);
    let argv = vec![exe.display().to_string(), "__fake".to_owned(), path.display().to_string()];
    let (configuration, brief) = (String::new(), String::new());
    Ok(EngineCall { argv, stdin: None, variables: Vec::new(), configuration, brief, cwd: None })
}

#[derive(Deserialize)]
struct Said {
    #[serde(rename = "type")]
    kind: String,
    claims: Claims,
}

/// Result of the engine's own review in its last result line.
pub(super) fn review(stdout: &[u8]) -> Option<Review> {
    let lines = stdout.rsplit(|byte| *byte == b'\n');
    lines
        .filter_map(|line| serde_json::from_slice::<Said>(line).ok())
        .find(|said| said.kind == "result")
        .and_then(|said| said.claims.review)
}
