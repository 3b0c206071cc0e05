//! The real agents that engines are tried with, each in a folder of its own, at versions that are checked after the install:
//! npm on an older Node quietly takes an older package.

use std::path::{Path, PathBuf};

use super::{is_marked, mark};
use crate::Outcome;
use crate::process::{cache, output, program};

struct Agent {
    folder: &'static str,
    packages: &'static [&'static str],
    /// From the folder; `{arch}` is npm's name of this machine, `{bun}` Bun's.
    executable: &'static str,
    /// Whose manifest must have the version.
    manifest: &'static str,
    version: &'static str,
}

const CODEX: Agent = Agent {
    folder: "codex",
    packages: &["@openai/codex@0.166.0"],
    executable: "node_modules/@openai/codex/bin/codex.js",
    manifest: "node_modules/@openai/codex/package.json",
    version: "0.166.0",
};

const PI: Agent = Agent {
    folder: "pi",
    packages: &["@earendil-works/pi-coding-agent@0.87.1"],
    executable: "node_modules/@earendil-works/pi-coding-agent/dist/bundle/cli.js",
    manifest: "node_modules/@earendil-works/pi-coding-agent/package.json",
    version: "0.87.1",
};

const CLAUDE: Agent = Agent {
    folder: "claude",
    packages: &["@anthropic-ai/claude-code@2.1.325"],
    executable: "node_modules/@anthropic-ai/claude-code-linux-{arch}/claude",
    manifest: "node_modules/@anthropic-ai/claude-code/package.json",
    version: "2.1.325",
};

/// No agent: what Case is compiled with, so that a program of that kind can be tried. About 100 MB.
const BUN: Agent = Agent {
    folder: "bun",
    packages: &["bun@1.4.4"],
    executable: "node_modules/@oven/bun-linux-{bun}/bin/bun",
    manifest: "node_modules/bun/package.json",
    version: "1.4.4",
};

/// No agent: the compiler that TypeScript projects build with, as a program for any Node.
const TSC: Agent = Agent {
    folder: "typescript",
    packages: &["typescript@5.9.3"],
    executable: "node_modules/typescript/lib/tsc.js",
    manifest: "node_modules/typescript/package.json",
    version: "5.9.3",
};

/// What Pi needs, whatever Node this machine has.
const NODE: &str = "22.23.3";

pub(super) fn codex() -> Outcome<PathBuf> {
    made(&CODEX)
}

pub(super) fn pi() -> Outcome<PathBuf> {
    made(&PI)
}

pub(super) fn claude() -> Outcome<PathBuf> {
    made(&CLAUDE)
}

pub(super) fn bun() -> Outcome<PathBuf> {
    made(&BUN)
}

pub(super) fn tsc() -> Outcome<PathBuf> {
    made(&TSC)
}

/// Node as npm has it: the package of this machine's kind holds the program alone.
pub(super) fn node() -> Outcome<PathBuf> {
    let folder = cache()?.join("agents/node");
    let package = format!("node-linux-{}@{NODE}", arch());
    install(&folder, &[&package])?;
    let node = folder.join(format!("node_modules/node-linux-{}/bin/node", arch()));
    let said = output(&mut program(&node, ["--version"]))?;
    if said.trim() == format!("v{NODE}") { Ok(node) } else { Err(format!("{package} says it is {}", said.trim())) }
}

fn made(agent: &Agent) -> Outcome<PathBuf> {
    let folder = cache()?.join("agents").join(agent.folder);
    install(&folder, agent.packages)?;
    let manifest =
        std::fs::read_to_string(folder.join(agent.manifest)).map_err(|error| format!("{}: {error}", agent.manifest))?;
    if !manifest.contains(&format!("\"version\": \"{}\"", agent.version)) {
        return Err(format!("{} is not {}", agent.manifest, agent.version));
    }
    let executable = folder.join(agent.executable.replace("{arch}", arch()).replace("{bun}", bun_arch()));
    if executable.is_file() { Ok(executable) } else { Err(format!("{} is not there", executable.display())) }
}

/// No scripts of packages: what they would fetch is not needed.
fn install(folder: &Path, packages: &[&str]) -> Outcome {
    let wanted = packages.join("\n");
    if is_marked(folder, "packages", &wanted) {
        return Ok(());
    }
    eprintln!("xtask: installing {}", packages.join(", "));
    std::fs::create_dir_all(folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
    let words = ["install", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel", "error", "--prefix"];
    output(program("npm", words).arg(folder).args(packages))?;
    mark(folder, "packages", &wanted)
}

fn arch() -> &'static str {
    if cfg!(target_arch = "aarch64") { "arm64" } else { "x64" }
}

fn bun_arch() -> &'static str {
    if cfg!(target_arch = "aarch64") { "aarch64" } else { "x64" }
}
